"""Random trees of any message.

One grammar, derived from the messages, and any source of choice (`choices.py`). A tree is built top
down: each message gets a budget of nodes, keeps what it cannot do without, and divides the rest
among its fields; a list takes more or fewer items, a choice an alternative that can use the budget.
So a tree's size is known beforehand, its lists are wide rather than its branches deep, and when the
budget is spent the cheapest completion is taken.

`WEIGHTS` says how often each alternative is taken; the default makes trees that look like programs.
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from functools import cache, lru_cache
from itertools import accumulate
from math import inf, isqrt
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeVar, cast, overload

import attrs

from scriptschema.base import UNSET, FieldInfo, Message, short
from scriptschema.generation.choices import Choices, RandomChoices
from scriptschema.messages import MESSAGES, ModuleSet

DEFAULT_SIZE: Final = 200
MAX_DEPTH: Final = 100
"""As deep as protobuf's C++ and upb runtimes read."""

DEEPEST: Final = 200
"""No tree is deeper, whatever is asked for: building one takes a call for each level."""

WEIGHTS: Final[Mapping[str, Mapping[str, int]]] = MappingProxyType(
    {
        "Expr": {
            "nil": 5,
            "bool": 5,
            "number": 12,
            "string": 9,
            "varargs": 3,
            "local": 14,
            "global": 9,
            "group": 4,
            "call": 14,
            "index_name": 9,
            "index_expr": 5,
            "unary": 6,
            "function": 6,
            "table": 8,
            "binary": 14,
            "ifelse": 4,
            "interpstring": 4,
        },
        "ExprPrefix": {
            "local": 12,
            "global": 12,
            "index_name": 6,
            "call": 5,
            "index_expr": 3,
            "group": 3,
        },
        "LValue": {"local": 8, "global": 5, "index_name": 4, "index_expr": 4},
        "Name": {"builtin": 3, "custom": 2},
        "TableItem": {UNSET: 4, "key_name": 4, "key_expr": 2},
        "ExprIfElse": {UNSET: 1, "else": 12, "elseif": 3},
        "Stat": {
            "break": 3,
            "continue": 3,
            "return": 6,
            "block": 3,
            "call": 14,
            "local": 16,
            "assign": 9,
            "compound_assign": 6,
            "if": 9,
            "while": 4,
            "repeat": 3,
            "for": 6,
            "for_in": 6,
            "function": 5,
            "local_function": 7,
            "type_alias": 4,
            "require_into_local": 2,
        },
        "StatIf": {UNSET: 5, "else": 4, "elseif": 2},
        "Type": {
            "primitive": 14,
            "boolean": 3,
            "string": 3,
            "literal": 6,
            "class": 4,
            "ref": 4,
            "table": 6,
            "function": 5,
            "typeof": 3,
            "union": 5,
            "intersection": 3,
        },
    }
)
"""How often each alternative of each message's oneof is taken, in relation to the others.

The names are the schema's; `unset` stands for no alternative. What is not named here has weight 0.
"""

# How much of a message's spare budget each field gets, where it is not 1.
_SHARES: Final = {
    "ModuleSet.program": 3,
    "ExprFunction.body": 12,
    "ExprCall.args": 3,
    "StatIf.then": 4,
    "StatIf.else": 3,
    "StatIf.elseif": 3,
    "StatWhile.body": 6,
    "StatRepeat.body": 6,
    "StatFor.body": 8,
    "StatForIn.body": 6,
    "StatFunction.func": 6,
    "StatLocal.values": 6,
    "StatAssign.values": 3,
}

# How long lists are, in percent for 0, 1, 2 ... items, where the budget allows. Lists of names stay
# that short whatever the budget.
_NAMES: Final = (40, 38, 14, 5, 3)
_GENERICS: Final = (85, 10, 5)
_ITEMS: Final = (22, 30, 20, 10, 6, 4, 3, 2, 1, 1, 1)
_STATEMENTS: Final = (8, 14, 14, 12, 10, 8, 7, 6, 5, 4, 3, 2, 2, 1, 1, 1, 1, 1)
_AT_LEAST_ONE: Final = (3, 75, 14, 5, 3)

