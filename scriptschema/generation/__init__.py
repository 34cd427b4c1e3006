"""Generates random trees of any message class, and programs that run, singly or in bulk."""
