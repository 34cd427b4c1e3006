"""Fuzzing: mutation, reduction and editing of trees, corpora of them, and campaigns."""
