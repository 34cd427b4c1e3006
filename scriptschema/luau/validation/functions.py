"""Rules about functions: their parameters, generics and types, and their bodies."""

from __future__ import annotations

from typing import Final

from scriptschema.luau.scope import MAX_LOCALS
from scriptschema.luau.validation.attributes import visit_attributes
from scriptschema.luau.validation.limits import shorten
from scriptschema.luau.validation.traversal import HANDLERS, Place, Traversal
from scriptschema.luau.validation.type_annotations import (
    generics,
    join_lists,
    own_name,
    pack_of,
    trim_types,
    types_of,
)
from scriptschema.messages import ExprFunction, StatBlock

RULES: Final = {
    "types": "there must not be more types than variables",
}


def visit_function_body(
    v: Traversal, node: ExprFunction, path: Place, depth: int, method: bool = False
) -> None:
    """Check and repair a function. `method` is true if it has a parameter `self`."""
    if node.attributes:
        visit_attributes(v, node, path)
    v.scope.open()
    generics(v, node, path)
    shorten(v, node, "args", MAX_LOCALS - method, path, "locals")
    if node.vararg_pack is not None:
        own_name(v, node.vararg_pack, path)
        if not node.vararg:
            v.note(path, "type", "only a function with `...` can have a type for it")
            node.vararg_pack = None
    has_type = node.vararg and node.vararg_pack is None
    shorten(v, node, "types", len(node.args) + has_type, path, "types")
    trim_types(v, node, path)
    join_lists(v, node, "rettypes", "rettail", path, may_be_empty=True)
    v.push(
        *types_of(node.types, path, "types", depth + 1, omitted=len(node.args)),
        *types_of(node.rettypes, path, "rettypes", depth + 1),
        *pack_of(node.rettail, path, "rettail", depth + 1),
        (v.scope.enter_function, node, method),
        (HANDLERS[StatBlock], node.body, (path, "body", None), depth + 1),
        (v.scope.leave_function,),
    )


def visit_function(v: Traversal, node: ExprFunction, path: Place, depth: int, *_: int) -> None:
    """Check and repair an ExprFunction that is used as an expression."""
    visit_function_body(v, node, path, depth)
