"""Lists the contents of an encoded tree without creating messages, or of a tree without encoding.

Each message, alternative, optional field, end of a list and enum value is recorded as the index of
a `Part` in `parts()`. The sequence of these indexes is the shape of the tree: everything but names
and constants. A message that consists only of a oneof of messages forms one part together with its
alternative.

Compiled functions, one for each message, read the canonical form like the decoders of `compiled`,
and raise the same errors for any other input. Others visit the messages of a tree.

Source: the Protocol Buffers manual, "Encoding".
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from functools import cache
from typing import Any, Final

import attrs

from scriptschema.base import INTEGERS, UNSET, FieldInfo, Message
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
from scriptschema.messages import SEED, Schema
from scriptschema.versions import Version

_CONSTANT: Final = "val"
"""The name of the field that holds the value of a constant. This value is not part of the shape."""


@attrs.frozen
class Part:
    """An element that a tree may contain.

    `feature` is the name shown to users, or None if the element only describes the shape of a tree.
    The other attributes are names in the schema. Corpus statistics count each occurrence of the
    element once under each of these names.
    """

    feature: str | None = None
    messages: tuple[str, ...] = ()
    alternatives: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    values: tuple[str, ...] = ()


@attrs.frozen
class Listing:
    """The contents of a tree.

    `parts` are indexes into `parts()`, and `builtins` the values of `Name.builtin`, both in the
    order of the bytes. `luau` is the version of the schema.
    """

    parts: list[int]
    builtins: list[int]
    luau: Version | None


@attrs.frozen
class Scan(Listing):
    """The result of scanning an encoded tree.

    `depth` is the number of levels below the outermost message. `size` is the size of the canonical
    encoding in bytes.
    """

    depth: int
    size: int


def scan_canonical(cls: type[Message], data: bytes, max_depth: int, schema: Schema = SEED) -> Scan:
    """Return the scan of `data`, a canonical encoding.

    Raises Unusual, IndexError or KeyError if `data` is not canonical, or if the tree has more than
    `max_depth` levels. A tree with `max_depth` levels, or one less, may be rejected as well.
    """
    scan, _, root = _compiled(schema)[0][cls]
    part_numbers = [] if root is None else [root]
    builtins: list[int] = []
    depths = {max_depth}
    scan(data, 0, len(data), max_depth, part_numbers.append, builtins.append, depths.add)
    return Scan(part_numbers, builtins, schema.since, max_depth - min(depths), len(data))


def listed(tree: Message, schema: Schema = SEED) -> Listing:
    """Return the contents of a tree. They are those of the scan of its encoding."""
    _, visit, root = _compiled(schema)[0][tree.__class__]
    part_numbers = [] if root is None else [root]
    builtins: list[int] = []
    visit(tree, part_numbers.append, builtins.append)
    return Listing(part_numbers, builtins, schema.since)


class _Parts:
    """Collects the parts while the scanners are compiled. A part's number is its index."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}
        self.parts: list[Part] = []

    def number(self, key: Any, part: Part) -> int:
        if key not in self.numbers:
            self.numbers[key] = len(self.parts)
            self.parts.append(part)
        return self.numbers[key]

    def message(
        self, owner: FieldInfo | None, cls: type[Message], choice: FieldInfo | None = None
    ) -> int:
        """Return the number of the part for a message in the field `owner`, or for the root."""
        messages = [cls.__name__]
        alternatives = []
        content = cls.__name__
        if choice is not None:
            if not is_choice(choice.type):  # a nested choice is recorded where it is scanned
                messages.append(choice.type.__name__)
            alternatives.append(_label(choice))
            content = choice.type.__name__
        elif is_choice(cls):
            alternatives.append(f"{cls.__name__}.{UNSET}")
            content = alternatives[0]
        fields = []
        if owner is not None:
            if owner.oneof:
                alternatives.append(_label(owner))
            elif owner.rule == "optional":
                fields.append(_label(owner))
            content = f"{_label(owner)}: {content}"
        part = Part(content, tuple(messages), tuple(alternatives), tuple(fields))
        return self.number((owner, cls, choice), part)

    def other(self, field: FieldInfo | str, what: Any, part: Part | None = None) -> int:
        return self.number((field, what), part or Part())


def _label(field: FieldInfo) -> str:
    return f"{field.message}.{field.schema_name}"


