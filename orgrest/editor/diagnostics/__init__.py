"""Diagnostics of a document, and their fixes.

`document` and `requests` have tables of checks, and `fixes` has a table of fixes. `report` applies
them to an analysis. `model` has the data types.
"""
