"""Types, and the generics of what has any."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from scriptschema import messages as m
from scriptschema.base import Message, Path
from scriptschema.luau.validation.references import visit_name
from scriptschema.luau.validation.text import visit_string
from scriptschema.luau.validation.traversal import HANDLERS, Task, Traversal, Visit

RULES: Final = {
    "type": "a type that is named is in scope",
    "duplicate": "parameters have different names, and so have generics",
}

_TYPE_FUNCTIONS: Final = frozenset(
    ["keyof", "rawkeyof", "index", "rawget", "setmetatable", "getmetatable", "typeof"]
)
"""Generic types that Luau itself defines."""


def types_of(types: Iterable[m.Type], path: Path, name: str, depth: int) -> list[Task]:
    """Tasks for a list of types, the field `name`."""
    return [(visit_type, item, Path(path, name, index), depth) for index, item in enumerate(types)]


def generics(v: Traversal, node: Any, path: Path) -> None:
    """Declare the generics and the generic packs of a function, a type or a function type."""
    seen: set[str] = set()
    distinct(v, node, "generics", "index", v.names.types, path, seen)
    distinct(v, node, "genericpacks", "index", v.names.types, path, seen)
    for variable in node.generics:
        v.scope.declare_type(variable.index)
    for variable in node.genericpacks:
        v.scope.declare_pack(variable.index)


def distinct(
    v: Traversal,
    node: Message,
    field: str,
    attribute: str,
    table: tuple[str, ...],
    path: Path,
    seen: set[str],
) -> None:
    """Give the variables of a list different names, none of `seen`, to which they are added."""
    kept = []
    free = iter(range(len(table)))
    variables = getattr(node, field)
    taken = {table[getattr(variable, attribute) % len(table)] for variable in variables}
    for position, variable in enumerate(variables):
        name = table[getattr(variable, attribute) % len(table)]
        if name in seen:
            v.note(Path(path, field, position), "duplicate", f"{name} is there already")
            index = next((i for i in free if table[i] not in seen and table[i] not in taken), None)
            if index is None:
                continue
            setattr(variable, attribute, index)
            name = table[index]
        seen.add(name)
        kept.append(variable)
    if len(kept) < len(variables):
        setattr(node, field, kept)


def visit_type(v: Traversal, node: m.Type, path: Path, depth: int) -> None:
    """A Type."""
    inner: Any = node.alternative
    if inner is None:
        v.note(path, "unset", "no type is set")
        v.simplify(node)
        return
    here = Path(path, node.which or "")
    if inner.__class__ is m.TypeLiteral:
        _visit_type_literal(v, node, inner, here, depth + 1)
    elif inner.__class__ is m.TypeRef:
        _visit_type_ref(v, node, inner, here)
    elif inner.__class__ in _TYPES:
        v.push((_TYPES[inner.__class__], inner, here, depth + 1))


def _visit_type_literal(
    v: Traversal, node: m.Type, inner: m.TypeLiteral, path: Path, depth: int
) -> None:
    name = v.names.type(inner.name.index)
    if v.scope.types.get(name) is None and name not in _TYPE_FUNCTIONS:
        v.note(path, "type", f"no type {name} is in scope")
        index = v.scope.types.pick(inner.name.index)
        if index is None:
            v.simplify(node)
            return
        inner.name.index = index
    packs = []
    for position, pack in enumerate(inner.genericpacks):
        name = v.names.type(pack.index)
        if v.scope.packs.get(name) is None:
            here = Path(path, "genericpacks", position)
            v.note(here, "type", f"no generic pack {name} is in scope")
            index = v.scope.packs.pick(pack.index)
            if index is None:
                continue
            pack.index = index
        packs.append(pack)
    if len(packs) < len(inner.genericpacks):
        inner.genericpacks = packs
    v.push(*types_of(inner.generics, path, "generics", depth + 1))


def _visit_type_ref(v: Traversal, node: m.Type, inner: m.TypeRef, path: Path) -> None:
    name = v.names.local(inner.prefix.name)
    if v.scope.locals.get(name) is None:
        v.note(path, "local", f"no local {name} is in scope")
        other = v.scope.locals.pick(inner.prefix.name)
        if other is None:
            v.simplify(node)
        else:
            inner.prefix.name = other.index


def _visit_type_table(v: Traversal, node: m.TypeTable, path: Path, depth: int) -> None:
    tasks: list[Task] = [
        (_visit_type_item, item, Path(path, "items", index), depth + 1)
        for index, item in enumerate(node.items)
    ]
    if node.indexer is not None:
        here = Path(path, "indexer")
        tasks.append((_visit_type_indexer, node.indexer, here, depth + 1))
    v.push(*tasks)


def _visit_type_item(v: Traversal, node: m.TypeTableItem, path: Path, depth: int) -> None:
    visit_name(v, node.key, Path(path, "key"))
    v.push((visit_type, node.type, Path(path, "type"), depth + 1))


def _visit_type_indexer(v: Traversal, node: m.TypeTableIndexer, path: Path, depth: int) -> None:
    v.push(
        (visit_type, node.key, Path(path, "key"), depth + 1),
        (visit_type, node.value, Path(path, "value"), depth + 1),
    )


def _visit_type_function(v: Traversal, node: m.TypeFunction, path: Path, depth: int) -> None:
    v.scope.open()
    generics(v, node, path)
    v.push(
        *types_of(node.args, path, "args", depth + 1),
        *types_of(node.rets, path, "rets", depth + 1),
        (v.scope.close,),
    )


def _visit_typeof(v: Traversal, node: m.TypeTypeof, path: Path, depth: int) -> None:
    v.push((HANDLERS[m.Expr], node.expr, Path(path, "expr"), depth + 1))


def _visit_junction(
    v: Traversal, node: m.TypeUnion | m.TypeIntersection, path: Path, depth: int
) -> None:
    v.push(
        (visit_type, node.left, Path(path, "left"), depth + 1),
        (visit_type, node.right, Path(path, "right"), depth + 1),
    )


def _visit_type_string(v: Traversal, node: m.TypeString, path: Path, *_: int) -> None:
    if "\0" in node.val:
        v.note(path, "string", "a string type cannot hold a zero byte")
        node.val = node.val.replace("\0", "")
    visit_string(v, node, path)


_TYPES: Final[Mapping[type, Visit]] = {
    m.TypeTable: _visit_type_table,
    m.TypeFunction: _visit_type_function,
    m.TypeTypeof: _visit_typeof,
    m.TypeUnion: _visit_junction,
    m.TypeIntersection: _visit_junction,
    m.TypeString: _visit_type_string,
}
"""By what a Type holds: how that is visited."""

HANDLERS.update(_TYPES)
HANDLERS.update(
    {
        m.Type: visit_type,
        m.TypeTableItem: _visit_type_item,
        m.TypeTableIndexer: _visit_type_indexer,
    }
)
