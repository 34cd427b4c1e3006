"""Measurements: `python -m benchmarks [NAME...] [--smoke]`.

What is said in figures is said here as ratios: each measurement runs our code and its peers in one
process, in turns, several rounds, and compares the best of each. `--smoke` only shows that
everything still runs: its figures mean nothing.
"""
