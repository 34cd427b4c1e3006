"""Parses Org text: documents, their blocks and header arguments, and Lisp data. Reads no files."""
