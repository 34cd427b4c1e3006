"""Random trees from choices that shrink or run out: Hypothesis's, and those of a fuzzer's bytes.

Here the same choices should result in the same tree in any place, so that a part can be left out,
or replace the part around it, without changing the rest. So no part depends on the nodes that
another part has used. Instead each place has a hint, the number of nodes to aim for there: it is
divided among fields and items beforehand, and the larger it is, the likelier lists have items and
messages hold others. A part that has them with a small hint has them with any larger hint, and the
choices 0 and 1 mean no and yes for every hint: a shrunk tree can be moved. A message makes the same
number of choices for lists of any length.

Only in a tree that reaches the requested size does a part depend on earlier parts: then everything
that needs more nodes is left out.
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
"""The hint beyond which probabilities no longer increase."""

_NARROW: Final = 16
"""The number of trees, of 256, that are narrow."""


APART: Final[tuple[type[Message], ...]] = (Expr, Stat, Type)
"""The messages that have separate choices in any place, if the source supports parts."""


def decides(number: int, threshold: int) -> bool:
    """Return whether `number`, of 256, means yes: 256 - `threshold` of them do.

    For every threshold, 0 means no and 1 means yes.
    """
    return number == 1 or number >= threshold


class Sampler:
    """Builds one tree of at most `size` nodes, if its class has such a tree.

    A narrow tree has lists of one item, and each part may be as large as the whole: so it gets
    deep, until the size is reached. `left` is the number of nodes that may be added to those that
    exist and those that they require.
    """

    def __init__(self, grammar: Grammar, choices: Choices) -> None:
        self.grammar = grammar
        self.plans = grammar.plans
        self.shares = grammar.shares
        self.choices = choices
        self.narrow = False
        self.left = 0

    def tree(self, cls: type[MessageT], size: int, max_depth: int) -> MessageT:
        """Build a whole tree, which seldom reaches the size."""
        self.narrow = self.choices.below(256) >= 256 - _NARROW
        self.left = size - self.grammar.costs[cls]
        # Less than the size: in a tree that reaches it, no part can be moved unchanged; shrinking
        # three returns out of nested blocks then ended at 19 nodes instead of 14.
        tree: MessageT = self.build(cls, size * 3 // 4, max_depth)
        return tree

    def build(self, cls: type[Message], hint: int, depth: int) -> Any:
        """Build a message of about `hint` nodes, at most `depth` levels below it."""
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
        """Build a message of any size in a place that could have something small or nothing."""
        return self.build(cls, hint, depth)

    def items(self, step: Step, hint: int, depth: int) -> list[Any]:
        """Build the items of a list."""
        if step.share:
            lengths: Sequence[float] = step.lengths
            fits = decides(self.decision(), self.threshold(step, hint))
            most = 1 if self.narrow else 1 + max(hint, 0) // 3
        else:  # names, which cost little
            lengths, fits, most = step.longer, True, len(step.longer)
        number = self.decision()
        # 1 means one item in every list, 0 no items, like in `decides`.
        count = number if number < 2 else bisect(lengths, number * lengths[-1] / 256)
        count = min(count, most, self.left // step.cost)
        if not fits or count <= 0 or step.height > depth:
            return []
        self.left -= count * step.cost
        part = hint if self.narrow else hint // count
        return [self.build(step.type, part, depth) for _ in range(count)]

    def decision(self) -> int:
        """Choose a number from 0 to 255 on which the presence of parts depends."""
        return self.choices.below(256)

    def threshold(self, step: Step, hint: int) -> int:
        """Return the threshold for a list to have items, a field to be set, or a tree to grow."""
        key = max(0, min(hint, _LARGEST))
        found: int | None = step.tables.get(key)
        if found is None:
            # The odds of growing with this hint, relative to those of the weights.
            odds = max(0.12, min((key / 5) ** 2, 12))
            if step.kind == "optional":
                odds = min(odds, 1)
            elif step.wanted:
                odds = max(odds, 4)
            elif step.kind == "oneof":
                if step.type not in APART:
                    odds = min(odds, 1)
                odds *= step.growing[1][-1] / step.ends[1][-1]
            found = step.tables[key] = max(2, min(round(256 / (1 + odds)), 255))
        return found

    def alternative(self, step: Step, hint: int, depth: int) -> Alternative:
        """Choose an alternative and subtract its cost from `left`."""
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
