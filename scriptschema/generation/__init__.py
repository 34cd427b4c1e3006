"""Generates random trees of any message, programs that run, and both in bulk."""
