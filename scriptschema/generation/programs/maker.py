"""The maker: what every part of the generator asks for expressions and statements.

A request says how many nodes are to be spent (`size`) and how many levels of messages there is room
for (`room`). Nothing is made that needs more room; a size is an aim.

What is made ends: each statement is charged with how often it runs at most (`Function.times`), a
call with what the function costs, and nothing that loops or calls is chosen when `limit` is spent.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias, cast

from scriptschema.generation.choices import Choices
from scriptschema.generation.programs import nodes
from scriptschema.generation.programs.scope import Function, Scope, Variable
from scriptschema.luau.library import Signature
from scriptschema.messages import Expr, ExprFunction, Stat, StatBlock, Type, Typename

LEAF: Final = 10
"""So many levels the simplest expression of any kind needs, and so many nodes too."""

LOOP: Final = 8
"""A loop runs at most so many times."""

LARGEST: Final = 24
"""The tables tell sizes up to this apart."""

_WIDE: Final = 400
"""With more than this to be spent, most statements hold blocks."""


Producer: TypeAlias = Callable[["Maker", int, int], Any]
"""Makes an expression of some size, with so many levels of room; None where it cannot."""

Annotated: TypeAlias = tuple[list[Typename], list[Typename], list[Type], list[Type]]
"""A function's generics, generic packs, types of parameters and of results."""


class Annotations(Protocol):
    """What the makers of statements ask for types."""

    def local(self, maker: Maker, kinds: Sequence[str | None], room: int) -> list[Type]:
        """Return types for local variables of these kinds, or none."""

    def function(
        self,
        maker: Maker,
        kinds: Sequence[str | None],
        vararg: bool,
        results: Sequence[str],
        room: int,
    ) -> Annotated:
        """Return the types of a function, whose generics come into scope."""

    def alias(self, maker: Maker, size: int, room: int) -> list[Stat]:
        """Return a type alias, which comes into scope, or nothing."""


class Idiom(Protocol):
    """A way to make statements; see `grammar.Idiom`."""

    @property
    def needs(self) -> Collection[str]:
        """The kinds of which there must be variables."""

    @property
    def least(self) -> int:
        """The nodes that it takes to be of use."""

    @property
    def fixed(self) -> int:
        """The nodes that it always has."""

    @property
    def spend(self) -> int:
        """What it may spend beyond them, where nobody asks for more."""

    def make(self, maker: Maker, size: int, room: int) -> list[Stat] | None:
        """Return the statements, None where the scope lacks something."""


class Grammar(Protocol):
    """What the maker chooses from; see `grammar.Grammar`."""

    wrong: int
    wrong_unguarded: int
    deterministic: bool
    ends: int
    kinds: Sequence[str]

    @property
    def expressions(self) -> Mapping[str, Sequence[tuple[Sequence[Producer], Sequence[float]]]]:
        """What makes expressions: by kind, for each size up to `LARGEST`."""

    @property
    def simplest(self) -> Mapping[str, Producer]:
        """What makes the simplest expression of each kind, whatever is in scope."""

    @property
    def calls(self) -> Mapping[str, tuple[Sequence[Signature], Sequence[float]]]:
        """The library members that return a kind, and the running sums of their weights."""

    @property
    def callbacks(self) -> Mapping[tuple[str, int], Sequence[Producer]]:
        """What makes functions for library members to call, by result and number of parameters."""

    def idioms(
        self, maker: Maker, size: int, room: int, *, wide: bool
    ) -> tuple[Sequence[Idiom], Sequence[float]]:
        """The idioms that can be afforded here; if it is to be a `wide` one, those with blocks."""

    def instead(self, maker: Maker, idiom: Idiom, size: int, room: int) -> list[Stat]:
        """Return statements where an idiom lacks something."""

    def library_statement(self, maker: Maker, size: int, room: int) -> list[Stat]:
        """Return a call of a library member, or nothing."""


