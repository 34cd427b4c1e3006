"""Evaluates HTTP requests in Org files and request files, after filling in their variables."""

__version__ = "0.1.0"
