"""Functions compiled from the schema, one for each message: what all of them have in common.

Those that read know only the canonical form that every protobuf runtime writes (fields in tag
order, each number in as few bytes as possible). At anything else they give up with `Unusual`, or
with the error that the shortest code happens to raise there (see `wire`).

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
    """The fast functions leave this to the careful ones."""


def compile_each(
    prefix: str,
    parameters: str,
    body: Callable[[type[Message]], Iterable[str]],
    scope: dict[str, Any],
    schema: Schema,
) -> dict[type[Message], Any]:
    """Compile a function for each message of `schema`, such as `copy_Expr`; return them by class.

    `body` gives the lines of one. They can use what is in `scope`, into which the functions go,
    the messages by name, and `make_Expr` and the like, which make an empty one.
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
    """Whether the message is nothing but one of several messages."""
    fields = cls.ALL_FIELDS.values()
    return bool(fields) and all(field.oneof and field.is_message for field in fields)


def indented(lines: Iterable[str]) -> list[str]:
    """Return the lines, each one level further in."""
    return [f"    {line}" for line in lines]


READ_SIZE: Final = ("n = b[p]", "p += 1", "if n > 127:", "    n, p = read_size(b, p)")
"""Read a length into `n`."""

READ_CHOICE: Final = ("n = b[p]", "p += 1", "if n > 127:", "    n |= b[p] << 8", "    p += 1")
"""Read the tag of a choice into `n`, as `choice_tag` has it."""


def choice_tag(field: FieldInfo) -> int:
    """Return the tag, of one byte or two, as the number that these are in little-endian order."""
    return int.from_bytes(tag_bytes(field), "little")


class Reader:
    """Writes the lines that read a message from `b[p:e]`, all but those of choices.

    They take the fields in tag order only, in straight lines. They may read beyond `e`; then `p`
    ends up beyond `e` as well, never at it, and so the input is unusual.
    """

    def __init__(self, schema: Schema) -> None:
        self.fields = schema.fields

    def lines(self, cls: type[Message]) -> list[str]:
        """Read the fields of a message to its end."""
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
        """Read the field's value at `p`, after the tag, and put `p` behind it."""
        raise NotImplementedError

    def around_items(self, field: FieldInfo, loop: list[str]) -> list[str]:
        """Return the loop over a field's items with what stands before and behind it."""
        raise NotImplementedError

    def absent(self, field: FieldInfo) -> list[str]:
        """Record that an optional field is not set, or no field of the oneof."""
        raise NotImplementedError


def read_number(field: FieldInfo) -> list[str]:
    """Read the value of a number, a bool or an enum into `n`."""
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
    """Continue a length whose first byte, at `p - 1`, announces more."""
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
    """Continue an int32 whose first byte, at `p - 1`, announces more."""
    if b[p] > 127 and b[p + 4 : p + 9] == _SIGN:
        if b[p + 1] & b[p + 2] < 128 or b[p + 3] < 248:
            raise Unusual
        n = b[p - 1] & 127 | (b[p] & 127) << 7 | (b[p + 1] & 127) << 14
        return int32(n | (b[p + 2] & 127) << 21 | (b[p + 3] & 127) << 28), p + 9
    return _read_size(b, p)


def _read_int64(b: bytes, p: int) -> tuple[int, int]:
    """Continue an int64 whose first byte, at `p - 1`, announces more."""
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
"""How the ten bytes of a negative int32 end."""

HELPERS: Final = {
    "Unusual": Unusual,
    "double": double,
    "read_size": _read_size,
    "read_int32": _read_int32,
    "read_int64": _read_int64,
}
"""What the lines above call."""
