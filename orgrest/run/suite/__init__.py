"""Documents as tests: selection, concurrent jobs, and a record of each request."""
