"""Corpora: folders of many trees or sources, read one at a time, merged and distilled.

A corpus written by this package is a folder of trees in binary format. Each file is named by a hash
of its bytes, so that no tree is stored twice and an interrupted command can be run again.
"""
