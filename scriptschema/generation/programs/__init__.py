"""Generates programs that run. Code is chosen by kind and scope, so it is valid without repair.

    program(seed=7)                                    a ModuleSet
    expression("number", scope, choices, size=8)       an expression for an existing program
    statements(scope, choices, size=20)                statements for an existing program

Expressions are requested by kind, so operators and library members get operands that they can use.
Variables come from a scope, which stores their kinds. Statements come from a table of idioms. Loops
and recursion are bounded.

`idioms/` has the idioms, and `templates/` describes their notation. `expressions.py` and `calls.py`
generate expressions. `maker.py` combines expressions and idioms.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from functools import lru_cache
from os import PathLike
from typing import Final, TypedDict

from scriptschema import messages as m
from scriptschema.base import MAX_DEPTH
from scriptschema.choices import Choices, seeded
from scriptschema.generation.programs import combinations, nodes
from scriptschema.generation.programs.annotations import ANNOTATIONS, Types
from scriptschema.generation.programs.counts import Counts
from scriptschema.generation.programs.grammar import LIBRARIES, Grammar, exports, idiom_of, module
from scriptschema.generation.programs.idioms import COMPILED, IDIOMS, SPANS
from scriptschema.generation.programs.maker import LEAF, Maker
from scriptschema.generation.programs.scope import Scope, Variable
from scriptschema.generation.programs.templates.uses import avoids
from scriptschema.generation.trees import DEEPEST, DEFAULT_SIZE
from scriptschema.generation.weights import Changes, Weights, WeightsError, frozen, read_weights
from scriptschema.luau.members import NEWER_MEMBERS
from scriptschema.luau.validation.constants import returns
from scriptschema.versions import Version, has

__all__ = ["IDIOMS", "LIBRARIES", "Counts", "Scope", "expression", "program", "statements"]

WRONG: Final = 0.05
WRONG_IF_COMPILED: Final = 0.3
"""The default share of operands and arguments that are wrong on purpose, unless types are sound.

`WRONG` is for programs that run, `WRONG_IF_COMPILED` for programs that are only compiled.
"""

_MODULE_SIZE: Final = 60
"""The minimum size of programs that may have a module."""

_LARGEST_MODULE: Final = 4000
"""The maximum number of nodes to reserve for a module. Modules rarely need more."""

_COMBINING_SIZE: Final = 100
_COMBINING: Final = 190
_COMBINED: Final = 0.9
"""Out of 256 programs of at least `_COMBINING_SIZE` nodes, the number with combinations, and the
share of their nodes to use for these. The other programs have room for large idioms."""

_LARGE_SIZE: Final = 100
"""The minimum size of programs that may begin with an additional, large idiom."""

_EXPORTING: Final = 80
"""The number of programs out of 256 that have exports, if the Luau version has exports."""

_EXPORTING_MODULE: Final = 128
"""The number of modules out of 256 that have exports, if the Luau version has exports."""

_MODULE_COST: Final = 50
"""The assumed number of statements that a call to the module's function executes."""


class ProgramOptions(TypedDict, total=False):
    """The options that `program` has in addition to those of `trees.generate`."""

    wrong: float
    deterministic: bool
    types: Types


def program(
    *,
    seed: int | None = None,
    choices: Choices | None = None,
    size: int = DEFAULT_SIZE,
    max_depth: int = MAX_DEPTH,
    wrong: float | None = None,
    deterministic: bool = True,
    types: Types = "random",
    weights: Weights | str | PathLike[str] | None = None,
    swarm: bool = False,
    luau: str | Version | None = None,
    counts: Counts | None = None,
    runs: bool = True,
) -> m.ModuleSet:
    """Return a random program, which compiles and usually runs to completion.

    `seed`, `choices`, `size` and `max_depth` have the same meaning as in
    `generation.trees.generate`. A program of fewer than 10 nodes or levels may be empty.

    `wrong`, from 0 to 1, is the share of operands and arguments that are wrong on purpose. Most of
    the resulting errors are caught. The default is 0 with sound types, 0.3 if `runs` is false, and
    0.05 otherwise. If `deterministic` is true, the program prints the same output in every run and
    at every optimization level.

    `types` selects the annotations: `none`, `random` for arbitrary types, or `sound` for types that
    agree with the values. Most programs with sound types have no errors in Luau's strict mode.

    `weights` is a mapping with the tables `idioms` and `libraries`, or the path of a TOML file with
    these tables. Both tables map names to weights. A weight of 0 leaves out an idiom, or a library
    and everything that uses it. Programs always declare the variables that their idioms need, and
    print numbers where nothing else fits. A weight of 0 for `globals` only means that globals are
    not called at random. If `swarm` is true, the program chooses from about half of the idioms, and
    calls members of about half of the libraries.

    `luau` is the Luau version that must be able to run the program (see `versions.Version.parse`).
    The program may use features of that version. By default, it uses only the original schema,
    which all versions support.

    `counts` counts the uses of idioms and combinations across programs. If it is given, rare idioms
    are preferred, and most programs of 100 or more nodes consist mainly of rare combinations.

    If `runs` is false, the program is only for compilers and must not be executed. It may then
    contain infinite loops, dead code, tables with duplicate keys, constants out of range, and
    incorrect calls to builtins stored in locals.

    Raises WeightsError for invalid weights, and ValueError for other invalid options.
    """
    source = seeded(seed, choices)
    check_options(size, max_depth)
    grammar = grammar_of(weights, wrong, deterministic, types, luau, runs=runs)
    if swarm:
        grammar = grammar.swarm(source)
    return make_program(source, grammar, size, max_depth, counts=counts)


