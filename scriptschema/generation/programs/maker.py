"""The maker, which generates expressions and statements for all parts of the generator.

The classes before it are what it uses: types (`Annotations`), templates, and the tables of these.
`templates/` compiles the templates, `grammar.py` fills the tables.

Each request has a number of nodes to generate (`size`) and the number of levels of messages that
fit (`room`). Results never need more room; a size is an aim.

Programs terminate: each statement costs the number of times that it runs at most
(`Function.times`), a call costs what the function costs, and nothing that loops or calls is chosen
when `limit` is used up.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any, Final, TypeAlias

import attrs

from scriptschema.choices import Choices
from scriptschema.generation.programs import nodes
from scriptschema.generation.programs.axes import Operation, Surroundings
from scriptschema.generation.programs.counts import Counts
from scriptschema.generation.programs.scope import Function, Scope, Variable
from scriptschema.luau.library import Signature
from scriptschema.messages import Expr, ExprAttr, ExprFunction, Stat, StatBlock, Type, Typename

LEAF: Final = 10
"""The maximum number of levels, and of nodes, of the simplest expression of any kind."""

LOOP: Final = 8
"""The maximum number of iterations of a loop."""

LARGEST: Final = 24
"""The largest size that the tables distinguish."""

_DEEP: Final = 48
"""The number of levels that is enough for every idiom."""

_SIZES: Final = (6, 9, 12, 16, 20, 25, 30, 36, 44, 54, 70, 90, 120, 160, 180, 250)
"""The sizes by which affordable idioms are grouped."""

_NEEDY: Final = 80
_FAVOUR: Final = 3
"""The factor by which idioms of more than `_NEEDY` nodes are likelier where they barely fit."""

_CONSTANTS: Final = 48
_NATIVE: Final = 20
"""The number, of 256, of variables that are constants, and of functions that are native, if the
version of Luau has these."""

_WIDE: Final = 400
"""The size above which most statements hold blocks."""


Producer: TypeAlias = Callable[["Maker", int, int], Any]
"""Returns an expression, or None; called with a maker, a size and the number of levels that fit."""

Table: TypeAlias = tuple[Sequence[Producer], Sequence[float]]
"""The functions to choose from, the simplest first, and the running sums of their weights."""

Annotated: TypeAlias = tuple[list[Typename], list[Typename], list[Type], list[Type]]
"""A function's generics, generic packs, types of parameters and of results."""

Said: TypeAlias = str | Callable[[], Type] | None
"""A template's declaration of a variable: its kind, a function that returns its type, or None."""


class Annotations:
    """The source of types for statements; this base class has no types.

    `declare` says whether types that a template declares come into scope.
    """

    declare = False

    def local(self, maker: Maker, kinds: Sequence[Said], room: int) -> list[Type]:
        """Return types for the first of the local variables of these kinds, or an empty list."""
        return []

    def function(
        self,
        maker: Maker,
        kinds: Sequence[Said],
        rest: Sequence[Said],
        results: Sequence[Said],
        room: int,
    ) -> Annotated:
        """Return the types of a function, whose generics come into scope.

        `rest` describes `...`, if the function has it.
        """
        return [], [], [], []

    def alias(self, maker: Maker, size: int, room: int) -> list[Stat]:
        """Return a type alias, which comes into scope, or nothing."""
        return []


class Frame:
    """One use of a template: the meanings of its names, and the number of nodes left to use.

    `cost` is the cost of its functions so far.
    """

    __slots__ = ("cost", "names", "room", "spare", "weight")

    def __init__(self, spare: int, weight: int, room: int) -> None:
        self.names: dict[int | str, Any] = {}
        self.spare = spare
        self.weight = weight
        self.room = room
        self.cost = 0

    def forget(self) -> None:
        """Let `some_...` refer to other variables from now on."""
        self.names = {name: value for name, value in self.names.items() if type(name) is int}

    def take(self, maker: Maker, weight: int) -> int:
        """Return the number of nodes for a hole of that weight."""
        spare = self.spare
        part = spare
        if weight < self.weight and spare > 0:
            part = maker.choices.part(spare, weight, self.weight)
        self.weight -= weight
        self.spare -= part
        return part


