"""Removes the parts of a function that exceed the limits of Luau's compiler.

Some of the limits are lower than Luau's own: see RULES. `scope.Function` counts what a function
uses.
"""

from __future__ import annotations

from typing import Any, Final

from scriptschema.base import Message
from scriptschema.luau.scope import MAX_CLOSURES, MAX_REGISTERS
from scriptschema.luau.validation.traversal import Place, Traversal
from scriptschema.messages import ExprBinary

RULES: Final = {
    "locals": "a function can have at most 200 local variables at a time",
    "registers": "a function can use at most 245 registers; Luau's own limit is 255",
    "closures": "a function can create at most 32,768 functions",
    "size": "a function can contain at most 2,000,000 messages; Luau's own limits are higher",
}


def shorten(v: Traversal, node: Message, name: str, room: int, path: Place, rule: str) -> None:
    """Remove the items of a list beyond the first `room` items."""
    items = getattr(node, name)
    room = max(room, 0)
    if len(items) > room:
        v.note(path, rule, f"{name} has {len(items)} items, but the limit is {room}")
        setattr(node, name, items[:room])


def may_hold_closure(v: Traversal, path: Place) -> bool:
    """Count another closure, or record a problem and return False if the limit forbids it."""
    v.scope.function.closures += 1
    if v.scope.function.closures <= MAX_CLOSURES:
        return True
    v.note(path, "closures", f"the function creates more than {MAX_CLOSURES} functions")
    return False


def concatenated(v: Traversal, node: ExprBinary, path: Place, registers: int) -> int:
    """Remove excess operands from a chain of concatenations. Return how many are left."""
    room = MAX_REGISTERS - registers
    count = 2
    while True:
        inner: Any = node.right.alternative
        if inner.__class__ is not ExprBinary or inner.op != ExprBinary.Op.Concat:
            return count
        if count >= room:
            v.note(path, "registers", f"no register is left for operand {count + 1}")
            v.simplify(node.right)
            return count
        node = inner
        count += 1