# What is no program without an item: such a list seldom stays empty where the size is aimed at.
_WANTED: Final = frozenset(
    {
        *("StatLocal.vars", "StatAssign.vars", "StatAssign.values", "StatForIn.vars"),
        *("StatForIn.values", "ExprInterpString.parts"),
    }
)

_LENGTHS: Final = {
    "StatBlock.body": _STATEMENTS,
    **dict.fromkeys(_WANTED, _AT_LEAST_ONE),
    **dict.fromkeys((f"{m}.generics" for m in MESSAGES if m != "TypeLiteral"), _GENERICS),
    **dict.fromkeys((f"{m}.genericpacks" for m in MESSAGES), _GENERICS),
}

MessageT = TypeVar("MessageT", bound=Message)
Weights = Mapping[str, Mapping[str, float]]


class WeightsError(ValueError):
    """Weights that name what the schema does not have, or that leave no finite tree."""


@overload
def generate(
    *,
    seed: int | None = None,
    choices: Choices | None = None,
    size: int = DEFAULT_SIZE,
    max_depth: int = MAX_DEPTH,
    weights: Weights | str | PathLike[str] | None = None,
    swarm: bool = False,
) -> ModuleSet: ...


@overload
def generate(
    cls: type[MessageT],
    *,
    seed: int | None = None,
    choices: Choices | None = None,
    size: int = DEFAULT_SIZE,
    max_depth: int = MAX_DEPTH,
    weights: Weights | str | PathLike[str] | None = None,
    swarm: bool = False,
) -> MessageT: ...


def generate(
    cls: type[Message] = ModuleSet,
    *,
    seed: int | None = None,
    choices: Choices | None = None,
    size: int = DEFAULT_SIZE,
    max_depth: int = MAX_DEPTH,
    weights: Weights | str | PathLike[str] | None = None,
    swarm: bool = False,
) -> Message:
    """Return a random tree of class `cls`, valid by the schema.

    `seed` or `choices` says where the choices come from: the same seed gives the same tree on every
    machine, neither of the two another tree every time.

    `size` is the aimed number of nodes (messages), from 1 on; with a source that does not fill
    (bytes, Hypothesis) it is the limit, but for what a message cannot do without. No tree is deeper
    than `max_depth` levels below `cls`, nor than `DEEPEST`.

    `weights` changes `WEIGHTS`: a mapping from messages to alternatives to weights, or the path of
    a TOML file with a table for each message. `swarm` turns a random subset of the alternatives off
    for this tree (Groce et al., "Swarm Testing", ISSTA 2012).

    Raises WeightsError, ValueError for a size or a depth in which there is no tree, and TypeError
    for a class that is no message.
    """
    if seed is not None and choices is not None:
        raise ValueError("give a seed or choices, not both")
    if size < 1:
        raise ValueError(f"size must be at least 1, not {size}")
    if cls not in _PARTS:
        raise TypeError(f"not a message class: {getattr(cls, '__qualname__', cls)}")
    max_depth = min(max_depth, DEEPEST)
    grammar = grammar_of(weights)
    # Nothing here is a secret that a weak random number would tell.
    source = choices or RandomChoices(random.Random() if seed is None else seed)  # noqa: S311
    if swarm:
        grammar = grammar.swarm(source)
    if max_depth < grammar.heights[cls]:
        raise ValueError(
            f"a {cls.__name__} is at least {grammar.heights[cls]} deep, so max_depth cannot be "
            f"{max_depth}"
        )
    tree: Message = Builder(grammar, source).build(cls, size, max_depth)
    return tree


def grammar_of(weights: Weights | str | PathLike[str] | None) -> Grammar:
    """Return the grammar with the given weights: see `generate`. Raises WeightsError."""
    if weights is None:
        return _grammar(())
    if not isinstance(weights, Mapping):
        weights = read_weights(Path(weights))
    for message, inner in weights.items():
        if not isinstance(inner, Mapping):
            raise WeightsError(f"{message} must be a table of alternatives and weights")
        for name, weight in inner.items():
            # Sums of weights beyond these would no longer be right.
            if not isinstance(weight, (int, float)) or not (weight == 0 or 1e-9 <= weight <= 1e9):
                rule = "a weight is 0 or a number from 1e-9 to 1e9"
                raise WeightsError(f"{message}.{name}: {rule}: {short.repr(weight)}")
    return _grammar(tuple((m, tuple(inner.items())) for m, inner in weights.items()))


