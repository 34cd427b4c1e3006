"""Fuzzing: mutating, reducing and editing trees, collecting them in corpora, and campaigns."""
