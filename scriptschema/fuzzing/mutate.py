"""Mutation: makes small changes to trees. Mutants of programs usually still run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any, Final, Generic, TypeVar

import attrs

from scriptschema import messages as m
from scriptschema.base import Message, require_message
from scriptschema.choices import Choices
from scriptschema.codec.copying import copy
from scriptschema.fuzzing.index import Index
from scriptschema.fuzzing.operators import OPERATORS, Operator
from scriptschema.fuzzing.operators.mutation import Mutation
from scriptschema.luau.names import DEFAULT
from scriptschema.luau.repair import MAX_DEPTH, Problem, repair, repair_statements
from scriptschema.luau.scope import MAX_CLOSURES
from scriptschema.messages import (
    Expr,
    ExprPrefix,
    Local,
    ModuleSet,
    StatBlock,
    StatContinue,
    StatFor,
    StatForIn,
    StatLocal,
    StatLocalFunction,
    StatRepeat,
    StatTypeFunction,
)
from scriptschema.versions import Version

_FEW: Final = 185
"""If a tree needs at most this many locals and registers in total, a safe mutation cannot exceed
Luau's limits for a function: 200 locals and 245 registers. An inserted part needs at most the
remaining 15 locals and 60 registers."""

_LARGE: Final = MAX_CLOSURES - 200
"""Trees with fewer messages cannot reach the limits that require a repair of the whole tree."""

_ATTEMPTS: Final = 40
"""The maximum number of attempts, each with an operator and a message."""

_PICKED: Final = _ATTEMPTS // 4
"""The number of attempts with randomly chosen operators. After that, the operators take turns."""

MessageT = TypeVar("MessageT", bound=Message)


@attrs.define
class Statistics:
    """How often an operator was applied, changed the tree, and led to a program that was kept."""

    applied: int = 0
    changed: int = 0
    useful: int = 0


@attrs.frozen
class Mutant(Generic[MessageT]):
    """A mutated tree, and the name of the operator that produced it (or "" if none did)."""

    tree: MessageT
    operator: str
    _is_program: bool = attrs.field(repr=False, eq=False)
    _changed: tuple[Index[MessageT], int] | None = attrs.field(default=None, repr=False, eq=False)

    def index(self) -> Index[MessageT]:
        """Return the tree's index for the next mutation. This is faster than `Index(tree)`."""
        if self._changed is None:
            index = Index(self.tree)
        else:
            before, number = self._changed
            index = before.changed(self.tree, number)
        if self._is_program:
            index.is_program = True  # saves a check
        return index


def mutate(
    tree: MessageT,
    choices: Choices,
    *,
    donors: Iterable[Message] = (),
    size: int | None = None,
    max_depth: int = MAX_DEPTH,
    programs: bool | None = None,
    luau: str | Version | None = None,
) -> MessageT:
    """Return a tree that differs from `tree` in one place, without changing `tree`.

    `donors` are trees whose parts may be used. `size` is the number of messages that mutants tend
    to have, by default as many as `tree`. No inserted part makes a mutant deeper than `max_depth`
    levels, but a repair may add a few levels below the default. `luau` is the version of Luau whose
    features inserted parts may use.

    If `programs` is true, `check` finds no problem in the mutant. If `tree` is a program that runs
    to completion, the mutant usually does so as well. If `programs` is false, the mutant only
    conforms to the schema. By default, `programs` is true if `check` finds no problem in `tree`.

    If no operator can change `tree`, which is very rare, the result is a copy, which is repaired if
    `programs` is true.

    Raises ValueError if `size` or `max_depth` is less than 1, or if the version is unknown, and
    TypeError if `tree` or a donor is not a message.
    """
    mutator = Mutator(donors=donors, size=size, max_depth=max_depth, programs=programs, luau=luau)
    return copy(mutator.mutate(tree, choices).tree)


def check_options(size: int | None, max_depth: int, luau: str | Version | None) -> None:
    """Raise ValueError for options that `mutate` does not allow."""
    for name, value in (("size", size), ("max_depth", max_depth)):
        if value is not None and value < 1:
            raise ValueError(f"{name} must be at least 1, found {value}")
    if luau is not None:
        Version.parse(luau)


DonorT = TypeVar("DonorT", bound=Message | Index[Any])


