"""The command-line interface of `scriptschema`: one module for each group of commands."""