def check_options(size: int, max_depth: int) -> None:
    """Raise ValueError for an invalid size or depth."""
    if size < 1:
        raise ValueError(f"size must be at least 1, found {size}")
    if max_depth < 1:
        raise ValueError(
            f"a ModuleSet has a depth of at least 1, so max_depth cannot be {max_depth}"
        )


def make_program(
    choices: Choices,
    grammar: Grammar,
    size: int,
    max_depth: int = MAX_DEPTH,
    *,
    counts: Counts | None = None,
    with_module: bool = True,
    cls: type[Maker] = Maker,
) -> m.ModuleSet:
    """Return a program generated by a maker of class `cls`.

    It may have a module if `with_module` is true. The other arguments are those of `program`.
    """
    maker = cls(choices, grammar, Scope(), size, counts)
    room = min(max_depth, DEEPEST) - 1
    exporting = maker.grammar.exports and maker.chance(_EXPORTING_MODULE)
    of_modules = module(maker.grammar.typed, exporting)
    roomy = size >= _MODULE_SIZE and room > of_modules.levels + LEAF
    has_module = with_module and maker.grammar.modules and roomy and maker.chance(80)
    maker.made += 2
    body: list[m.Stat] = []
    if has_module:
        name = maker.scope.declare()
        maker.scope.publish(Variable(name, "exports" if exporting else "module", cost=_MODULE_COST))
        maker.scope.modules.append(name)
        local = nodes.MAKE[m.Local](name)
        require = nodes.MAKE[m.StatRequireIntoLocalHelper](local, 0)
        body.append(nodes.stat("require_into_local", require))
        maker.made += 4
        if exporting:
            body += idiom_of("exported values", maker.grammar.typed).make(maker, 20, room) or []
    for_module = min(size // 4, _LARGEST_MODULE) if has_module else 0
    if size >= _LARGE_SIZE and maker.chance(4):
        before = maker.made
        body += maker.large(size, room)
        maker.made = before
    combines = maker.combines and maker.grammar.combines and size >= _COMBINING_SIZE
    if combines and maker.chance(_COMBINING):
        body += combinations.statements(maker, round(size * _COMBINED), room)
    if room > LEAF + 4:
        body += maker.statements(size - for_module - maker.made, room)
    if _exporting(maker, body, room):
        body += exports(maker.grammar.typed).make(maker, size // 8, room) or []
    made_module = None
    if has_module:  # last, so that it is left out first in smaller programs
        maker.scope = Scope()
        made_module = nodes.block(of_modules.make(maker, for_module, room))
    return nodes.MAKE[m.ModuleSet](made_module, nodes.block(body))


def _exporting(maker: Maker, body: list[m.Stat], room: int) -> bool:
    """Return whether the program should end with exports."""
    if not maker.grammar.exports or not maker.chance(_EXPORTING):
        return False
    fits = room > exports(maker.grammar.typed).levels + LEAF
    return fits and not returns(nodes.block(body))


def expression(
    kind: str,
    scope: Scope,
    choices: Choices,
    *,
    size: int = 8,
    max_depth: int = 20,
    wrong: float = 0.0,
    deterministic: bool = True,
    luau: str | Version | None = None,
) -> m.Expr:
    """Return a random expression for a place in an existing program.

    `kind` is a key of `luau.library.KINDS`. `scope` describes that place (see `Scope.of`), and
    `size` is the target number of nodes. `max_depth`, at least 10, is the maximum number of levels
    below the Expr. The other options are those of `program`. Raises ValueError for invalid options,
    and for a kind that has no expressions, such as `format`.
    """
    grammar = grammar_of(None, wrong, deterministic, "none", luau)
    if kind not in grammar.expressions:
        raise ValueError(f"unknown kind {kind!r}{_nearest(kind, grammar.expressions)}")
    _check_depth(max_depth, 10)
    return Maker(choices, grammar, scope, size).expression(kind, size, max_depth)


def statements(
    scope: Scope,
    choices: Choices,
    *,
    size: int = 20,
    max_depth: int = 40,
    wrong: float = 0.0,
    deterministic: bool = True,
    types: Types = "none",
    luau: str | Version | None = None,
) -> list[m.Stat]:
    """Return the statements of a random idiom, for a place in an existing program.

    The statements may declare variables in `scope`. `max_depth`, at least 16, is the maximum number
    of levels below each Stat. The other options are those of `expression` and `program`.
    """
    grammar = grammar_of(None, wrong, deterministic, types, luau)
    check_options(size, max_depth)
    _check_depth(max_depth, 16)
    return Maker(choices, grammar, scope, size).statement(size, max_depth + 1)


def grammar_of(
    weights: Weights | str | PathLike[str] | None,
    wrong: float | None = None,
    deterministic: bool = True,
    types: str = "random",
    luau: str | Version | None = None,
    *,
    runs: bool = True,
    without: frozenset[str] = frozenset(),
) -> Grammar:
    """Return the grammar for options of `program`. Raises the same errors as `program`.

    `without` lists what programs must not use: libraries, members such as `math.pi`, globals, and
    syntax such as `ExprIfElse` (see `templates.uses`).
    """
    if types not in ANNOTATIONS:
        raise ValueError(f"types must be one of {', '.join(ANNOTATIONS)}, found {types!r}")
    luau = None if luau is None else Version.parse(luau)
    if wrong is None:
        wrong = 0.0 if types == "sound" else WRONG if runs else WRONG_IF_COMPILED
    if not isinstance(wrong, (int, float)) or not 0 <= wrong <= 1:
        raise ValueError(f"`wrong` must be a number from 0 to 1, found {wrong!r}")
    weights = read_weights(weights)
    for table in weights:
        if table not in _WEIGHTS:
            raise WeightsError(f"weights has no table {table!r}; available: {', '.join(_WEIGHTS)}")
    changes = frozen(weights, "names")
    for table, inner in changes:
        for name, _ in inner:
            if name not in _WEIGHTS[table]:
                raise WeightsError(f"{table} has no {name!r}{_nearest(name, _WEIGHTS[table])}")
    return _grammar(changes, wrong, deterministic, types, luau, runs, without)


_WEIGHTS: Final[Mapping[str, Mapping[str, float]]] = {
    "idioms": {name: weight for name, (weight, _) in IDIOMS.items()},
    "libraries": dict.fromkeys(LIBRARIES, 1.0),
}


@lru_cache(maxsize=16)
def _grammar(
    changes: Changes,
    wrong: float,
    deterministic: bool,
    types: str,
    luau: Version | None,
    runs: bool,
    without: frozenset[str],
) -> Grammar:
    weights = {table: dict(inner) for table, inner in _WEIGHTS.items()}
    for table, inner in changes:
        weights[table].update(inner)
    left_out = {name for name, weight in weights["libraries"].items() if not weight}
    without |= left_out - {"globals"}
    idioms = {
        name: weight
        for name, weight in weights["idioms"].items()
        if weight
        and has(luau, SPANS.get(name))
        and not (runs and name in COMPILED)
        and avoids(IDIOMS[name][1], without)
    }
    libraries = {
        name: weight
        for name, weight in weights["libraries"].items()
        if has(luau, NEWER_MEMBERS.get(("", name)))
    }
    return Grammar(idioms, libraries, wrong, deterministic, types, luau, without)


def _check_depth(max_depth: int, least: int) -> None:
    if max_depth < least:
        raise ValueError(f"max_depth must be at least {least}, found {max_depth}")


def _nearest(name: object, known: Mapping[str, object]) -> str:
    matches = difflib.get_close_matches(str(name), known, n=1)
    return f"; did you mean {matches[0]!r}?" if matches else f"; available: {', '.join(known)}"