def list_of(donors: Iterable[DonorT]) -> list[DonorT]:
    """Return the donors as a list. Raises TypeError if they are not trees."""
    if isinstance(donors, Message | str | bytes) or not isinstance(donors, Iterable):
        raise TypeError(f"donors must be a list of trees, found a {type(donors).__name__}")
    listed = [*donors]
    for donor in listed:
        if not isinstance(donor, Index):
            require_message(donor)
    return listed


class Mutator:
    """Makes many mutants with weighted operators, and counts each operator's results.

    The options are those of `mutate`, but `size` defaults to the size of the first tree. A donor
    can also be the `Index` of a tree, which saves time. `weights` maps each operator's name to its
    weight, and can be changed at any time. `statistics` maps each operator's name to its results.
    """

    def __init__(
        self,
        *,
        donors: Iterable[Message | Index[Any]] = (),
        size: int | None = None,
        max_depth: int = MAX_DEPTH,
        programs: bool | None = None,
        luau: str | Version | None = None,
    ) -> None:
        check_options(size, max_depth, luau)
        self.luau = luau
        self.donors = [d if isinstance(d, Index) else Index(d) for d in list_of(donors)]
        self.size = size
        self.max_depth = max_depth
        self.programs = programs
        self.weights = {operator.name: operator.weight for operator in OPERATORS}
        self.statistics = {operator.name: Statistics() for operator in OPERATORS}
        self._last: Mutant[Any] = Mutant(ModuleSet(program=StatBlock()), "", True)
        self._weighed: list[float] = []
        self._sums: dict[float, list[float]] = {}
        """The cumulative weights for each ratio of a tree's size to the intended size."""

    def mutate(self, tree: MessageT | Index[MessageT], choices: Choices) -> Mutant[MessageT]:
        """Return a mutant of a tree. To save time, pass the tree's index instead if you have it.

        The mutant shares messages with `tree`, so do not change either of them. Raises ValueError
        if a weight is negative or not finite, if all weights are 0, or if `weights` does not have
        exactly the names of the operators.
        """
        if isinstance(tree, Index):
            index = tree
        else:  # often the last mutant, whose index needs no check
            index = self._last.index() if tree is self._last.tree else Index(tree)
        if self.size is None:
            self.size = len(index)
        programs = index.is_program if self.programs is None else self.programs
        cumulative = self._cumulative(len(index) / self.size)
        mutation = Mutation(
            index,
            choices,
            donors=self.donors,
            programs=programs,
            room=self.size + self.size // 4 - len(index),
            max_depth=self.max_depth,
            luau=self.luau,
        )
        for attempt in range(_ATTEMPTS):
            operator = OPERATORS[choices.pick(cumulative)]
            if attempt >= _PICKED:  # exhausted choices always pick the same operator
                turns = [operator for operator in OPERATORS if self.weights[operator.name]]
                operator = turns[attempt % len(turns)]
            statistics = self.statistics[operator.name]
            statistics.applied += 1
            if not self._apply(operator, mutation):
                continue
            result = self._repaired(mutation) if programs else (mutation.result, mutation.number)
            if result is None:
                continue
            statistics.changed += 1
            changed = None if result[1] is None else (index, result[1])
            self._last = Mutant(result[0], operator.name, programs, changed)
            return self._last
        unchanged = copy(index.tree)
        return Mutant(repair(unchanged) if programs else unchanged, "", programs)

    def useful(self, mutant: Mutant[Any]) -> None:
        """Count the mutant as a success of its operator."""
        if mutant.operator:
            self.statistics[mutant.operator].useful += 1

    def table(self) -> str:
        """Return the statistics as a table with a line for each operator."""
        lines = [f"{'operator':10} {'weight':>7} {'applied':>9} {'changed':>9} {'useful':>8}"]
        for name, row in self.statistics.items():
            lines.append(
                f"{name:10} {self.weights[name]:7g} {row.applied:9,} {row.changed:9,} "
                f"{row.useful:8,}"
            )
        return "\n".join(lines)

    def _cumulative(self, ratio: float) -> list[float]:
        """Return the cumulative weights for a tree `ratio` times as large as intended."""
        weights = [*self.weights.values()]
        if weights != self._weighed:
            self._sums.clear()
            self._weighed = weights
        ratio = min(max(round(ratio, 2), 0.2), 5)
        if ratio not in self._sums:  # there are only 481 ratios
            self._sums[ratio] = self._running_sums(ratio)
        return self._sums[ratio]

    def _running_sums(self, ratio: float) -> list[float]:
        for name in sorted(self.weights.keys() ^ self.statistics.keys()):
            problem = "is not an operator" if name in self.weights else "has no weight"
            raise ValueError(f"{name} {problem}; the operators are {', '.join(self.statistics)}")
        weights = []
        for operator in OPERATORS:
            weight = self.weights[operator.name]
            if not isinstance(weight, (int, float)) or not 0 <= weight < float("inf"):
                raise ValueError(
                    f"the weight of {operator.name} must be 0 or more, found {weight!r}"
                )
            if operator.grows:
                weight *= ratio ** (-3 * operator.grows)
            weights.append(weight)
        cumulative = [*accumulate(weights)]
        if not cumulative[-1]:
            raise ValueError("at least one operator must have a weight above 0")
        return cumulative

    def _repaired(self, mutation: Mutation) -> tuple[Any, int | None] | None:
        """Return the valid mutant and its changed message's number, or None if nothing changed."""
        index = mutation.index
        if index.is_program:
            if mutation.safe and _is_far_from_limits(index):
                return mutation.result, mutation.number
            is_large = 2 * len(index) + max(mutation.room, 0) > _LARGE
            if self.max_depth <= MAX_DEPTH and not is_large:
                return repaired(index, mutation.result, mutation.number)
        mutant = repair(mutation.result)  # which may change any message
        return None if mutant == index.tree else (mutant, None)

    def _apply(self, operator: Operator, mutation: Mutation) -> bool:
        by_class = mutation.index.by_class
        lists = [by_class[cls] for cls in operator.classes if cls in by_class]
        if not lists:
            return False
        numbers = lists[mutation.below(len(lists))]
        return operator.edit(mutation, numbers[mutation.below(len(numbers))])


