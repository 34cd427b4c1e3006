"""Corpora: folders of many trees or sources, read one at a time, merged and distilled.

This package writes a corpus as a folder of trees in binary format, named by hashes of their bytes.
Therefore no tree is stored twice, and an interrupted command can be run again.
"""
