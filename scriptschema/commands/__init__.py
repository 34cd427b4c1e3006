"""The command line `scriptschema`: one module for each group of commands."""
