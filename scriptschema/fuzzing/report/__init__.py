"""The report of a campaign: one HTML page, of what its folder holds, for a person to act on."""
