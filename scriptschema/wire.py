"""proto2's binary format: `encode` or `decode` a message, or `scan` its bytes without creating it.

There are two readers and two writers, all derived from the messages' fields:

- The fast pair (`codec.compiled`) supports only the canonical form that every protobuf runtime
  writes. It fails for anything else, such as malformed data, unknown fields, a field that occurs
  twice, or a tree that is nested too deeply.
- The careful pair (`codec.careful`) starts over if the fast pair fails. It handles any input at any
  depth, and reports what is wrong and where.

Time and memory are linear in the size of the input. Measured on 1 kB to 1 MB, programs take 0.5
microseconds and 25 bytes of memory per byte of input. The worst case (empty statements of two bytes
each, and an error at the end) takes 12 microseconds and 190 bytes.

Messages inherit `bytes(m)`, `m.dumps()`, `m.write_to(io)`, `M.loads(b)` and `M.read_from(io)` from
pure-protobuf. `base.Message` makes them use this module.

Source: the Protocol Buffers manual, "Encoding"; this project's specification, sections 2, 8 and 9.
"""

from __future__ import annotations

import struct
from typing import Literal, TypeVar

from scriptschema.base import MAX_DEPTH, Message
from scriptschema.codec.careful import decode_carefully, encode_carefully
from scriptschema.codec.compiled import NO_PREFIX, decoders, encoders
from scriptschema.codec.compiling import Unusual
from scriptschema.codec.errors import DecodeError, EncodeError, WireError
from scriptschema.codec.scanning import Scan, scan_canonical
from scriptschema.messages import SEED, schema
from scriptschema.versions import Version

__all__ = [
    "MAX_DEPTH",
    "DecodeError",
    "EncodeError",
    "Scan",
    "WireError",
    "canonical",
    "decode",
    "encode",
    "scan",
]

MessageT = TypeVar("MessageT", bound=Message)


def encode(
    message: Message, *, max_depth: int = MAX_DEPTH, luau: str | Version | None = None
) -> bytes:
    """Return the canonical encoding of a message.

    It equals the output of protobuf's runtimes with deterministic serialization. Fields come in tag
    order, varints are minimal, and a negative int32 takes ten bytes. A lone surrogate in a string
    represents a byte that was not UTF-8, and is written as that byte.

    If `luau` is a version such as `0.711` or `today`, the schema includes the extension fields of
    that version. By default, it is the original schema.

    Raises EncodeError if messages are nested more than `max_depth` levels below `message`, or if a
    field outside the schema is set. Also raises EncodeError for a list item that is not valid for
    its field, and for a surrogate that does not represent a byte. Raises ValueError for an unknown
    version.

    >>> from scriptschema import messages, wire
    >>> wire.encode(messages.Local(name=300)).hex()
    '08ac02'
    """
    parts: list[bytes] = []
    allowed = SEED if luau is None else schema(luau)
    is_usual = True
    try:
        encoders(allowed)[message.__class__](message, parts.append, max_depth, NO_PREFIX)
    except (Unusual, RecursionError, UnicodeEncodeError, AttributeError, KeyError):
        is_usual = False
    # Outside the `except` block, so that errors have no context: Hypothesis would report a separate
    # failure for each of the hundreds of lines where a fast encoder can fail.
    if not is_usual:
        parts = encode_carefully(message, max_depth, allowed)
    parts.reverse()
    return b"".join(parts)


def decode(
    cls: type[MessageT],
    data: bytes | bytearray | memoryview,
    *,
    max_depth: int = MAX_DEPTH,
    unknown: Literal["drop", "error"] = "drop",
    luau: str | Version | None = None,
) -> MessageT:
    """Return the message of class `cls` that `data` encodes.

    Unknown fields and unknown enum values are dropped, or rejected with `unknown="error"`. In
    strings, bytes that are not UTF-8 become lone surrogates. `luau` selects the schema, like in
    `encode`.

    Raises DecodeError for bytes that protobuf's upb runtime rejects: malformed data of any kind,
    and messages that are nested more than `max_depth` levels below the outermost message. A missing
    required field is also an error.

    >>> from scriptschema import messages, wire
    >>> wire.decode(messages.Local, bytes.fromhex("08ac02"))
    Local(name=300)
    >>> wire.decode(messages.Local, bytes.fromhex("08"))
    Traceback (most recent call last):
    scriptschema.wire.DecodeError: byte 1, name: the value is truncated
    """
    refuse_unknown = refuses(unknown)
    allowed = SEED if luau is None else schema(luau)
    allowed.require(cls)
    if data.__class__ is not bytes:
        data = bytes(memoryview(data))  # `bytes` alone would also accept a number or a list
    try:
        message: MessageT = decoders(allowed)[cls](data, 0, len(data), max_depth)
        return message
    except (Unusual, RecursionError, IndexError, KeyError, TypeError, struct.error):
        pass  # TypeError: an assignment to `__class__` can fail near the recursion limit.
    return decode_carefully(cls, data, max_depth, allowed, refuse_unknown=refuse_unknown)


def scan(
    cls: type[Message],
    data: bytes,
    *,
    max_depth: int = MAX_DEPTH,
    unknown: Literal["drop", "error"] = "drop",
    luau: str | Version | None = None,
) -> Scan:
    """Scan the message of class `cls` that `data` encodes, without creating the message.

    `scan` accepts the same input as `decode`, and raises the same errors. It is four times as fast
    as decoding the message and walking over it.
    """
    return canonical(cls, data, max_depth=max_depth, unknown=unknown, luau=luau)[1]


def canonical(
    cls: type[Message],
    data: bytes,
    *,
    max_depth: int = MAX_DEPTH,
    unknown: Literal["drop", "error"] = "drop",
    luau: str | Version | None = None,
) -> tuple[bytes, Scan]:
    """Return the canonical encoding of the message that `data` encodes, and its scan.

    This accepts the same input as `scan`. If `data` is canonical, it is just as fast.
    """
    refuses(unknown)
    allowed = SEED if luau is None else schema(luau)
    try:
        return data, scan_canonical(cls, data, max_depth, allowed)
    except (Unusual, RecursionError, IndexError, KeyError, struct.error):
        pass
    message = decode(cls, data, max_depth=max_depth, unknown=unknown, luau=luau)
    data = encode(message, max_depth=max_depth, luau=luau)
    # + 2: `scan_canonical` gives up a little before the limit.
    return data, scan_canonical(cls, data, max_depth + 2, allowed)


def refuses(unknown: str) -> bool:
    """Return whether `unknown`, the option of `decode`, is `error`.

    Raises ValueError unless it is `error` or `drop`.
    """
    if unknown not in ("drop", "error"):
        raise ValueError(f"`unknown` must be 'drop' or 'error', found {unknown!r}")
    return unknown == "error"


for _error in (WireError, EncodeError, DecodeError):
    _error.__module__ = __name__  # the module that users import them from
