"""The scanner: what a tree holds, told from its bytes without making a message.

Compiled functions, one a message, read the canonical form as the decoders of `compiled` do, and
give up in the same way at anything else. Each thing they pass is put down as the number of a `Part`
in `parts()`: a message with the field that holds it, and with the alternative where it is nothing
but one of several messages; an alternative, an optional field, the end of a list, an enum's value.

The numbers in their order are the tree but for names and constants: its shape.

Source: the Protocol Buffers manual, "Encoding".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, Final

import attrs

from scriptschema.base import INT32_MAX, UNSET, FieldInfo, Message
from scriptschema.codec.compiled import Unusual
from scriptschema.codec.varints import tag_bytes
from scriptschema.declaration import compile_source
from scriptschema.messages import ENUMS, MESSAGES

_CONSTANT: Final = "val"
"""What the field of a constant is called: its value is no part of the shape."""


@attrs.frozen
class Part:
    """One thing that a tree may hold, and what it counts for, by the schema's names.

    `feature` is how people read it, None where it tells nothing about a tree but its shape.
    """

    feature: str | None = None
    messages: tuple[str, ...] = ()
    alternatives: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    values: tuple[str, ...] = ()


@attrs.frozen
class Scan:
    """What the scan of a tree found.

    `parts` are numbers of `parts()`, in the order of the bytes; `builtins` the values of
    `Name.builtin`, one for each of the parts that is one; `depth` the levels below the outermost
    message; `size` the bytes of the canonical encoding.
    """

    parts: list[int]
    builtins: list[int]
    depth: int
    size: int


def scan_canonical(cls: type[Message], data: bytes, max_depth: int) -> Scan:
    """Scan what `wire.encode` wrote, or the like.

    Raises Unusual, IndexError or KeyError for anything else, and where messages nest about
    `max_depth` deep.
    """
    scan, root = _compiled()[0][cls]
    found = [] if root is None else [root]
    builtins: list[int] = []
    depths = {max_depth}
    scan(data, 0, len(data), max_depth, found.append, builtins.append, depths.add)
    return Scan(found, builtins, max_depth - min(depths), len(data))


def is_choice(cls: type[Message]) -> bool:
    """Whether the message is nothing but one of several messages."""
    fields = cls.FIELDS.values()
    return bool(fields) and all(field.oneof and field.is_message for field in fields)


class _Parts:
    """The parts while the scanners are compiled: a number for each, in the order of asking."""

    def __init__(self) -> None:
        self.known: dict[Any, int] = {}
        self.parts: list[Part] = []

    def number(self, key: Any, part: Part) -> int:
        if key not in self.known:
            self.known[key] = len(self.parts)
            self.parts.append(part)
        return self.known[key]

    def message(
        self, owner: FieldInfo | None, cls: type[Message], choice: FieldInfo | None = None
    ) -> int:
        """A message in a field, or outermost; of a choice, with what it holds if anything."""
        messages = [cls.__name__]
        alternatives = []
        held = cls.__name__
        if choice is not None:
            messages.append(choice.type.__name__)
            alternatives.append(_label(choice))
            held = choice.type.__name__
        elif is_choice(cls):
            alternatives.append(f"{cls.__name__}.{UNSET}")
            held = alternatives[0]
        fields = []
        if owner is not None:
            if owner.oneof:
                alternatives.append(_label(owner))
            elif owner.rule == "optional":
                fields.append(_label(owner))
            held = f"{_label(owner)}: {held}"
        part = Part(held, tuple(messages), tuple(alternatives), tuple(fields))
        return self.number((owner, cls, choice), part)

    def other(self, field: FieldInfo | str, what: Any, part: Part | None = None) -> int:
        return self.number((field, what), part or Part())


def _label(field: FieldInfo) -> str:
    return f"{field.message}.{field.schema_name}"


class _Compiler:
    """Writes the scanners' source, and the tables that it looks alternatives up in."""

    def __init__(self) -> None:
        self.parts = _Parts()
        self.choices: dict[str, dict[int, tuple[int, type[Message]]]] = {}
        self.values: dict[str, dict[int, int]] = {}

    def source(self, cls: type[Message]) -> str:
        """The source of `scan_X(b, p, e, d, put, builtin, deep)`, which scans an X in `b[p:e]`.

        `d` counts down with the levels. `deep` is told it wherever a tree may end. It may read
        beyond `e`; then `p` ends up beyond `e` as well, never at it, and so the input is unusual.
        """
        body = []
        fields = sorted(cls.FIELDS.values(), key=lambda field: field.tag)
        if not any(field.is_message and field.rule == "required" for field in fields):
            body.append("deep(d)")
        levels = max((1 + is_choice(f.type) for f in fields if f.is_message), default=0)
        if levels:
            body += [f"if d < {levels}:", "    raise Unusual"]
        word = "if"
        for field in fields:
            [tag] = tag_bytes(field)[:1]
            value = self.value_lines(field)
            if field.rule == "repeated":
                whole = Part(_label(field), fields=(_label(field),))
                body += [
                    f"if p < e and b[p] == {tag}:",
                    f"    while p < e and b[p] == {tag}:",
                    "        p += 1",
                    *_indented(_indented(value)),
                    f"    put({self.parts.other(field, 'some', whole)})",
                    "else:",
                    f"    put({self.parts.other(field, 'none')})",
                ]
            elif field.rule == "required":
                body += [f"if b[p] != {tag}:", "    raise Unusual", "p += 1", *value]
            else:
                body += [f"{word} p < e and b[p] == {tag}:", "    p += 1", *_indented(value)]
                if field.oneof:
                    word = "elif"
                else:
                    body += ["else:", f"    put({self.parts.other(field, 'none')})"]
            if cls.ONEOF and field.name == [f.name for f in fields if f.oneof][-1]:
                label = f"{cls.__name__}.{UNSET}"
                unset = self.parts.other(cls.__name__, UNSET, Part(label, alternatives=(label,)))
                body += ["else:", f"    put({unset})"]
        body += ["if p != e:", "    raise Unusual"]
        return _function(cls, body)

    def choice_source(self, cls: type[Message]) -> str:
        """The same for a message that is nothing but one of several, which stands outermost."""
        body = ["deep(d)", "q = e", *self.choice_lines(None, cls, levels=1)]
        return _function(cls, [*body, "if p != e:", "    raise Unusual"])

    def choice_lines(self, owner: FieldInfo | None, cls: type[Message], levels: int) -> list[str]:
        """Scan a choice in `b[p:q]`: it is put down as one with what it holds."""
        table = f"choices_{_variable(owner, cls)}"
        # A tag of two bytes is looked up as the number that they are in little-endian order.
        self.choices[table] = {
            int.from_bytes(tag_bytes(field), "little"): (
                self.parts.message(owner, cls, field),
                field.type,
            )
            for field in cls.FIELDS.values()
        }
        return [
            "if p == q:",
            f"    put({self.parts.message(owner, cls)})",
            f"    deep(d - {levels - 1})",
            "else:",
            "    n = b[p]",
            "    p += 1",
            "    if n > 127:",
            "        n |= b[p] << 8",
            "        p += 1",
            f"    part, scan = {table}[n]",
            *_indented(_size_lines()),
            "    if p + n != q:",
            "        raise Unusual",
            "    put(part)",
            f"    scan(b, p, q, d - {levels}, put, builtin, deep)",
            "    p = q",
        ]

    def value_lines(self, field: FieldInfo) -> list[str]:
        """Scan the field's value at `p`, after the tag, and put `p` behind it."""
        if field.is_message:
            lines = [*_size_lines(), "q = p + n"]
            if is_choice(field.type):
                return [*lines, *self.choice_lines(field, field.type, levels=2)]
            return [
                *lines,
                f"put({self.parts.message(field, field.type)})",
                f"scan_{field.type.__name__}(b, p, q, d - 1, put, builtin, deep)",
                "p = q",
            ]
        if field.type is str:
            return [*_size_lines(), "p += n"]
        lines = ["n = b[p]", "p += 1"]
        if field.type is int:
            lines += ["if n > 127:", "    n, p = read_int32(b, p)"]
            if field.oneof:
                part = Part(_label(field), alternatives=(_label(field),))
                lines.append(f"put({self.parts.other(field, 'set', part)})")
            return [*lines, "builtin(n)"] if field.name == "builtin" else lines
        if field.type is bool:
            lines += ["if n > 1:", "    raise Unusual"]
            if field.name != _CONSTANT:
                true = self.parts.other(field, "true", Part(_label(field)))
                lines += ["if n:", f"    put({true})"]
            return lines
        table = f"values_{_variable(field, field.type)}"
        self.values[table] = {}
        for member in ENUMS[field.type_name]:
            label = f"{field.type_name}.{member.name}"
            number = self.parts.other(field, member, Part(label, values=(label,)))
            self.values[table][member.value] = number
        return [*lines, f"put({table}[n])"]


