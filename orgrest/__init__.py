"""Completes and evaluates HTTP requests in Org files and request files."""

__version__ = "0.1.0"
