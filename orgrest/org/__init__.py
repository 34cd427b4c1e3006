"""Org text: documents, their blocks and header arguments, Lisp data; text to values, no I/O."""
