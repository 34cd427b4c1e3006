"""Runs untrusted jobs in a separate process, which can be killed if they take too long.

`process` starts that process and sends it jobs. `worker` is the program that it runs.
"""
