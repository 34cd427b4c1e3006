"""Fuzzing: mutates, reduces and edits trees, collects them in corpora, and runs campaigns."""
