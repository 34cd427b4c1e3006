"""The command line, `python -m orgrest`: evaluation, the tour, and the other commands."""
