"""The maker, which generates expressions and statements for the other modules of this package.

`Maker` uses annotations, templates, and tables of templates, whose classes are also in this module.
`templates/` compiles the templates, and `grammar.py` fills the tables.

Methods that generate code take a target number of nodes (`size`) and the number of available levels
(`room`). The result may have more or fewer nodes than `size`, but never needs more levels than
`room`.

Programs terminate. Each statement costs the maximum number of times that it runs
(`Function.times`), and a call costs as much as its function. When the total cost reaches a limit,
the maker chooses no more loops or calls.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import accumulate
from typing import Any, Final, TypeAlias, TypeVar

import attrs

from scriptschema.choices import Choices
from scriptschema.generation.programs import nodes
from scriptschema.generation.programs.axes import Operation, Surroundings
from scriptschema.generation.programs.counts import Counts
from scriptschema.generation.programs.scope import Function, Scope, Variable
from scriptschema.luau.library import Signature
from scriptschema.messages import Expr, ExprAttr, Stat, StatBlock, Type, Typename

MadeT = TypeVar("MadeT")

LEAF: Final = 10
"""The simplest expression of any kind has at most this many levels, and at most this many nodes."""

STEPS: Final = 5_000
"""The maximum number of statements executed, or of lines printed, by a program of ordinary size."""

LOOP: Final = 8
"""The maximum number of iterations of a loop."""

LARGEST: Final = 24
"""The largest size with its own tables of expressions. Larger sizes use the same tables."""

_DEEP: Final = 48
"""A number of levels that is enough for every idiom."""

_SIZES: Final = (6, 9, 12, 16, 20, 25, 30, 36, 44, 54, 70, 90, 120, 160, 180, 250)
"""The sizes at which the choice of idioms changes."""

_LARGE_IDIOM: Final = 50
_LARGE_IDIOM_FACTOR: Final = 12
"""The factor for the weight of an idiom that needs more than `_LARGE_IDIOM` nodes, and more than
half of the available nodes. Such an idiom fits in few places."""

_CANDIDATES: Final = 8
"""If uses are counted, this number of idioms is drawn at random. The one with the fewest uses
relative to its weight is used. If the choice were purely random, large idioms would be very rare,
because they do not fit in most places."""

_CONSTANTS: Final = 48
"""Out of 256 locals that are never reassigned, the number that are declared as constants. This
applies only if the Luau version has constants."""

_NATIVE: Final = 20
"""Out of 256 functions, the number that get an attribute, usually `@native`. This applies only if
the Luau version has attributes."""

_WIDE: Final = 400
"""The size above which most statements contain blocks."""


Producer: TypeAlias = Callable[["Maker", int, int], Any]
"""A function that returns an expression or None, given a maker, a size and a number of levels."""

Table: TypeAlias = tuple[Sequence[Producer], Sequence[float]]
"""Functions to choose from, beginning with the simplest, and their cumulative weights."""

Annotated: TypeAlias = tuple[list[Typename], list[Typename], list[Type], list[Type]]
"""A function's generics, its generic packs, its parameter types, and its return types."""

Said: TypeAlias = str | Callable[[], Type] | None
"""A variable's declared kind, or a function that returns its type, or None if both are unknown."""

Kinds: TypeAlias = Sequence[Said]
"""The kinds or types of several variables, in order."""


class Annotations:
    """Provides types for statements. This base class provides no types.

    If `declare` is true, types that a template declares are brought into scope.
    """

    declare = False

    def local(self, maker: Maker, kinds: Kinds, room: int) -> list[Type]:
        """Return types for the local variables of one declaration, in order.

        The list may be empty or shorter than the list of variables. The remaining variables have no
        type.
        """
        return []

    def function(
        self, maker: Maker, kinds: Kinds, rest: Kinds, results: Kinds, room: int
    ) -> Annotated:
        """Return the types of a function, and bring its generics into scope.

        If the function has `...`, `rest` describes the values of `...`.
        """
        return [], [], [], []

    def alias(self, maker: Maker, size: int, room: int) -> list[Stat]:
        """Return a type alias and bring the alias into scope, or return an empty list."""
        return []