class _Scanner(Reader):
    """Generates `scan_X(b, p, e, d, put, builtin, deep)`, which scans `b[p:e]` as a message X.

    `d` is the number of levels that are still allowed below the message. The generated code calls
    `deep(d)` for each message that may be a leaf of the tree.
    """

    def __init__(self, schema: Schema) -> None:
        super().__init__(schema)
        self.parts = _Parts()
        self.choices: dict[str, dict[int, tuple[int, type[Message]]]] = {}
        self.values: dict[str, dict[int, int]] = {}

    def body(self, cls: type[Message]) -> list[str]:
        if is_choice(cls):  # only for an outermost message: others are scanned with their field
            body = ["deep(d)", "q = e", *self.choice_lines(None, cls, levels=1)]
            return [*body, "if p != e:", "    raise Unusual"]
        body = []
        fields = self.fields[cls].values()
        if not any(field.is_message and field.rule == "required" for field in fields):
            body.append("deep(d)")
        levels = max((1 + is_choice(f.type) for f in fields if f.is_message), default=0)
        if levels:
            body += [f"if d < {levels}:", "    raise Unusual"]
        return [*body, *self.lines(cls)]

    def around_items(self, field: FieldInfo, loop: list[str]) -> list[str]:
        some = self.parts.other(field, "some", Part(_label(field), fields=(_label(field),)))
        none = self.parts.other(field, "none")
        return ["start = p", *loop, f"put({none} if p == start else {some})"]

    def absent(self, field: FieldInfo) -> list[str]:
        if not field.oneof:
            return [f"put({self.parts.other(field, 'none')})"]
        label = f"{field.message}.{UNSET}"
        part = Part(label, alternatives=(label,))
        return [f"put({self.parts.other(field.message, UNSET, part)})"]

    def choice_lines(self, owner: FieldInfo | None, cls: type[Message], levels: int) -> list[str]:
        """Return code that scans a choice in `b[p:q]` and records it as one part."""
        table = f"choices_{_variable(owner, cls)}"
        self.choices[table] = {
            choice_tag(field): (self.parts.message(owner, cls, field), field.type)
            for field in self.fields[cls].values()
        }
        return [
            "if p == q:",
            f"    put({self.parts.message(owner, cls)})",
            f"    deep(d - {levels - 1})",
            "else:",
            *indented(READ_CHOICE),
            f"    part, scan = {table}[n]",
            *indented(READ_SIZE),
            "    if p + n != q:",
            "        raise Unusual",
            "    put(part)",
            f"    scan(b, p, q, d - {levels}, put, builtin, deep)",
            "    p = q",
        ]

    def value(self, field: FieldInfo) -> list[str]:
        if field.is_message:
            lines = [*READ_SIZE, "q = p + n"]
            if is_choice(field.type):
                return [*lines, *self.choice_lines(field, field.type, levels=2)]
            return [
                *lines,
                f"put({self.parts.message(field, field.type)})",
                f"scan_{field.type.__name__}(b, p, q, d - 1, put, builtin, deep)",
                "p = q",
            ]
        if field.type is str:
            return [*READ_SIZE, "p += n"]
        lines = read_number(field)
        if field.type is float:
            return lines
        if field.type in INTEGERS:
            if field.oneof:
                part = Part(_label(field), alternatives=(_label(field),))
                lines.append(f"put({self.parts.other(field, 'set', part)})")
            return [*lines, "builtin(n)"] if field.name == "builtin" else lines
        if field.type is bool:
            if field.name != _CONSTANT:
                true = self.parts.other(field, "true", Part(_label(field)))
                lines += ["if n:", f"    put({true})"]
            return lines
        table = f"values_{_variable(field, field.type)}"
        self.values[table] = {}
        enum: type[IntEnum] = field.type
        for member in enum:
            label = f"{field.type_name}.{member.name}"
            number = self.parts.other(field, member, Part(label, values=(label,)))
            self.values[table][member.value] = number
        return [*lines, f"put({table}[n])"]


