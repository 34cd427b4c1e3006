"""Evaluating documents: choosing requests, resolving references, sending, placing results."""
