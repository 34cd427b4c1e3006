"""The kinds of documents that a `Run` evaluates: request files and Org documents.

In an Org document, a request is a block or the text below a heading (the format of verb.el).
"""
