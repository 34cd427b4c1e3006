"""Org parsing: documents, their blocks and header arguments, Lisp data. No I/O."""
