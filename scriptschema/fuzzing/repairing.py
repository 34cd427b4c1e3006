"""Repair of a mutant of a valid program: only along the changed path, where that is enough."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeVar

from scriptschema import messages as m
from scriptschema.base import Message
from scriptschema.fuzzing.index import Index
from scriptschema.luau.repair import Problem, repair, repair_statements

MessageT = TypeVar("MessageT", bound=Message)

_LEAVES_NO_LOOP: Final = frozenset([m.ExprFunction, m.StatFor, m.StatForIn, m.StatWhile])
"""What no `continue` in it jumps out of."""


def repaired(
    index: Index[MessageT], mutant: MessageT, number: int
) -> tuple[MessageT, int | None] | None:
    """Return the repaired mutant, and the number of the message in it that is another one.

    `mutant` differs from the valid tree of `index` only in the message of that number; it is
    changed, but not what it shares with that tree. It has at most MAX_CLOSURES messages, and at
    most MAX_DEPTH levels. The number is None if the whole tree was repaired: then nothing is
    shared. Returns None if the repaired mutant is the tree of the index again.
    """
    block = _block(index, number)
    problems = None if block is None else _repair_in(index, mutant, block)
    if problems is None:
        mutant, block = repair(mutant), None
    return None if problems != [] and mutant == index.tree else (mutant, block)


def _block(index: Index[Any], number: int) -> int | None:
    """The number of the innermost block on whose statements alone the repair depends."""
    nodes, parents = index.nodes, index.parents
    found = above = number
    while above >= 0 and nodes[above].__class__ is not m.StatBlock:
        above = parents[above]
    if above < 0:
        return None
    found = above
    # A repeat's condition sees the locals of its body but for those that a continue jumps over.
    leaves = False
    while above > 0:
        inner, above = above, parents[above]
        node: Any = nodes[above]
        if node.__class__ in _LEAVES_NO_LOOP:
            leaves = True
        elif node.__class__ is m.StatRepeat and (not leaves or nodes[inner] is node.cond):
            if parents[above] <= 0:
                return None
            found = above = parents[parents[above]]
            leaves = False
    return found


def _repair_in(index: Index[Any], mutant: Any, block: int) -> list[Problem] | None:
    """Repair the statements of a block that differ, see `repair_statements`."""
    way = [mutant]
    for inner in index.way(block):
        slot, position = index.slot(inner)
        child = getattr(way[-1], slot)
        way.append(child if position is None else child[position])
    body: list[m.Stat] = way[-1].body
    old: Any = index.nodes[block]
    before: Sequence[m.Stat] = old.body
    start = 0
    least = min(len(body), len(before))
    while start < least and body[start] is before[start]:
        start += 1
    same = 0
    while same < least - start and body[-1 - same] is before[-1 - same]:
        same += 1
    return repair_statements(
        way, range(start, len(body) - same), before[start : len(before) - same]
    )
