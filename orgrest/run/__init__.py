"""Evaluation of documents: a Run carries out a document's Plan according to its Settings."""
