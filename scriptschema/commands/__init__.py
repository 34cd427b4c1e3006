"""The command line, `python -m scriptschema`: one module for each group of commands."""
