"""Diagnostics for a document, and their fixes.

`document` and `requests` contain tables of checks, and `fixes` a table of fixes. `verb` checks the
requests in verb's language. `report` applies them to an analysis. `model` defines the data types.
"""
