"""The grammar of random trees: the parts of each message, and the minimum cost of each part.

The grammar is derived from the messages and from `weights.py`. `trees.py` and `sampling.py` build
trees with it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import IntEnum
from functools import cache, lru_cache, partial
from itertools import accumulate
from math import inf
from os import PathLike
from typing import Any, Final, TypeAlias, TypeVar, cast

import attrs

from scriptschema.base import UNSET, FieldInfo, Int64, Message
from scriptschema.choices import Choices
from scriptschema.generation.weights import (
    ITEMS,
    LENGTHS,
    NAMES,
    NEWER_WEIGHTS,
    SHARES,
    SIMPLEST,
    WANTED,
    WEIGHTS,
    Changes,
    Weights,
    WeightsError,
    frozen,
    read_weights,
)
from scriptschema.messages import Schema, schema
from scriptschema.versions import TODAY, Version

ValueT = TypeVar("ValueT")


def grammar_of(
    weights: Weights | str | PathLike[str] | None, luau: str | Version | None = None
) -> Grammar:
    """Return the grammar with the given weights. Arguments and errors are those of `generate`."""
    luau_schema = schema(luau)
    return _grammar(frozen(read_weights(weights), "alternatives"), luau_schema)


@lru_cache(maxsize=64)
def _grammar(changes: Changes, known: Schema) -> Grammar:
    weights: dict[str, dict[str, float]] = {m: {**inner} for m, inner in WEIGHTS.items()}
    for message, newer in NEWER_WEIGHTS.items():
        if message in known.messages:
            names = {field.schema_name for field in known.fields[known.messages[message]].values()}
            newer_weights = {name: weight for name, weight in newer.items() if name in names}
            weights[message] = weights.get(message, {}) | newer_weights
    for message, inner in changes:
        if message not in weights:
            if message in ("idioms", "libraries"):
                raise WeightsError(
                    f"weights for {message} only apply to programs that run "
                    "(strategies.programs, generate --programs), not to random trees"
                )
            there = ", ".join(weights)
            raise WeightsError(
                f"{message} has no alternatives to weight; messages with alternatives: {there}"
            )
        fields = known.fields[known.messages[message]].values()
        listed = [*(field.schema_name for field in fields if field.oneof), UNSET]
        for name, weight in inner:
            if name not in listed:
                raise WeightsError(
                    f"unknown alternative {name!r} of {message}; available: {', '.join(listed)}"
                )
            weights[message][name] = weight
    return Grammar(weights, known)


@attrs.frozen
class Alternative:
    """An alternative of a oneof. If `field` is None, the oneof stays unset.

    `cost` is the minimum number of nodes in the field's value. `with_wanted` is the same minimum
    for values whose `WANTED` lists are not empty. `height` is the minimum number of levels below
    the value, or -1 if the value is not a message. `grows` is true if the value can be a tree of
    any size.
    """

    field: FieldInfo | None
    weight: float
    cost: float
    with_wanted: float
    height: float
    grows: bool


Weighted: TypeAlias = tuple[Sequence[Alternative], Sequence[float]]
"""Alternatives, and their cumulative weights."""


@attrs.frozen
class Step:
    """A step in generating a message: one of its fields, or its oneof (`alternatives`).

    `growing` has the alternatives that can contain a tree of any size, and `ends` has the others.
    `draw` returns a field's value. It is None if the field contains messages.

    `lengths` has the cumulative weights of list lengths. `longer` has cumulative probabilities that
    favour longer lists: at every length, the odds that the list continues are twice those of
    `lengths`. `tables` is a cache that the builders fill on demand.
    """

    slot: str
    kind: str
    type: type[Any] = object
    cost: int = 0
    height: int = 0
    share: int = 0
    wanted: int = 0
    lengths: tuple[int, ...] = ()
    longer: tuple[float, ...] = ()
    draw: Callable[[Choices], Any] | None = None
    alternatives: tuple[Alternative, ...] = ()
    ends: Weighted = ((), ())
    growing: Weighted = ((), ())
    tables: dict[Any, Any] = attrs.field(factory=dict)


class _OnDemand(dict[type[Message], ValueT]):
    """Values for message classes, each made when it is first used: most trees use few classes."""

    def __init__(self, make: Callable[[type[Message]], ValueT]) -> None:
        self._make = make

    def __missing__(self, cls: type[Message]) -> ValueT:
        value = self[cls] = self._make(cls)
        return value


class Grammar:
    """A weighted grammar: the steps that build each message, and the cost of its smallest tree.

    For each message class, `costs` has the number of nodes in the smallest tree, and `heights` has
    the minimum number of levels below the root. Raises WeightsError if a class has no finite tree.
    """

    def __init__(self, weights: Mapping[str, Mapping[str, float]], known: Schema) -> None:
        self.weights = weights
        self.schema = known
        ways = {cls: self._ways(cls) for cls in known.fields}
        users = _users(known)
        self.costs = _least(ways, users, lambda values: 1 + sum(values))
        self.heights = _least(ways, users, lambda values: max(values, default=-1) + 1)
        for cls, cost in self.costs.items():
            if cost == inf:
                raise WeightsError(
                    f"these weights make every {cls.__name__} infinite: give a weight above 0 "
                    f"to an alternative of {cls.__name__} that contains no other {cls.__name__}"
                )
        self.plans = _OnDemand(self._plan)
        self.shares = _OnDemand(lambda cls: sum(step.share for step in self.plans[cls]))

    def swarm(self, choices: Choices, root: type[Message], max_depth: int) -> Grammar:
        """Return this grammar with about half of the alternatives disabled.

        Each oneof keeps an alternative that makes a finite tree possible. If the kept alternatives
        do not allow a `root` of at most `max_depth` levels, return this grammar unchanged.
        """
        weights = {}
        for message, inner in self.weights.items():
            cls = self.schema.messages[message]
            kept = {name: weight for name, weight in inner.items() if not choices.below(2)}
            able = [
                alternative
                for step in self.plans[cls]
                for alternative in step.alternatives
                if alternative.weight
            ]
            ends = [alternative for alternative in able if not alternative.grows] or able
            if not any(_schema_name(end.field) in kept for end in ends):
                end = _schema_name(ends[choices.below(len(ends))].field)
                kept[end] = inner[end]
            weights[message] = kept
        swarmed = Grammar(weights, self.schema)
        return swarmed if swarmed.heights[root] <= max_depth else self

    def weight(self, field: FieldInfo) -> float:
        """Return the weight of the alternative `field` of a oneof."""
        return self.weights[field.message].get(field.schema_name, 0)

    def _ways(self, cls: type[Message]) -> list[list[type[Message]]]:
        """Return one list of required message classes for each way to build a `cls`."""
        required, alternatives = _parts(self.schema)[cls]
        weights = self.weights.get(cls.__name__, {})
        if not cls.ONEOF or weights.get(UNSET):
            return [required]
        return [[*required, *parts] for name, parts in alternatives if weights.get(name)]

    def _plan(self, cls: type[Message]) -> list[Step]:
        steps: list[Step] = []
        for name, field in self.schema.fields[cls].items():
            if not field.oneof:
                cost, height = self.costs.get(field.type, 0), self.heights.get(field.type, 0)
                steps.append(_step(cls, name, cost, height))
            elif not any(step.kind == "oneof" for step in steps):
                steps.append(self._oneof(cls))
        return steps

    def _with_wanted(self, cls: type[Any]) -> int:
        if cls not in self.costs:
            return 0
        lists = [f for f in cls.FIELDS.values() if f"{cls.__name__}.{f.name}" in WANTED]
        return self.costs[cls] + sum(self.costs[field.type] for field in lists)

    def _oneof(self, cls: type[Message]) -> Step:
        alternatives = [
            Alternative(
                field,
                self.weight(field),
                self.costs.get(field.type, 0),
                self._with_wanted(field.type),
                self.heights.get(field.type, -1),
                _grows(field),
            )
            for field in self.schema.fields[cls].values()
            if field.oneof and self.weight(field)
        ]
        unset = self.weights[cls.__name__].get(UNSET)
        if unset:
            alternatives.append(Alternative(None, unset, 0, 0, -1, grows=False))
        # The simplest first.
        alternatives.sort(key=lambda a: (a.cost, a.grows, a.field.tag if a.field else 0))
        share = max(SHARES.get(f"{cls.__name__}.{_schema_name(a.field)}", 1) for a in alternatives)
        return Step(
            "alternative",
            "oneof",
            cls,
            share=share,
            alternatives=tuple(alternatives),
            ends=_weighted(a for a in alternatives if not a.grows),
            growing=_weighted(sorted((a for a in alternatives if a.grows), key=_simplicity)),
        )


def _least(
    ways: Mapping[type[Message], list[list[type[Message]]]],
    users: Mapping[type[Message], Collection[type[Message]]],
    combine: Callable[[list[float]], float],
) -> dict[type[Message], int]:
    """Return the minimum cost or height of each class, or `inf` for a class without a finite tree.

    Each way to build a message is a list of the classes of its parts. `users` has the classes whose
    messages may have parts of a class. `combine` computes the message's cost or height from those
    of its parts.
    """
    least: dict[type[Message], float] = dict.fromkeys(ways, inf)
    left: Collection[type[Message]] = [*ways]
    while left:
        changed = []
        for cls in left:
            value = min([combine([least[part] for part in way]) for way in ways[cls]], default=inf)
            if value < least[cls]:
                least[cls] = value
                changed.append(cls)
        left = dict.fromkeys(user for cls in changed for user in users[cls])
    return cast(dict[type[Message], int], least)


@cache
def _users(known: Schema) -> Mapping[type[Message], Collection[type[Message]]]:
    """Return the classes whose messages may have required parts of each class."""
    users: dict[type[Message], list[type[Message]]] = {cls: [] for cls in known.fields}
    for cls, (required, alternatives) in _parts(known).items():
        for part in {*required, *(part for _, parts in alternatives for part in parts)}:
            users[part].append(cls)
    return users


# Cached, because with `swarm` each tree has its own grammar.
@cache
def _step(cls: type[Message], name: str, cost: int, height: int) -> Step:
    """Return the step for a field that is not in a oneof."""
    field = cls.ALL_FIELDS[name]
    return Step(
        name,
        field.rule,
        field.type,
        cost,
        height,
        SHARES.get(f"{cls.__name__}.{field.schema_name}", 1) if _grows(field) else 0,
        cost if f"{cls.__name__}.{name}" in WANTED else 0,
        tuple(accumulate(_lengths(field))),
        _longer(_lengths(field)),
        None if field.is_message else _drawing(field),
    )


def _drawing(field: FieldInfo) -> Callable[[Choices], Any]:
    if issubclass(field.type, IntEnum):
        draw: Callable[[Choices], Any] = partial(_member, tuple(field.type))
    else:
        draw = _DRAWINGS[field.type] if not (field.since and field.type is bool) else _flag
    return partial(_seldom, draw) if field.since else draw


def _member(members: Sequence[IntEnum], choices: Choices) -> IntEnum:
    return members[choices.below(len(members))]


def _flag(_: Choices) -> bool:
    return True


def _seldom(draw: Callable[[Choices], Any], choices: Choices) -> Any:
    return None if choices.below(4) < 3 else draw(choices)


_DRAWINGS: Final[Mapping[type, Callable[[Choices], Any]]] = {
    int: lambda choices: choices.int32(),
    bool: lambda choices: choices.below(2) == 1,
    str: lambda choices: choices.string(),
    float: lambda choices: choices.int32() / (1, 2, 10, 3)[choices.below(4)],
    Int64: lambda choices: choices.int32() << (0, 0, 1, 31)[choices.below(4)],
}


def _schema_name(field: FieldInfo | None) -> str:
    return field.schema_name if field else UNSET


def _lengths(field: FieldInfo) -> Sequence[int]:
    name = f"{field.message}.{field.name}"
    return LENGTHS.get(name, ITEMS if field.is_message and _grows(field) else NAMES)


def _longer(lengths: Sequence[int]) -> tuple[float, ...]:
    sums = []
    total, left = 0.0, 1.0
    for n, weight in enumerate(lengths):
        ends = left * weight / (weight + 2 * sum(lengths[n + 1 :]))
        total += ends
        left -= ends
        sums.append(total)
    return tuple(sums)


def _simplicity(alternative: Alternative) -> int:
    field = alternative.field
    simplest = SIMPLEST.get(field.message, ()) if field else ()
    name = _schema_name(field)
    return simplest.index(name) if name in simplest else len(simplest)


def _weighted(alternatives: Iterable[Alternative]) -> Weighted:
    kept = tuple(alternatives)
    return kept, tuple(accumulate(a.weight for a in kept))


def _grows(field: FieldInfo) -> bool:
    return field.is_message and field.type not in _BOUNDED


def _bounded() -> set[type]:
    """Return the message classes whose trees have a limited size."""
    bounded: set[type] = set()
    while True:
        more = {
            cls
            for cls in schema(TODAY).messages.values()
            if all(
                not field.is_message or (field.type in bounded and field.rule != "repeated")
                for field in cls.FIELDS.values()
            )
        }
        if more == bounded:
            return bounded
        bounded = more


_BOUNDED: Final = _bounded()


# The classes that a message requires, and (name, [class] or []) for each alternative.
_Parts: TypeAlias = tuple[list[type[Message]], list[tuple[str, list[type[Any]]]]]


@cache
def _parts(known: Schema) -> Mapping[type[Message], _Parts]:
    return {cls: _parts_of(fields.values()) for cls, fields in known.fields.items()}


def _parts_of(fields: Collection[FieldInfo]) -> _Parts:
    required = [field.type for field in fields if field.is_message and field.rule == "required"]
    alternatives = [
        (field.schema_name, [field.type] if field.is_message else [])
        for field in fields
        if field.oneof
    ]
    return required, alternatives
