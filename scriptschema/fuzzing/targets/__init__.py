"""Targets: implementations of Luau, how they run programs, and the outcomes."""
