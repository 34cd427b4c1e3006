"""Exchange with protobuf's own world: the `.proto` file, descriptors, text format and JSON.

Everything is derived from `messages.py`. `proto_source` and `file_descriptor_set` need nothing but
this package, nor does JSON (`protojson`); text format goes through protobuf's Python runtime (the
extra `protobuf`) with descriptors made here, without protoc.

Strings of this schema need not be UTF-8 (a fuzzer's corpus is full of others), but protobuf's
Python text parser refuses those. Text format and binary write a string and a bytes field alike, so
the descriptors made for it say bytes. String literals are read here, as the C++ parser reads them,
since the Python one takes raw bytes and some escapes differently.

Source: the Protocol Buffers manual, "Language Guide (proto 2)", "Text Format Language
Specification"; descriptor.proto.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache
from typing import Annotated, Any, Final, TypeVar

from pure_protobuf.annotations import Field
from pure_protobuf.message import BaseMessage

from scriptschema import wire
from scriptschema.base import FieldInfo, Message
from scriptschema.codec.errors import FormatError, clipped
from scriptschema.messages import MESSAGES
from scriptschema.protojson import Unknown, from_json, to_json

__all__ = [
    "FormatError",
    "MissingExtra",
    "Unknown",
    "file_descriptor_set",
    "from_json",
    "from_text",
    "proto_source",
    "to_json",
    "to_text",
]

PACKAGE: Final = "script"
"""The schema's package name (specification 2)."""

MessageT = TypeVar("MessageT", bound=Message)


class MissingExtra(ImportError):  # noqa: N818  # says what is missing, as ImportError's heirs do
    """A library is not installed that an extra of this distribution brings."""


# The .proto file


def proto_source() -> str:
    """Return the schema as a `.proto` file that protoc compiles."""
    lines = ['syntax = "proto2";', "", f"package {PACKAGE};"]
    for name, cls in MESSAGES.items():
        summary = (cls.__doc__ or "").partition("\n")[0]
        lines += ["", f"// {summary}", f"message {name} {{"]
        for enum in dict.fromkeys(
            f.type for f in cls.FIELDS.values() if issubclass(f.type, IntEnum)
        ):
            lines.append(f"  enum {enum.__name__} {{")
            lines += [f"    {member.name} = {member.value};" for member in enum]
            lines.append("  }")
        in_oneof = False
        for info in cls.FIELDS.values():
            if info.oneof and not in_oneof:
                lines.append(f"  oneof {info.oneof} {{")
            elif in_oneof and not info.oneof:
                lines.append("  }")
            in_oneof = info.oneof is not None
            start = "    " if in_oneof else f"  {info.rule} "
            type_name = info.type_name.removeprefix(f"{name}.")
            lines.append(f"{start}{type_name} {info.schema_name} = {info.tag};")
        lines += ["  }", "}"] if in_oneof else ["}"]
    return "\n".join([*lines, ""])


# Descriptors: the part of descriptor.proto that the schema needs, written by pure-protobuf


@dataclass
class _EnumValue(BaseMessage):
    name: Annotated[str, Field(1)]
    number: Annotated[int, Field(2)]


@dataclass
class _Enum(BaseMessage):
    name: Annotated[str, Field(1)]
    value: Annotated[list[_EnumValue], Field(2)]


@dataclass
class _Field(BaseMessage):
    name: Annotated[str, Field(1)]
    number: Annotated[int, Field(3)]
    label: Annotated[int, Field(4)]
    type: Annotated[int, Field(5)]
    type_name: Annotated[str | None, Field(6)] = None
    oneof_index: Annotated[int | None, Field(9)] = None


@dataclass
class _Oneof(BaseMessage):
    name: Annotated[str, Field(1)]


@dataclass
class _Message(BaseMessage):
    name: Annotated[str, Field(1)]
    field: Annotated[list[_Field], Field(2)]
    enum_type: Annotated[list[_Enum], Field(4)]
    oneof_decl: Annotated[list[_Oneof], Field(8)]


@dataclass
class _File(BaseMessage):
    name: Annotated[str, Field(1)]
    package: Annotated[str, Field(2)]
    message_type: Annotated[list[_Message], Field(4)]


@dataclass
class _FileSet(BaseMessage):
    file: Annotated[list[_File], Field(1)] = field(default_factory=list)


_LABELS: Final = {"optional": 1, "required": 2, "repeated": 3}
_TYPE_NUMBERS: Final = {int: 5, bool: 8, str: 9}
_TYPE_MESSAGE: Final = 11
_TYPE_BYTES: Final = 12
_TYPE_ENUM: Final = 14


