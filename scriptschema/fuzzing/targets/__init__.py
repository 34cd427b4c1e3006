"""Runs programs on targets (implementations of Luau under test), and determines the outcomes."""
