"""Corpora: folders of many trees or sources, read one at a time, and made small.

A corpus that is written here is a folder of binary trees, each named by a hash of its bytes: so no
tree is there twice, and what was interrupted goes on without harm.
"""