class _Visitor:
    """Generates `visit_X(m, put, builtin)`, which records what `scan_X` records, in that order.

    The tables of values are those of the scanner.
    """

    def __init__(self, scanner: _Scanner) -> None:
        self.fields = scanner.fields
        self.parts = scanner.parts
        self.choices: dict[str, dict[str | None, tuple[int, type[Message] | None]]] = {}

    def body(self, cls: type[Message]) -> list[str]:
        if is_choice(cls):
            return self.choice_lines(None, cls, "m")
        lines: list[str] = []
        fields = self.fields[cls].values()
        alternatives = [field for field in fields if field.oneof]
        for field in fields:
            if field.oneof:
                word = "elif" if field in alternatives[1:] else "if"
                value = self.value(field, "m.alternative")
                lines += [f"{word} m.which == {field.name!r}:", *indented(value)]
                if field is alternatives[-1]:
                    lines += ["else:", f"    put({self.parts.other(field.message, UNSET)})"]
                continue
            value = self.value(field, f"m.{field.name}")
            absent = ["else:", f"    put({self.parts.other(field, 'none')})"]
            if field.rule == "repeated":
                each = indented(self.value(field, "item"))
                some = f"put({self.parts.other(field, 'some')})"
                inner = [f"for item in m.{field.name}:", *each, some]
                lines += [f"if m.{field.name}:", *indented(inner), *absent]
            elif field.rule == "optional":
                lines += [f"if m.{field.name} is not None:", *indented(value), *absent]
            else:
                lines += value
        return [*lines, "return"]

    def choice_lines(self, owner: FieldInfo | None, cls: type[Message], value: str) -> list[str]:
        table = f"choices_{_variable(owner, cls)}"
        self.choices[table] = {
            field.name: (self.parts.message(owner, cls, field), field.type)
            for field in self.fields[cls].values()
        }
        self.choices[table][None] = self.parts.message(owner, cls), None
        return [
            f"choice = {value}",
            f"part, visit = {table}[choice.which]",
            "put(part)",
            "visit(choice.alternative, put, builtin)",
        ]

    def value(self, field: FieldInfo, value: str) -> list[str]:
        if field.is_message:
            if is_choice(field.type):
                return self.choice_lines(field, field.type, value)
            put = f"put({self.parts.message(field, field.type)})"
            return [put, f"visit_{field.type.__name__}({value}, put, builtin)"]
        if field.type in INTEGERS:
            lines = [f"put({self.parts.other(field, 'set')})"] if field.oneof else []
            lines += [f"builtin({value})"] if field.name == "builtin" else []
        elif field.type is bool and field.name != _CONSTANT:
            lines = [f"if {value}:", f"    put({self.parts.other(field, 'true')})"]
        elif issubclass(field.type, IntEnum):
            lines = [f"put(values_{_variable(field, field.type)}[{value}])"]
        else:
            lines = []
        return lines or ["pass"]


def _variable(owner: FieldInfo | None, cls: type) -> str:
    return f"{owner.message}_{owner.name}" if owner else cls.__name__


@cache
def _compiled(
    schema: Schema,
) -> tuple[
    dict[type[Message], tuple[Callable[..., None], Callable[..., None], int | None]],
    tuple[Part, ...],
]:
    """Return the scanner, the visitor and the number of the root's part of each message.

    Also return all parts. The number is None if the scanner itself records the root's part.
    """
    scanner = _Scanner(schema)
    scope: dict[str, Any] = {**HELPERS}
    parameters = "b, p, e, d, put, builtin, deep"
    functions = compile_each("scan", parameters, scanner.body, scope, schema)
    scope.update(scanner.values)
    for name, table in scanner.choices.items():
        scope[name] = {tag: (part, functions[content]) for tag, (part, content) in table.items()}
    visitor = _Visitor(scanner)
    inner: dict[str, Any] = {**scanner.values}
    visits = compile_each("visit", "m, put, builtin", visitor.body, inner, schema)
    for name, choices in visitor.choices.items():
        inner[name] = {
            which: (part, visits[content] if content else _visit_nothing)
            for which, (part, content) in choices.items()
        }
    functions_of = {
        cls: (scan, visits[cls], None if is_choice(cls) else scanner.parts.message(None, cls))
        for cls, scan in functions.items()
    }
    return functions_of, tuple(scanner.parts.parts)


def _visit_nothing(*_: object) -> None:
    pass


def parts(schema: Schema = SEED) -> tuple[Part, ...]:
    """Return the parts that the numbers in `Scan.parts` refer to, for scans that use `schema`."""
    return _compiled(schema)[1]
