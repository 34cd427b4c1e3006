"""Implements `luau.parse`: functions that read types, expressions and statements."""
