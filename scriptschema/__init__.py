"""Luau programs as protobuf trees: schema, codec, exchange formats."""
