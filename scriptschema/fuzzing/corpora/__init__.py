"""Corpora: folders of many trees or sources, read one at a time, merged and distilled.

A corpus that is written here is a folder of binary trees, each named by a hash of its bytes: so no
tree is stored twice, and what was interrupted can be run again.
"""