@attrs.define
class Template:
    """A template, which is compiled when it is first used.

    `fixed` is the number of nodes that it always has, `weight` the number of holes that share the
    other nodes, `heavy` the minimum for some of these, `levels` the depth of the deepest hole.
    `needs` are the kinds of which there must be variables, `declares` the number that it adds.
    `vararg`, `loop` and `returns`: it requires `...`, a loop, or a function with results of known
    kinds around it. `repeats`: it loops or defines a function. `compile` returns a function that
    builds the nodes.
    """

    text: str
    fixed: int = 0
    weight: int = 0
    levels: int = 0
    needs: set[str] = attrs.field(factory=set)
    vararg: bool = False
    loop: bool = False
    returns: bool = False
    repeats: bool = False
    declares: int = 0
    heavy: int = 0
    compile: Callable[[], Any] = attrs.field(default=None, repr=False)
    _build: Any = attrs.field(default=None, init=False)

    @property
    def least(self) -> int:
        """The minimum number of nodes with all holes filled."""
        return self.fixed + 2 * min(self.weight, 12) + self.heavy

    def fits(self, maker: Maker) -> bool:
        """Return whether the scope has what the template needs."""
        scope = maker.scope
        function = scope.function
        return (
            all(map(scope.by_kind.get, self.needs))
            and (not self.vararg or function.vararg)
            and (not self.loop or function.loops > 0)
            and (not self.returns or function.results is not None)
        )

    def make(self, maker: Maker, size: int, room: int) -> Any:
        """Return the template's Expr or list of Stat; None if the template does not fit."""
        if not self.fits(maker):
            return None
        if self._build is None:
            self._build = self.compile()
        maker.made += self.fixed
        return self._build(maker, Frame(max(size - self.fixed, 0), self.weight, room))


@attrs.frozen(eq=False)
class Idiom:
    """An idiom: its name, weight and template."""

    name: str
    weight: float
    template: Template
    least: int = attrs.field(  # asked for often
        init=False, default=attrs.Factory(lambda self: self.template.least, takes_self=True)
    )

    @property
    def spend(self) -> int:
        """The maximum number of nodes for all its holes, unless it is a wide idiom."""
        return 6 + 7 * min(self.template.weight, 12)


