"""Evaluating documents: a Run carries out the Plan of a document, according to its Settings."""
