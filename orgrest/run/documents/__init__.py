"""The kinds of documents that a `Run` evaluates: request files and Org documents (with verb's)."""