class Tables:
    """The tables that a maker chooses from; `grammar.Grammar` fills them.

    `wrong` is the share, of 256, of arguments and operands that are wrong on purpose,
    `wrong_unguarded` the share where errors are not caught; `ends` the share of blocks that end
    early. `typed` says that a type checker accepts the results; `constants`, `attributes` and
    `exports` that the version of Luau has these.
    `expressions` has producers of expressions, by kind and for each size up to `LARGEST`,
    `simplest` a producer of each kind's simplest expression, for any scope, `callbacks` producers
    of functions for library members to call, by result and number of parameters. `calls` are the
    library members that return a kind, or all for "", `operations` the operations to combine with
    operands in `places`, `fragile` the same with values that may make them fail, each with running
    sums of their needs; `combines` says that a share of a program is for these. `large` are the
    idioms that a program may begin with, `declarations` those that declare a variable of a kind;
    `simplest_idiom` has no needs.
    """

    wrong: int
    wrong_unguarded: int
    deterministic: bool
    typed: bool
    constants: bool
    attributes: bool
    exports: bool
    ends: int
    kinds: Sequence[str]
    expressions: Mapping[str, Sequence[Table]]
    simplest: Mapping[str, Producer]
    callbacks: Mapping[tuple[str, int], Sequence[Producer]]
    calls: Mapping[str, tuple[Sequence[Signature], Sequence[float]]]
    operations: tuple[Sequence[Operation], Sequence[float]]
    fragile: tuple[Sequence[Operation], Sequence[float]]
    places: Sequence[Surroundings]
    combines: bool
    idioms: Sequence[Idiom]
    large: tuple[Sequence[Idiom], Sequence[float]]
    declarations: Mapping[str, Idiom]
    simplest_idiom: Idiom

    def __init__(self) -> None:
        self._affordable: dict[tuple[Any, ...], tuple[Sequence[Idiom], Sequence[float]]] = {}

    def affordable(
        self, maker: Maker, size: int, room: int, *, wide: bool
    ) -> tuple[Sequence[Idiom], Sequence[float]]:
        """Return the idioms that fit here; for a `wide` idiom, those with blocks."""
        function = maker.scope.function
        # A source that does not fill gets one table, so that choices mean the same everywhere.
        most = size if maker.fills else _SIZES[-1]
        bucket = bisect(_SIZES, most)
        costly = function.times >= LOOP**2 or function.steps > maker.limit
        key = bucket, function.loops > 0, costly, maker.scope.crowded, wide, min(room, _DEEP)
        found = self._affordable.get(key)
        if found is None:
            found = self._affordable[key] = self._of(*key)
        return found

    def _of(
        self, bucket: int, loop: bool, costly: bool, crowded: bool, wide: bool, room: int
    ) -> tuple[Sequence[Idiom], Sequence[float]]:
        size = _SIZES[bucket - 1] if bucket else 0
        able = [
            idiom
            for idiom in self.idioms
            if idiom.least <= size
            and idiom.template.levels + LEAF < room
            and (loop or not idiom.template.loop)
            and not (costly and idiom.template.repeats)
            and not (crowded and idiom.template.declares)
        ]
        if wide:
            able = [idiom for idiom in able if idiom.template.weight >= 6] or able
        able = able or [self.simplest_idiom]
        # Prefer idioms that need much room where there is much: they fit nowhere else.
        large = max(_NEEDY, size // 2)
        weights = (i.weight * (_FAVOUR if i.least > large else 1) for i in able)
        return able, list(accumulate(weights))

    def instead(self, scope: Scope, idiom: Idiom) -> Idiom:
        """Return a replacement for an idiom that lacks a variable: an idiom that declares it."""
        missing = [kind for kind in idiom.template.needs if not scope.by_kind.get(kind)]
        found = self.declarations.get(min(missing)) if missing and not scope.crowded else None
        return found or self.simplest_idiom


class Maker:
    """Generates one program: from choices, by a grammar, in a scope that grows with it.

    `made` is the number of nodes so far; `counts` counts the combinations in this program, and in
    earlier programs if it `combines` with regard to these.
    """

    def __init__(
        self,
        choices: Choices,
        grammar: Tables,
        annotations: Annotations,
        scope: Scope,
        limit: int,
        counts: Counts | None = None,
    ) -> None:
        self.combines = counts is not None
        self.counts = Counts() if counts is None else counts
        self.choices = choices
        self.below = choices.below
        self.pick = choices.pick
        self.fills = choices.fills
        self.grammar = grammar
        self.annotations = annotations
        self.scope = scope
        self.limit = limit
        self.made = 0

    def chance(self, of_256: int) -> bool:
        """Choose yes in `of_256` of 256 cases; no is the simpler choice."""
        return self.below(256) >= 256 - of_256

    def between(self, low: int, high: int) -> int:
        """Choose an integer from `low` to `high`; in a range above 256, some are never chosen."""
        count = high - low + 1
        return low + (self.below(count) if count <= 256 else self.below(256) * count // 256)

    def part(self, whole: int, share: int, shares: int) -> int:
        """Return about `whole * share / shares`; all of it if nothing else has a share."""
        if share >= shares or whole <= 0:
            return max(whole, 0)
        return self.choices.part(whole, share, shares)

    def wrong(self) -> bool:
        """Choose whether something is to be wrong on purpose here."""
        grammar = self.grammar
        limit = grammar.wrong if self.scope.function.guarded else grammar.wrong_unguarded
        return limit > 0 and self.below(256) >= 256 - limit

    def any_kind(self) -> str:
        """Choose a kind."""
        kinds = self.grammar.kinds
        return kinds[self.below(len(kinds))]

    def constant_here(self) -> bool | None:
        """Choose whether a local variable that is never assigned is a constant."""
        # With more variables than names, an assignment to another variable might hit the constant.
        if not self.grammar.constants or self.scope.repeats_names:
            return None
        return True if self.chance(_CONSTANTS) else None

    def attributes(self) -> list[ExprAttr] | None:
        """Choose the attributes of a function: mostly none."""
        if not self.grammar.attributes or not self.chance(_NATIVE):
            return None
        self.made += 1
        kind = ExprAttr.Kind.Checked if self.below(8) == 7 else ExprAttr.Kind.Native
        return [nodes.MAKE[ExprAttr](kind, None)]

    # Expressions

    def constant(self, node: Expr) -> Expr:
        """Count a constant, and return it."""
        self.made += nodes.CONSTANT
        return node

    def expression(self, kind: str, size: int, room: int, *, risky: bool = False) -> Expr:
        """Return an expression of a kind.

        If it is `risky`, an operand or an argument, it is occasionally of another kind.
        """
        if risky and self.wrong():
            kind = self.any_kind()
        if size > room - LEAF:
            size = room - LEAF
        tables = self.grammar.expressions[kind]
        table, cumulative = tables[0 if size < 0 else size if size < LARGEST else LARGEST]
        found: Expr | None = table[self.pick(cumulative)](self, size, room)
        if found is None:  # the scope has no such variable, function etc.
            found = self.grammar.simplest[kind](self, size, room)
        return found

    def some(self, kind: str) -> Variable | None:
        """Choose a variable of a kind, None without one; the last declared is the simplest."""
        found = self.scope.by_kind.get(kind)
        if not found:
            return None
        return found[-1 - self.below(min(len(found), 256))]

    def afford(self, cost: int) -> bool:
        """Charge for a call that costs this much; return whether there is enough left."""
        function = self.scope.function
        charge = cost * function.times
        if function.steps + charge > self.limit:
            return False
        function.steps += charge
        return True

    # Statements

    def statement(self, size: int, room: int) -> list[Stat]:
        """Return an idiom's statements, one or a few; `size` is their maximum number of nodes."""
        function = self.scope.function
        function.steps += function.times
        wide = size > _WIDE and self.fills and self.chance(160)
        table, cumulative = self.grammar.affordable(self, size, room, wide=wide)
        idiom = table[self.pick(cumulative)]
        able = idiom.least <= size
        if wide:
            size = 100 + self.part(size // 8, 1, 2)
        else:
            size = min(size, idiom.template.fixed + self.part(idiom.spend, 1, 2))
        made: list[Stat] = idiom.template.make(self, size, room - 1) if able else []
        if not made:
            simple = self.grammar.instead(self.scope, idiom)
            made = simple.template.make(self, min(size, 12), room - 1)
        return made

    def large(self, size: int, room: int) -> list[Stat]:
        """Return statements beyond some limit of a byte, for any `size`; or nothing."""
        idioms, cumulative = self.grammar.large
        if not idioms:
            return []
        template = idioms[self.pick(cumulative)].template
        if template.levels + LEAF >= room:
            return []
        made: list[Stat] = template.make(self, template.fixed + size // 4, room - 1) or []
        return made

    def next_statement(self, size: int, room: int) -> list[Stat] | None:
        """Choose the next statements of a block; None: the block ends.

        Each statement has its own choice, so that leaving one out is a small change.
        """
        return self.statement(size, room) if self.below(256) >= self.grammar.ends else None

    def statements(self, size: int, room: int) -> list[Stat]:
        """Return statements for a block, of about `size` nodes in total."""
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
        """Return a block of about `size` nodes, in a new scope; `room` is below it."""
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
        """Return the function that `make` returns in a new scope, and the function's cost."""
        scope = self.scope
        outer, mark = scope.function, scope.open()
        scope.function = Function(
            vararg,
            None if results is None else tuple(results),
            guarded or outer.guarded,
            times=LOOP,
            # The cost of a function is limited too, or it could not be called.
            steps=max(0, self.limit - 1000),
        )
        before = scope.function.steps
        made = make()
        cost = (scope.function.steps - before) // LOOP + 1
        scope.close(mark)
        scope.function = outer
        return made, cost
