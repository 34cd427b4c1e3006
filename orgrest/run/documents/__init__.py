"""Kinds of documents, each a `run.document.Document`: Org with verb's headings, request files."""
