"""The careful reader and writer: they handle any input at any depth and locate each error.

Both are loops with an explicit stack. They accept the same input as protobuf's upb runtime, with
the same result.

Source: the Protocol Buffers manual, "Encoding"; this project's specification, sections 2, 8 and 9.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from functools import cache
from typing import Any, Final, TypeVar

from scriptschema.base import FieldInfo, Int64, Message, Path, ValidationError, not_a_message, walk
from scriptschema.codec.errors import DecodeError, EncodeError
from scriptschema.codec.varints import (
    END_GROUP,
    GROUP,
    after_fixed,
    double,
    double_bytes,
    int32,
    int64,
    read_length,
    read_tag,
    read_varint,
    skip,
    tag,
    tag_bytes,
    varint_bytes,
)
from scriptschema.messages import Schema

MessageT = TypeVar("MessageT", bound=Message)


@cache
def _names(cls: type[Message], rule: str) -> tuple[str, ...]:
    return tuple(field.name for field in cls.ALL_FIELDS.values() if field.rule == rule)


@cache
def _fields_by_tag(schema: Schema) -> dict[type[Message], dict[int, FieldInfo]]:
    return {
        cls: {tag(field): field for field in fields.values()}
        for cls, fields in schema.fields.items()
    }


# Reading

_NO_GROUP: Final = -1


_Frame = tuple[Message, Path, int, int]
"""A message being read, its path, its end offset, and the number of the unknown group being
skipped."""


def decode_carefully(
    cls: type[MessageT], data: bytes, max_depth: int, schema: Schema, *, refuse_unknown: bool
) -> MessageT:
    """Decode a message, with exactly the same result as `wire.decode`. Raises DecodeError."""
    root: MessageT = _empty(cls)
    reader = _Reader(root, data, max_depth, schema, refuse_unknown)
    reader.read()
    for message, path in walk(root):
        for name in _names(message.__class__, "required"):
            if getattr(message, name) is None:
                reason = message.ALL_FIELDS[name].missing
                raise DecodeError(reader.starts[id(message)], str(path), reason)
    return root


class _Reader:
    """Fills a message field by field. Missing required fields are detected only at the end."""

    def __init__(
        self, root: Message, data: bytes, max_depth: int, schema: Schema, refuse_unknown: bool
    ) -> None:
        self.fields = schema.fields
        self.fields_by_tag = _fields_by_tag(schema)
        self.data = data
        self.max_depth = max_depth
        self.refuse_unknown = refuse_unknown
        self.position = 0
        self.frames: list[_Frame] = [(root, Path(), len(data), _NO_GROUP)]
        self.starts = {id(root): 0}
        """The start offset of each message, by `id(message)`, for errors detected later."""

    def read(self) -> None:
        data, frames = self.data, self.frames
        while frames:
            frame = frames[-1]
            message, path, end, group = frame
            start = self.position
            if start == end:
                if group != _NO_GROUP:
                    raise DecodeError(start, str(path), f"group {group} is never closed")
                frames.pop()
                continue
            tag, self.position = read_tag(data, start, end, path)
            field = None
            if group == _NO_GROUP:
                if tag < 8 and self.fields[message.__class__]:
                    # upb rejects the number 0 only in messages that have fields.
                    raise DecodeError(start, str(path), "field number 0 is invalid")
                field = self.fields_by_tag[message.__class__].get(tag)
            if field is None:
                self.skip_unknown(frame, tag, start)
            elif field.is_message:
                self.start_message(frame, field, start)
            else:
                self.read_scalar(frame, field, start)

    def skip_unknown(self, frame: _Frame, tag: int, start: int) -> None:
        message, path, end, group = frame
        number, wire_type = tag >> 3, tag & 7
        if self.refuse_unknown and group == _NO_GROUP and wire_type != END_GROUP:
            fields = self.fields[message.__class__].values()
            same_number = next((f for f in fields if f.tag == number), None)
            what = f"unknown field {number}"
            newer = next((f for f in message.ALL_FIELDS.values() if f.tag == number), None)
            if same_number is None and newer is not None:
                what += f": it exists for luau='{newer.since}' or newer, as {newer.schema_name}"
            if same_number:
                what = f"field {number} ({same_number.name}) has the wrong wire type {wire_type}"
            raise DecodeError(start, str(path), f"{type(message).__name__}: {what}")
        if wire_type == GROUP:
            self.push((message, path, end, number), start)
        elif wire_type == END_GROUP:
            if number != group:
                raise DecodeError(
                    start, str(path), f"end of group {number}, which was never started"
                )
            self.frames.pop()
        else:
            self.position = skip(self.data, self.position, end, wire_type, path)

    def start_message(self, frame: _Frame, field: FieldInfo, start: int) -> None:
        message, path, end, _ = frame
        here = Path(path, field.name)
        size_at = self.position
        if field.rule == "repeated":
            siblings = getattr(message, field.name)
            here = Path(path, field.name, len(siblings))
            child = _empty(field.type)
            siblings.append(child)
        else:
            child = getattr(message, field.name)
            if child is None:
                child = _empty(field.type)
                _fill(message, field, child)
        size, self.position = read_length(self.data, size_at, end, here)
        self.starts[id(child)] = size_at
        self.push((child, here, self.position + size, _NO_GROUP), start)

    def push(self, frame: _Frame, start: int) -> None:
        if len(self.frames) > self.max_depth:
            reason = f"messages are nested more than {self.max_depth} levels deep"
            raise DecodeError(start, str(frame[1]), reason)
        self.frames.append(frame)

    def read_scalar(self, frame: _Frame, field: FieldInfo, start: int) -> None:
        message, path, end, _ = frame
        here = Path(path, field.name)
        if field.type is str:
            size, at = read_length(self.data, self.position, end, here)
            self.position = at + size
            text = self.data[at : self.position].decode("utf-8", "surrogateescape")
            _fill(message, field, text)
            return
        if field.type is float:
            start, self.position = self.position, after_fixed(self.position, end, 8, here)
            _fill(message, field, double(self.data, start))
            return
        number, self.position = read_varint(self.data, self.position, end, here)
        value: Any = bool(number) if field.type is bool else int32(number)
        if field.type is Int64:
            value = int64(number)
        elif issubclass(field.type, IntEnum):
            try:
                value = field.type(value)
            except ValueError:
                if self.refuse_unknown:
                    reason = f"{value} is not a value of {field.type_name}"
                    raise DecodeError(start, str(here), reason) from None
                return
        _fill(message, field, value)


def _empty(cls: type[Any]) -> Any:
    message = cls._unchecked()
    for slot in cls._slots:
        setattr(message, slot, None)
    message.__class__ = cls
    for name in _names(message.__class__, "repeated"):
        object.__setattr__(message, name, [])
    return message


def _fill(message: Message, field: FieldInfo, value: Any) -> None:
    # No checks: the value is valid, and required fields may still be missing.
    if field.oneof:
        object.__setattr__(message, "which", field.name)
        object.__setattr__(message, "alternative", value)
    else:
        object.__setattr__(message, field.name, value)


# Writing


def encode_carefully(root: Message, max_depth: int, schema: Schema) -> list[bytes]:
    """Return the parts of the encoding in reverse order. Raises EncodeError."""
    if not isinstance(root, Message):
        raise EncodeError("", not_a_message(root))
    if root.__class__ not in schema.fields:
        raise EncodeError("", schema.lacks(root.__class__))
    parts: list[bytes] = []
    # A frame: the message's path, its fields that are not yet written (last tag first), the field
    # that contains the message (its tag and length are written last), and the size so far.
    frames: list[tuple[Path, Iterator[tuple[FieldInfo, Any, Path]], FieldInfo | None, list[int]]]
    frames = [(Path(), _set_fields(root, Path()), None, [0])]
    while frames:
        path, fields, owner, size = frames[-1]
        for field, value, here in fields:
            if field not in schema:
                raise EncodeError(str(path), _newer(field, schema))
            try:
                if here.index is None:
                    field.check(value)
                else:
                    field.check_item(value, f"[{here.index}]")
                encoded = b"" if field.is_message else _scalar_bytes(field, value)
            except ValidationError as error:
                raise EncodeError(str(path), str(error)) from None
            if field.is_message:
                if len(frames) > max_depth:
                    raise EncodeError(
                        str(here), f"messages are nested more than {max_depth} levels deep"
                    )
                frames.append((here, _set_fields(value, here), field, [0]))
                break
            parts.append(encoded)
            size[0] += len(encoded)
        else:
            frames.pop()
            if owner is not None:
                prefix = tag_bytes(owner) + varint_bytes(size[0])
                parts.append(prefix)
                frames[-1][3][0] += size[0] + len(prefix)
    return parts


def _newer(field: FieldInfo, schema: Schema) -> str:
    what = f"{field.message}.{field.schema_name} is an extension for Luau {field.since}"
    if schema.since is None:
        return (
            f"{what}, which is not in the original schema: encode with "
            f"luau='{field.since}' or newer"
        )
    return f"{what}, which is newer than the requested version"


def _set_fields(message: Message, path: Path) -> Iterator[tuple[FieldInfo, Any, Path]]:
    """Yield (field, value, path) for each value that is set or required, in reverse order."""
    for field in reversed(list(message.ALL_FIELDS.values())):
        value = getattr(message, field.name, None)
        if field.rule == "repeated":
            if not isinstance(value, list):
                raise EncodeError(str(path), f"{field.message}.{field.name} is not a list")
            for index in range(len(value) - 1, -1, -1):
                yield field, value[index], Path(path, field.name, index)
        elif value is not None or field.rule == "required":
            yield field, value, Path(path, field.name)


def _scalar_bytes(field: FieldInfo, value: Any) -> bytes:
    if field.type is float:
        return tag_bytes(field) + double_bytes(value)
    if field.type is not str:
        return tag_bytes(field) + varint_bytes(value)
    try:
        text: bytes = value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise ValidationError(
            f"{field.message}.{field.name} contains a surrogate that does not represent a byte "
            f"(U+{ord(value[error.start]):04X} at index {error.start})"
        ) from None
    return tag_bytes(field) + varint_bytes(len(text)) + text
