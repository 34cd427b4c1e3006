"""The command line of orgrest, `python -m orgrest`, and all its commands."""
