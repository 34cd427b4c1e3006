"""Programs that run: built by kind and scope, valid without repair.

    program(seed=7)                                    a ModuleSet
    expression("number", scope, choices, size=8)       a piece for a place in some other program
    statements(scope, choices, size=20)

Expressions are requested by kind, so that operators and library members get operands that they can
use; variables are chosen from a scope that knows their kinds; statements come from a table of
idioms. Loops and recursion are bounded. Where to read next: `idioms/` has the parts of programs,
`templates/` their notation, `expressions.py` and `calls.py` generate expressions, `maker.py`
combines them.
"""

from __future__ import annotations

import difflib
import random
from collections.abc import Mapping
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import Final, TypedDict, TypeVar, cast

from scriptschema import messages as m
from scriptschema.choices import Choices, RandomChoices
from scriptschema.generation.programs import combinations, nodes
from scriptschema.generation.programs.annotations import ANNOTATIONS, Types
from scriptschema.generation.programs.counts import Counts
from scriptschema.generation.programs.grammar import LIBRARIES, Grammar, exports, idiom_of, module
from scriptschema.generation.programs.idioms import COMPILED, IDIOMS, SPANS
from scriptschema.generation.programs.maker import LEAF, Maker
from scriptschema.generation.programs.scope import Scope, Variable
from scriptschema.generation.programs.templates import measures
from scriptschema.generation.trees import (
    DEEPEST,
    DEFAULT_SIZE,
    MAX_DEPTH,
)
from scriptschema.generation.weights import Weights, WeightsError, read_weights
from scriptschema.luau.members import NEWER_MEMBERS
from scriptschema.luau.validation.constants import returns
from scriptschema.versions import Version, has

__all__ = ["IDIOMS", "LIBRARIES", "Counts", "Scope", "expression", "program", "statements"]

WRONG: Final = 0.05
WRONG_IF_COMPILED: Final = 0.3
"""The default share of operands and arguments that are wrong on purpose, unless types are sound: in
programs that run, and in those that are only compiled."""

MakerT = TypeVar("MakerT", bound=Maker)

STEPS: Final = 5_000
"""The most statements that a program of ordinary size executes; it prints fewer lines."""

_MODULE_SIZE: Final = 60
"""The size from which programs may have a module."""

_COMBINING_SIZE: Final = 100
_COMBINED: Final = 0.5
"""The share of programs from this size on that is for combinations, if these are counted."""

_LARGE_SIZE: Final = 100
"""The size from which programs may begin with an additional piece of hundreds of nodes."""

_EXPORTING: Final = 80
"""The number of programs, of 256, that export something, if the version of Luau has exports."""

_EXPORTING_MODULE: Final = 128
"""The number of modules, of 256, that export their values, if the version of Luau has exports."""

_MODULE_COST: Final = 50
"""The number of statements that a call of the module's function counts as."""


class ProgramOptions(TypedDict, total=False):
    """The options of `program` that random trees do not have."""

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
    """Return a random program, which compiles and usually runs to its end.

    `seed`, `choices`, `size` and `max_depth` are as in `generation.trees.generate`; a program of
    fewer than 10 nodes or levels may be empty.

    `wrong`, from 0 to 1, is the share of operands and arguments that are wrong on purpose, most of
    them where the error is caught: 0.05, or none with sound types. With `deterministic` the program
    prints the same in every run, at every optimization level. `types` are the annotations: `none`,
    `random` ones, which mean nothing, or `sound` ones, which agree with the values: most of these
    programs have no error in Luau's strict mode.

    `weights` changes the frequency of each idiom and each library: a mapping with the tables
    `idioms` and `libraries`, by name, or the path of a TOML file with these. `swarm` excludes about
    half of them from this program.

    `luau` is the version of Luau to run it with, as in `versions.Version.parse`: the program uses
    what that version has. By default it uses what is in the seed's schema, which all versions have.

    Without `runs`, the program is for compilers alone and must not be executed: it also has endless
    loops, dead code, tables with duplicate keys, constants out of range, and wrong calls of
    builtins held in locals; and `wrong` is 0.3 by default.

    Raises WeightsError, and ValueError for other invalid options, with their valid values.
    """
    if seed is not None and choices is not None:
        raise ValueError("give a seed or choices, not both")
    check_options(size, max_depth, types)
    # Nothing here is secret, so predictable random numbers do no harm.
    source = choices or RandomChoices(random.Random() if seed is None else seed)  # noqa: S311
    grammar = grammar_of(weights, wrong, deterministic, types, luau, runs=runs)
    if swarm:
        grammar = grammar.swarm(source)
    return make_program(
        maker_of(source, grammar, types, Scope(), size, Maker, counts), size, max_depth
    )


def check_options(size: int, max_depth: int, types: str) -> None:
    """Raise ValueError for an invalid size, depth or kind of annotations."""
    if size < 1:
        raise ValueError(f"size must be at least 1, not {size}")
    if max_depth < 1:
        raise ValueError(f"a ModuleSet is at least 1 deep, so max_depth cannot be {max_depth}")
    if types not in ANNOTATIONS:
        raise ValueError(f"types must be one of {', '.join(ANNOTATIONS)}, not {types!r}")