def file_descriptor_set() -> bytes:
    """Return the schema as an encoded `google.protobuf.FileDescriptorSet` of one file."""
    return bytes(_FileSet([_file_descriptor(_TYPE_NUMBERS)]))


def _file_descriptor(type_numbers: dict[type, int]) -> _File:
    descriptor = _File(f"{PACKAGE}.proto", PACKAGE, [])
    for name, cls in MESSAGES.items():
        fields = cls.FIELDS.values()
        enums = dict.fromkeys(info.type for info in fields if issubclass(info.type, IntEnum))
        descriptor.message_type.append(
            _Message(
                name,
                [_field_descriptor(info, type_numbers) for info in fields],
                [
                    _Enum(enum.__name__, [_EnumValue(m.name, m.value) for m in enum])
                    for enum in enums
                ],
                [_Oneof(cls.ONEOF)] if cls.ONEOF else [],
            )
        )
    return descriptor


def _field_descriptor(info: FieldInfo, type_numbers: dict[type, int]) -> _Field:
    number = type_numbers.get(info.type)
    return _Field(
        info.schema_name,
        info.tag,
        _LABELS[info.rule],
        number or (_TYPE_MESSAGE if info.is_message else _TYPE_ENUM),
        None if number else f".{PACKAGE}.{info.type_name}",
        0 if info.oneof else None,
    )


@cache
def _runtime_classes() -> dict[str, Any]:
    """The messages as classes of protobuf's runtime, with strings as bytes."""
    try:
        from google.protobuf import descriptor_pool, message_factory
    except ImportError as error:
        raise MissingExtra(
            "text format needs protobuf's Python runtime: "
            "install it with pip install 'scriptschema[protobuf]'"
        ) from error
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(bytes(_file_descriptor({**_TYPE_NUMBERS, str: _TYPE_BYTES})))
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.{name}"))
        for name in MESSAGES
    }


# Text format


def to_text(message: Message) -> str:
    """Return the message in protobuf's text format, as ASCII: other bytes are octal escapes.

    Raises wire.EncodeError for a tree that cannot be encoded, and MissingExtra.
    """
    runtime = _runtime_classes()[type(message).__name__]
    from google.protobuf import text_format

    text: str = text_format.MessageToString(runtime.FromString(wire.encode(message)))
    return text


def from_text(cls: type[MessageT], text: str | bytes, *, unknown: Unknown = "error") -> MessageT:
    """Return the message of class `cls` that `text` describes in protobuf's text format.

    Bytes that are not UTF-8 are taken in string literals. Fields that the schema does not know are
    an error, or dropped with `unknown="drop"`.

    Raises FormatError with the line for what the C++ parser refuses, or with the path of fields for
    a message that is not complete or nests more than 100 deep; and MissingExtra.
    """
    runtime = _runtime_classes()[cls.__name__]
    if isinstance(text, str):
        text = text.encode("utf-8", "surrogateescape")
    try:
        printed: MessageT = _as_printed(cls, text)
    except ValueError:  # it is spelled otherwise, or wrong, which the parser tells
        return _parsed(cls, runtime, text, unknown)
    return printed


def _parsed(cls: type[MessageT], runtime: type[Any], text: bytes, unknown: Unknown) -> MessageT:
    """Read text format by protobuf's parser."""
    from google.protobuf import text_format

    plain = _LITERAL.sub(_plain_literal, text).decode("ascii", "backslashreplace")
    try:
        message = text_format.Parse(plain, runtime(), allow_unknown_field=unknown == "drop")
    except text_format.ParseError as error:
        reason = re.sub(r"^\d+:\d+ : ", "", str(error))
        where = f"line {error.GetLine()}: " if error.GetLine() else ""
        raise FormatError(f"{where}{clipped(reason)}") from None
    except RecursionError:
        raise FormatError(f"messages nest more than {wire.MAX_DEPTH} deep") from None
    return _complete(cls, message)


_TOKEN: Final = re.compile(
    rb"\s*+(?:([A-Za-z_]\w*+)\s*+(?:(\{)|:\s*+(?:(-?(?:0|[1-9]\d{0,9}+))|([A-Za-z_]\w*+)"
    rb"|\"((?:[^\"\\\n]++|\\.)*+)\")(?=\s|\Z))|(\})|(\S)|\Z)"
)
_OPENING, _NUMBER, _WORD, _STRING, _CLOSING = range(2, 7)
_MANY: Final = wire.MAX_DEPTH - 5
"""So many messages around are surely not too many."""


