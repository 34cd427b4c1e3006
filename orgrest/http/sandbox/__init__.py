"""The process for untrusted work that is not linear in its input: `process` starts `worker`."""
