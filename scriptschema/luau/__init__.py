"""Luau: renders trees as source, repairs any tree into a program, parses source into trees."""