def _as_printed(cls: type[Any], text: bytes) -> Any:
    """Read what is written as protobuf's runtimes print messages, many times as fast as its parser.

    Raises ValueError for another spelling of what may be right, and for what is wrong.
    """
    tables = _fields_by_name()
    values: dict[str, Any] = {}
    around: list[tuple[type[Any], dict[str, Any], FieldInfo]] = []
    for match in _TOKEN.finditer(text):
        kind = match.lastindex
        if kind is None:  # the end
            break
        if kind == _CLOSING and around:
            value = cls(**values)
            cls, values, info = around.pop()
        elif match[1] not in tables[cls]:
            raise ValueError
        else:
            info = tables[cls][match[1]]
            if kind == _OPENING:
                if not info.is_message or len(around) > _MANY:
                    raise ValueError
                around.append((cls, values, info))
                cls, values = info.type, {}
                continue
            value = _scalar(info.type, kind, match[kind])
        if info.rule == "repeated":
            values.setdefault(info.name, []).append(value)
        elif info.name in values:
            raise ValueError
        else:
            values[info.name] = value
    if around:
        raise ValueError
    return cls(**values)


@cache
def _fields_by_name() -> dict[type[Message], dict[bytes, FieldInfo]]:
    return {
        cls: {info.schema_name.encode(): info for info in cls.FIELDS.values()}
        for cls in MESSAGES.values()
    }


def _scalar(wanted: type, kind: int, text: bytes) -> int | str:
    """The value of a field of type `wanted` that is printed as `text`. Raises ValueError."""
    if kind == _NUMBER and wanted is int:
        return int(text)
    if kind == _STRING and wanted is str:
        return (_unescaped(text) if b"\\" in text else text).decode("utf-8", "surrogateescape")
    if kind == _WORD and wanted is bool and text in _BOOLS:
        return _BOOLS[text]
    if kind == _WORD and issubclass(wanted, IntEnum) and text.decode() in wanted.__members__:
        return wanted[text.decode()]
    raise ValueError


_BOOLS: Final = {b"true": True, b"false": False}

# The closing quote may be missing: else each quote in what is not closed would be tried in turn.
_LITERAL: Final = re.compile(
    rb"#[^\n]*|\"(?:[^\"\\\n]++|\\.)*+(?P<closing>\")?|'(?:[^'\\\n]++|\\.)*+(?P<single>')?"
)
_ESCAPE: Final = re.compile(
    rb"\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})"
    rb"|u([dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|[0-9a-fA-F]{4})|U(00(?:10|0[0-9a-fA-F])[0-9a-fA-F]{4})|([abfnrtv\\?'\"])|(.?))"
)
_SIMPLE: Final = dict(zip(b"abfnrtv\\?'\"", b"\a\b\f\n\r\t\v\\?'\"", strict=True))


def _plain_literal(match: re.Match[bytes]) -> bytes:
    """Write a string literal with octal escapes only; raise FormatError for one that is none."""
    literal = match.group()
    if literal.startswith(b"#"):
        return b""
    if not match.lastgroup:
        raise FormatError(f"line {_line(match)}: a string literal is not closed")
    try:
        plain = _unescaped(literal[1:-1])
    except ValueError as error:
        raise FormatError(f"line {_line(match)}: {error}") from None
    return b'"%s"' % b"".join(b"\\%03o" % byte for byte in plain)


def _unescaped(text: bytes) -> bytes:
    """The bytes that a string literal means, whose inside is `text`. Raises ValueError."""
    out = bytearray()
    position = 0
    for escape in _ESCAPE.finditer(text):
        out += text[position : escape.start()]
        octal, hexadecimal, short, long, simple, other = escape.groups()
        if other is not None:
            shown = escape.group().decode("ascii", "backslashreplace")
            raise ValueError(f"{shown} is not an escape of a string literal")
        if octal:
            out.append(int(octal, 8) & 255)
        elif hexadecimal:
            out.append(int(hexadecimal, 16))
        elif simple:
            out.append(_SIMPLE[simple[0]])
        else:
            # Two halves of UTF-16 that follow each other are one character.
            units = "".join(chr(int(digits, 16)) for digits in (short or long).split(b"\\u"))
            both = units.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
            out += both.encode("utf-8", "surrogatepass")
        position = escape.end()
    return bytes(out + text[position:])


def _line(match: re.Match[bytes]) -> int:
    """The line at which a match starts."""
    return match.string.count(b"\n", 0, match.start()) + 1


def _complete(cls: type[MessageT], message: Any) -> MessageT:
    """Return our message for one of protobuf's runtime, which may lack required fields."""
    try:
        return wire.decode(cls, message.SerializePartialToString())
    except wire.DecodeError as error:
        raise FormatError(str(wire.EncodeError(error.path, error.reason))) from None
