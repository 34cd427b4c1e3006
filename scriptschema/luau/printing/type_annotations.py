"""Prints types and lists of generics. `w.after` says whether a `|` or a `&` follows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from scriptschema import messages as m
from scriptschema.base import Message
from scriptschema.luau.printing.writer import (
    UNSET,
    Part,
    Write,
    Writer,
    separated,
    write_wrapper,
)
from scriptschema.luau.quoting import quote

_OPERATIONS: Final = ("union", "intersection")


def _starts_with_quote(node: m.Type) -> bool:
    while node.which in _OPERATIONS:
        left = node.alternative.left
        if left.which in _OPERATIONS and left.which != node.which:
            return False  # `left` is printed in parentheses
        node = left
    return node.which == "string"


def annotation(types: Sequence[m.Type], position: int) -> tuple[Part, ...]:
    """Return the type annotation of the variable at `position`, or nothing if it has none."""
    if position >= len(types) or types[position].which == "omitted":
        return ()
    return (": ", types[position])


def generics(
    w: Writer,
    generics: Sequence[Message],
    packs: Sequence[m.Typename],
    further: m.TypeArguments | None = None,
) -> list[Part]:
    """Return `<T, U..., further>`, or nothing if there are no generics or if types are left out."""
    if not (generics or packs or further is not None) or not w.types:
        return []
    parts: list[Part] = []
    for generic in generics:
        parts += (", ", generic)
    for pack in packs:
        parts += (", ", pack, "...")
    for argument in [] if further is None else further.items:
        parts += (", ", argument)
    return ["<", *parts[1:], ">"]


def write_type_alias(w: Writer, node: m.StatTypeAlias) -> None:
    """Print a type alias, unless types are left out."""
    if w.types:
        keyword = "export type " if node.export else "type "
        w.print(keyword, node.name, *_with_defaults(w, node), " = ", node.type)


def _with_defaults(w: Writer, node: m.StatTypeAlias) -> list[Part]:
    """Return `<T = U, V... = ...W>`. Missing defaults are those of the first names."""
    if node.defaults is None or not (node.generics or node.genericpacks):
        return generics(w, node.generics, node.genericpacks)
    parts: list[Part] = []
    types, packs = node.defaults.types, node.defaults.packs
    for position, name in enumerate(node.generics, len(types) - len(node.generics)):
        parts += (", ", name)
        if position >= 0:
            parts += (" = ", types[position])
    for position, name in enumerate(node.genericpacks, len(packs) - len(node.genericpacks)):
        parts += (", ", name, "...")
        if position >= 0:
            parts += (" = ", packs[position])
    return ["<", *parts[1:], ">"]


def _listed(
    types: Sequence[m.Type],
    tail: m.TypePack | None,
    names: Callable[[int], list[Part]] | None = None,
) -> tuple[list[Part], int]:
    """Return the parts that print a list of types, and the number of types and packs."""
    parts: list[Part] = []
    count = 0
    while True:
        for position, node in enumerate(types):
            parts += (", ", *(names(position) if names else ()), node)
            count += 1
        names = None
        if tail is None:
            return parts[1:], count
        if tail.which != "list":
            parts += (", ", tail)
            return parts[1:], count + 1
        types, tail = tail.alternative.types, tail.alternative.tail


def results(types: Sequence[m.Type], tail: m.TypePack | None) -> list[Part]:
    """Return the types of results, in parentheses unless there is exactly one type."""
    parts, count = _listed(types, tail)
    return parts if count == 1 else ["(", *parts, ")"]


def _write_pack(w: Writer, node: m.TypePack) -> None:
    if node.which == "variadic":
        w.print("...", node.alternative)
    elif node.which == "generic":
        w.print(node.alternative, "...")
    elif node.which == "list":
        parts, _ = _listed(node.alternative.types, node.alternative.tail)
        w.print("(", *parts, ")")
    else:
        w.out.append(UNSET)


def _write_operand(w: Writer, node: m.Type, chained: str | None, after: int) -> None:
    """Print an operand of a union or an intersection, in parentheses if necessary.

    `chained` is the operation (`union` or `intersection`) that needs no parentheses here, or None.
    For a left operand, this is the enclosing operation.
    """
    if node.which in _OPERATIONS and node.which != chained:
        w.after = 0
        w.print("(", node, ")")
    else:
        w.after = after
        w.write[m.Type](w, node)


def _is_primitive(w: Writer, node: m.Type, name: str) -> bool:
    return node.which == "primitive" and w.names.primitive(node.alternative.kind) == name


def write_type(w: Writer, node: m.Type) -> None:
    """Print a type."""
    if w.after and node.which not in _OPERATIONS:
        w.after = 0
        if node.which == "function":  # otherwise the rest would belong to its return type
            w.print("(", node.alternative, ")")
            return
    write_wrapper(w, node)


def _write_type_literal(w: Writer, node: m.TypeLiteral) -> None:
    w.print(node.name, *generics(w, node.generics, node.genericpacks, node.arguments))


def write_type_item(w: Writer, node: m.TypeTableItem) -> None:
    """Print a property of a table type."""
    if node.key_string is not None:
        w.print(_access(node), "[", quote(node.key_string), "]: ", node.type)
    else:
        w.print(_access(node), node.key, ": ", node.type)


def _access(node: m.TypeTableItem | m.TypeTableIndexer) -> str:
    if node.access is None:
        return ""
    return "read " if node.access == m.TypeTableItem.Access.Read else "write "


def _write_type_indexer(w: Writer, node: m.TypeTableIndexer) -> None:
    # After `["`, Luau reads a property's name (some versions do so no matter what follows it).
    opening, closing = ("[(", ")]: ") if _starts_with_quote(node.key) else ("[", "]: ")
    w.print(_access(node), opening, node.key, closing, node.value)


def array_item(w: Writer, node: m.TypeTable) -> list[Part] | None:
    """Return the type of an array's items if the table type can be written as `{T}`, else None."""
    indexer = node.indexer
    if indexer is None or node.items or not _is_primitive(w, indexer.key, "number"):
        return None
    return [_access(indexer), indexer.value]


