"""The kinds of documents that a `Run` evaluates: request files, and Org documents (also verb's)."""
