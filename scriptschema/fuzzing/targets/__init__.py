"""Targets: implementations of Luau, how a program is run by one, and what became of it."""
