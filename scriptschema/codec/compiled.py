"""The fast reader and writer: functions compiled from the schema, one pair a message.

They support only the canonical form that every protobuf runtime writes (fields in tag order, each
in its canonical encoding). For anything else they raise `Unusual`, or the error that the shortest
code happens to raise there (see `wire`), and the careful functions start over.

Source: the Protocol Buffers manual, "Encoding".
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, Final

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
    """Generates the source of `decode_X(b, p, e, depth)`, which returns an X."""

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
    """Return the body of `encode_X(m, put, depth)`, which puts the parts of X, last part first.

    The function returns their total size, for the caller, which puts the tag and the length before
    them; so no part is copied until all are joined.
    """
    name = cls.__name__
    fields = schema.fields[cls]
    body = []
    for slot, repeated in cls._newer_slots:
        if slot not in fields:
            is_set = "" if repeated else " is not None"
            body += [f"if m.{slot}{is_set}:", "    raise Unusual"]
    if any(field.is_message for field in fields.values()):
        body += ["if depth <= 0:", "    raise Unusual"]
    if is_choice(cls):
        body += [
            "v = m.alternative",
            "if v is None:",
            "    return 0",
            f"write, prefixes, k = choices_{name}[m.which]",
            "n = write(v, put, depth - 1)",
            "if n < 128:",
            "    put(prefixes[n])",
            "    return n + k",
            "v = put_prefix(prefixes, n, put)",
            "return n + v",
        ]
    else:
        body.append("size = 0")
        word = "if"
        for field in reversed([*fields.values()]):
            if field.rule == "repeated":
                body.append(f"for v in reversed(m.{field.name}):")
                body += [
                    f"    if v.__class__ is not {field.type.__name__}:",
                    "        raise Unusual",
                ]
                body += indented(_write_value_lines(field))
            elif field.oneof:
                body += [f"{word} m.which == {field.name!r}:", "    v = m.alternative"]
                body += indented(_write_value_lines(field))
                word = "elif"
            elif field.rule == "optional":
                body += [f"v = m.{field.name}", "if v is not None:"]
                body += indented(_write_value_lines(field))
            else:
                body += [f"v = m.{field.name}", *_write_value_lines(field)]
        body.append("return size")
    return body


def _write_value_lines(field: FieldInfo) -> list[str]:
    """Return lines that put the field's value `v` with its tag and length, and add to `size`."""
    variable = f"{field.message}_{field.name}"
    length = len(tag_bytes(field)) + 1
    if field.is_message or field.type is str:
        write = f"n = encode_{field.type.__name__}(v, put, depth - 1)"
        if field.type is str:
            write = "v = v.encode('utf-8', 'surrogateescape'); n = len(v); put(v)"
        return [
            write,
            "if n < 128:",
            f"    put({variable}[n])",
            f"    size += n + {length}",
            "else:",
            f"    size += n + put_prefix({variable}, n, put)",
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


def _put_prefix(prefixes: tuple[bytes, ...], n: int, put: Callable[[bytes], None]) -> int:
    """Write the tag in `prefixes` and the length `n`; return the number of bytes written."""
    if n < 16384:
        prefix = prefixes[0][:-1] + bytes((n & 127 | 128, n >> 7))
    else:
        prefix = prefixes[0][:-1] + varint_bytes(n)
    put(prefix)
    return len(prefix)


@cache
def decoders(schema: Schema) -> dict[type[Message], Callable[[bytes, int, int, int], Any]]:
    """Compile the decoders of all messages; on first use, since it takes a while."""
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
) -> dict[type[Message], Callable[[Message, Callable[[bytes], None], int], int]]:
    """Compile the encoders of all messages; on first use, since it takes a while."""
    scope: dict[str, Any] = {
        **HELPERS,
        "double_bytes": double_bytes,
        "put_prefix": _put_prefix,
        "varint_bytes": varint_bytes,
    }
    for cls, fields in schema.fields.items():
        for field in fields.values():
            # The prefix of a value: the tag, then a length or value below 128.
            scope[f"{cls.__name__}_{field.name}"] = tuple(
                tag_bytes(field) + bytes([value]) for value in range(128)
            )
    lines = partial(_encoder_lines, schema=schema)
    functions = compile_each("encode", "m, put, depth", lines, scope, schema)
    for cls, fields in schema.fields.items():
        scope[f"choices_{cls.__name__}"] = is_choice(cls) and {
            field.name: (
                functions[field.type],
                scope[f"{cls.__name__}_{field.name}"],
                len(tag_bytes(field)) + 1,
            )
            for field in fields.values()
        }
    return functions
