"""Documents as tests: finding them, running them in concurrent jobs, and recording each request."""
