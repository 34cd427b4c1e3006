"""Making trees: sources of choice, random trees of any message, trees in bulk."""