def _is_far_from_limits(index: Index[Any]) -> bool:
    """Return whether no safe mutation can make the tree exceed Luau's limits.

    The limits apply to each function. No function needs more locals and registers than the tree.
    """
    loops = len(index.of(StatFor)) + len(index.of(StatForIn))
    parts = len(index.of(Expr)) + len(index.of(ExprPrefix))
    variables = index.messages(Local)
    declared = index.messages(StatLocal) + index.messages(StatLocalFunction)
    names = range(len(DEFAULT.locals))
    return (
        len(variables) + 2 * parts + 3 * loops <= _FEW
        and all(variable.name in names for variable in variables)
        # The following restrict how variables may be used.
        and not any(node.is_const or node.is_exported for node in declared)
        and not index.of(StatTypeFunction)
        and not (index.of(StatRepeat) and index.of(StatContinue))
    )


_LEAVES_NO_LOOP: Final = frozenset([m.ExprFunction, m.StatFor, m.StatForIn, m.StatWhile])
"""Functions, and loops other than `repeat`. A `continue` inside one of these does not apply to a
loop around it."""


def repaired(
    index: Index[MessageT], mutant: MessageT, number: int
) -> tuple[MessageT, int | None] | None:
    """Return the repaired mutant, and the number of the block that contains all its changes.

    The block's number is None if the whole tree was repaired. The result is None if the repaired
    mutant equals the tree of `index`.

    `mutant` must differ from the tree of `index`, which must be valid, only in message `number`.
    The mutant must have at most MAX_CLOSURES messages and at most MAX_DEPTH levels. Its parts that
    are not in the tree of `index` are changed in place.
    """
    block = _block(index, number)
    problems = None if block is None else _repair_in(index, mutant, block)
    if problems is None:
        mutant, block = repair(mutant), None
    return None if problems != [] and mutant == index.tree else (mutant, block)


def _block(index: Index[Any], number: int) -> int | None:
    """Return the innermost block to which a repair after a change of `number` can be limited."""
    nodes, parents = index.nodes, index.parents
    block = above = number
    while above >= 0 and nodes[above].__class__ is not m.StatBlock:
        above = parents[above]
    if above < 0:
        return None
    block = above
    # A repeat's condition sees the locals of its body, except locals that a continue jumps over.
    leaves = False
    while above > 0:
        inner, above = above, parents[above]
        node: Any = nodes[above]
        if node.__class__ in _LEAVES_NO_LOOP:
            leaves = True
        elif node.__class__ is m.StatRepeat and (not leaves or nodes[inner] is node.cond):
            if parents[above] <= 0:
                return None
            block = above = parents[parents[above]]
            leaves = False
    return block


def _repair_in(index: Index[Any], mutant: Any, block: int) -> list[Problem] | None:
    """Repair the changed statements of a block. See `repair_statements` for the result."""
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
