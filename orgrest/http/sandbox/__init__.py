"""Runs untrusted jobs, which may take more than linear time, in a separate process.

`process` starts that process and sends it jobs. `worker` is the program that it runs.
"""
