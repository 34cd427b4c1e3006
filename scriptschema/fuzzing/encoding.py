"""Encodes a campaign's trees in the schema of the newest Luau, regardless of the targets' versions.

A tree without extension fields has the same bytes in all versions of the schema.
"""

from __future__ import annotations

from typing import TypeVar

from scriptschema import wire
from scriptschema.base import Message
from scriptschema.codec import scanning
from scriptschema.messages import schema
from scriptschema.versions import TODAY

MessageT = TypeVar("MessageT", bound=Message)


def encode(tree: Message, *, max_depth: int = wire.MAX_DEPTH) -> bytes:
    """Return a tree's bytes, encoded with the newest schema.

    Raises the same errors as `wire.encode`.
    """
    return wire.encode(tree, max_depth=max_depth, luau=TODAY)


def decode(cls: type[MessageT], data: bytes) -> MessageT:
    """Return the tree in `data`, decoded with the newest schema.

    Raises the same errors as `wire.decode`.
    """
    return wire.decode(cls, data, luau=TODAY)


def listed(tree: Message) -> scanning.Listing:
    """Return the contents of a tree, which are those of the scan of its bytes."""
    return scanning.listed(tree, schema(TODAY))


def scan(cls: type[Message], data: bytes, *, max_depth: int = wire.MAX_DEPTH) -> wire.Scan:
    """Return the result of scanning a tree's bytes with the newest schema.

    Raises the same errors as `wire.scan`.
    """
    return wire.scan(cls, data, max_depth=max_depth, luau=TODAY)
