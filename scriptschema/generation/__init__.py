"""Generates random trees of any message class, and programs that can be run."""
