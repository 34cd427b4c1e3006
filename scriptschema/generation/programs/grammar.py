"""The grammar of programs: tables of expressions and statements, by kind and size.

The tables hold producers: functions that take a maker, a size and the number of available levels. A
producer returns an expression, a list of statements, or None if necessary variables are not in
scope.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from functools import cache
from itertools import accumulate
from typing import Final

from scriptschema import messages as m
from scriptschema.choices import Choices
from scriptschema.generation.programs import arguments, axes, calls, expressions, templates
from scriptschema.generation.programs.annotations import ANNOTATIONS
from scriptschema.generation.programs.axes import TEXTS
from scriptschema.generation.programs.idioms import (
    EXPORTS,
    IDIOMS,
    LARGE,
    MODULE,
    MODULE_EXPORTS,
    SPANS,
    UNTYPED,
)
from scriptschema.generation.programs.maker import (
    LARGEST,
    Idiom,
    Maker,
    Producer,
    Table,
    Tables,
    Template,
)
from scriptschema.generation.programs.templates.uses import LIBRARY_OF_KIND, avoids
from scriptschema.luau.library import SIGNATURES, Parameter, Signature
from scriptschema.luau.members import NEWER_MEMBERS
from scriptschema.messages import Expr
from scriptschema.versions import TODAY, Span, Version, has

LIBRARIES: Final = tuple(dict.fromkeys(signature.library or "globals" for signature in SIGNATURES))
"""The names of the libraries, and `globals`."""

DECLARATIONS: Final = (
    *("number", "integer", "string", "boolean", "array", "strings", "map", "buffer", "vector"),
    *("thread", "optional", "int64"),
)
"""The kinds that have an idiom of the same name, which declares a variable of that kind."""

_LIBRARY_OF_OPERAND: Final = {
    **LIBRARY_OF_KIND,
    **dict.fromkeys(("array", "row", "strings"), "table"),
}
"""The libraries that combinations use to create or print operands of certain kinds."""

_LEFT_OUT: Final = {"combination": 8, "anything as anything": 8}
"""`swarm` leaves out each of these idioms with probability 1/n, and any other idiom with 1/2."""


def idiom_of(name: str, typed: bool = False) -> Template:
    """Return an idiom's template. If `typed`, a type checker accepts the resulting statements."""
    return templates.statements(IDIOMS[name][1], typed=typed, newer=name in SPANS)


def exports(typed: bool = False) -> Template:
    """Return the template for a program's exports. If `typed`, a type checker accepts the code."""
    return templates.statements(EXPORTS, typed=typed, newer=True)


def module(typed: bool = False, exports: bool = False) -> Template:
    """Return the template for a program's module. If `exports`, the module exports its values."""
    return templates.statements(MODULE_EXPORTS if exports else MODULE, typed=typed, newer=exports)


