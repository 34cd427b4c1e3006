"""Reads OpenAPI descriptions, and checks requests and responses against them."""
