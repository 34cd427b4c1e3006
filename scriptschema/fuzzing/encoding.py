"""Encoding of a campaign's trees, in the schema of the newest Luau, independent of the targets.

A tree without extension fields has the same bytes in all versions of the schema.
"""

from __future__ import annotations

from typing import TypeVar

from scriptschema import wire
from scriptschema.base import Message
from scriptschema.versions import TODAY

MessageT = TypeVar("MessageT", bound=Message)


def encode(tree: Message) -> bytes:
    """Encode with `wire.encode`; raises the same errors."""
    return wire.encode(tree, luau=TODAY)


def decode(cls: type[MessageT], data: bytes) -> MessageT:
    """Decode with `wire.decode`; raises the same errors."""
    return wire.decode(cls, data, luau=TODAY)


def scan(cls: type[Message], data: bytes) -> wire.Scan:
    """Scan with `wire.scan`; raises the same errors."""
    return wire.scan(cls, data, luau=TODAY)
