"""Functions: their parameters, generics and types, and their bodies."""

from __future__ import annotations

from typing import Final

from scriptschema.base import Path
from scriptschema.luau.registers import MAX_LOCALS
from scriptschema.luau.validation.limits import shorten
from scriptschema.luau.validation.traversal import HANDLERS, Traversal
from scriptschema.luau.validation.type_annotations import distinct, generics, types_of
from scriptschema.messages import ExprFunction, StatBlock

RULES: Final = {
    "types": "there are no more types than variables",
}


def visit_function_body(
    v: Traversal, node: ExprFunction, path: Path, depth: int, method: bool = False
) -> None:
    """What follows the name of a function; `method`: it has a `self`."""
    v.scope.open()
    generics(v, node, path)
    shorten(v, node, "args", MAX_LOCALS - method, path, "locals")
    distinct(v, node, "args", "name", v.names.locals, path, {"self"} if method else set())
    shorten(v, node, "types", len(node.args) + node.vararg, path, "types")
    v.push(
        *types_of(node.types, path, "types", depth + 1),
        *types_of(node.rettypes, path, "rettypes", depth + 1),
        (v.scope.enter_function, node, method),
        (HANDLERS[StatBlock], node.body, Path(path, "body"), depth + 1),
        (v.scope.leave_function,),
    )


def visit_function(v: Traversal, node: ExprFunction, path: Path, depth: int, *_: int) -> None:
    """An ExprFunction as an expression."""
    visit_function_body(v, node, path, depth)
