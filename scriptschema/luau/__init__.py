"""Renders trees as Luau source, repairs trees into programs, and parses source into trees."""
