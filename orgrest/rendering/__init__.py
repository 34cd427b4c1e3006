"""Renders responses as results in a document, by media type and `:results`."""
