"""A campaign's trees as bytes: by the schema of the newest Luau, whichever its targets have.

A tree without extension fields has the same bytes by all of them.
"""

from __future__ import annotations

from typing import TypeVar

from scriptschema import wire
from scriptschema.base import Message
from scriptschema.versions import TODAY

MessageT = TypeVar("MessageT", bound=Message)


def encode(tree: Message) -> bytes:
    """Return what `wire.encode` does; raises the same."""
    return wire.encode(tree, luau=TODAY)


def decode(cls: type[MessageT], data: bytes) -> MessageT:
    """Return what `wire.decode` does; raises the same."""
    return wire.decode(cls, data, luau=TODAY)


def scan(cls: type[Message], data: bytes) -> wire.Scan:
    """Return what `wire.scan` does; raises the same."""
    return wire.scan(cls, data, luau=TODAY)