def read_weights(path: Path) -> Weights:
    """Read a TOML file with a table of weights for each message: raises WeightsError, OSError."""
    try:
        with path.open("rb") as file:
            table = tomllib.load(file)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise WeightsError(f"{path}: {error}") from None
    return table


@lru_cache(maxsize=64)
def _grammar(changes: tuple[tuple[str, tuple[tuple[str, float], ...]], ...]) -> Grammar:
    weights: dict[str, dict[str, float]] = {m: {**inner} for m, inner in WEIGHTS.items()}
    for message, inner in changes:
        if message not in weights:
            known = ", ".join(weights)
            raise WeightsError(f"{message} has no alternatives to weigh; these have: {known}")
        names = [field.schema_name for field in MESSAGES[message].FIELDS.values() if field.oneof]
        for name, weight in inner:
            if name not in (*names, UNSET):
                raise WeightsError(
                    f"{message} has no alternative {name!r}; it has {', '.join([*names, UNSET])}"
                )
            weights[message][name] = weight
    return Grammar(weights)


@attrs.frozen
class _Alternative:
    """An alternative of a oneof; `field` None leaves the oneof unset. Sizes count it alone.

    `cost` is what it needs at least, `with_wanted` what it needs to be of use: see `_WANTED`.
    """

    field: FieldInfo | None
    weight: float
    cost: float
    with_wanted: float
    height: float
    grows: bool


@attrs.frozen
class _Step:
    """How one field of a message is made, or the message's oneof (`alternatives`)."""

    slot: str
    kind: str
    type: type[Any] = object
    cost: int = 0
    height: int = 0
    share: int = 0
    wanted: int = 0
    lengths: tuple[int, ...] = ()
    more: tuple[tuple[int, int], ...] = ()
    members: tuple[Any, ...] = ()
    alternatives: tuple[_Alternative, ...] = ()
    cumulative: tuple[float, ...] = ()
    tables: dict[tuple[int, int], Any] = attrs.field(factory=dict)


class Grammar:
    """The messages with weights: what each costs at least, and how it is built.

    `costs` are the nodes that the smallest tree of a class has, `heights` the levels below it that
    the flattest one has. Raises WeightsError if a class has no finite tree.
    """

    def __init__(self, weights: Mapping[str, Mapping[str, float]]) -> None:
        self.weights = weights
        ways = {cls: self._ways(cls) for cls in MESSAGES.values()}
        self.costs = _least(ways, lambda values: 1 + sum(values))
        self.heights = _least(ways, lambda values: max(values, default=-1) + 1)
        for cls, cost in self.costs.items():
            if cost == inf:
                raise WeightsError(
                    f"the weights leave no finite {cls.__name__}: give an alternative of "
                    f"{cls.__name__} that needs no other a weight above 0"
                )
        self.plans = {cls: self._plan(cls) for cls in MESSAGES.values()}

    def swarm(self, choices: Choices) -> Grammar:
        """Return this grammar with about half of the alternatives turned off.

        In each oneof one that leads to an end stays.
        """
        weights = {}
        for message, inner in self.weights.items():
            cls = MESSAGES[message]
            kept = {name: weight for name, weight in inner.items() if not choices.below(2)}
            ends = [
                alternative
                for step in self.plans[cls]
                for alternative in step.alternatives
                if not alternative.grows and alternative.weight
            ]
            if not any(_schema_name(end.field) in kept for end in ends):
                end = _schema_name(ends[choices.below(len(ends))].field)
                kept[end] = inner[end]
            weights[message] = kept
        return Grammar(weights)

    def weight(self, field: FieldInfo) -> float:
        """The weight of an alternative."""
        return self.weights[field.message].get(field.schema_name, 0)

    def _ways(self, cls: type[Message]) -> list[list[type[Message]]]:
        """The messages that a `cls` cannot do without, once for each alternative of its oneof."""
        required, alternatives = _PARTS[cls]
        weights = self.weights.get(cls.__name__, {})
        if not cls.ONEOF or weights.get(UNSET):
            return [required]
        return [[*required, *parts] for name, parts in alternatives if weights.get(name)]

    def _plan(self, cls: type[Message]) -> list[_Step]:
        steps: list[_Step] = []
        for name, field in cls.FIELDS.items():
            if not field.oneof:
                cost, height = self.costs.get(field.type, 0), self.heights.get(field.type, 0)
                steps.append(_step(cls, name, cost, height))
            elif not any(step.kind == "oneof" for step in steps):
                steps.append(self._oneof(cls))
        return steps

    def _with_wanted(self, cls: type[Any]) -> int:
        if cls not in self.costs:
            return 0
        lists = [f for f in cls.FIELDS.values() if f"{cls.__name__}.{f.name}" in _WANTED]
        return self.costs[cls] + sum(self.costs[field.type] for field in lists)

    def _oneof(self, cls: type[Message]) -> _Step:
        alternatives = [
            _Alternative(
                field,
                self.weight(field),
                self.costs.get(field.type, 0),
                self._with_wanted(field.type),
                self.heights.get(field.type, -1),
                _grows(field),
            )
            for field in cls.FIELDS.values()
            if field.oneof and self.weight(field)
        ]
        unset = self.weights[cls.__name__].get(UNSET)
        if unset:
            alternatives.append(_Alternative(None, unset, 0, 0, -1, grows=False))
        # The simplest first.
        alternatives.sort(key=lambda a: (a.cost, a.grows, a.field.tag if a.field else 0))
        share = max(_SHARES.get(f"{cls.__name__}.{_schema_name(a.field)}", 1) for a in alternatives)
        return _Step(
            "alternative",
            "oneof",
            share=share,
            alternatives=tuple(alternatives),
            cumulative=tuple(accumulate(a.weight for a in alternatives)),
        )


