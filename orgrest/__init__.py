"""HTTP requests in Org files and request files: completed, evaluated, answered in place."""
