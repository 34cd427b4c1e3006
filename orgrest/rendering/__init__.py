"""Responses as results in a document: laid out by type, and put as `:results` asks."""
