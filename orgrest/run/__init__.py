"""Documents evaluated: what is to be sent, references between blocks, sending, results placed."""
