"""OpenAPI descriptions: reading them, and checking requests and responses against them."""
