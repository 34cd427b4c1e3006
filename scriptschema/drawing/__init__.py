"""The draws from Hypothesis for `strategies`: choices, programs, faults in bytes."""
