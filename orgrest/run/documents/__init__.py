"""The kinds of documents that a `Run` evaluates: request files and Org documents.

In an Org document, requests are blocks or, as in verb, the texts below headings.
"""
