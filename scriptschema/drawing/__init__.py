"""What `strategies` draws from Hypothesis: choices, programs by such choices, faults in bytes."""