def _least(
    ways: Mapping[type[Message], list[list[type[Message]]]],
    combine: Callable[[list[float]], float],
) -> dict[type[Message], int]:
    """The least value that `combine` gives each message over its parts: a fixed point."""
    least: dict[type[Message], float] = dict.fromkeys(ways, inf)
    changed = True
    while changed:
        changed = False
        for cls, parts in ways.items():
            value = min((combine([least[part] for part in way]) for way in parts), default=inf)
            if value < least[cls]:
                least[cls] = value
                changed = True
    return cast(dict[type[Message], int], least)


@cache
def _step(cls: type[Message], name: str, cost: int, height: int) -> _Step:
    """The step for a field outside the oneof, whose type costs so much and is so high at least.

    Grammars share these: with `swarm`, each tree has a grammar of its own.
    """
    field = cls.FIELDS[name]
    members = tuple(field.type) if issubclass(field.type, IntEnum) else ()
    return _Step(
        name,
        "enum" if members else field.rule if field.is_message else field.type_name,
        field.type,
        cost,
        height,
        _SHARES.get(f"{cls.__name__}.{field.schema_name}", 1) if _grows(field) else 0,
        cost if f"{cls.__name__}.{name}" in _WANTED else 0,
        tuple(accumulate(_lengths(field))),
        _more(_lengths(field)),
        members,
    )


def _schema_name(field: FieldInfo | None) -> str:
    return field.schema_name if field else UNSET


def _lengths(field: FieldInfo) -> Sequence[int]:
    name = f"{field.message}.{field.name}"
    return _LENGTHS.get(name, _ITEMS if field.is_message and _grows(field) else _NAMES)


