"""Luau programs as protobuf trees: schema, codec, exchange formats.

`messages` has the 57 messages, `wire` encodes and decodes them, `walk` visits a tree's messages and
tells their paths, and `interop` exchanges them with protobuf's other formats.
"""

from scriptschema import messages, wire
from scriptschema.base import FieldInfo, Message, Path, ValidationError, walk

__all__ = ["FieldInfo", "Message", "Path", "ValidationError", "messages", "walk", "wire"]
