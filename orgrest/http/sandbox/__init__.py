"""Runs untrusted jobs in a separate process. Jobs may take more than linear time.

`process` starts that process and sends it jobs. `worker` is the program that it runs.
"""
