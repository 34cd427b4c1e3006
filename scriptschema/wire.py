"""proto2 binary: `encode` a message to bytes, `decode` bytes to a message, `scan` them without one.

Two readers and two writers, all derived from the messages' fields:

- The fast pair (`codec.compiled`) supports only the canonical form that every protobuf runtime
  writes, and fails for anything else: damage, unknown fields, a field given twice, too deep a tree.
- The careful pair (`codec.careful`) then starts over. It accepts any input and any depth, and
  reports what is wrong and where.

So time and memory are linear in the input: at most one fast pass and one careful one. Measured on
1 kB to 1 MB: programs take 0.5 microseconds and 25 bytes of memory a byte of input; the worst case,
empty statements of two bytes each with damage at the end, 12 microseconds and 190 bytes.

pure-protobuf's interface of the messages (`bytes(m)`, `m.dumps()`, `m.write_to(io)`, `M.loads(b)`,
`M.read_from(io)`) uses this module too, by the two functions that are set in `Message` at the end.

Source: the Protocol Buffers manual, "Encoding"; specification 2, 8 and 9.
"""

from __future__ import annotations

import struct
from typing import Final, Literal, TypeVar

from scriptschema.base import Message
from scriptschema.codec.careful import decode_carefully, encode_carefully
from scriptschema.codec.compiled import decoders, encoders
from scriptschema.codec.compiling import Unusual
from scriptschema.codec.errors import DecodeError, EncodeError, WireError
from scriptschema.codec.scanning import Scan, scan_canonical
from scriptschema.messages import SEED, schema
from scriptschema.versions import TODAY, Version

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

MAX_DEPTH: Final = 100
"""The number of levels below the outermost message that protobuf's C++ and upb runtimes allow."""

MessageT = TypeVar("MessageT", bound=Message)


def encode(
    message: Message, *, max_depth: int = MAX_DEPTH, luau: str | Version | None = None
) -> bytes:
    """Return the canonical encoding: what protobuf's runtimes write with deterministic output.

    Fields come in tag order, varints are minimal, a negative int32 takes ten bytes, and a string's
    lone surrogates (from bytes that were not UTF-8) become those bytes again.

    With `luau`, a version such as `0.711` or `today`, the extension fields for what Luau accepts in
    that version are written too; without, only the seed's fields.

    Raises EncodeError if messages nest more than `max_depth` deep below `message`, a field is set
    that is not among those, a list holds something that does not belong there, or a string holds a
    surrogate that does not represent a byte. Raises ValueError for an unknown version.

    >>> from scriptschema import messages, wire
    >>> wire.encode(messages.Local(name=300)).hex()
    '08ac02'
    """
    parts: list[bytes] = []
    known = schema(luau) if luau else SEED
    try:
        encoders(known)[message.__class__](message, parts.append, max_depth)
    except (Unusual, RecursionError, UnicodeEncodeError, AttributeError, KeyError):
        parts = encode_carefully(message, max_depth, known)
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

    Fields that the schema does not know, and unknown values of enums, are dropped, or refused with
    `unknown="error"`. Strings that are not UTF-8 keep their bytes as lone surrogates. With `luau`,
    as in `encode`, the schema has the extension fields of that version.

    Raises DecodeError, and nothing else, for bytes that protobuf's upb runtime refuses: damage of
    any kind, a required field that is missing anywhere, messages that nest more than `max_depth`
    deep below the outermost one.

    >>> from scriptschema import messages, wire
    >>> wire.decode(messages.Local, bytes.fromhex("08ac02"))
    Local(name=300)
    >>> wire.decode(messages.Local, bytes.fromhex("08"))
    Traceback (most recent call last):
    scriptschema.wire.DecodeError: byte 1, name: the value is cut off
    """
    if unknown not in ("drop", "error"):
        raise ValueError(f"unknown must be 'drop' or 'error', not {unknown!r}")
    known = schema(luau) if luau else SEED
    read = decoders(known).get(cls)
    if read is None:
        if cls in schema(TODAY).fields:
            raise TypeError(known.lacks(cls))
        raise TypeError(f"not a message class: {getattr(cls, '__qualname__', cls)}")
    if data.__class__ is not bytes:
        data = bytes(memoryview(data))  # `bytes` alone would also accept a number or a list
    try:
        message: MessageT = read(data, 0, len(data), max_depth)
    except (Unusual, RecursionError, IndexError, KeyError, TypeError, struct.error):
        # TypeError: near the recursion limit, Python cannot compare classes when one is assigned.
        return decode_carefully(cls, data, max_depth, known, refuse_unknown=unknown == "error")
    return message


def scan(
    cls: type[Message],
    data: bytes,
    *,
    max_depth: int = MAX_DEPTH,
    unknown: Literal["drop", "error"] = "drop",
    luau: str | Version | None = None,
) -> Scan:
    """Return the contents of the message of class `cls` in `data`, without creating it.

    Accepts the same input as `decode`, and raises the same errors. Takes a quarter of the time of
    decoding the message and walking over it.
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
    """Return the canonical encoding of the message that `data` encodes, and what it holds.

    Like `scan`; takes no longer than `scan` if `data` is canonical.
    """
    known = schema(luau) if luau else SEED
    try:
        return data, scan_canonical(cls, data, max_depth, known)
    except (Unusual, RecursionError, IndexError, KeyError, struct.error):
        message = decode(cls, data, max_depth=max_depth, unknown=unknown, luau=luau)
        data = encode(message, max_depth=max_depth, luau=luau)
        return data, scan_canonical(cls, data, max_depth + 2, known)  # it gives up a little early


for _error in (WireError, EncodeError, DecodeError):
    _error.__module__ = __name__  # their public name
Message._encode = encode
Message._decode = decode
