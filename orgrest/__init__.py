"""HTTP requests in Org files and request files: completed, evaluated, answered in place."""

__version__ = "0.1.0"
