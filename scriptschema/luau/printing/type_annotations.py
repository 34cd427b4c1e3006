"""Types, and the generics of what has any. `w.after` says whether a `|` or a `&` follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from scriptschema import messages as m
from scriptschema.base import Message
from scriptschema.luau.printing.writer import Part, Write, Writer, separated, write_wrapper


def _starts_with_quote(node: m.Type) -> bool:
    while node.which in ("union", "intersection"):
        left = node.alternative.left
        if left.which in ("union", "intersection") and left.which != node.which:
            return False  # it gets parentheses
        node = left
    return node.which == "string"


def annotation(types: Sequence[m.Type], position: int) -> tuple[Part, ...]:
    """The type of the variable at a position, if there is one."""
    return (": ", types[position]) if position < len(types) else ()


def generics(w: Writer, generics: Sequence[Message], packs: Sequence[m.Typename]) -> list[Part]:
    """`<T, U...>`, nothing if there are none."""
    if not (generics or packs) or not w.types:
        return []
    parts = separated(generics)
    for pack in packs:
        parts += (", ", pack, "...") if parts else (pack, "...")
    return ["<", *parts, ">"]


def pack(types: Sequence[m.Type]) -> list[Part]:
    """The types of results: one stands alone, none or several in parentheses."""
    parts = separated(types)
    return parts if len(types) == 1 else ["(", *parts, ")"]


def operand(w: Writer, node: m.Type, chained: str | None, after: int) -> list[Part]:
    """An operand of a union or an intersection, which Luau mixes only with parentheses.

    `chained` is what needs none: the left operand of the same kind.
    """
    if node.which in ("union", "intersection") and node.which != chained:
        return ["(", node, ")"]
    return [(node, w.level, 0, after)]


def _is_primitive(w: Writer, node: m.Type, name: str) -> bool:
    return node.which == "primitive" and w.names.primitive(node.alternative.kind) == name


def _write_type(w: Writer, node: m.Type) -> None:
    if node.which == "function" and w.after:  # it would take what follows as its result
        w.push("(", node.alternative, ")")
    else:
        write_wrapper(w, node)


def _write_primitive(w: Writer, node: m.TypePrimitive) -> None:
    w.out.append(w.names.primitive(node.kind))


def _write_type_literal(w: Writer, node: m.TypeLiteral) -> None:
    w.push(node.name, *generics(w, node.generics, node.genericpacks))


def write_type_item(w: Writer, node: m.TypeTableItem) -> None:
    """Print a property of a table type."""
    w.push(node.key, ": ", node.type)


def _write_type_indexer(w: Writer, node: m.TypeTableIndexer) -> None:
    # After `["`, Luau (some versions, whatever follows the string) reads a property's name.
    opening, closing = ("[(", ")]: ") if _starts_with_quote(node.key) else ("[", "]: ")
    w.push(opening, node.key, closing, node.value)


def array_item(w: Writer, node: m.TypeTable) -> m.Type | None:
    """The type of the items, if that is all that needs to be written of a table type."""
    indexer = node.indexer
    if indexer is None or node.items or not _is_primitive(w, indexer.key, "number"):
        return None
    return indexer.value


def members(node: m.TypeTable) -> list[Message]:
    """The properties of a table type, and its indexer."""
    return [*node.items] if node.indexer is None else [*node.items, node.indexer]


def write_type_table(w: Writer, node: m.TypeTable) -> None:
    """Print a table type."""
    item = array_item(w, node)
    w.push("{", *(separated(members(node)) if item is None else [item]), "}")


def _write_type_function(w: Writer, node: m.TypeFunction) -> None:
    parameters = generics(w, node.generics, node.genericpacks)
    w.push(*parameters, "(", *separated(node.args), ") -> ", *pack(node.rets))


def _write_typeof(w: Writer, node: m.TypeTypeof) -> None:
    w.push("typeof(", node.expr, ")")


def write_union(w: Writer, node: m.TypeUnion) -> None:
    """Print a union."""
    left = operand(w, node.left, "union", 1)
    if _is_primitive(w, node.right, "nil") and node.left.which != "union":
        w.push(*left, "?")
    else:
        w.push(*left, " | ", *operand(w, node.right, None, w.after))


def _write_intersection(w: Writer, node: m.TypeIntersection) -> None:
    left = operand(w, node.left, "intersection", 1)
    w.push(*left, " & ", *operand(w, node.right, None, w.after))


def _write_class(w: Writer, node: m.TypeClass) -> None:
    w.out.append(w.names.class_(node.kind))


def _write_type_ref(w: Writer, node: m.TypeRef) -> None:
    w.push(node.prefix, ".", node.index)


WRITE: Final[Mapping[type[Message], Write]] = {
    m.Type: _write_type,
    m.TypePrimitive: _write_primitive,
    m.TypeLiteral: _write_type_literal,
    m.TypeTableItem: write_type_item,
    m.TypeTableIndexer: _write_type_indexer,
    m.TypeTable: write_type_table,
    m.TypeFunction: _write_type_function,
    m.TypeTypeof: _write_typeof,
    m.TypeUnion: write_union,
    m.TypeIntersection: _write_intersection,
    m.TypeClass: _write_class,
    m.TypeRef: _write_type_ref,
}
"""How to print a message of each kind."""
