"""Evaluating documents: Settings, made once; a Plan, what is to be done; a Run, which does it."""
