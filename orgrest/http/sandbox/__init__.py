"""Untrusted work that may take more than linear time. `process` runs it in a `worker` process."""
