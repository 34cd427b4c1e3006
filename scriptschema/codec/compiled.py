"""The fast reader and writer: functions compiled from the schema, one pair a message.

They know only the canonical form that every protobuf runtime writes (fields in tag order, each as
it should be), and give up at anything else with `Unusual`, or with the error that the shortest code
happens to raise there (see `wire`): the careful ones then start over.

Source: the Protocol Buffers manual, "Encoding".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from scriptschema.base import INT32_MAX, FieldInfo, Message
from scriptschema.codec.varints import int32, tag_bytes, varint_bytes
from scriptschema.declaration import compile_source
from scriptschema.messages import ENUMS, MESSAGES


class Unusual(Exception):  # noqa: N818  # not an error: it never leaves the codec
    """The fast functions leave this to the careful ones."""


def _decoder_source(cls: type[Message]) -> str:
    """The source of `decode_X(b, p, e, depth)`, which reads an X from the bytes `b[p:e]`.

    It takes the fields in tag order only, so that a message is read in straight lines. It may read
    beyond `e`; then `p` ends up beyond `e` as well, never at it, and so the input is unusual.
    """
    name = cls.__name__
    body = [f"m = make_{name}()"]
    if any(field.is_message for field in cls.FIELDS.values()):
        body += ["if depth <= 0:", "    raise Unusual"]
    if _is_choice(cls):
        body += [
            "if p == e:",
            "    m.which = m.alternative = None",
            f"    m.__class__ = {name}",
            "    return m",
            "n = b[p]",
            "p += 1",
            "if n > 127:",
            "    n |= b[p] << 8",
            "    p += 1",
            f"m.which, read = choices_{name}[n]",
            *_read_size_lines(),
            "if p + n != e:",
            "    raise Unusual",
            "m.alternative = read(b, p, e, depth - 1)",
        ]
    else:
        if cls.ONEOF:
            body.append("m.which = m.alternative = None")
        word = "if"
        for field in _fields_by_tag_order(cls):
            [tag] = tag_bytes(field)
            if field.rule == "repeated":
                body += ["v = []", f"while p < e and b[p] == {tag}:", "    p += 1"]
                body += _indented([*_read_value_lines(field, "w"), "v.append(w)"])
                body.append(f"m.{field.name} = v")
            elif field.oneof:
                body += [f"{word} p < e and b[p] == {tag}:", "    p += 1"]
                body += _indented(_read_value_lines(field, "m.alternative"))
                body.append(f"    m.which = {field.name!r}")
                word = "elif"
            elif field.rule == "optional":
                body += [f"if p < e and b[p] == {tag}:", "    p += 1"]
                body += _indented(_read_value_lines(field, f"m.{field.name}"))
                body += ["else:", f"    m.{field.name} = None"]
            else:
                body += [f"if b[p] != {tag}:", "    raise Unusual", "p += 1"]
                body += _read_value_lines(field, f"m.{field.name}")
        body += ["if p != e:", "    raise Unusual"]
    body += [f"m.__class__ = {name}", "return m"]
    return f"def decode_{name}(b, p, e, depth):\n" + "".join(_indented(body, end="\n"))


def _is_choice(cls: type[Message]) -> bool:
    """Whether the message is nothing but one of several messages."""
    fields = cls.FIELDS.values()
    return bool(fields) and all(field.oneof and field.is_message for field in fields)


def _fields_by_tag_order(cls: type[Message]) -> list[FieldInfo]:
    return sorted(cls.FIELDS.values(), key=lambda field: field.tag)


def _indented(lines: Iterable[str], end: str = "") -> list[str]:
    return [f"    {line}{end}" for line in lines]


def _read_size_lines() -> list[str]:
    """Read a length into `n`."""
    return ["n = b[p]", "p += 1", "if n > 127:", "    n, p = read_size(b, p)"]


def _read_value_lines(field: FieldInfo, target: str) -> list[str]:
    """Read the field's value at `p`, after the tag, into `target`, and put `p` behind it."""
    if field.is_message:
        read = f"{target} = decode_{field.type.__name__}(b, p, p + n, depth - 1)"
        return [*_read_size_lines(), read, "p += n"]
    if field.type is str:
        read = f"{target} = b[p : p + n].decode('utf-8', 'surrogateescape')"
        return [*_read_size_lines(), read, "p += n"]
    lines = ["n = b[p]", "p += 1"]
    if field.type is int:
        return [*lines, "if n > 127:", "    n, p = read_int32(b, p)", f"{target} = n"]
    if field.type is bool:
        return [*lines, "if n > 1:", "    raise Unusual", f"{target} = n == 1"]
    return [*lines, f"{target} = {_enum_variable(field.type)}[n]"]


def _enum_variable(enum: type) -> str:
    return enum.__qualname__.replace(".", "_")


def _read_size(b: bytes, p: int) -> tuple[int, int]:
    """Go on with a length whose first byte, at `p - 1`, says that more follow."""
    n = b[p - 1] & 127 | (b[p] & 127) << 7
    shift = 7
    while b[p] > 127:
        p += 1
        shift += 7
        if shift > 28:
            raise Unusual
        n |= (b[p] & 127) << shift
    if n > INT32_MAX:
        raise Unusual
    return n, p + 1


