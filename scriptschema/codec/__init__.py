"""The implementation of `wire`: compiled readers and writers, and careful ones for any input."""
