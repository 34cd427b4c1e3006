"""Builds random trees from choices that shrink (Hypothesis) or run out (a fuzzer's bytes).

With such choices, equal sequences should give equal subtrees anywhere in a tree. A part can then be
left out, or can replace the enclosing part, without changing the rest. So no part depends on the
number of nodes that other parts have used. Instead, each part has a hint: the number of nodes to
aim for. A message's hint is divided among its fields and items before they are built.

The larger the hint, the more often lists have items and messages hold other messages. A choice that
adds items or messages for a small hint also adds them for any larger hint. For every hint, the
choice 0 means no and the choice 1 means yes, so a shrunk subtree stays the same when it is moved.
The number of choices that determine a list's length does not depend on that length.

Trees that reach the requested size are an exception. They leave out everything that would need more
nodes, so their parts depend on earlier parts.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from typing import Any, Final, TypeVar

from scriptschema.base import Message
from scriptschema.choices import Choices
from scriptschema.generation.grammar import Alternative, Grammar, Step
from scriptschema.messages import Expr, Stat, Type

MessageT = TypeVar("MessageT", bound=Message)

_LARGEST: Final = 20
"""A hint larger than this gives the same probabilities as this hint."""

_NARROW: Final = 16
"""The number of trees out of 256 that are narrow (see `Sampler`)."""


APART: Final[tuple[type[Message], ...]] = (Expr, Stat, Type)
"""The messages whose choices are drawn as separate units, if the source of choices supports it."""


def decides(number: int, threshold: int) -> bool:
    """Return whether `number`, from 0 to 255, is 1 or at least `threshold`.

    Thresholds are at least 2, so 0 always means no and 1 always means yes.
    """
    return number == 1 or number >= threshold


class Sampler:
    """Builds one tree, which exceeds the requested size only if its class has no smaller tree.

    In a `narrow` tree, lists have at most one item, and each part may be as large as the whole
    tree, so the tree becomes deep. `left` is the number of nodes that may still be added, not
    counting those that existing nodes require.
    """

    def __init__(self, grammar: Grammar, choices: Choices) -> None:
        self.grammar = grammar
        self.plans = grammar.plans
        self.shares = grammar.shares
        self.choices = choices
        self.narrow = False
        self.left = 0

    def tree(self, cls: type[MessageT], size: int, max_depth: int) -> MessageT:
        """Return a complete tree, usually of fewer than `size` nodes."""
        self.narrow = self.choices.below(256) >= 256 - _NARROW
        self.left = size - self.grammar.costs[cls]
        # The hint is less than the size, because no part can be moved unchanged in a tree that
        # reaches the size. Shrinking three nested returns would end at 19 nodes instead of 14.
        tree: MessageT = self.build(cls, size * 3 // 4, max_depth)
        return tree

    def build(self, cls: type[Message], hint: int, depth: int) -> Any:
        """Return a message of about `hint` nodes, with at most `depth` levels below it."""
        choices = self.choices
        message = cls._unchecked()
        for slot, repeated in cls._newer_slots:
            setattr(message, slot, [] if repeated else None)
        shares = self.shares[cls]
        for step in self.plans[cls]:
            kind = step.kind
            value: Any
            if step.draw is not None:
                value = step.draw(choices)
            else:
                part = hint - 1
                if step.share and not self.narrow:
                    part = part * step.share // shares
                if kind == "required":
                    value = self.build(step.type, part, depth - 1)
                elif kind == "repeated":
                    value = self.items(step, part, depth - 1)
                elif kind == "optional":
                    value = None
                    fits = decides(self.decision(), self.threshold(step, part))
                    if fits and step.cost <= self.left and step.height < depth:
                        self.left -= step.cost
                        build = self.part if step.share else self.build
                        value = build(step.type, part, depth - 1)
                else:
                    alternative = self.alternative(step, part, depth - 1)
                    field = alternative.field
                    message.which = field.name if field else None
                    if field is None:
                        value = None
                    elif field.is_message:
                        build = self.part if alternative.grows and cls not in APART else self.build
                        value = build(field.type, part, depth - 1)
                    else:
                        value = choices.int32()
            setattr(message, step.slot, value)
        message.__class__ = cls
        return message

    def part(self, cls: type[Message], hint: int, depth: int) -> Any:
        """Like `build`, but for an optional part of any size.

        With Hypothesis, this method is overridden to draw the part as a separate unit.
        """
        return self.build(cls, hint, depth)

    def items(self, step: Step, hint: int, depth: int) -> list[Any]:
        """Return the items of a list."""
        if step.share:
            lengths: Sequence[float] = step.lengths
            fits = decides(self.decision(), self.threshold(step, hint))
            most = 1 if self.narrow else 1 + max(hint, 0) // 3
        else:  # names, which cost little
            lengths, fits, most = step.longer, True, len(step.longer)
        number = self.decision()
        # For every list, 1 means one item and 0 no items, as in `decides`.
        count = number if number < 2 else bisect(lengths, number * lengths[-1] / 256)
        count = min(count, most, self.left // step.cost)
        if not fits or count <= 0 or step.height > depth:
            return []
        self.left -= count * step.cost
        part = hint if self.narrow else hint // count
        return [self.build(step.type, part, depth) for _ in range(count)]

    def decision(self) -> int:
        """Return a number from 0 to 255 that decides whether a part is present."""
        return self.choices.below(256)

    def threshold(self, step: Step, hint: int) -> int:
        """Return the threshold that `decides` needs for a list, an optional field or a oneof.

        `decides` then returns whether the list may have items, the field is set, or the oneof gets
        an alternative that can grow.
        """
        key = max(0, min(hint, _LARGEST))
        limit: int | None = step.tables.get(key)
        if limit is None:
            # The factor by which this hint changes the odds of growing that the weights give.
            odds = max(0.12, min((key / 5) ** 2, 12))
            if step.kind == "optional":
                odds = min(odds, 1)
            elif step.wanted:
                odds = max(odds, 4)
            elif step.kind == "oneof":
                if step.type not in APART:
                    odds = min(odds, 1)
                odds *= step.growing[1][-1] / step.ends[1][-1]
            limit = step.tables[key] = max(2, min(round(256 / (1 + odds)), 255))
        return limit

    def alternative(self, step: Step, hint: int, depth: int) -> Alternative:
        """Choose an alternative, subtract its cost from `left`, and return it."""
        alternatives, cumulative = step.ends
        if step.growing[0] and (
            not alternatives or decides(self.choices.below(256), self.threshold(step, hint))
        ):
            alternatives, cumulative = step.growing
        least = step.alternatives[0].cost
        chosen = alternatives[self.choices.pick(cumulative)]
        if chosen.height > depth or chosen.cost - least > self.left:
            chosen = next(a for a in step.alternatives if a.height <= depth)
        self.left -= int(chosen.cost - least)
        return chosen
