"""Renders responses as results in a document, depending on the media type and `:results`."""
