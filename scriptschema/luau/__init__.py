"""Luau: trees to source (`render`), any tree to a program (`repair`), source to trees (`parse`)."""
