"""What many tests ask of a tree, and trees that are nested deeply."""

from __future__ import annotations

from scriptschema.base import Message, walk
from scriptschema.messages import Expr, ExprGroup


def size(tree: Message) -> int:
    """Return the number of nodes."""
    return sum(1 for _ in walk(tree))


def depth(tree: Message) -> int:
    """Return the number of levels below the root."""
    return max(len(path) for _, path in walk(tree))


def nested(levels: int) -> Expr:
    """Return nested groups with an even number of levels below the outermost message."""
    tree = Expr()
    for _ in range(levels // 2):
        tree = Expr(group=ExprGroup(expr=tree))
    return tree
