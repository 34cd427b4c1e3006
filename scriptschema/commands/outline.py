"""A tree as a person reads it: one line a message, for `scriptschema show`.

A message that is one of several (`Expr`, `Stat` ...) shares its line with the alternative that is
set; numbers, strings and the like stand on the line of their message.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum

import attrs

from scriptschema.base import Message


@attrs.frozen
class Line:
    """One line: the branches before it, the path step, the message's name, its plain values."""

    branches: str
    step: str
    name: str
    values: tuple[tuple[str, str], ...]
    depth: int
    nodes: int


def outline(tree: Message) -> Iterator[Line]:
    """Yield the lines of `tree`, top down; a choice and its alternative share one."""
    stack = [(tree, "", "", "", 0)]
    while stack:
        message, step, branch, below, depth = stack.pop()
        nodes = 1
        while isinstance(message.alternative, Message) and not _others(message):
            step = ".".join(filter(None, (step, message.which)))
            message = message.alternative
            depth += 1
            nodes += 1
        values = []
        children = []
        for name, field in message.ALL_FIELDS.items():
            value = getattr(message, name)
            if field.rule == "repeated":
                children += [(item, f"{name}[{index}]") for index, item in enumerate(value)]
            elif isinstance(value, Message):
                children.append((value, name))
            elif value is not None:
                values.append((name, value.name if isinstance(value, IntEnum) else repr(value)))
        if message.ONEOF and message.which is None and not _others(message):
            values.append((message.ONEOF, "nothing set"))
        yield Line(branch, step, type(message).__name__, tuple(values), depth, nodes)
        last = len(children) - 1
        stack.extend(
            (
                child,
                child_step,
                below + ("└── " if index == last else "├── "),
                below + ("    " if index == last else "│   "),
                depth + 1,
            )
            for index, (child, child_step) in reversed(list(enumerate(children)))
        )


def _others(message: Message) -> bool:
    """Whether the message has fields beside its oneof."""
    return any(field.oneof is None for field in message.ALL_FIELDS.values())
