"""Diagnostics of a document, and their fixes.

`document` and `requests` have the checks, `fixes` the fixes, each as a table; `report` applies them
to an analysis; `model` has the data types.
"""
