"""Rules about types and lists of generics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from scriptschema import messages as m
from scriptschema.luau.validation.references import visit_name, visit_string
from scriptschema.luau.validation.traversal import HANDLERS, Place, Task, Traversal


def types_of(
    types: Iterable[m.Type], path: Place, name: str, depth: int, omitted: int = 0
) -> list[Task]:
    """Return tasks that visit the types in the field `name`.

    The first `omitted` types may be placeholders (TypeOmitted).
    """
    return [
        (visit_type, item, (path, name, index), depth)
        for index, item in enumerate(types)
        if index >= omitted or item.which != "omitted"
    ]


def trim_types(v: Traversal, node: Any, path: Place) -> None:
    """Remove the placeholders (TypeOmitted) at the end of `node.types`, which are not printed."""
    while node.types and node.types[-1].which == "omitted":
        v.note(
            (path, "types", len(node.types) - 1),
            "types",
            "the last type of a list cannot be omitted",
        )
        node.types = node.types[:-1]


def pack_of(pack: m.TypePack | None, path: Place, name: str, depth: int) -> list[Task]:
    """Return tasks that visit the pack in the field `name`, if it is set, after a list of types."""
    return [] if pack is None else [(_visit_pack, pack, (path, name, None), depth)]


def join_lists(
    v: Traversal, node: Any, types: str, tail: str, path: Place, *, may_be_empty: bool = False
) -> None:
    """Merge a list of types with the list in its tail, because both forms print the same.

    `types` and `tail` are the names of the fields. If `may_be_empty` is true and both lists are
    empty, the tail remains, because it represents the return type in `(): ()`.
    """
    while (pack := getattr(node, tail)) is not None and pack.which == "list":
        end: m.TypeList = pack.alternative
        if may_be_empty and not getattr(node, types) and not end.types and end.tail is None:
            return
        v.note((path, tail, None), "pack", "a list of types cannot end in another list")
        setattr(node, types, [*getattr(node, types), *pack.alternative.types])
        setattr(node, tail, pack.alternative.tail)


def own_name(v: Traversal, node: m.Typename, path: Place) -> None:
    """Check and repair the name of a type or pack that the program declares.

    It must not be the name of a built-in type function.
    """
    if node.kind is m.Typename.Kind.Builtin:
        v.note(path, "type", "a built-in type function cannot be redeclared")
        node.kind = None


def _visit_pack(v: Traversal, node: m.TypePack, path: Place, depth: int) -> None:
    inner: Any = node.alternative
    if node.which == "variadic":
        v.push((visit_type, inner, (path, "variadic", None), depth + 1))
    elif node.which == "list":
        join_lists(v, inner, "types", "tail", (path, "list", None))
        here = (path, "list", None)
        v.push(*types_of(inner.types, here, "types", depth + 2))
        if inner.tail is not None:
            v.push((_visit_pack, inner.tail, (here, "tail", None), depth + 2))
    elif node.which == "generic":
        own_name(v, inner, path)
    else:
        v.note(path, "unset", "missing type pack")
        node.variadic = m.Type(primitive=m.TypePrimitive(kind=v.any))


def visit_type_arguments(v: Traversal, node: m.TypeArguments, path: Place, depth: int) -> None:
    """Check and repair the type arguments of a generic type or function."""
    for index, argument in enumerate(node.items):
        here = (path, "items", index)
        _settle_argument(v, argument, here)
        handler = visit_type if argument.which == "type" else _visit_pack
        v.push((handler, argument.alternative, (here, argument.which or "", None), depth + 2))


def _settle_argument(v: Traversal, argument: m.TypeArgument, path: Place) -> None:
    if argument.which is None:
        v.note(path, "unset", "missing type or type pack")
        argument.type = m.Type(primitive=m.TypePrimitive(kind=v.any))


def _split_arguments(v: Traversal, node: m.TypeLiteral, path: Place) -> None:
    """Move the leading arguments (types, then generic packs) to the original schema's fields."""
    items = node.arguments.items if node.arguments is not None else []
    types, packs = [*node.generics], [*node.genericpacks]
    for index, argument in enumerate(items):
        _settle_argument(v, argument, ((path, "arguments", None), "items", index))
        inner: Any = argument.alternative
        if argument.which == "type" and not packs:
            types.append(inner)
        elif inner.which == "generic":
            packs.append(inner.alternative)
        else:
            break
    else:
        index = len(items)
    if index:
        v.note(
            path,
            "pack",
            "types at the start of `arguments` must be in `generics` instead, and the generic "
            "packs that follow them must be in `genericpacks`",
        )
        node.generics, node.genericpacks = types, packs
        rest = items[index:]
        node.arguments = m.TypeArguments(items=rest) if rest else None