class Frame:
    """One use of a template: the meaning of its names, and the number of nodes left (`spare`).

    `cost` is the total cost of the functions that the template has defined so far.
    """

    __slots__ = ("cost", "names", "room", "spare", "weight")

    def __init__(self, spare: int, weight: int, room: int) -> None:
        self.names: dict[int | str, Any] = {}
        self.spare = spare
        self.weight = weight
        self.room = room
        self.cost = 0

    def forget(self) -> None:
        """Allow names such as `some_number` to refer to other variables from now on."""
        self.names = {name: value for name, value in self.names.items() if type(name) is int}

    def take(self, maker: Maker, weight: int) -> int:
        """Return the number of nodes for a hole of this weight, and subtract it from `spare`."""
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

    `fixed` is the number of nodes that the template always has. The holes share the other nodes
    according to their weights, which add up to `weight`. `heavy` is the number of additional nodes
    to expect: the average for repeated parts and alternatives, and the minimum for certain holes,
    such as COMBINATION(). `levels` is the depth of the deepest hole or node.

    `needs` has the kinds of variables that must be in scope. `declares` is the number of variables
    that the template declares. The template must be in a function with `...` if `vararg` is true,
    in a loop if `loop` is true, and in a function with results of known kinds if `returns` is true.
    `repeats` is true if the template loops or defines a function.

    `compile` returns a function that builds the nodes.
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
        """Return the minimum number of nodes of the template with all holes filled."""
        return self.fixed + 2 * min(self.weight, 12) + self.heavy

    def fits(self, maker: Maker) -> bool:
        """Return whether everything that the template needs is in scope."""
        return all(map(maker.scope.by_kind.get, self.needs)) and self.suits(maker.scope.function)

    def suits(self, function: Function) -> bool:
        """Return whether the template is allowed in `function`, ignoring the variables it needs."""
        return (
            (not self.vararg or function.vararg)
            and (not self.loop or function.loops > 0)
            and (not self.returns or function.results is not None)
        )

    def make(self, maker: Maker, size: int, room: int) -> Any:
        """Return the template's Expr or list of Stats, or None if the template does not fit."""
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
    least: int = attrs.field(  # read often
        init=False, default=attrs.Factory(lambda self: self.template.least, takes_self=True)
    )

    @property
    def spend(self) -> int:
        """Return the maximum number of nodes to distribute among all holes.

        This limit does not apply to wide statements.
        """
        return 6 + 7 * min(self.template.weight, 12)


