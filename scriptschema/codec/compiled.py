"""The fast reader and writer: functions compiled from the schema, one pair for each message.

They support only the canonical form that every protobuf runtime writes. For any other input they
raise `Unusual` or another error that `wire` expects, and `wire` starts over with `codec.careful`.

In this module, a *choice* is a message that consists only of a oneof of messages (`is_choice`).

Source: the Protocol Buffers manual, "Encoding".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, Final, TypeAlias

from scriptschema.base import INTEGERS, FieldInfo, Int64, Message
from scriptschema.codec.compiling import (
    HELPERS,
    READ_CHOICE,
    READ_SIZE,
    Reader,
    choice_tag,
    compile_each,
    indented,
    is_choice,
    read_number,
)
from scriptschema.codec.varints import double_bytes, tag_bytes, varint_bytes
from scriptschema.messages import Schema


class _Decoder(Reader):
    """Generates `decode_X(b, p, e, depth)`, which decodes `b[p:e]` as a message X."""

    def body(self, cls: type[Message]) -> list[str]:
        name = cls.__name__
        fields = self.fields[cls]
        body = [f"m = make_{name}()"]
        body += [
            f"m.{slot} = {[] if repeated else None}"
            for slot, repeated in cls._newer_slots
            if slot not in fields
        ]
        if any(field.is_message for field in fields.values()):
            body += ["if depth <= 0:", "    raise Unusual"]
        if is_choice(cls):
            body += [
                "if p == e:",
                "    m.which = m.alternative = None",
                f"    m.__class__ = {name}",
                "    return m",
                *READ_CHOICE,
                f"m.which, read = choices_{name}[n]",
                *READ_SIZE,
                "if p + n != e:",
                "    raise Unusual",
                "m.alternative = read(b, p, e, depth - 1)",
            ]
        else:
            body += self.lines(cls)
        return [*body, f"m.__class__ = {name}", "return m"]

    def value(self, field: FieldInfo) -> list[str]:
        target = "m.alternative" if field.oneof else f"m.{field.name}"
        if field.rule == "repeated":
            target = "item"
        if field.is_message:
            read = f"{target} = decode_{field.type.__name__}(b, p, p + n, depth - 1)"
            lines = [*READ_SIZE, read, "p += n"]
        elif field.type is str:
            read = f"{target} = b[p : p + n].decode('utf-8', 'surrogateescape')"
            lines = [*READ_SIZE, read, "p += n"]
        else:
            value = _VALUES.get(field.type, f"{_variable(field.type)}[n]")
            lines = [*read_number(field), f"{target} = {value}"]
        if field.rule == "repeated":
            lines.append("items.append(item)")
        elif field.oneof:
            lines.append(f"m.which = {field.name!r}")
        return lines

    def around_items(self, field: FieldInfo, loop: list[str]) -> list[str]:
        return [f"items = m.{field.name} = []", *loop]

    def absent(self, field: FieldInfo) -> list[str]:
        return ["m.which = m.alternative = None" if field.oneof else f"m.{field.name} = None"]


_VALUES: Final[dict[type, str]] = {int: "n", Int64: "n", float: "n", bool: "n == 1"}


def _variable(enum: type) -> str:
    return enum.__qualname__.replace(".", "_")


def _encoder_lines(cls: type[Message], schema: Schema) -> list[str]:
    """Return the body of `encode_X(m, put, depth, prefixes)`, which returns the encoding's size.

    The generated function passes the pieces of the encoding to `put`, the last piece first, so that
    the size of the content is known when the prefix is written.
    """
    fields = schema.fields[cls]
    body = []
    for slot, repeated in cls._newer_slots:
        if slot not in fields:
            is_set = "" if repeated else " is not None"
            body += [f"if m.{slot}{is_set}:", "    raise Unusual"]
    levels = [1 + is_choice(field.type) for field in fields.values() if field.is_message]
    if levels:
        body += [f"if depth < {max(levels)}:", "    raise Unusual"]
    if is_choice(cls):
        body += [
            f"write, inner = choices_{cls.__name__}[m.which]",
            "size = write(m.alternative, put, depth - 1, inner)",
        ]
    else:
        body.append("size = 0")
        keyword = "if"
        for field in reversed([*fields.values()]):
            lines = _write_value_lines(field, schema)
            if field.rule == "repeated":
                body += [
                    f"items = m.{field.name}",
                    "if items:",  # most lists are empty
                    "    for v in reversed(items):",
                    f"        if v.__class__ is not {field.type.__name__}:",
                    "            raise Unusual",
                    *indented(indented(lines)),
                ]
            elif field.oneof:
                body += [f"{keyword} m.which == {field.name!r}:", "    v = m.alternative"]
                body += indented(lines)
                keyword = "elif"
            elif field.rule == "optional":
                body += [f"v = m.{field.name}", "if v is not None:", *indented(lines)]
            else:
                body += [f"v = m.{field.name}", *lines]
    return [
        *body,
        f"if size < {_SHORT}:",
        "    put(prefixes[size])",
        f"    return size + prefixes[{_LENGTH}]",
        "return put_prefix(prefixes, size, put)",
    ]


def _write_value_lines(field: FieldInfo, schema: Schema) -> list[str]:
    """Return lines of code that write `v` with its tag and length, and increase `size`."""
    variable = f"{field.message}_{field.name}"
    length = len(tag_bytes(field)) + 1
    if field.is_message and is_choice(field.type):
        return [
            f"write, inner = choices_{variable}[v.which]",
            "size += write(v.alternative, put, depth - 2, inner)",
        ]
    if field.is_message:
        call = f"size += encode_{field.type.__name__}(v, put, depth - 1, {variable})"
        number = _only_number(field.type, schema)
        if number is None:
            return [call]
        return [
            f"n = v.{number.name}",
            "if 0 <= n < 128:",
            f"    put({variable}_whole[n])",
            f"    size += {length + 2}",
            "else:",
            f"    {call}",
        ]
    if field.type is str:
        return [
            "v = v.encode('utf-8', 'surrogateescape')",
            "n = len(v)",
            "put(v)",
            f"if n < {_SHORT}:",
            f"    put({variable}[n])",
            f"    size += n + {length}",
            "else:",
            f"    size += put_prefix({variable}, n, put)",
        ]
    if field.type is float:
        return ["put(double_bytes(v))", f"put({tag_bytes(field)!r})", f"size += {length + 7}"]
    if field.type in INTEGERS:
        return [
            "if 0 <= v < 128:",
            f"    put({variable}[v])",
            f"    size += {length}",
            "else:",
            "    v = varint_bytes(v)",
            "    put(v)",
            f"    put({tag_bytes(field)!r})",
            f"    size += {length - 1} + len(v)",
        ]
    return [f"put({variable}[v])", f"size += {length}"]


def _only_number(cls: type[Message], schema: Schema) -> FieldInfo | None:
    """Return the only field of a message if it is a required int32 with a one-byte tag."""
    fields = [*schema.fields[cls].values()]
    if len(fields) != 1 or cls._newer_slots:
        return None
    [field] = fields
    is_number = field.type is int and field.rule == "required"
    return field if is_number and len(tag_bytes(field)) == 1 else None


_BYTES: Final = tuple(bytes((value,)) for value in range(128))
_SHORT: Final = 124
"""If a message has fewer bytes than this, its length takes one byte, and so does the length of a
choice around it."""
_LENGTH: Final = _SHORT
_TAGS: Final = _SHORT + 1

Prefixes: TypeAlias = tuple[Any, ...]
"""The bytes to write before the content of a message: its tag and length. If the message is inside
a choice, the tag and length of the choice come first. The tuple contains the prefix for each
content size below `_SHORT`, then the length of such a prefix (at index `_LENGTH`), then a tuple of
the tags, the innermost first (at index `_TAGS`)."""

NO_PREFIX: Final[Prefixes] = (*[b""] * _SHORT, 0, ())
"""The prefixes of the outermost message, which has no tag and no length."""


def _values(field: FieldInfo) -> tuple[bytes, ...]:
    return tuple(map(tag_bytes(field).__add__, _BYTES))


@cache
def _prefixes(tag: bytes, choice: bytes = b"") -> Prefixes:
    """Return the prefixes of a field. `choice` is the tag of the choice around it, if any."""
    inner = [tag + size for size in _BYTES[:_SHORT]]
    if not choice:
        return (*inner, len(tag) + 1, (tag,))
    length = len(tag) + 1
    around = [choice + _BYTES[length + size] for size in range(_SHORT)]
    return (*map(bytes.__add__, around, inner), len(choice) + 1 + length, (tag, choice))


def _put_prefix(prefixes: Prefixes, size: int, put: Callable[[bytes], None]) -> int:
    """Write the prefix of a message of any size. Return the size of the prefix and the message."""
    for tag in prefixes[_TAGS]:
        if size < 128:
            prefix = tag + _BYTES[size]
        elif size < 16384:
            prefix = tag + bytes((size & 127 | 128, size >> 7))
        else:
            prefix = tag + varint_bytes(size)
        put(prefix)
        size += len(prefix)
    return size


def _put_empty_choice(_: None, put: Callable[[bytes], None], __: int, prefixes: Prefixes) -> int:
    put(prefixes[0])
    return prefixes[_LENGTH]  # type: ignore[no-any-return]


class _Choices(dict[str | None, tuple[Any, Prefixes]]):
    """Maps alternatives to their encoders and prefixes, which are created on first use."""

    def __init__(
        self, fields: Mapping[str, FieldInfo], functions: Mapping[Any, Any], choice: bytes = b""
    ) -> None:
        self.fields = fields
        self.functions = functions
        self.choice = choice
        super().__init__({None: (_put_empty_choice, _prefixes(choice) if choice else NO_PREFIX)})

    def __missing__(self, name: str) -> tuple[Any, Prefixes]:
        field = self.fields[name]
        item = self.functions[field.type], _prefixes(tag_bytes(field), self.choice)
        self[name] = item
        return item


@cache
def decoders(schema: Schema) -> dict[type[Message], Callable[[bytes, int, int, int], Any]]:
    """Return the decoder of each message.

    The first call for a schema compiles its decoders, which takes a while.
    """
    scope: dict[str, Any] = {
        **HELPERS,
        **{
            _variable(enum): {member.value: member for member in enum}
            for enum in schema.enums.values()
        },
    }
    functions = compile_each("decode", "b, p, e, depth", _Decoder(schema).body, scope, schema)
    for cls, fields in schema.fields.items():
        scope[f"choices_{cls.__name__}"] = is_choice(cls) and {
            choice_tag(field): (field.name, functions[field.type]) for field in fields.values()
        }
    return functions


@cache
def encoders(
    schema: Schema,
) -> dict[type[Message], Callable[[Message, Callable[[bytes], None], int, Prefixes], int]]:
    """Return the encoder of each message.

    The first call for a schema compiles its encoders, which takes a while.
    """
    scope: dict[str, Any] = {
        **HELPERS,
        "double_bytes": double_bytes,
        "put_prefix": _put_prefix,
        "varint_bytes": varint_bytes,
    }
    for cls, fields in schema.fields.items():
        for field in fields.values():
            variable = f"{cls.__name__}_{field.name}"
            if field.is_message or field.type is str:
                scope[variable] = _prefixes(tag_bytes(field))
            else:
                scope[variable] = _values(field)
            number = _only_number(field.type, schema) if field.is_message else None
            if number is not None:
                start = tag_bytes(field) + _BYTES[2] + tag_bytes(number)
                scope[f"{variable}_whole"] = (*map(start.__add__, _BYTES),)
    lines = partial(_encoder_lines, schema=schema)
    functions = compile_each("encode", "m, put, depth, prefixes", lines, scope, schema)
    for cls, fields in schema.fields.items():
        if is_choice(cls):
            scope[f"choices_{cls.__name__}"] = _Choices(fields, functions)
        for field in fields.values():
            if field.is_message and is_choice(field.type):
                variable = f"choices_{cls.__name__}_{field.name}"
                scope[variable] = _Choices(schema.fields[field.type], functions, tag_bytes(field))
    return functions
