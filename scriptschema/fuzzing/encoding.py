"""Encodes a campaign's trees in the schema of the newest Luau, regardless of the targets' versions.

A tree without extension fields has the same bytes in all versions of the schema.
"""

from __future__ import annotations

from typing import TypeVar

from scriptschema import wire
from scriptschema.base import Message
from scriptschema.versions import TODAY

MessageT = TypeVar("MessageT", bound=Message)


def encode(tree: Message) -> bytes:
    """Return the bytes that `wire.encode` returns for a tree. Raises the same errors."""
    return wire.encode(tree, luau=TODAY)


def decode(cls: type[MessageT], data: bytes) -> MessageT:
    """Return the tree that `wire.decode` returns for `data`. Raises the same errors."""
    return wire.decode(cls, data, luau=TODAY)


def scan(cls: type[Message], data: bytes) -> wire.Scan:
    """Return the scan that `wire.scan` returns for a tree's bytes. Raises the same errors."""
    return wire.scan(cls, data, luau=TODAY)