def members(node: m.TypeTable) -> list[Message]:
    """Return the properties of a table type, and its indexer if it has one."""
    items: list[Message] = [*node.items]
    if node.indexer is not None:
        position = node.indexer_position
        items.insert(len(items) if position is None else max(position, 0), node.indexer)
    return items


def write_type_table(w: Writer, node: m.TypeTable) -> None:
    """Print a table type."""
    item = array_item(w, node)
    w.print("{", *(separated(members(node)) if item is None else item), "}")


def _write_type_function(w: Writer, node: m.TypeFunction) -> None:
    def name(position: int) -> list[Part]:
        if position >= len(node.argnames) or node.argnames[position].which is None:
            return []
        return [node.argnames[position], ": "]

    parameters = generics(w, node.generics, node.genericpacks)
    args, _ = _listed(node.args, node.argtail, name)
    w.print(*parameters, "(", *args, ") -> ", *results(node.rets, node.rettail))


def write_union(w: Writer, node: m.TypeUnion, *, shorthand: bool = True) -> None:
    """Print a union. If `shorthand` is true, `T | nil` is printed as `T?`."""
    after = w.after
    _write_operand(w, node.left, "union", 1)
    if shorthand and _is_primitive(w, node.right, "nil") and node.left.which != "union":
        w.after = 0
        w.out.append("?")
    else:
        w.out.append(" | ")
        _write_operand(w, node.right, None, after)


def write_intersection(w: Writer, node: m.TypeIntersection) -> None:
    """Print an intersection."""
    after = w.after
    _write_operand(w, node.left, "intersection", 1)
    w.out.append(" & ")
    _write_operand(w, node.right, None, after)


def _write_type_ref(w: Writer, node: m.TypeRef) -> None:
    prefix: Part = node.prefix
    if node.prefix_global is not None:
        prefix = w.names.global_(node.prefix_global)
    w.print(prefix, ".", node.index, *generics(w, (), (), node.arguments))


WRITE: Final[Mapping[type[Message], Write]] = {
    m.Type: write_type,
    m.TypePrimitive: lambda w, node: w.out.append(w.names.primitive(node.kind)),
    m.TypeLiteral: _write_type_literal,
    m.TypeTableItem: write_type_item,
    m.TypeTableIndexer: _write_type_indexer,
    m.TypeTable: write_type_table,
    m.TypeFunction: _write_type_function,
    m.TypeTypeof: lambda w, node: w.print("typeof(", node.expr, ")"),
    m.TypeUnion: write_union,
    m.TypeIntersection: write_intersection,
    m.TypeClass: lambda w, node: w.out.append(w.names.class_(node.kind)),
    m.TypeRef: _write_type_ref,
    m.TypePack: _write_pack,
    m.TypeArgument: write_wrapper,
}
"""Maps each kind of message to the function that prints it."""
