"""Oracles: what in the outcomes of a program is a bug, and when two of these are the same one."""
