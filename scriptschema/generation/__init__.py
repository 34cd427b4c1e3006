"""Generates trees: random trees of any message, programs that run, trees in bulk."""