def make_program(
    maker: Maker, size: int, max_depth: int, *, with_module: bool = True
) -> m.ModuleSet:
    """Return a program that `maker` generates; `with_module` allows for a module."""
    room = min(max_depth, DEEPEST) - 1
    exporting = maker.grammar.exports and maker.chance(_EXPORTING_MODULE)
    of_modules = module(maker.grammar.typed, exporting)
    roomy = size >= _MODULE_SIZE and room > of_modules.levels + LEAF
    has_module = with_module and roomy and maker.chance(80)
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
    for_module = size // 4 if has_module else 0
    if size >= _LARGE_SIZE and maker.chance(4):
        before = maker.made
        body += maker.large(size, room)
        maker.made = before
    if maker.combines and maker.grammar.combines and size >= _COMBINING_SIZE:
        body += combinations.statements(maker, round(size * _COMBINED), room)
    if room > LEAF + 4:
        body += maker.statements(size - for_module - maker.made, room)
    if _exporting(maker, body, room):
        body += exports(maker.grammar.typed).make(maker, size // 8, room) or []
    made_module = None
    if has_module:  # last, so that it is left out first in smaller programs
        maker.scope = Scope()
        made_module = nodes.block(of_modules.make(maker, for_module, room))
    return cast(m.ModuleSet, nodes.MAKE[m.ModuleSet](made_module, nodes.block(body)))


def _exporting(maker: Maker, body: list[m.Stat], room: int) -> bool:
    """Choose whether a program ends with its exports; a program with a return cannot."""
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
    """Return an expression for a place in some program.

    `kind` is a key of `luau.library.KINDS` that a variable can have, `scope` what is in scope there
    (`Scope.of`), `size` the aimed number of nodes. No message in it is more than `max_depth` levels
    below the Expr; at least 10 are needed. Raises ValueError for an unknown kind.
    """
    grammar = grammar_of(None, wrong, deterministic, luau=luau)
    if kind not in grammar.expressions:
        raise ValueError(f"no kind {kind!r}{_nearest(kind, grammar.expressions)}")
    _check_depth(max_depth, 10)
    return maker_of(choices, grammar, "none", scope, size, Maker).expression(kind, size, max_depth)


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
    """Return one idiom's statements, one or a few, for a place in some program.

    They declare variables in `scope`, see `expression`. No message is more than `max_depth` levels
    below the Stat; at least 16 are needed.
    """
    grammar = grammar_of(None, wrong, deterministic, types, luau)
    check_options(size, max_depth, types)
    _check_depth(max_depth, 16)
    return maker_of(choices, grammar, types, scope, size, Maker).statement(size, max_depth + 1)


def grammar_of(
    weights: Weights | str | PathLike[str] | None,
    wrong: float | None = None,
    deterministic: bool = True,
    types: str = "random",
    luau: str | Version | None = None,
    *,
    runs: bool = True,
) -> Grammar:
    """Return the grammar for these options: see `program`. Raises WeightsError, ValueError."""
    typed, luau = types == "sound", luau and Version.parse(luau)
    if wrong is None:
        wrong = 0.0 if typed else WRONG if runs else WRONG_IF_COMPILED
    if not isinstance(wrong, (int, float)) or not 0 <= wrong <= 1:
        raise ValueError(f"wrong must be a share from 0 to 1, not {wrong!r}")
    if weights is None:
        return _grammar((), wrong, deterministic, typed, luau, runs)
    if not isinstance(weights, Mapping):
        weights = read_weights(Path(weights))
    for table, inner in weights.items():
        if table not in _WEIGHTS:
            raise WeightsError(f"weights has no table {table!r}; it has {', '.join(_WEIGHTS)}")
        if not isinstance(inner, Mapping):
            raise WeightsError(f"{table} must be a table of names and weights")
        for name, weight in inner.items():
            if name not in _WEIGHTS[table]:
                raise WeightsError(f"{table} has no {name!r}{_nearest(name, _WEIGHTS[table])}")
            if not isinstance(weight, (int, float)) or not (weight == 0 or 1e-9 <= weight <= 1e9):
                rule = "a weight is 0 or a number from 1e-9 to 1e9"
                raise WeightsError(f"{table}.{name}: {rule}: {weight!r}")
    changes = tuple((table, tuple(inner.items())) for table, inner in weights.items())
    return _grammar(changes, wrong, deterministic, typed, luau, runs)


_WEIGHTS: Final[Mapping[str, Mapping[str, float]]] = {
    "idioms": {name: weight for name, (weight, _) in IDIOMS.items()},
    "libraries": {
        **dict.fromkeys(LIBRARIES, 1.0),
    },
}


@lru_cache(maxsize=16)
def _grammar(
    changes: tuple[tuple[str, tuple[tuple[str, float], ...]], ...],
    wrong: float,
    deterministic: bool,
    typed: bool,
    luau: Version | None,
    runs: bool,
) -> Grammar:
    weights = {table: dict(inner) for table, inner in _WEIGHTS.items()}
    for table, inner in changes:
        weights[table].update(inner)
    idioms = {
        name: weight
        for name, weight in weights["idioms"].items()
        if has(luau, SPANS.get(name)) and not (runs and name in COMPILED)
    }
    libraries = {
        name: weight
        for name, weight in weights["libraries"].items()
        if has(luau, NEWER_MEMBERS.get(("", name)))
    }
    grammar = Grammar(idioms, libraries, wrong, deterministic, typed, luau)
    measures.save()
    return grammar


def maker_of(
    choices: Choices,
    grammar: Grammar,
    types: str,
    scope: Scope,
    size: int,
    cls: type[MakerT],
    counts: Counts | None = None,
) -> MakerT:
    """Return a maker of class `cls` for about `size` nodes; see `program` for `counts`."""
    return cls(choices, grammar, ANNOTATIONS[types], scope, STEPS + size, counts)


def _check_depth(max_depth: int, least: int) -> None:
    if max_depth < least:
        raise ValueError(f"max_depth must be at least {least}, not {max_depth}")


def _nearest(name: object, known: Mapping[str, object]) -> str:
    found = difflib.get_close_matches(str(name), known, n=1)
    return f"; did you mean {found[0]!r}?" if found else f"; there are {', '.join(known)}"
