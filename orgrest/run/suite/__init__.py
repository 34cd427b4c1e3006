"""Documents as tests: chosen, run by several jobs, recorded request by request, and reported."""
