"""Runs documents as tests: finds them, runs them in concurrent jobs, and records each request."""