class Grammar(Tables):
    """The tables of expressions and statements, weighted by idiom and library.

    `wrong`, from 0 to 1, is the share of arguments and operands that are wrong on purpose. `types`
    is a key of `ANNOTATIONS`. If it is `sound`, code that a type checker rejects is excluded.
    `luau` is the version that must be able to run the program, or None for all versions. Programs
    use nothing in `without`, which has names of libraries, members, globals and syntax (see
    `templates.uses`).
    """

    def __init__(
        self,
        idiom_weights: Mapping[str, float],
        library_weights: Mapping[str, float],
        wrong: float,
        deterministic: bool,
        types: str,
        luau: Version | None,
        without: Set[str],
    ) -> None:
        super().__init__()
        self.luau = luau
        self.without = without
        self.idiom_weights = idiom_weights
        self.library_weights = library_weights
        self.share = wrong
        self.wrong = round(256 * wrong)
        # An uncaught error ends the program.
        self.wrong_unguarded = round(256 * wrong) if wrong > 0.5 else round(256 * wrong / 40)
        self.deterministic = deterministic
        self.types = types
        self.annotations = ANNOTATIONS[types]
        self.typed = typed = types == "sound"
        self.constants = has(luau, Span(m.StatLocal.ALL_FIELDS["is_const"].since or TODAY))
        self.attributes = luau is not None and "ExprAttr" not in without
        self.modules = "require" in idiom_weights
        self.exports = "exported values" in idiom_weights
        self.ends = 26
        lacking = {"object"} if has(luau, expressions.HAVE_INT64) else {"object", "int64"}
        lacking |= {kind for kind, library in LIBRARY_OF_KIND.items() if library in without}
        self.kinds = tuple(kind for kind in (*expressions.VARIABLES, "nil") if kind not in lacking)
        self.callbacks = _callbacks(typed)
        self.simplest = _simplest(typed)
        self.calls = {kind: self._weighed(kind) for kind in ("", *expressions.CALLS)}
        operations = [
            operation
            for operation in axes.operations(luau, typed=typed)
            if (not operation.library or library_weights.get(operation.library))
            and without.isdisjoint(
                _needs(operation.name, operation.parameters, operation.results, _LIBRARY_OF_OPERAND)
            )
        ]
        self.operations = operations, [*accumulate(each.need for each in operations)]
        self.fragile = operations, [*accumulate(each.fragile for each in operations)]
        self.combines = idiom_weights.get("combination", 0) > 0 and bool(operations)
        self.places = [
            place
            for place in axes.places(luau)
            if place.name not in without and not (place.attribute and not self.attributes)
        ]
        self.expressions = {
            kind: _expressions(
                kind, kind in self.calls and bool(self.calls[kind][0]), typed, luau, without
            )
            for kind in _KINDS
        }
        idioms = [
            Idiom(name, weight, idiom_of(name, typed))
            for name, weight in idiom_weights.items()
            if weight and has(luau, SPANS.get(name)) and not (typed and name in UNTYPED)
        ]
        self.idioms = [idiom for idiom in idioms if idiom.name not in LARGE]
        large = [idiom for idiom in idioms if idiom.name in LARGE]
        self.large = large, list(accumulate(idiom.weight for idiom in large))
        self.declarations = {
            kind: Idiom(kind, 1, idiom_of(kind, typed))
            for kind in DECLARATIONS
            if has(luau, SPANS.get(kind)) and avoids(IDIOMS[kind][1], without)
        }
        self.simplest_idiom = Idiom("print number", 1, idiom_of("print number", typed))

    def swarm(self, choices: Choices) -> Grammar:
        """Return this grammar with about half of the idioms and libraries left out.

        The idioms in `_LEFT_OUT`, which no other idiom can replace, are more likely to stay.
        """

        def kept(weights: Mapping[str, float]) -> dict[str, float]:
            return {
                name: 0 if choices.below(_LEFT_OUT.get(name, 2)) == 1 else weight
                for name, weight in weights.items()
            }

        return Grammar(
            kept(self.idiom_weights),
            kept(self.library_weights),
            self.share,
            self.deterministic,
            self.types,
            self.luau,
            self.without,
        )

    def _weighed(self, kind: str) -> tuple[Sequence[Signature], list[float]]:
        """Return the available signatures of `_members(kind)`, and their cumulative weights."""
        weighted: list[tuple[float, Signature]] = []
        for library, share, signature in _members(kind):
            weight = share * self.library_weights.get(library, 0)
            if not weight or (self.typed and "untyped" in signature.marks):
                continue
            parameters, results = signature.parameters or (), signature.results
            if not self.without.isdisjoint(_needs(str(signature), parameters, results)):
                continue
            if has(self.luau, signature.span):
                weighted.append((weight, signature))
            elif (library, signature.name) not in NEWER_MEMBERS:
                # The previous member gets the weight of `vector.lerp`; all others stay as likely.
                weighted[-1] = weighted[-1][0] + weight, weighted[-1][1]
        signatures = [signature for _, signature in weighted]
        return signatures, list(accumulate(weight for weight, _ in weighted))


