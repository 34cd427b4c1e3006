"""Rendering responses as results in a document, by media type and as `:results` asks."""
