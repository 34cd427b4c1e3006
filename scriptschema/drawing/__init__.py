"""What `strategies` draws from Hypothesis: choices, programs, and faults in encoded trees."""
