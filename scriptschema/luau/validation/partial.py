"""Repairs statements in an otherwise valid tree, without visiting the rest.

The traversal visits only the messages that enclose the statements, so that declarations, depth,
registers and loop are the same as in a full traversal. Of the statements before these messages,
only the declarations are processed. If the result could depend on other parts of the tree,
`IncompleteError` is raised. The whole tree then has to be visited.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from scriptschema import messages as m
from scriptschema.base import Message
from scriptschema.codec.copying import copy
from scriptschema.luau.names import Names
from scriptschema.luau.scope import MAX_UPVALUES
from scriptschema.luau.validation.constants import declare, declare_function
from scriptschema.luau.validation.traversal import HANDLERS, JUMPS, IncompleteError, Traversal

_ALIASES: Final = frozenset(["type_alias", "type_function"])


def repair_statements(
    v: Traversal,
    way: Sequence[Message],
    statements: range,
    before: Sequence[m.Stat],
) -> None:
    """Repair the `statements` of a block, which have replaced `before`.

    `statements` is a range of indexes in the block. `way` lists the messages from the traversal's
    tree to the block. They must not be shared with other trees. Other messages may be shared, since
    they are copied before they are repaired. Before the replacement, the whole tree must have been
    valid.

    Raises IncompleteError if the whole tree has to be visited.
    """
    if len(v.names.locals) > MAX_UPVALUES:
        raise IncompleteError
    block: Any = way[-1]
    body = block.body
    start, stop = statements.start, statements.stop
    if start and stop == len(body) and body[start - 1].which in JUMPS:
        start -= 1  # a jump must be the last statement of a block
        before = [body[start], *before]
    declared = _declared(v.names, before)
    now = _declared(v.names, body[start:stop])
    _require_same_aliases(declared, now)
    if declared != now:
        stop = len(body)
    body[start:stop] = map(copy, body[start:stop])
    behind = len(body) - stop
    _visit(v, way, start, behind)
    if behind and _declared(v.names, body[start : len(body) - behind]) != declared:
        raise IncompleteError
    _require_same_aliases(declared, _declared(v.names, body[start:stop]))


def _visit(v: Traversal, way: Sequence[Message], start: int, behind: int) -> None:
    """Visit `way`, then the block's statements, except the first `start` and the last `behind`."""
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
        visit, node, *arguments = task
        if id(node) in around:
            v.enter(node, *arguments[:2])
            visit(v, node, *arguments)
            if node is block or (node.__class__ is m.Stat and node.alternative is block):
                break
        elif node.__class__ is m.Stat:
            _declare(v, node)
    # The top of the stack now holds the tasks for the statements, above the end of the scope.
    for _ in range(start):
        _declare(v, stack.pop()[1])
    v.go_on(below + behind)


def _declare(v: Traversal, statement: m.Stat) -> None:
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
    """Return the names that statements declare, with the properties that later code depends on."""
    result: list[tuple[str, object]] = []
    for statement in statements:
        inner: Any = statement.alternative
        match inner:
            case m.StatLocal():
                result += [(names.local(variable.name), inner.is_const) for variable in inner.vars]
            case m.StatLocalFunction():
                constant = inner.is_const or inner.is_exported
                result.append((names.local(inner.var.name), constant))
            case m.StatRequireIntoLocalHelper():
                result.append((names.local(inner.var.name), None))
            case _ if statement.which in _ALIASES:
                result.append((names.type(inner.name.index), "type"))
    return result


def _require_same_aliases(
    before: Sequence[tuple[str, object]], now: Sequence[tuple[str, object]]
) -> None:
    # The whole block can use its types.
    if [d for d in before if d[1] == "type"] != [d for d in now if d[1] == "type"]:
        raise IncompleteError