def _read_int32(b: bytes, p: int) -> tuple[int, int]:
    """Go on with an int32 whose first byte, at `p - 1`, says that more follow."""
    n = b[p - 1] & 127 | (b[p] & 127) << 7
    if b[p] < 128:
        return n, p + 1
    if b[p + 4 : p + 9] == _SIGN and b[p + 1] & b[p + 2] & b[p + 3] > 127:
        n |= (b[p + 1] & 127) << 14 | (b[p + 2] & 127) << 21 | (b[p + 3] & 127) << 28
        return int32(n), p + 9
    shift = 7
    while b[p] > 127:
        p += 1
        shift += 7
        if shift > 63:
            raise Unusual
        n |= (b[p] & 127) << shift
    return int32(n), p + 1


_SIGN = b"\xff\xff\xff\xff\x01"
"""How the ten bytes of a negative int32 end."""


def _encoder_source(cls: type[Message]) -> str:
    """The source of `encode_X(m, put, depth)`, which puts the parts of X, last one first.

    It returns their size, so that whoever puts the tag and the length before them knows it, and no
    part is ever copied until all are joined.
    """
    name = cls.__name__
    body = []
    if any(field.is_message for field in cls.FIELDS.values()):
        body += ["if depth <= 0:", "    raise Unusual"]
    if _is_choice(cls):
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
        for field in reversed(_fields_by_tag_order(cls)):
            if field.rule == "repeated":
                body.append(f"for v in reversed(m.{field.name}):")
                body += [
                    f"    if v.__class__ is not {field.type.__name__}:",
                    "        raise Unusual",
                ]
                body += _indented(_write_value_lines(field))
            elif field.oneof:
                body += [f"{word} m.which == {field.name!r}:", "    v = m.alternative"]
                body += _indented(_write_value_lines(field))
                word = "elif"
            elif field.rule == "optional":
                body += [f"v = m.{field.name}", "if v is not None:"]
                body += _indented(_write_value_lines(field))
            else:
                body += [f"v = m.{field.name}", *_write_value_lines(field)]
        body.append("return size")
    return f"def encode_{name}(m, put, depth):\n" + "".join(_indented(body, end="\n"))


def _write_value_lines(field: FieldInfo) -> list[str]:
    """Put the value `v` of the field with what stands before it, and add to `size`."""
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
    if field.type is int:
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
    """Put the tag that `prefixes` have and the length `n`; return how many bytes these are."""
    if n < 16384:
        prefix = prefixes[0][:-1] + bytes((n & 127 | 128, n >> 7))
    else:
        prefix = prefixes[0][:-1] + varint_bytes(n)
    put(prefix)
    return len(prefix)


@cache
def decoders() -> dict[type, Callable[[bytes, int, int, int], Any]]:
    """Compile the decoders of all messages; at their first use, since it takes a while."""
    scope: dict[str, Any] = {
        "Unusual": Unusual,
        "read_size": _read_size,
        "read_int32": _read_int32,
        **MESSAGES,
        **{f"make_{name}": cls._unchecked for name, cls in MESSAGES.items()},
        **{_enum_variable(enum): dict(enumerate(enum)) for enum in ENUMS.values()},
    }
    compile_source("".join(map(_decoder_source, MESSAGES.values())), scope, "decoders")
    functions = {cls: scope[f"decode_{name}"] for name, cls in MESSAGES.items()}
    for name, cls in MESSAGES.items():
        # A tag of two bytes is looked up as the number that they are in little-endian order.
        scope[f"choices_{name}"] = _is_choice(cls) and {
            int.from_bytes(tag_bytes(field), "little"): (field.name, functions[field.type])
            for field in cls.FIELDS.values()
        }
    return functions


@cache
def encoders() -> dict[type, Callable[[Message, Callable[[bytes], None], int], int]]:
    """Compile the encoders of all messages; at their first use, since it takes a while."""
    scope: dict[str, Any] = {
        "Unusual": Unusual,
        "put_prefix": _put_prefix,
        "varint_bytes": varint_bytes,
        **MESSAGES,
    }
    for name, cls in MESSAGES.items():
        for field in cls.FIELDS.values():
            # What stands before a value below 128: the tag, and the length or the value itself.
            scope[f"{name}_{field.name}"] = tuple(
                tag_bytes(field) + bytes([value]) for value in range(128)
            )
    compile_source("".join(map(_encoder_source, MESSAGES.values())), scope, "encoders")
    functions = {cls: scope[f"encode_{name}"] for name, cls in MESSAGES.items()}
    for name, cls in MESSAGES.items():
        scope[f"choices_{name}"] = _is_choice(cls) and {
            field.name: (
                functions[field.type],
                scope[f"{name}_{field.name}"],
                len(tag_bytes(field)) + 1,
            )
            for field in cls.FIELDS.values()
        }
    return functions
