"""OpenAPI descriptions beside requests: what they allow, and whether that was sent and came."""
