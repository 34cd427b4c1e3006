"""Compiles functions from the schema, one for each message.

The reading functions support only the canonical form that every protobuf runtime writes: fields in
tag order, each number in as few bytes as possible. For any other input they raise `Unusual` or
another error that `wire` expects.

Source: the Protocol Buffers manual, "Encoding".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from scriptschema.base import INT32_MAX, FieldInfo, Int64, Message
from scriptschema.codec.varints import double, int32, int64, tag_bytes
from scriptschema.declaration import compile_source
from scriptschema.messages import Schema


class Unusual(Exception):  # noqa: N818  # not an error: it never leaves `codec` and `wire`
    """Raised by compiled functions for input that only `codec.careful` can handle.

    An example is a non-canonical encoding.
    """


def compile_each(
    prefix: str,
    parameters: str,
    body: Callable[[type[Message]], Iterable[str]],
    scope: dict[str, Any],
    schema: Schema,
) -> dict[type[Message], Any]:
    """Compile a function for each message of `schema`. Return the functions by message class.

    With the prefix `copy`, the function for `Expr` is called `copy_Expr`. `body` returns the lines
    of its body. They can use the names in `scope`, the message classes, and functions such as
    `make_Expr`, which return an empty message. The compiled functions are added to `scope`.
    """
    messages = schema.messages
    scope |= messages
    scope |= {f"make_{name}": cls._unchecked for name, cls in messages.items()}
    lines = []
    for name, cls in messages.items():
        lines += [f"def {prefix}_{name}({parameters}):", *indented(body(cls))]
    compile_source("\n".join(lines), scope, prefix)
    return {cls: scope[f"{prefix}_{name}"] for name, cls in messages.items()}


def is_choice(cls: type[Message]) -> bool:
    """Return whether the message consists only of a oneof of messages."""
    fields = cls.ALL_FIELDS.values()
    return bool(fields) and all(field.oneof and field.is_message for field in fields)


def indented(lines: Iterable[str]) -> list[str]:
    """Return the lines, each indented by one more level."""
    return [f"    {line}" for line in lines]


READ_SIZE: Final = ("n = b[p]", "p += 1", "if n > 127:", "    n, p = read_size(b, p)")
"""Lines of code that read a length into `n`."""

READ_CHOICE: Final = ("n = b[p]", "p += 1", "if n > 127:", "    n |= b[p] << 8", "    p += 1")
"""Lines of code that read the tag of an alternative into `n`, in the form of `choice_tag`."""


def choice_tag(field: FieldInfo) -> int:
    """Return the field's tag, of one or two bytes, as a little-endian number."""
    return int.from_bytes(tag_bytes(field), "little")


class Reader:
    """Generates the code that reads `b[p:e]` as a message that is not a choice.

    The code expects the fields in tag order. At the end, it raises `Unusual` unless `p` equals `e`.
    This check also catches reads past `e`.
    """

    def __init__(self, schema: Schema) -> None:
        self.fields = schema.fields

    def lines(self, cls: type[Message]) -> list[str]:
        """Return lines of code that read all fields of a message, up to its end."""
        lines: list[str] = []
        fields = self.fields[cls].values()
        alternatives = [field for field in fields if field.oneof]
        for field in fields:
            tag = tag_bytes(field)
            here = f"b[p] == {tag[0]}" if len(tag) == 1 else f"b[p : p + {len(tag)}] == {tag!r}"
            value = [f"p += {len(tag)}", *self.value(field)]
            if field.rule == "required":
                lines += [f"if not {here}:", "    raise Unusual", *value]
            elif field.rule == "repeated":
                loop = [f"while p < e and {here}:", *indented(value)]
                lines += self.around_items(field, loop)
            else:
                word = "elif" if field in alternatives[1:] else "if"
                lines += [f"{word} p < e and {here}:", *indented(value)]
                if not field.oneof or field is alternatives[-1]:
                    lines += ["else:", *indented(self.absent(field))]
        return [*lines, "if p != e:", "    raise Unusual"]

    def value(self, field: FieldInfo) -> list[str]:
        """Return code that reads the field's value at `p`, after the tag, and advances `p`."""
        raise NotImplementedError

    def around_items(self, field: FieldInfo, loop: list[str]) -> list[str]:
        """Return `loop`, which reads a field's items, with any lines needed before and after."""
        raise NotImplementedError

    def absent(self, field: FieldInfo) -> list[str]:
        """Return lines of code that record that an optional field or the whole oneof is not set."""
        raise NotImplementedError


def read_number(field: FieldInfo) -> list[str]:
    """Return lines of code that read the value of a number, a bool or an enum into `n`."""
    if field.type is float:
        return ["n = double(b, p)", "p += 8"]
    lines = ["n = b[p]", "p += 1"]
    if field.type is int:
        lines += ["if n > 127:", "    n, p = read_int32(b, p)"]
    elif field.type is Int64:
        lines += ["if n > 127:", "    n, p = read_int64(b, p)"]
    elif field.type is bool:
        lines += ["if n > 1:", "    raise Unusual"]
    return lines


def _read_size(b: bytes, p: int) -> tuple[int, int]:
    """Return (length, end position). The length's first byte, at `p - 1`, is greater than 127."""
    byte = b[p]
    n = b[p - 1] & 127 | (byte & 127) << 7
    shift = 7
    while byte > 127:
        p += 1
        shift += 7
        if shift > 28:
            raise Unusual
        byte = b[p]
        n |= (byte & 127) << shift
    if byte == 0 or n > INT32_MAX:
        raise Unusual
    return n, p + 1


def _read_int32(b: bytes, p: int) -> tuple[int, int]:
    if b[p] > 127 and b[p + 4 : p + 9] == _SIGN:
        if b[p + 1] & b[p + 2] < 128 or b[p + 3] < 248:
            raise Unusual
        n = b[p - 1] & 127 | (b[p] & 127) << 7 | (b[p + 1] & 127) << 14
        return int32(n | (b[p + 2] & 127) << 21 | (b[p + 3] & 127) << 28), p + 9
    return _read_size(b, p)


def _read_int64(b: bytes, p: int) -> tuple[int, int]:
    n = b[p - 1] & 127
    shift = 7
    while b[p] > 127:
        n |= (b[p] & 127) << shift
        p += 1
        shift += 7
    if b[p] == 0 or shift > 63 or (shift == 63 and b[p] > 1):
        raise Unusual
    return int64(n | b[p] << shift), p + 1


_SIGN: Final = b"\xff\xff\xff\xff\x01"
"""The last five of the ten bytes that encode a negative int32. They are always the same."""

HELPERS: Final = {
    "Unusual": Unusual,
    "double": double,
    "read_size": _read_size,
    "read_int32": _read_int32,
    "read_int64": _read_int64,
}
"""The functions and exceptions that the generated code uses, by name."""
