"""The command line, `python -m orgrest`: evaluation, the tour, and what serves editors."""