def visit_defaults(v: Traversal, node: m.StatTypeAlias, path: Place, depth: int) -> list[Task]:
    """Return tasks for the defaults of generics. All generics after the first default need one."""
    defaults: Any = node.defaults
    here = (path, "defaults", None)
    for name, generics_ in (("types", node.generics), ("packs", node.genericpacks)):
        values = getattr(defaults, name)
        if len(values) > len(generics_):
            v.note(here, "default", f"{len(values)} {name} for {len(generics_)} generics")
            setattr(defaults, name, values[: len(generics_)])
    if defaults.types and len(defaults.packs) < len(node.genericpacks):
        v.note(here, "default", "a generic after one with a default must have a default")
        missing = len(node.genericpacks) - len(defaults.packs)
        defaults.packs = [m.TypePack(list=m.TypeList()) for _ in range(missing)] + defaults.packs
    if not (defaults.types or defaults.packs):
        v.note(here, "default", "the list of defaults is empty")
        node.defaults = None
    return [
        *types_of(defaults.types, here, "types", depth + 1),
        *(
            (_visit_pack, pack, (here, "packs", index), depth + 1)
            for index, pack in enumerate(defaults.packs)
        ),
    ]


def generics(v: Traversal, node: Any, path: Place) -> None:
    """Declare the generics and the generic packs of a function, a type or a function type."""
    for variable in (*node.generics, *node.genericpacks):
        if variable.kind is not None:
            own_name(v, variable, path)
    for variable in node.generics:
        v.scope.declare_type(variable.index)


def visit_type(v: Traversal, node: m.Type, path: Place, depth: int) -> None:
    """Check and repair a Type."""
    inner: Any = node.alternative
    if inner is None or inner.__class__ is m.TypeOmitted:
        v.note(path, "unset", "missing type")
        v.simplify(node)
        return
    here = (path, node.which or "", None)
    if inner.__class__ is m.TypeLiteral:
        _visit_type_literal(v, node, inner, here, depth + 1)
    elif inner.__class__ is m.TypeRef:
        _visit_type_ref(v, node, inner, here, depth + 1)
    elif (handler := HANDLERS.get(inner.__class__)) is not None:
        v.enter(inner, here, depth + 1)
        handler(v, inner, here, depth + 1)


def _visit_type_literal(
    v: Traversal, node: m.Type, inner: m.TypeLiteral, path: Place, depth: int
) -> None:
    if inner.arguments is not None:
        if inner.arguments.items:
            _split_arguments(v, inner, path)
        elif inner.generics or inner.genericpacks:
            v.note(path, "pack", "an empty list of arguments cannot follow other arguments")
            inner.arguments = None
    for position, pack in enumerate(inner.genericpacks):
        own_name(v, pack, (path, "genericpacks", position))
    if not (inner.generics or inner.genericpacks or inner.arguments):
        if inner.name.kind is m.Typename.Kind.Builtin:
            v.note(path, "type", "a built-in type function must have arguments")
            v.simplify(node)
            return
        # Without a declaration or arguments, the name prints as a class or a primitive type.
        name = v.names.type(inner.name.index)
        if v.scope.types.get(name) is None:
            v.note(path, "type", f"no type {name} is in scope")
            index = v.scope.types.pick(inner.name.index)
            if index is None:
                v.simplify(node)
                return
            inner.name.index = index
    if inner.arguments is not None:
        v.push((visit_type_arguments, inner.arguments, (path, "arguments", None), depth + 1))
    v.push(*types_of(inner.generics, path, "generics", depth + 1))


