"""The report of a campaign's folder: a self-contained HTML page."""
