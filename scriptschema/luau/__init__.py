"""Luau: trees to source (`render`), any tree to a program (`scope`), source to trees (`parse`)."""
