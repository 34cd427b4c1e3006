"""Reads and writes text format with protobuf's Python runtime and descriptors created here.

Strings of this schema need not be UTF-8 (many in a fuzzer's corpus are not), but protobuf's Python
text parser rejects such strings. So the descriptors declare strings as bytes, which look the same
in text format and in binary format. String literals are parsed here, like in the C++ parser: the
Python parser treats raw bytes and some escapes differently.

Source: the Protocol Buffers manual, "Text Format Language Specification".
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final, TypeVar

from scriptschema import wire
from scriptschema.base import Message
from scriptschema.codec.errors import FormatError, clipped
from scriptschema.interop.descriptors import PACKAGE, file_descriptor
from scriptschema.interop.protojson import Unknown
from scriptschema.messages import Schema, schema
from scriptschema.versions import Version

MessageT = TypeVar("MessageT", bound=Message)


@cache
def _runtime_classes(version_schema: Schema) -> dict[str, Any]:
    """Return the messages as protobuf runtime classes, by full name (`script.Expr`)."""
    from google.protobuf import message_factory

    return message_factory.GetMessages([file_descriptor(version_schema, strings=False)])


def to_text(message: Message, *, luau: str | Version | None = None) -> str:
    """Return the message in protobuf's text format, as ASCII with octal escapes for other bytes.

    `luau` is the schema's version. Raises wire.EncodeError for a tree that cannot be encoded.
    """
    encoded = wire.encode(message, luau=luau)
    runtime = _runtime_classes(schema(luau))[f"{PACKAGE}.{type(message).__name__}"]
    from google.protobuf import text_format

    text: str = text_format.MessageToString(runtime.FromString(encoded))
    return text


def from_text(
    cls: type[MessageT],
    text: str | bytes,
    *,
    unknown: Unknown = "error",
    luau: str | Version | None = None,
) -> MessageT:
    """Return the message of class `cls` that `text` describes in protobuf's text format.

    String literals may contain bytes that are not UTF-8. Fields that are not in the schema are an
    error, or are dropped with `unknown="drop"`. `luau` is the schema's version.

    Raises FormatError. The error gives the line if the C++ parser would reject the text, and the
    path if the message is incomplete or nested more than 100 levels deep. Raises TypeError if that
    version has no message class `cls`.
    """
    version_schema = schema(luau)
    version_schema.require(cls)
    runtime = _runtime_classes(version_schema)[f"{PACKAGE}.{cls.__name__}"]
    if isinstance(text, str):
        text = text.encode("utf-8", "surrogateescape")
    message = parse_text(runtime, text, unknown)
    try:
        return wire.decode(cls, message.SerializePartialToString(), luau=version_schema.since)
    except wire.DecodeError as error:
        raise FormatError(str(wire.EncodeError(error.path, error.reason))) from None


def parse_text(runtime: type[Any], text: bytes, unknown: Unknown) -> Any:
    """Return the message that `text` describes in text format, as an instance of `runtime`.

    `runtime` is a class of protobuf's runtime that declares strings as bytes. Raises FormatError.
    """
    from google.protobuf import text_format

    drop = not wire.refuses(unknown)
    plain = _LITERAL.sub(_plain_literal, text).decode("ascii", "backslashreplace")
    try:
        return text_format.Parse(plain, runtime(), allow_unknown_field=drop)
    except text_format.ParseError as error:
        reason = re.sub(r"^\d+:\d+ : ", "", str(error))
        where = f"line {error.GetLine()}: " if error.GetLine() else ""
        raise FormatError(f"{where}{clipped(reason)}") from None
    except RecursionError:
        raise FormatError(f"messages are nested more than {wire.MAX_DEPTH} levels deep") from None


# The closing quote is optional. Otherwise each quote in an unclosed literal would be tried.
_LITERAL: Final = re.compile(
    rb"#[^\n]*|\"(?:[^\"\\\n]++|\\.)*+(?P<closing>\")?|'(?:[^'\\\n]++|\\.)*+(?P<single>')?"
)
_ESCAPE: Final = re.compile(
    rb"\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})"
    rb"|u([dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|[0-9a-fA-F]{4})|U(00(?:10|0[0-9a-fA-F])[0-9a-fA-F]{4})|([abfnrtv\\?'\"])|(.?))"
)
_NOT_PLAIN: Final = re.compile(rb"[^ -~]|[\"\\]")
"""The bytes that must be escaped in a double-quoted string literal."""

_PIECE: Final = 4096
"""The maximum number of bytes in a string literal that is passed to protobuf's parser. The parser
needs half a kilobyte of memory for each escape in a literal, and joins adjacent literals."""

_SIMPLE: Final = dict(zip(b"abfnrtv\\?'\"", b"\a\b\f\n\r\t\v\\?'\"", strict=True))


def _plain_literal(match: re.Match[bytes]) -> bytes:
    """Return a string literal with only octal escapes, or nothing for a comment."""
    literal = match.group()
    if literal.startswith(b"#"):
        return b""
    if not match.lastgroup:
        raise FormatError(f"line {_line(match)}: unterminated string literal")
    try:
        plain = _unescaped(literal[1:-1])
    except ValueError as error:
        raise FormatError(f"line {_line(match)}: {error}") from None
    pieces = [plain[start : start + _PIECE] for start in range(0, len(plain) or 1, _PIECE)]
    return b" ".join(
        b'"%s"' % _NOT_PLAIN.sub(lambda byte: b"\\%03o" % byte.group()[0], piece)
        for piece in pieces
    )


def _unescaped(text: bytes) -> bytes:
    out = bytearray()
    position = 0
    for escape in _ESCAPE.finditer(text):
        out += text[position : escape.start()]
        octal, hexadecimal, short, long, simple, other = escape.groups()
        if other is not None:
            shown = escape.group().decode("ascii", "backslashreplace")
            raise ValueError(f"invalid escape {shown} in a string literal")
        if octal:
            out.append(int(octal, 8) & 255)
        elif hexadecimal:
            out.append(int(hexadecimal, 16))
        elif simple:
            out.append(_SIMPLE[simple[0]])
        else:
            # Two consecutive halves of a UTF-16 pair are one character.
            units = "".join(chr(int(digits, 16)) for digits in (short or long).split(b"\\u"))
            both = units.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
            out += both.encode("utf-8", "surrogatepass")
        position = escape.end()
    return bytes(out + text[position:])


def _line(match: re.Match[bytes]) -> int:
    return match.string.count(b"\n", 0, match.start()) + 1
