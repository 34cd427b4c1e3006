"""Oracles: decide whether a program's outcomes show a bug, and whether two bugs are the same."""
