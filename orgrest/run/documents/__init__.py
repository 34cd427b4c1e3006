"""The kinds of documents, each a `run.document.Document`: Org with verb, request files."""
