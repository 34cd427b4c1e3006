"""Draws from Hypothesis for `strategies`: choices, programs, and faults in encoded trees."""
