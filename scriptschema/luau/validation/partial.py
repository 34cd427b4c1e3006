"""Repairs statements in an otherwise valid tree, without visiting the rest.

The traversal follows the messages around the statements, so that each handler brings into scope
what it declares, and passes on depth, registers and loop as always. It visits nothing else:
statements before that path are only declared. If the result could depend on more than the
statements, `IncompleteError` is raised, and the whole tree has to be visited.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from scriptschema import messages as m
from scriptschema.base import Message
from scriptschema.codec.copying import copy
from scriptschema.luau.names import Names
from scriptschema.luau.registers import MAX_UPVALUES
from scriptschema.luau.validation.constants import declare, declare_function
from scriptschema.luau.validation.traversal import HANDLERS, IncompleteError, Traversal

_JUMPS: Final = frozenset(["break_", "continue_", "return_"])
_ALIASES: Final = frozenset(["type_alias", "type_function"])


def repair_statements(
    v: Traversal,
    way: Sequence[Message],
    statements: range,
    before: Sequence[m.Stat],
) -> None:
    """Repair the `statements` of a block, which have replaced `before`.

    `way` has the messages around them, from the traversal's tree to the block. These must not be
    shared with other trees; others may be: what is repaired is copied first. The block with
    `before`, and the rest of the tree, must be valid.

    Raises IncompleteError if the whole tree has to be visited.
    """
    if len(v.names.locals) > MAX_UPVALUES:
        raise IncompleteError
    block: Any = way[-1]
    body = block.body
    start, stop = statements.start, statements.stop
    if start and stop == len(body) and body[start - 1].which in _JUMPS:
        start -= 1  # only the end of a block may jump
        before = [body[start], *before]
    declared = _declared(v.names, before)
    now = _declared(v.names, body[start:stop])
    _compare_aliases(declared, now)
    if declared != now:
        stop = len(body)
    body[start:stop] = map(copy, body[start:stop])
    behind = len(body) - stop
    _visit(v, way, start, behind)
    if behind and _declared(v.names, body[start : len(body) - behind]) != declared:
        raise IncompleteError
    _compare_aliases(declared, _declared(v.names, body[start:stop]))


def _visit(v: Traversal, way: Sequence[Message], start: int, behind: int) -> None:
    """Visit the way, and the block's statements from `start` on, except the last `behind`."""
    stack = v.stack
    block: Any = way[-1]
    around = {*map(id, way)}
    stack.append((HANDLERS[way[0].__class__], way[0], (), 1))
    while True:
        below = len(stack)
        task = stack.pop()
        if len(task) <= 3:
            task[0](*task[1:])
            continue
        visit, node, *known = task
        if id(node) in around:
            v.enter(node, *known[:2])
            visit(v, node, *known)
            if node is block or (node.__class__ is m.Stat and node.alternative is block):
                break
        elif node.__class__ is m.Stat:
            _declare(v, node)
    # The stack now ends with the end of the scope and the statements.
    for _ in range(start):
        _declare(v, stack.pop()[1])
    v.go_on(below + behind)


def _declare(v: Traversal, statement: m.Stat) -> None:
    """Declare what a valid statement declares."""
    inner: Any = statement.alternative
    match inner:
        case m.StatLocal() if inner.is_const or inner.is_exported:
            declare(v, inner, (), 0)
        case m.StatLocal():
            v.scope.declare_locals(inner.vars)
        case m.StatLocalFunction():
            declare_function(v, inner, ())
        case m.StatRequireIntoLocalHelper():
            v.scope.declare_locals([inner.var])


def _declared(names: Names, statements: Sequence[m.Stat]) -> list[tuple[str, object]]:
    """Return the names that statements declare, each with its kind, which matters to later code."""
    found: list[tuple[str, object]] = []
    for statement in statements:
        inner: Any = statement.alternative
        match inner:
            case m.StatLocal():
                found += [(names.local(variable.name), inner.is_const) for variable in inner.vars]
            case m.StatLocalFunction():
                constant = inner.is_const or inner.is_exported
                found.append((names.local(inner.var.name), constant))
            case m.StatRequireIntoLocalHelper():
                found.append((names.local(inner.var.name), None))
            case _ if statement.which in _ALIASES:
                found.append((names.type(inner.name.index), "type"))
    return found


def _compare_aliases(
    before: Sequence[tuple[str, object]], now: Sequence[tuple[str, object]]
) -> None:
    """Raise IncompleteError unless the same types are declared, which the whole block sees."""
    if [d for d in before if d[1] == "type"] != [d for d in now if d[1] == "type"]:
        raise IncompleteError