class Maker:
    """Makes one program: from choices, by a grammar, in a scope that grows on the way.

    `made` counts the nodes, `seeded` says whether random numbers are the same in every run.
    """

    def __init__(
        self,
        choices: Choices,
        grammar: Grammar,
        annotations: Annotations,
        scope: Scope,
        limit: int,
    ) -> None:
        self.choices = choices
        self.below = choices.below
        self.pick = choices.pick
        self.fills = choices.fills
        self.grammar = grammar
        self.annotations = annotations
        self.scope = scope
        self.limit = limit
        self.made = 0
        self.has_module = False

    def chance(self, of_256: int) -> bool:
        """Choose yes in so many of 256 cases; no is the simpler answer."""
        return self.below(256) >= 256 - of_256

    def part(self, whole: int, share: int, shares: int) -> int:
        """About `whole * share / shares`; all of it if there is nothing else to share it with."""
        if share >= shares or whole <= 0:
            return max(whole, 0)
        return self.choices.part(whole, share, shares)

    def wrong(self) -> bool:
        """Choose whether something is to be wrong on purpose here."""
        grammar = self.grammar
        limit = grammar.wrong if self.scope.function.guarded else grammar.wrong_unguarded
        return limit > 0 and self.chance(limit)

    def any_kind(self) -> str:
        """Choose a kind."""
        kinds = self.grammar.kinds
        return kinds[self.below(len(kinds))]

    # Expressions

    def expression(self, kind: str, size: int, room: int, *, risky: bool = False) -> Expr:
        """Return an expression of a kind.

        Where it is `risky`, an operand or an argument, it is now and then of another kind.
        """
        if risky and self.wrong():
            kind = self.any_kind()
        size = min(size, room - LEAF)
        table, cumulative = self.grammar.expressions[kind][max(0, min(size, LARGEST))]
        found: Expr | None = table[self.pick(cumulative)](self, size, room)
        if found is None:  # there is no such variable, function or the like
            found = cast(Expr, self.grammar.simplest[kind](self, size, room))
        return found

    def some(self, kind: str) -> Variable | None:
        """Choose a variable of a kind, None if there is none; the one declared last is simplest."""
        found = self.scope.by_kind.get(kind)
        if not found:
            return None
        return found[-1 - self.below(min(len(found), 256))]

    def afford(self, cost: int) -> bool:
        """Charge for a call of what costs so much; whether there is enough left for that."""
        function = self.scope.function
        charge = cost * function.times
        if function.steps + charge > self.limit:
            return False
        function.steps += charge
        return True

    # Statements

    def statement(self, size: int, room: int) -> list[Stat]:
        """Return an idiom's statements, one or a few; `size` is the most that they may spend."""
        function = self.scope.function
        function.steps += function.times
        wide = size > _WIDE and self.fills and self.chance(160)
        table, cumulative = self.grammar.idioms(self, size, room, wide=wide)
        idiom = table[self.pick(cumulative)]
        able = idiom.least <= size
        if wide:
            size = 100 + self.part(size // 8, 1, 2)
        else:
            size = min(size, idiom.fixed + self.part(idiom.spend, 1, 2))
        statements = idiom.make(self, size, room - 1) if able else None
        if not statements:
            statements = self.grammar.instead(self, idiom, size, room - 1)
        return statements

    def next_statement(self, size: int, room: int) -> list[Stat] | None:
        """Choose whether a block goes on, and with what; None: it ends.

        The question stands with its statement, so that leaving one out is a small change.
        """
        return self.statement(size, room) if self.below(256) >= self.grammar.ends else None

    def statements(self, size: int, room: int) -> list[Stat]:
        """Return statements for a block, of about `size` nodes together."""
        made: list[Stat] = []
        end = self.made + size
        if not self.fills:
            while self.made + 4 <= end:
                more = self.next_statement(end - self.made, room)
                if more is None:
                    break
                made += more
            return made
        while self.made + 8 <= end:
            made += self.statement(end - self.made, room)
        return made

    def block(self, size: int, room: int) -> StatBlock:
        """Return a block of about `size` nodes, in a scope of its own; `room` is below it."""
        self.made += 1
        mark = self.scope.open()
        block = nodes.block(self.statements(size, room) if room > 0 else [])
        self.scope.close(mark)
        return block

    def function(
        self,
        make: Callable[[], ExprFunction],
        *,
        vararg: bool,
        results: Sequence[str] | None,
        guarded: bool,
    ) -> tuple[ExprFunction, int]:
        """Let `make` make a function, with a scope of its own; return it and what it costs."""
        scope = self.scope
        outer, mark = scope.function, scope.open()
        scope.function = Function(
            vararg,
            None if results is None else tuple(results),
            guarded or outer.guarded,
            times=LOOP,
            # What a function costs is limited too, or nobody could call it.
            steps=max(0, self.limit - 1000),
        )
        before = scope.function.steps
        made = make()
        cost = (scope.function.steps - before) // LOOP + 1
        scope.close(mark)
        scope.function = outer
        return made, cost