def _more(lengths: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """For a list that has 0, 1 ... 4 items already: the weights of ending it and of going on.

    As running sums; the last holds for all longer lists.
    """
    ends = [(lengths[n], sum(lengths[n + 1 :])) if n < len(lengths) else (1, 0) for n in range(5)]
    return tuple((end, end + 2 * more) for end, more in ends)


def _grows(field: FieldInfo) -> bool:
    """Whether the field can hold a tree of any size."""
    return field.is_message and field.type not in _BOUNDED


def _bounded() -> set[type]:
    """The messages of limited size: without lists, and holding only such messages."""
    bounded: set[type] = set()
    while True:
        more = {
            cls
            for cls in MESSAGES.values()
            if all(
                not field.is_message or (field.type in bounded and field.rule != "repeated")
                for field in cls.FIELDS.values()
            )
        }
        if more == bounded:
            return bounded
        bounded = more


_BOUNDED: Final = _bounded()


def _parts(cls: type[Message]) -> tuple[list[type[Message]], list[tuple[str, list[type[Any]]]]]:
    fields = cls.FIELDS.values()
    required = [field.type for field in fields if field.is_message and field.rule == "required"]
    alternatives = [
        (field.schema_name, [field.type] if field.is_message else [])
        for field in fields
        if field.oneof
    ]
    return required, alternatives


_PARTS: Final = {cls: _parts(cls) for cls in MESSAGES.values()}
"""The messages that each message cannot do without, and those of its oneof's alternatives."""


class Builder:
    """Builds one tree; `made` counts its nodes so far."""

    def __init__(self, grammar: Grammar, choices: Choices) -> None:
        self.plans = grammar.plans
        self.choices = choices
        self.fills = choices.fills
        self.made = 0

    def build(self, cls: type[Message], budget: int, depth: int) -> Any:
        """Build a message of about `budget` nodes, at most `depth` levels below it."""
        self.made += 1
        choices = self.choices
        message = cls._unchecked()
        plan = self.plans[cls]
        spare = budget - 1
        shares = wanted = 0
        for step in plan:
            spare -= step.cost if step.kind == "required" else 0
            shares += step.share
            wanted += step.wanted
        if not self.fills or wanted > spare:
            wanted = 0
        spare -= wanted
        for step in plan:
            kind = step.kind
            value: Any
            if kind == "int32":
                value = choices.int32()
            elif kind == "bool":
                value = choices.below(2) == 1
            elif kind == "string":
                value = choices.string()
            elif kind == "enum":
                value = step.members[choices.below(len(step.members))]
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
                    if (able or not self.fills) and choices.below(2) and able:
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
                spare -= self.made - before if self.fills else part
            setattr(message, step.slot, value)
        message.__class__ = cls
        return message

    def items(self, step: _Step, budget: int, depth: int) -> list[Any]:
        """Build the items of a list from `budget` nodes."""
        most = budget // step.cost if step.height <= depth else 0
        items: list[Any] = []
        if not self.fills:
            # One question before each item, so that taking an item out is a small change; asked
            # whatever the budget, so that what it leaves means the same with a larger one.
            while self.goes_on(step.more[min(len(items), 4)]) and len(items) < most:
                part = max(budget // 3, step.cost)
                items.append(self.build(step.type, part, depth))
                budget -= part
                most = len(items) + budget // step.cost
            return items
        if most <= 0:
            return []
        if step.share and budget > 8 * step.cost:
            # A wide list rather than few large items: about as many as each has nodes.
            count = 1 + self.choices.part(2 * isqrt(most), 1, 2)
        else:
            count = self.choices.pick(step.lengths)
        count = min(count, most)
        while count:
            part = budget
            if count > 1:
                # With a few nodes for each, so that not many are mere fillers.
                part = self.choices.part(budget, 1, count)
                part = max(min(part, budget - (count - 1) * step.cost), min(budget // count, 3))
            before = self.made
            items.append(self.build(step.type, max(part, step.cost), depth))
            budget -= self.made - before
            count -= 1
        return items

    def goes_on(self, weights: tuple[int, int]) -> bool:
        """Choose whether a list has another item, by the weights of ending it and of going on."""
        return self.choices.pick(weights) > 0

    def alternative(self, step: _Step, budget: int, depth: int) -> _Alternative:
        """Choose an alternative that `budget` and `depth` allow."""
        if self.fills:
            key = min(budget, 12), min(depth, 12)
            found = step.tables.get(key)
            if found is None:
                found = step.tables[key] = _table(step.alternatives, *key)
            able, cumulative = found
            return able[self.choices.pick(cumulative)]
        chosen = step.alternatives[self.choices.pick(step.cumulative)]
        if chosen.cost <= budget and chosen.height <= depth:
            return chosen
        return next(a for a in step.alternatives if a.height <= depth)


def _table(
    alternatives: Sequence[_Alternative], budget: int, depth: int
) -> tuple[Sequence[_Alternative], Sequence[float]]:
    """The alternatives that budget and depth allow, with the running sums of their weights.

    Those that cannot spend much are seldom where there is something to be spent, and left out
    where there is much.
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
