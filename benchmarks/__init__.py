"""Measurements: `python -m benchmarks [NAME...] [--smoke]`.

Results are ratios: each measurement runs our code and its peers in one process, in turns, for
several rounds, and compares the best of each. `--smoke` only shows that everything still runs: its
figures mean nothing.
"""
