"""Org parsing: documents, their blocks and header arguments, and Lisp data. No files are read."""
