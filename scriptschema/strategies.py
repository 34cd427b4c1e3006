"""Hypothesis strategies: trees of any message, Luau programs and sources, and damaged bytes.

    from hypothesis import given
    from scriptschema import strategies

    @given(strategies.exprs())
    def test_printer(expr): ...

Hypothesis makes all of the generators' choices (see `drawing.choices`).

`st.from_type(messages.Expr)` finds these strategies without any import: see `hypothesis_plugin.py`.
Only this module and `drawing` import hypothesis. The program generator is imported on first use.

Source: the Hypothesis manual, "Strategies reference" and "Extension entry points".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from os import PathLike
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, Unpack

import attrs
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from scriptschema.base import (
    INT32_MAX,
    INT32_MIN,
    MAX_DEPTH,
    Int32,
    Message,
    require_message,
)
from scriptschema.choices import choices_of
from scriptschema.drawing.choices import DrawnChoices, varied
from scriptschema.generation.grammar import Grammar, grammar_of
from scriptschema.generation.sampling import APART, Sampler
from scriptschema.generation.trees import DEFAULT_SIZE, TreeOptions
from scriptschema.generation.weights import Weights
from scriptschema.messages import MESSAGES, Expr, ModuleSet, Stat, StatBlock, Type, schema

if TYPE_CHECKING:
    from scriptschema.generation.programs.annotations import Types
    from scriptschema.luau.names import Names
    from scriptschema.luau.render import Style
    from scriptschema.versions import Version

MAX_SIZE: Final = 3000
"""The largest `size` of a tree. A larger tree could need more data than Hypothesis allows for one
example."""

MessageT = TypeVar("MessageT", bound=Message)
_INT32: Final = st.integers(INT32_MIN, INT32_MAX)


class _DrawnSampler(Sampler):
    """Draws each expression, statement and type as a separate unit."""

    choices: DrawnChoices

    def build(self, cls: type[Message], hint: int, depth: int) -> Any:
        if cls not in APART:
            return super().build(cls, hint, depth)
        return self._apart(cls.__name__, cls, hint, depth)

    def part(self, cls: type[Message], hint: int, depth: int) -> Any:
        name = cls.__name__ if cls in APART else "Part"
        return self._apart(name, cls, hint, depth)

    def _apart(self, name: str, cls: type[Message], hint: int, depth: int) -> Any:
        build = super().build
        return self.choices.apart(name, lambda: build(cls, hint, depth))

    def decision(self) -> int:
        return self.choices.last_byte()


@st.composite
def _trees(
    draw: DrawFn, cls: type[MessageT], grammar: Grammar, size: int, max_depth: int, swarm: bool
) -> MessageT:
    choices = DrawnChoices(draw)
    if swarm:
        grammar = grammar.swarm(choices, cls, max_depth)
    return _DrawnSampler(grammar, choices).tree(cls, size, max_depth)


def _check_limits(size: int, max_depth: int) -> None:
    for name, value in (("size", size), ("max_depth", max_depth)):
        if not isinstance(value, Integral):
            raise TypeError(f"{name} must be a whole number, found {value!r}")
    if not 1 <= size <= MAX_SIZE:
        raise ValueError(
            f"size must be from 1 to {MAX_SIZE}, the limit of Hypothesis, found {size}: for "
            "larger trees, use generation.trees.generate"
        )


def _check_names(
    function: str, options: Mapping[str, object], known: Any = TreeOptions, others: Any = ()
) -> None:
    """Raise TypeError, like Python, for an option that `function` does not have.

    `others` are the options that `function` itself declares.
    """
    for name in options:
        if name not in known.__optional_keys__:
            raise TypeError(
                f"{function}() got an unexpected keyword argument {name!r}; "
                f"available: {', '.join(sorted([*known.__optional_keys__, *others]))}"
            )


def messages(
    cls: type[MessageT],
    *,
    size: int = DEFAULT_SIZE,
    max_depth: int = MAX_DEPTH,
    weights: Weights | str | PathLike[str] | None = None,
    swarm: bool = False,
    luau: str | Version | None = None,
) -> SearchStrategy[MessageT]:
    """Return a strategy for trees of class `cls`.

    `size`, from 1 to `MAX_SIZE`, is the maximum number of nodes, which only required nodes may
    exceed. The other options are those of `generation.trees.generate`. Failing examples shrink
    towards the smallest tree. Raises ValueError for options that do not allow any tree, and
    TypeError if `cls` is not a message class of the version `luau`.
    """
    _check_limits(size, max_depth)
    grammar = grammar_of(weights, luau)
    schema(luau).require(cls)
    if max_depth < grammar.heights[cls]:
        raise ValueError(f"a {cls.__name__} has a depth of at least {grammar.heights[cls]}")
    return _trees(cls, grammar, size, max_depth, swarm)


def module_sets(**options: Unpack[TreeOptions]) -> SearchStrategy[ModuleSet]:
    """Return a strategy for programs, with or without a module. For options, see `messages`."""
    _check_names("module_sets", options)
    return messages(ModuleSet, **options)


def exprs(**options: Unpack[TreeOptions]) -> SearchStrategy[Expr]:
    """Return a strategy for expressions. For options, see `messages`."""
    _check_names("exprs", options)
    return messages(Expr, **options)


def stats(**options: Unpack[TreeOptions]) -> SearchStrategy[Stat]:
    """Return a strategy for statements. For options, see `messages`."""
    _check_names("stats", options)
    return messages(Stat, **options)


def blocks(**options: Unpack[TreeOptions]) -> SearchStrategy[StatBlock]:
    """Return a strategy for blocks of statements. For options, see `messages`."""
    _check_names("blocks", options)
    return messages(StatBlock, **options)


def types(**options: Unpack[TreeOptions]) -> SearchStrategy[Type]:
    """Return a strategy for types. For options, see `messages`."""
    _check_names("types", options)
    return messages(Type, **options)


def programs(
    *,
    size: int = DEFAULT_SIZE,
    max_depth: int = MAX_DEPTH,
    wrong: float | None = None,
    deterministic: bool = True,
    types: Types = "random",
    weights: Weights | str | PathLike[str] | None = None,
    swarm: bool = False,
    with_module: bool = True,
    luau: str | Version | None = None,
) -> SearchStrategy[ModuleSet]:
    """Return a strategy for programs that run.

    `size`, from 1 to `MAX_SIZE`, is the approximate maximum number of nodes. If `with_module` is
    true, programs may have a module. The other options are those of `generation.programs.program`.
    Failing examples shrink to one or two idioms that still run. Raises ValueError for invalid
    options.

    For programs that compile but need not run, use `module_sets().map(repair)`.
    """
    from scriptschema.drawing.programs import drawn_programs
    from scriptschema.generation.programs import check_options, grammar_of

    _check_limits(size, max_depth)
    check_options(size, max_depth)
    grammar = grammar_of(weights, wrong, deterministic, types, luau)
    return varied(drawn_programs(grammar, swarm, size, max_depth, with_module))


class ProgramOptions(TreeOptions, total=False):
    """The options of `programs`, except `with_module`."""

    wrong: float
    deterministic: bool
    types: Types


@st.composite
def _sources(
    draw: DrawFn,
    trees: SearchStrategy[ModuleSet],
    names: Names | None,
    style: Style | Literal["random"] | None,
) -> str:
    from scriptschema.luau.names import DEFAULT
    from scriptschema.luau.render import render

    program = draw(trees).program
    if style == "random":
        style = DrawnChoices(draw)
    return render(program, names=names or DEFAULT, style=style)


def sources(
    *,
    names: Names | None = None,
    style: Style | Literal["random"] | None = None,
    **options: Unpack[ProgramOptions],
) -> SearchStrategy[str]:
    """Return a strategy for Luau sources that run: programs without a module, rendered as text.

    `names` and `style` are those of `luau.render.render`. If `style` is `random`, Hypothesis draws
    a style for each source, and shrinks it to the plain style. The other options are those of
    `programs`.
    """
    _check_names("sources", options, ProgramOptions, ("names", "style"))
    if style is not None and style != "random":
        choices_of(style)  # raises TypeError if it is not a style
    return varied(_sources(programs(with_module=False, **options), names, style))


def mutated(
    tree: MessageT,
    *,
    donors: Sequence[Message] = (),
    size: int | None = None,
    max_depth: int = MAX_DEPTH,
    programs: bool | None = None,
    luau: str | Version | None = None,
) -> SearchStrategy[MessageT]:
    """Return a strategy for mutants of `tree`. The options are those of `fuzzing.mutate.mutate`."""
    from scriptschema.fuzzing.mutate import check_options, list_of, mutate

    require_message(tree)
    check_options(size, max_depth, luau)
    donors = list_of(donors)

    @st.composite
    def mutants(draw: DrawFn) -> MessageT:
        return mutate(
            tree,
            DrawnChoices(draw),
            donors=donors,
            size=size,
            max_depth=max_depth,
            programs=programs,
            luau=luau,
        )

    return mutants()


def encoded(cls: type[Message], **options: Unpack[TreeOptions]) -> SearchStrategy[bytes]:
    """Return a strategy for encodings of trees of class `cls`. For options, see `messages`."""
    from scriptschema import wire

    _check_names("encoded", options)
    luau = options.get("luau")
    return messages(cls, **options).map(lambda tree: wire.encode(tree, luau=luau))


@attrs.frozen
class Damaged:
    """An encoding with faults. `original` is the valid encoding; `faults` describes the changes."""

    data: bytes
    original: bytes
    faults: tuple[str, ...]


@st.composite
def _damaged(draw: DrawFn, encodings: SearchStrategy[bytes]) -> Damaged:
    from scriptschema.drawing.damage import FAULTS

    original = data = draw(encodings)
    faults = []
    for _ in range(draw(st.integers(1, 4))):
        data, fault = draw(st.sampled_from(FAULTS))(draw, data)
        faults.append(fault)
    return Damaged(data, original, tuple(faults))


def damaged(cls: type[Message], **options: Unpack[TreeOptions]) -> SearchStrategy[Damaged]:
    """Return a strategy for encodings with one to four faults, for tests of decoders.

    For options, see `messages`. Faults are truncation, changed bits and bytes, removed, repeated or
    moved pieces, unknown fields of every wire type, groups, and varints that are longer than
    necessary. Some of the damaged encodings may still be valid.
    """
    _check_names("damaged", options)
    return _damaged(encoded(cls, **options))


# Like `hypothesis_plugin`, for a checkout that is not installed and thus has no entry point.
for _cls in MESSAGES.values():
    st.register_type_strategy(_cls, messages)
st.register_type_strategy(Int32, _INT32)