def _variable(owner: FieldInfo | None, cls: type) -> str:
    return f"{owner.message}_{owner.name}" if owner else cls.__name__


def _function(cls: type[Message], body: list[str]) -> str:
    head = f"def scan_{cls.__name__}(b, p, e, d, put, builtin, deep):\n"
    return head + "".join(f"{line}\n" for line in _indented(body))


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _size_lines() -> list[str]:
    """Read a length into `n`."""
    return ["n = b[p]", "p += 1", "if n > 127:", "    n, p = read_size(b, p)"]


def _read_size(b: bytes, p: int) -> tuple[int, int]:
    """Go on with a length whose first byte, at `p - 1`, says that more follow; in fewest bytes."""
    n, after = _read_varint(b, p)
    if n > INT32_MAX:
        raise Unusual
    return n, after


def _read_int32(b: bytes, p: int) -> tuple[int, int]:
    """Go on with an int32 whose first byte, at `p - 1`, says that more follow; in fewest bytes."""
    n, after = _read_varint(b, p)
    if n <= INT32_MAX:
        return n, after
    n -= 1 << 64
    if not ~INT32_MAX <= n < 0:
        raise Unusual
    return n, after


def _read_varint(b: bytes, p: int) -> tuple[int, int]:
    n = b[p - 1] & 127
    shift = 7
    while True:
        byte = b[p]
        p += 1
        n |= (byte & 127) << shift
        if byte < 128:
            break
        shift += 7
        if shift > 63:
            raise Unusual
    if byte == 0 or n >> 64:
        raise Unusual
    return n, p


Scanner = Callable[..., None]


@cache
def _compiled() -> tuple[dict[type[Message], tuple[Scanner, int | None]], tuple[Part, ...]]:
    """Compile the scanners of all messages; at their first use, since it takes a while.

    Beside each is the part that is to be put down first, where the scanner does not.
    """
    compiler = _Compiler()
    source = "".join(
        (compiler.choice_source if is_choice(cls) else compiler.source)(cls)
        for cls in MESSAGES.values()
    )
    scope: dict[str, Any] = {
        "Unusual": Unusual,
        "read_size": _read_size,
        "read_int32": _read_int32,
    }
    compile_source(source, scope, "scanners")
    scope.update(compiler.values)
    for name, table in compiler.choices.items():
        scope[name] = {
            k: (part, scope[f"scan_{held.__name__}"]) for k, (part, held) in table.items()
        }
    scanners = {
        cls: (
            scope[f"scan_{name}"],
            None if is_choice(cls) else compiler.parts.message(None, cls),
        )
        for name, cls in MESSAGES.items()
    }
    return scanners, tuple(compiler.parts.parts)


def parts() -> tuple[Part, ...]:
    """What the numbers of `Scan.parts` stand for."""
    return _compiled()[1]
