"""The report of a campaign: a self-contained HTML page about its folder."""