class Tables:
    """The tables that a maker chooses from. `grammar.Grammar` fills these tables.

    Where errors are caught, `wrong` of 256 operands and arguments are wrong on purpose. Elsewhere,
    `wrong_unguarded` of 256 are wrong. `ends` is the probability, out of 256, that a block ends
    before its next statement, if choices do not fill the program.

    `annotations` creates the types, and `typed` is true if a type checker accepts the results.
    `constants`, `attributes` and `exports`
    are true if the Luau version has these features. `exports` also requires the idiom "exported
    values". `modules` is true if a program may have a module. `combines` is true if a share of each
    program is reserved for combinations. `without` has the names of libraries, members, globals and
    syntax that programs do not use.

    `expressions` maps each kind to tables of producers, one for each size up to `LARGEST`.
    `simplest` maps each kind to a producer of the simplest expression, which works in any scope.
    `callbacks` maps (kind of result, number of parameters) to producers of callbacks for library
    members. `calls` maps a kind to the library members that return a value of that kind, and "" to
    members with any results.

    `operations` has the operations to combine with operands, and their cumulative weights
    (`Operation.need`). `fragile` has the same operations, weighted by `Operation.fragile`. `places`
    has the places where operations can appear.

    `large` has large idioms, with which a program may begin. `declarations` maps a kind to the
    idiom that declares a variable of that kind. `simplest_idiom` fits in any scope.
    """

    wrong: int
    wrong_unguarded: int
    deterministic: bool
    annotations: Annotations
    typed: bool
    constants: bool
    attributes: bool
    exports: bool
    modules: bool
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
    without: AbstractSet[str]
    idioms: Sequence[Idiom]
    large: tuple[Sequence[Idiom], Sequence[float]]
    declarations: Mapping[str, Idiom]
    simplest_idiom: Idiom

    def __init__(self) -> None:
        self._affordable: dict[tuple[Any, ...], tuple[Sequence[Idiom], Sequence[float]]] = {}

    def affordable(
        self, maker: Maker, size: int, room: int, *, wide: bool
    ) -> tuple[Sequence[Idiom], Sequence[float]]:
        """Return the idioms that fit here, and their cumulative weights.

        If `wide` is true and some of the idioms have large holes, such as a block, return only
        those.
        """
        function = maker.scope.function
        bucket = bisect(_SIZES, size)
        costly = function.times >= LOOP**2 or function.steps > maker.limit
        key = bucket, function.loops > 0, costly, maker.scope.crowded, wide, min(room, _DEEP)
        table = self._affordable.get(key)
        if table is None:
            table = self._affordable[key] = self._of(*key)
        return table

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
        # Prefer large idioms where there is room for them, since they fit nowhere else.
        large = max(_LARGE_IDIOM, size // 2)
        weights = (i.weight * (_LARGE_IDIOM_FACTOR if i.least > large else 1) for i in able)
        return able, list(accumulate(weights))

    def instead(self, scope: Scope, idiom: Idiom) -> Idiom:
        """Return an idiom to use instead of `idiom`, which does not fit.

        If possible, the result declares a variable that `idiom` needs. Otherwise, it is the
        simplest idiom.
        """
        missing = [kind for kind in idiom.template.needs if not scope.by_kind.get(kind)]
        declaring = self.declarations.get(min(missing)) if missing and not scope.crowded else None
        return declaring or self.simplest_idiom


class Maker:
    """Generates one program of about `size` nodes, in a scope that grows with the program.

    `made` is the number of nodes so far. `counts` counts idioms and combinations across programs.
    If it is given, the maker prefers rare idioms and combinations.
    """

    def __init__(
        self,
        choices: Choices,
        grammar: Tables,
        scope: Scope,
        size: int,
        counts: Counts | None = None,
    ) -> None:
        self.combines = counts is not None
        self.counts = Counts() if counts is None else counts
        self.choices = choices
        self.below = choices.below
        self.pick = choices.pick
        self.fills = choices.fills
        self.grammar = grammar
        self.annotations = grammar.annotations
        self.scope = scope
        self.limit = STEPS + size
        self.made = 0

    def chance(self, of_256: int) -> bool:
        """Return True with probability `of_256 / 256`. False is the simpler choice."""
        return self.below(256) >= 256 - of_256

    def between(self, low: int, high: int) -> int:
        """Return an integer from `low` to `high`.

        If the range has more than 256 integers, some of them never occur.
        """
        count = high - low + 1
        return low + (self.below(count) if count <= 256 else self.below(256) * count // 256)

    def wrong(self) -> bool:
        """Return whether the next operand or argument should be wrong on purpose.

        A wrong value is of another kind or out of range. An argument can also be missing or extra.
        """
        grammar = self.grammar
        limit = grammar.wrong if self.scope.function.guarded else grammar.wrong_unguarded
        return limit > 0 and self.below(256) >= 256 - limit

    def any_kind(self) -> str:
        """Return a random kind."""
        kinds = self.grammar.kinds
        return kinds[self.below(len(kinds))]

    def constant_here(self) -> bool | None:
        """Return True if a local that is never reassigned should be a constant, else None."""
        # With more variables than names, an assignment to another variable might hit the constant.
        if not self.grammar.constants or self.scope.repeats_names:
            return None
        return True if self.chance(_CONSTANTS) else None

    def attributes(self) -> list[ExprAttr] | None:
        """Return attributes for a function, or None in most cases."""
        if not self.grammar.attributes or not self.chance(_NATIVE):
            return None
        self.made += 1
        kind = ExprAttr.Kind.Checked if self.below(8) == 7 else ExprAttr.Kind.Native
        return [nodes.MAKE[ExprAttr](kind, None)]

    # Expressions

    def constant(self, node: Expr) -> Expr:
        """Count the nodes of a constant, and return the constant."""
        self.made += nodes.CONSTANT
        return node

    def expression(self, kind: str, size: int, room: int, *, risky: bool = False) -> Expr:
        """Return an expression of the given kind.

        `risky` is for operands and arguments: the expression is then occasionally of another kind.
        """
        if risky and self.wrong():
            kind = self.any_kind()
        if size > room - LEAF:
            size = room - LEAF
        tables = self.grammar.expressions[kind]
        table, cumulative = tables[0 if size < 0 else size if size < LARGEST else LARGEST]
        result: Expr | None = table[self.pick(cumulative)](self, size, room)
        if result is None:  # the scope has no such variable, function etc.
            result = self.grammar.simplest[kind](self, size, room)
        return result

    def some(self, kind: str) -> Variable | None:
        """Return a random variable of this kind in scope, or None if there is no such variable.

        The variable declared last is the simplest choice.
        """
        variables = self.scope.by_kind.get(kind)
        if not variables:
            return None
        return variables[-1 - self.below(min(len(variables), 256))]

    def afford(self, cost: int) -> bool:
        """Charge `cost` for a call if the limit allows it, and return whether it does."""
        function = self.scope.function
        charge = cost * function.times
        if function.steps + charge > self.limit:
            return False
        function.steps += charge
        return True

    # Statements

    def statement(self, size: int, room: int) -> list[Stat]:
        """Return the statements of one idiom, with at most about `size` nodes in total.

        They may begin with the declaration of a variable that the idiom needs.
        """
        function = self.scope.function
        function.steps += function.times
        wide = size > _WIDE and self.fills and self.chance(160)
        # If choices do not fill the tree, use one table, so that choices mean the same everywhere.
        most = size if self.fills else _SIZES[-1]
        table, cumulative = self.grammar.affordable(self, most, room, wide=wide)
        idiom = table[self.pick(cumulative)]
        if idiom.least > size and most > size:  # as are most idioms of that table in a small place
            table, cumulative = self.grammar.affordable(self, size, room, wide=wide)
            idiom = table[self.pick(cumulative)]
        if self.combines:
            others = [table[self.pick(cumulative)] for _ in range(_CANDIDATES - 1)]
            able_others = [other for other in others if other.template.suits(function)]
            uses = self.counts.idioms
            idiom = min([idiom, *able_others], key=lambda each: uses[each.name] / each.weight)
        able = idiom.least <= size
        if wide:
            size = 100 + self.choices.part(size // 8, 1, 2)
        else:
            size = min(size, idiom.template.fixed + self.choices.part(idiom.spend, 1, 2))
        before: list[Stat] = []
        body: list[Stat] | None = idiom.template.make(self, size, room - 1) if able else None
        if not body:
            simple = self.grammar.instead(self.scope, idiom)
            before = simple.template.make(self, min(size, 12), room - 1)
            if able and simple.template.declares:
                body = idiom.template.make(self, size, room - 1)
        if body:
            self.counts.idioms[idiom.name] += 1
        return [*before, *(body or [])]

    def large(self, size: int, room: int) -> list[Stat]:
        """Return the statements of a large idiom, or an empty list if the idiom does not fit.

        A large idiom has, for example, more than 255 constants or lines.
        """
        idioms, cumulative = self.grammar.large
        if not idioms:
            return []
        template = idioms[self.pick(cumulative)].template
        if template.levels + LEAF >= room:
            return []
        body: list[Stat] = template.make(self, template.fixed + size // 4, room - 1) or []
        return body

    def next_statement(self, size: int, room: int) -> list[Stat] | None:
        """Return the next statements of a block, or None if the block ends.

        Each statement has its own choice of whether the block ends. Shrinking can thus remove a
        statement by removing its choices. A short program seldom ends: most would be the same.
        """
        ends = min(self.grammar.ends, self.made)
        return self.statement(size, room) if self.below(256) >= ends else None

    def statements(self, size: int, room: int) -> list[Stat]:
        """Return statements for a block, of about `size` nodes in total."""
        body: list[Stat] = []
        end = self.made + size
        if not self.fills:
            while self.made + 4 <= end:
                more = self.next_statement(end - self.made, room)
                if more is None:
                    break
                body += more
            return body
        while self.made + 8 <= end:
            body += self.statement(end - self.made, room)
        return body

    def block(self, size: int, room: int) -> StatBlock:
        """Return a block of about `size` nodes, with `room` levels below it, in a new scope."""
        self.made += 1
        mark = self.scope.open()
        block = nodes.block(self.statements(size, room) if room > 0 else [])
        self.scope.close(mark)
        return block

    def function(
        self,
        make: Callable[[], MadeT],
        *,
        vararg: bool,
        results: Sequence[str] | None,
        guarded: bool,
    ) -> tuple[MadeT, int]:
        """Return what `make` creates in the scope of a new function, and the function's cost."""
        scope = self.scope
        outer, mark = scope.function, scope.open()
        scope.function = Function(
            vararg,
            None if results is None else tuple(results),
            guarded or outer.guarded,
            times=LOOP,
            # The cost of a function is limited too, since it could not be called otherwise.
            steps=max(0, self.limit - 1000),
        )
        before = scope.function.steps
        result = make()
        cost = (scope.function.steps - before) // LOOP + 1
        scope.close(mark)
        scope.function = outer
        return result, cost
