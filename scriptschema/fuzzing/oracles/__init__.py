"""Oracles, which decide whether a program's outcomes show a bug.

They also decide whether two bugs are the same.
"""
