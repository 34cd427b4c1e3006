"""Python's protocols for copying and pickling, for trees of any depth, without recursion.

Python's `copy` and `pickle` recurse once per level. Here a tree is converted to a table of its
nodes (messages and their lists), which refer to each other by index. A node that occurs several
times is listed once, so it stays shared. To copy many trees, use `codec.copying.copy`, which is
faster.
"""

from __future__ import annotations

import copy
from typing import Any, TypeVar

from pure_protobuf.message import BaseMessage

NodeT = TypeVar("NodeT", bound=BaseMessage)
Parts = list[Any]
"""A node's values in order: a message's slots or a list's items."""


def shallow(message: NodeT) -> NodeT:
    """Return a shallow copy of the message, whose fields have the same values."""
    duplicate: NodeT = _empty(message.__class__)
    _fill(duplicate, _parts(message))
    return duplicate


def deep(message: NodeT, memo: dict[int, Any]) -> NodeT:
    """Return a deep copy of the tree.

    `memo` is the dictionary that `copy.deepcopy` passes to `__deepcopy__`.
    """
    nodes = _nodes(message, memo)
    for node in nodes:
        memo[id(node)] = _empty(node.__class__)
    for node in nodes:
        # Parts that are not nodes are integers, strings etc., or do not belong in a tree.
        copied = [
            memo[id(part)] if id(part) in memo else copy.deepcopy(part, memo)
            for part in _parts(node)
        ]
        _fill(memo[id(node)], copied)
    duplicate: NodeT = memo[id(message)]
    return duplicate


def unshared(message: NodeT) -> NodeT:
    """Return a copy of the tree in which no message and no list occurs twice."""
    duplicate: NodeT = _empty(message.__class__)
    pairs: list[tuple[Any, Any]] = [(message, duplicate)]
    while pairs:
        node, node_copy = pairs.pop()
        parts = _parts(node)
        for position, part in enumerate(parts):
            if _is_node(part):
                parts[position] = _empty(part.__class__)
                pairs.append((part, parts[position]))
        _fill(node_copy, parts)
    return duplicate


def reduced(message: BaseMessage) -> tuple[Any, ...]:
    """Return the value for `__reduce__`: the function that restores the tree, and its argument.

    The argument is the table described in the module's docstring.
    """
    nodes = _nodes(message, {})
    numbers = {id(node): number for number, node in enumerate(nodes)}
    rows = []
    for node in nodes:
        parts = _parts(node)
        links = []
        for position, part in enumerate(parts):
            number = numbers.get(id(part))
            if number is not None:
                links.append((position, number))
                parts[position] = None
        rows.append((node.__class__, parts, links))
    return _restored, (rows,)


def _restored(rows: list[tuple[type, Parts, list[tuple[int, int]]]]) -> Any:
    nodes = [_empty(cls) for cls, _, _ in rows]
    for node, (_, parts, links) in zip(nodes, rows, strict=True):
        for position, number in links:
            parts[position] = nodes[number]
        _fill(node, parts)
    return nodes[0]


def _nodes(root: BaseMessage, excluded: dict[int, Any]) -> list[Any]:
    nodes: list[Any] = [root]
    seen = {id(root)}
    for node in nodes:
        for part in _parts(node):
            if _is_node(part) and id(part) not in seen and id(part) not in excluded:
                seen.add(id(part))
                nodes.append(part)
    return nodes


def _is_node(part: object) -> bool:
    return isinstance(part, BaseMessage) or part.__class__ is list


def _parts(node: Any) -> Parts:
    return list(node) if node.__class__ is list else [getattr(node, name) for name in node._slots]


def _empty(cls: type[Any]) -> Any:
    return object.__new__(cls) if cls is not list else []


def _fill(node: Any, parts: Parts) -> None:
    if node.__class__ is list:
        node += parts
        return
    for name, value in zip(node._slots, parts, strict=True):
        object.__setattr__(node, name, value)
