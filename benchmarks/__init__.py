"""Measurements: `python -m benchmarks [NAME...] [--smoke]`.

Results are ratios: each measurement runs our code and its peers in one process, in turns, for
several rounds, and compares the best time of each. `--smoke` only checks that everything still
runs; its figures mean nothing.
"""
