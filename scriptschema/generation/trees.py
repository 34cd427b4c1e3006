"""Generates random trees of any message class.

One grammar, derived from the messages (`grammar.py`), describes all trees. Any source of choices
can be used (`choices.py`). If choices can shrink or run out, `sampling.py` builds the tree.

If choices are random numbers, this module builds the tree from the root down. Each message gets a
budget of nodes, reserves the nodes that it requires, and divides the rest among its fields. The
budget determines the number of items in a list. A oneof gets an alternative that can use the
budget. So a tree's size is known beforehand, and trees get long lists rather than deep branches.
When the budget is used up, the cheapest completion is chosen.

`weights.WEIGHTS` has the relative frequencies of alternatives, so that trees look like programs.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import isqrt
from os import PathLike
from typing import Any, Final, TypedDict, TypeVar, Unpack, overload

from scriptschema.base import MAX_DEPTH, Message
from scriptschema.choices import Choices, seeded
from scriptschema.generation.grammar import Alternative, Grammar, Step, grammar_of
from scriptschema.generation.sampling import Sampler
from scriptschema.generation.weights import Weights
from scriptschema.messages import ModuleSet, schema
from scriptschema.versions import Version

DEFAULT_SIZE: Final = 200
DEEPEST: Final = 200
"""The maximum depth of any tree, even if more is requested, since each level needs a nested call.
"""

MessageT = TypeVar("MessageT", bound=Message)


class TreeOptions(TypedDict, total=False):
    """The options of Hypothesis strategies for trees, and of `generate`."""

    size: int
    max_depth: int
    weights: Weights | str | PathLike[str] | None
    swarm: bool
    luau: str | Version | None


class GenerateOptions(TreeOptions, total=False):
    """The options of `generate`."""

    seed: int | None
    choices: Choices | None


@overload
def generate(**options: Unpack[GenerateOptions]) -> ModuleSet: ...


@overload
def generate(cls: type[MessageT], **options: Unpack[GenerateOptions]) -> MessageT: ...


def generate(
    cls: type[Message] = ModuleSet,
    *,
    seed: int | None = None,
    choices: Choices | None = None,
    size: int = DEFAULT_SIZE,
    max_depth: int = MAX_DEPTH,
    weights: Weights | str | PathLike[str] | None = None,
    swarm: bool = False,
    luau: str | Version | None = None,
) -> Message:
    """Return a random tree of class `cls` that is valid according to the schema.

    The choices come from `seed` or `choices`. The same seed gives the same tree on every machine.
    Without either argument, each call returns a different tree.

    `size`, at least 1, is the target number of nodes (messages). For choices that can shrink or run
    out (Hypothesis, a fuzzer's bytes), `size` is only a limit, which required nodes may exceed. No
    tree has more than `max_depth` levels below its root, or more than `DEEPEST`.

    `weights` overrides some of the default weights (`weights.WEIGHTS`). It maps messages to the
    weights of their alternatives, or is the path of a TOML file with a table for each message.
    `swarm` disables random alternatives (Groce et al., "Swarm Testing", ISSTA 2012).

    If `luau` is a version such as `0.711` or `today`, trees may have that version's extensions.

    Raises WeightsError for invalid weights. Raises ValueError for an unknown version, for a size or
    depth that is too small, and if both `seed` and `choices` are given. Raises TypeError if `cls`
    is not a message class of that version.
    """
    source = seeded(seed, choices)
    if size < 1:
        raise ValueError(f"size must be at least 1, found {size}")
    max_depth = min(max_depth, DEEPEST)
    grammar = grammar_of(weights, luau)
    schema(luau).require(cls)
    if swarm:
        grammar = grammar.swarm(source, cls, max_depth)
    if max_depth < grammar.heights[cls]:
        raise ValueError(
            f"a {cls.__name__} has a depth of at least {grammar.heights[cls]}, so max_depth "
            f"cannot be {max_depth}"
        )
    if not source.fills:
        return Sampler(grammar, source).tree(cls, size, max_depth)
    tree: Message = Builder(grammar, source).build(cls, size, max_depth)
    return tree


class Builder:
    """Builds one tree. `made` is the number of nodes so far."""

    def __init__(self, grammar: Grammar, choices: Choices) -> None:
        self.plans = grammar.plans
        self.choices = choices
        self.made = 0

    def build(self, cls: type[Message], budget: int, depth: int) -> Any:
        """Return a message of about `budget` nodes, with at most `depth` levels below it."""
        self.made += 1
        choices = self.choices
        message = cls._unchecked()
        for slot, repeated in cls._newer_slots:
            setattr(message, slot, [] if repeated else None)
        plan = self.plans[cls]
        spare = budget - 1
        shares = wanted = 0
        for step in plan:
            spare -= step.cost if step.kind == "required" else 0
            shares += step.share
            wanted += step.wanted
        if wanted > spare:
            wanted = 0
        spare -= wanted
        for step in plan:
            kind = step.kind
            value: Any
            if step.draw is not None:
                value = step.draw(choices)
            else:
                part = 0
                if step.share and spare > 0:
                    part = spare
                    if shares > step.share:
                        part = choices.part(spare, step.share, shares)
                    shares -= step.share
                before = self.made
                if kind == "required":
                    value = self.build(step.type, step.cost + part, depth - 1)
                    before += step.cost
                elif kind == "repeated":
                    kept = step.wanted if wanted else 0
                    value = self.items(step, kept + (part if step.share else spare), depth - 1)
                    before += kept
                elif kind == "optional":
                    value = None
                    able = part >= step.cost and step.height < depth
                    if able and choices.below(2):
                        value = self.build(step.type, part, depth - 1)
                else:
                    alternative = self.alternative(step, part, depth - 1)
                    field = alternative.field
                    message.which = field.name if field else None
                    if field is None:
                        value = None
                    elif field.is_message:
                        value = self.build(field.type, part, depth - 1)
                    else:
                        value = choices.int32()
                spare -= self.made - before
            setattr(message, step.slot, value)
        message.__class__ = cls
        return message

    def items(self, step: Step, budget: int, depth: int) -> list[Any]:
        """Return the items of a list, with about `budget` nodes in total."""
        most = budget // step.cost if step.height <= depth else 0
        items: list[Any] = []
        if most <= 0:
            return []
        if step.share and budget > 8 * step.cost:
            # Prefer many small items to few large items: about as many items as nodes in each.
            count = 1 + self.choices.part(2 * isqrt(most), 1, 2)
        else:
            count = self.choices.pick(step.lengths)
        count = min(count, most)
        while count:
            part = budget
            if count > 1:
                # Leave a few nodes for each item, so that few items have minimum size.
                part = self.choices.part(budget, 1, count)
                part = max(min(part, budget - (count - 1) * step.cost), min(budget // count, 3))
            before = self.made
            items.append(self.build(step.type, max(part, step.cost), depth))
            budget -= self.made - before
            count -= 1
        return items

    def alternative(self, step: Step, budget: int, depth: int) -> Alternative:
        """Choose and return an alternative that `budget` and `depth` allow."""
        key = min(budget, 12), min(depth, 12)
        table = step.tables.get(key)
        if table is None:
            table = step.tables[key] = _table(step.alternatives, *key)
        able, cumulative = table
        return able[self.choices.pick(cumulative)]


def _table(
    alternatives: Sequence[Alternative], budget: int, depth: int
) -> tuple[Sequence[Alternative], Sequence[float]]:
    """Return the alternatives that fit `budget` and `depth`, and their cumulative weights.

    With a larger budget, alternatives that limit the tree's size are less likely or excluded.
    """
    able = [a for a in alternatives if a.height <= depth]
    cheap = (
        [a for a in able if a.with_wanted <= budget]
        or [a for a in able if a.cost <= budget]
        or [min(able, key=lambda a: a.cost)]
    )
    if budget >= 12:
        cheap = [a for a in cheap if a.grows] or cheap
    rare = 1 if budget < 4 else 4
    return cheap, tuple(accumulate(a.weight if a.grows else a.weight / rare for a in cheap))