def _visit_type_ref(v: Traversal, node: m.Type, inner: m.TypeRef, path: Place, depth: int) -> None:
    if inner.arguments is not None:
        v.push((visit_type_arguments, inner.arguments, (path, "arguments", None), depth + 1))
    if inner.prefix_global is not None:
        visit_name(v, inner.prefix_global, (path, "prefix_global", None))
        return
    name = v.names.local(inner.prefix.name)
    if v.scope.locals.get(name) is None:
        v.note(path, "local", f"no local {name} is in scope")
        other = v.scope.locals.pick(inner.prefix.name)
        if other is None:
            v.simplify(node)
        else:
            inner.prefix.name = other.index


def _visit_type_table(v: Traversal, node: m.TypeTable, path: Place, depth: int) -> None:
    tasks: list[Task] = [
        (_visit_type_item, item, (path, "items", index), depth + 1)
        for index, item in enumerate(node.items)
    ]
    if node.indexer is not None:
        here = (path, "indexer", None)
        tasks.append((_visit_type_indexer, node.indexer, here, depth + 1))
    position = node.indexer_position
    if position is not None and not (node.indexer is not None and 0 <= position <= len(node.items)):
        reason = f"the indexer's position must be from 0 to {len(node.items)}, found {position}"
        if node.indexer is None:
            reason = f"there is no indexer for the position {position}"
        v.note(path, "indexer", reason)
        node.indexer_position = None
    v.push(*tasks)


def _visit_type_item(v: Traversal, node: m.TypeTableItem, path: Place, depth: int) -> None:
    if node.key_string is None:
        visit_name(v, node.key, (path, "key", None))
    else:
        if node.key.which is not None:
            v.note(
                path, "string", "a property must have exactly one name: either key_string or key"
            )
            node.key = m.Name()
        if "\0" in node.key_string:
            v.note(path, "string", "a property's name cannot contain a zero byte")
            node.key_string = node.key_string.replace("\0", "")
    v.push((visit_type, node.type, (path, "type", None), depth + 1))


def _visit_type_indexer(v: Traversal, node: m.TypeTableIndexer, path: Place, depth: int) -> None:
    v.push(
        (visit_type, node.key, (path, "key", None), depth + 1),
        (visit_type, node.value, (path, "value", None), depth + 1),
    )


def _visit_type_function(v: Traversal, node: m.TypeFunction, path: Place, depth: int) -> None:
    v.scope.open()
    generics(v, node, path)
    join_lists(v, node, "args", "argtail", path)
    join_lists(v, node, "rets", "rettail", path)
    if node.argnames:
        v.shorten(node, "argnames", len(node.args), path, "types")
    v.push(
        *types_of(node.args, path, "args", depth + 1),
        *types_of(node.rets, path, "rets", depth + 1),
        *pack_of(node.argtail, path, "argtail", depth + 1),
        *pack_of(node.rettail, path, "rettail", depth + 1),
        (v.scope.close,),
    )


def _visit_typeof(v: Traversal, node: m.TypeTypeof, path: Place, depth: int) -> None:
    v.scope.enter_typeof()
    v.push((HANDLERS[m.Expr], node.expr, (path, "expr", None), depth + 1), (v.scope.leave_typeof,))


def _visit_junction(
    v: Traversal, node: m.TypeUnion | m.TypeIntersection, path: Place, depth: int
) -> None:
    v.push(
        (visit_type, node.left, (path, "left", None), depth + 1),
        (visit_type, node.right, (path, "right", None), depth + 1),
    )


def _visit_type_string(v: Traversal, node: m.TypeString, path: Place, *_: int) -> None:
    if "\0" in node.val:
        v.note(path, "string", "a string type cannot contain a zero byte")
        node.val = node.val.replace("\0", "")
    visit_string(v, node, path)


HANDLERS.update(
    {
        m.TypeTable: _visit_type_table,
        m.TypeFunction: _visit_type_function,
        m.TypeTypeof: _visit_typeof,
        m.TypeUnion: _visit_junction,
        m.TypeIntersection: _visit_junction,
        m.TypeString: _visit_type_string,
        m.Type: visit_type,
        m.TypeTableItem: _visit_type_item,
        m.TypeTableIndexer: _visit_type_indexer,
        m.TypePack: _visit_pack,
        m.TypeArguments: visit_type_arguments,
    }
)