_KINDS: Final = tuple(dict.fromkeys([*expressions.LITERALS, *expressions.TEMPLATES, *TEXTS]))


def _needs(
    name: str,
    parameters: Sequence[Parameter],
    results: Sequence[str],
    libraries: Mapping[str, str] = LIBRARY_OF_KIND,
) -> set[str]:
    """Return the name of a member or operation, and the libraries that it needs.

    `libraries` maps kinds to the libraries that create their values.
    """
    kinds = (*(parameter.kind for parameter in parameters), *results)
    return {name, name.partition(".")[0], *(libraries[kind] for kind in kinds if kind in libraries)}


@cache
def _members(kind: str) -> Sequence[tuple[str, float, Signature]]:
    """Return each signature that returns a `kind`, as (library, share of weight, signature).

    For "", return all signatures that are not marked `fails`.
    """
    numbers = Counter(str(signature) for signature in SIGNATURES)
    return [
        (signature.library or "globals", 1 / numbers[str(signature)], signature)
        for signature in SIGNATURES
        if str(signature) != "coroutine.yield"
        and (
            signature.results == (kind,) and "varies" not in signature.marks
            if kind
            else "fails" not in signature.marks
        )
    ]


@cache
def _callbacks(typed: bool) -> Mapping[tuple[str, int], Sequence[Producer]]:
    return {
        key: [templates.expression(text, typed=typed).make for text in texts]
        for key, texts in expressions.CALLBACKS.items()
    }


@cache
def _simplest(typed: bool) -> Mapping[str, Producer]:
    return {kind: _simplest_of(kind, typed) for kind in _KINDS}


def _simplest_of(kind: str, typed: bool) -> Producer:
    literal = expressions.LITERALS.get(kind)
    if literal is not None:
        return expressions.a_literal(literal[1])
    if kind in TEXTS:
        make = arguments.MAKERS[kind]
        return lambda maker, size, room: make(maker, size, room)[0]
    return templates.expression(expressions.TEMPLATES[kind][0][1], typed=typed).make


@cache
def _expressions(
    kind: str, calls: bool, typed: bool, luau: Version | None, without: Set[str]
) -> Sequence[Table]:
    """Return a kind's tables of expressions, one for each size from 0 to `LARGEST`."""
    simplest = _simplest(typed)[kind]
    literal = expressions.LITERALS.get(kind)
    producers: list[tuple[float, int, Producer]] = [(0, 0, simplest)]
    if literal is not None:
        producers = [(literal[0], 2, simplest)]
    elif kind in TEXTS:
        producers = [(6, 2, simplest)]
    if kind in expressions.VARIABLES:
        make = expressions.a_variable(kind)
        producers.append((expressions.VARIABLES[kind], 3, make))
    seeds = [(weight, text, False) for weight, text in expressions.TEMPLATES.get(kind, ())]
    newer = [(weight, text, True) for weight, text in expressions.newer(kind, luau)]
    for weight, text, is_newer in seeds + newer:
        untyped = typed and text.startswith("UNTYPED(")
        if not untyped and avoids(f"return {text}", without):
            template = templates.expression(text, typed=typed, newer=is_newer)
            producers.append((weight, template.least, template.make))
    if calls:
        producers.append((expressions.CALLS[kind], 10, _library_call(kind)))
    if kind in expressions.USER_CALLS:
        producers.append((expressions.USER_CALLS[kind], 8, expressions.a_user_call(kind)))
    tables: list[Table] = []
    for size in range(LARGEST + 1):
        able = [(weight, make) for weight, least, make in producers if least <= max(size, 2)]
        able = able or [(1, simplest)]
        if not any(weight for weight, _ in able):
            able = [(1, make) for _, make in able]
        tables.append(([make for _, make in able], list(accumulate(weight for weight, _ in able))))
    return tables


def _library_call(kind: str) -> Producer:
    def make(maker: Maker, size: int, room: int) -> Expr:
        signatures, sums = maker.grammar.calls[kind]
        return calls.call(maker, signatures[maker.pick(sums)], size, room)

    return make
