"""Hypothesis strategies: trees of any message, Luau programs and sources, and damaged bytes.

    from hypothesis import given
    from scriptschema import strategies

    @given(strategies.exprs())
    def test_printer(expr): ...

The third source of choice: the generator of `generation` reads bytes that Hypothesis is asked for.
What a draw costs hardly depends on what is drawn, so there is one draw for each expression,
statement and type: a chunk of bytes for the choices in it. That is many times faster than a
strategy for each message, and shrinks as well: every byte shrinks towards 0, and 0 is the simplest
choice everywhere; a chunk stands at the start of what it decides, so that leaving chunks out leaves
out items, and puts an inner tree into an outer one's place.

`st.from_type(messages.Expr)` finds these strategies without any import: see `hypothesis_plugin.py`.
This is the only module that imports hypothesis.

Source: the Hypothesis manual, "Strategies reference" and "Extension entry points".
"""

from __future__ import annotations

import threading
from bisect import bisect
from collections.abc import Callable, Sequence
from functools import cache
from os import PathLike
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict, TypeVar, Unpack

import attrs
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from scriptschema import wire
from scriptschema.base import INT32_MAX, INT32_MIN, Int32, Message
from scriptschema.choices import INTEGERS, PIECES, SMALL, WORDS, BytesChoices
from scriptschema.codec import varints
from scriptschema.generation.grammar import Grammar, grammar_of
from scriptschema.generation.programs import check_options, make_program, maker_of
from scriptschema.generation.programs import grammar_of as program_grammar_of
from scriptschema.generation.programs.annotations import Types
from scriptschema.generation.programs.grammar import Grammar as ProgramGrammar
from scriptschema.generation.programs.maker import Maker
from scriptschema.generation.programs.scope import Scope
from scriptschema.generation.sampling import APART, Sampler
from scriptschema.generation.trees import MAX_DEPTH
from scriptschema.generation.weights import Weights
from scriptschema.messages import MESSAGES, Expr, ModuleSet, Stat, StatBlock, Type

if TYPE_CHECKING:
    from scriptschema.luau.names import Names
    from scriptschema.luau.render import Style
    from scriptschema.versions import Version

DEFAULT_SIZE: Final = 200
"""The most nodes of a tree; see `messages`."""

MAX_SIZE: Final = 3000
"""More nodes than this do not fit into one of Hypothesis's examples, whose length is limited."""

MessageT = TypeVar("MessageT", bound=Message)

# As many as most expressions, statements and types read; those that read more draw another chunk.
_CHUNK_SIZE: Final = 12
_CHUNK: Final = st.binary(min_size=_CHUNK_SIZE, max_size=_CHUNK_SIZE)
_INT32: Final = st.integers(INT32_MIN, INT32_MAX)

# What integers beyond the small ones go up, or down, to; and what is drawn for that: mostly more,
# which makes it the limit, and shrinks below it.
_LIMITS: Final = (INT32_MAX, INT32_MIN) * 5 + INTEGERS * 2
_MAGNITUDE: Final = st.integers(0, 2**100)
# Strings are drawn as bytes: characters would cost Hypothesis a second in the first example of a
# fresh project, which its health check takes for a slow strategy.
_STRING: Final = st.binary(max_size=20)
_SIMPLEST_FIRST: Final = bytes(
    sorted(
        range(128), key=lambda code: (not chr(code).isalnum(), not chr(code).isprintable(), code)
    )
) + bytes(range(128, 256))


@cache
def _below(n: int) -> SearchStrategy[int]:
    return st.integers(0, n - 1)


class _DrawnChoices(BytesChoices):
    """Choices by chunks of bytes that Hypothesis draws; see `choices.Choices`.

    A chunk is read from both ends, up to `end` from the back: whether lists go on stands there, so
    that the other choices stay what they are when a list gets shorter.
    """

    def __init__(self, draw: DrawFn) -> None:
        super().__init__(b"")
        self.draw = draw
        self.end = 0

    def _byte(self) -> int:
        self._refill()
        self.position += 1
        return self.data[self.position - 1]

    def pick(self, cumulative: Sequence[float]) -> int:
        # Hypothesis tries 0 and 1 for every byte: so the two simplest are tried, whatever weights.
        value = self._byte()
        if value == 1 and len(cumulative) > 1 and cumulative[0] < cumulative[1]:
            return 1
        return bisect(cumulative, value * cumulative[-1] / 256)

    def last_byte(self) -> int:
        self._refill()
        self.end -= 1
        return self.data[self.end]

    def apart(self, strategy: SearchStrategy[Any], make: Callable[[], Any]) -> Any:
        """Return what `make` makes, drawn as one thing with chunks of its own.

        Hypothesis then knows where it starts and ends, and can put an inner one into an outer one's
        place when it shrinks. `strategy` is one of `_span`.
        """
        _waiting.last = self, make
        return self.draw(strategy)

    def _refill(self) -> None:
        if self.position == self.end:
            self.data, self.position, self.end = self.draw(_CHUNK), 0, _CHUNK_SIZE

    def int32(self) -> int:
        value = self._byte()
        large = value - 256 + len(_LIMITS)
        if large < 0:
            return value % SMALL
        limit = _LIMITS[large]
        magnitude = min(self.draw(_MAGNITUDE), abs(limit))
        return magnitude if limit > 0 else -magnitude

    def string(self) -> str:
        value = self._byte()
        if value < 128:  # Without a draw, which costs as much as the rest of an expression.
            return WORDS[value % len(WORDS)] if value else ""
        # Bytes above 127 are something in each of the three ways to read them, so that what one way
        # found shrinks in the first.
        data = self.draw(_STRING).translate(_SIMPLEST_FIRST)
        if value < 170:
            return data.decode("latin-1")
        if value < 213:
            return data.decode("utf-8", "surrogateescape")
        return "".join([chr(b) if b < 128 else PIECES[b % len(PIECES)] for b in data])


_waiting = threading.local()


def _span(name: str) -> SearchStrategy[Any]:
    """The strategy of `_DrawnChoices.apart`, under a name that Hypothesis tells it by.

    What it is to make comes by way of a variable of the thread, since making a strategy for each
    draw, which could hold that, costs more than the draw.
    """

    def build(draw: DrawFn) -> Any:
        choices, make = _waiting.last
        outer = choices.draw, choices.data, choices.position, choices.end
        choices.draw, choices.position = draw, choices.end  # Nothing left: the next draws a chunk.
        made = make()
        choices.draw, choices.data, choices.position, choices.end = outer
        return made

    build.__name__ = build.__qualname__ = name
    return st.composite(build)()


_SPANS: Final[dict[type[Message], SearchStrategy[Any]]] = {
    cls: _span(cls.__name__) for cls in APART
}
_PART: Final = _span("Part")
_MADE: Final = _span("Made")


class _DrawnSampler(Sampler):
    """Samples by draws, and draws expressions, statements and types apart."""

    choices: _DrawnChoices

    def build(self, cls: type[Message], hint: int, depth: int) -> Any:
        strategy = _SPANS.get(cls)
        if strategy is None:
            return super().build(cls, hint, depth)
        return self._apart(strategy, cls, hint, depth)

    def part(self, cls: type[Message], hint: int, depth: int) -> Any:
        return self._apart(_SPANS.get(cls, _PART), cls, hint, depth)

    def _apart(
        self, strategy: SearchStrategy[Any], cls: type[Message], hint: int, depth: int
    ) -> Any:
        build = super().build
        return self.choices.apart(strategy, lambda: build(cls, hint, depth))

    def decision(self) -> int:
        return self.choices.last_byte()


@st.composite
def _trees(
    draw: DrawFn, cls: type[MessageT], grammar: Grammar, size: int, max_depth: int, swarm: bool
) -> MessageT:
    choices = _DrawnChoices(draw)
    if swarm:
        grammar = grammar.swarm(choices)
    return _DrawnSampler(grammar, choices).tree(cls, size, max_depth)


def _check_size(size: int) -> None:
    if not 1 <= size <= MAX_SIZE:
        raise ValueError(
            f"size must be from 1 to {MAX_SIZE}, what Hypothesis can hold in one example, not "
            f"{size}: use generation.trees.generate for larger trees"
        )


class TreeOptions(TypedDict, total=False):
    """The options of `messages`, and of all that make trees like it."""

    size: int
    max_depth: int
    weights: Weights | str | PathLike[str] | None
    swarm: bool
    luau: str | Version | None


def messages(
    cls: type[MessageT],
    *,
    size: int = DEFAULT_SIZE,
    max_depth: int = MAX_DEPTH,
    weights: Weights | str | PathLike[str] | None = None,
    swarm: bool = False,
    luau: str | Version | None = None,
) -> SearchStrategy[MessageT]:
    """Trees of class `cls` with at most about `size` nodes, up to `MAX_SIZE`.

    The other options are those of `generation.trees.generate`. Trees shrink to the
    smallest one. Raises ValueError for options that leave no tree.
    """
    _check_size(size)
    grammar = grammar_of(weights, luau)
    if max_depth < grammar.heights[cls]:
        raise ValueError(f"a {cls.__name__} is at least {grammar.heights[cls]} deep")
    return _trees(cls, grammar, size, max_depth, swarm)


def module_sets(**options: Unpack[TreeOptions]) -> SearchStrategy[ModuleSet]:
    """Whole programs, with or without a module; options as for `messages`."""
    return messages(ModuleSet, **options)


def exprs(**options: Unpack[TreeOptions]) -> SearchStrategy[Expr]:
    """Expressions; options as for `messages`."""
    return messages(Expr, **options)


def stats(**options: Unpack[TreeOptions]) -> SearchStrategy[Stat]:
    """Statements; options as for `messages`."""
    return messages(Stat, **options)


def blocks(**options: Unpack[TreeOptions]) -> SearchStrategy[StatBlock]:
    """Blocks of statements; options as for `messages`."""
    return messages(StatBlock, **options)


def types(**options: Unpack[TreeOptions]) -> SearchStrategy[Type]:
    """Types; options as for `messages`."""
    return messages(Type, **options)


class _DrawnMaker(Maker):
    """Makes programs by draws, and draws statements and larger expressions apart."""

    choices: _DrawnChoices

    def next_statement(self, size: int, room: int) -> list[Stat] | None:
        make = super().next_statement
        statements: list[Stat] | None = self.choices.apart(_MADE, lambda: make(size, room))
        return statements

    def expression(self, kind: str, size: int, room: int, *, risky: bool = False) -> Expr:
        make = super().expression
        if size < _CHUNK_SIZE:
            return make(kind, size, room, risky=risky)
        expression: Expr = self.choices.apart(_MADE, lambda: make(kind, size, room, risky=risky))
        return expression


@st.composite
def _programs(
    draw: DrawFn,
    grammar: ProgramGrammar,
    types: Types,
    swarm: bool,
    size: int,
    max_depth: int,
    with_module: bool,
) -> ModuleSet:
    choices = _DrawnChoices(draw)
    if swarm:
        grammar = grammar.swarm(choices)
    maker = maker_of(choices, grammar, types, Scope(), size, _DrawnMaker)
    return make_program(maker, size, max_depth, with_module=with_module)


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
    """Programs that run, with at most about `size` nodes, up to `MAX_SIZE`.

    The options are those of `generation.programs.program`; `with_module` allows for a module. They
    shrink to a few statements, which run. Programs that compile and nothing more are
    `module_sets().map(repair)`. Raises ValueError for options that make no sense.
    """
    _check_size(size)
    check_options(size, max_depth, types)
    grammar = program_grammar_of(weights, wrong, deterministic, types, luau)
    return _programs(grammar, types, swarm, size, max_depth, with_module)


class ProgramOptions(TreeOptions, total=False):
    """The options of `programs`, but for `with_module`."""

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
        style = _DrawnChoices(draw)
    return render(program, names=names or DEFAULT, style=style)


def sources(
    *,
    names: Names | None = None,
    style: Style | Literal["random"] | None = None,
    **options: Unpack[ProgramOptions],
) -> SearchStrategy[str]:
    """Luau sources that run: programs without a module, rendered.

    `names` and `style` are those of `luau.render.render`; a `random` style is drawn for each
    source, and shrinks to none. The other options are those of `programs`.
    """
    return _sources(programs(with_module=False, **options), names, style)


def mutated(
    tree: MessageT,
    *,
    donors: Sequence[Message] = (),
    size: int | None = None,
    max_depth: int = MAX_DEPTH,
    programs: bool | None = None,
    luau: str | Version | None = None,
) -> SearchStrategy[MessageT]:
    """Mutants of `tree`, which stays as it is; the options are those of `fuzzing.mutate.mutate`."""
    from scriptschema.fuzzing.mutate import mutate

    @st.composite
    def mutants(draw: DrawFn) -> MessageT:
        return mutate(
            tree,
            _DrawnChoices(draw),
            donors=donors,
            size=size,
            max_depth=max_depth,
            programs=programs,
            luau=luau,
        )

    return mutants()


def encoded(cls: type[Message], **options: Unpack[TreeOptions]) -> SearchStrategy[bytes]:
    """The encodings of trees of class `cls`; options as for `messages`."""
    luau = options.get("luau")
    return messages(cls, **options).map(lambda tree: wire.encode(tree, luau=luau))


@attrs.frozen
class Damaged:
    """Bytes with faults; `original` is the sound encoding, `faults` say what was done to it."""

    data: bytes
    original: bytes
    faults: tuple[str, ...]


@st.composite
def _damaged(draw: DrawFn, cls: type[Message], options: TreeOptions) -> Damaged:
    original = data = draw(encoded(cls, **options))
    faults = []
    for _ in range(draw(st.integers(1, 4))):
        data, fault = _FAULTS[draw(_below(len(_FAULTS)))](draw, data)
        faults.append(fault)
    return Damaged(data, original, tuple(faults))


def damaged(cls: type[Message], **options: Unpack[TreeOptions]) -> SearchStrategy[Damaged]:
    """Encodings with one to four faults, for tests of decoders; options as for `messages`.

    Faults are truncation, changed bits and bytes, pieces removed, doubled or moved, foreign fields
    of every wire type, groups, and varints that are longer than they need be. Such bytes may still
    be sound.
    """
    return _damaged(cls, options)


def _place(draw: DrawFn, data: bytes) -> int:
    return draw(st.integers(0, len(data)))


def _piece(draw: DrawFn, data: bytes) -> tuple[int, int]:
    start = _place(draw, data)
    return start, draw(st.integers(start, min(len(data), start + 16)))


def _truncate(draw: DrawFn, data: bytes) -> tuple[bytes, str]:
    end = _place(draw, data)
    return data[:end], f"cut off at byte {end}"


def _flip(draw: DrawFn, data: bytes) -> tuple[bytes, str]:
    if not data:
        return data, "nothing to flip"
    at = draw(st.integers(0, len(data) - 1))
    bit = draw(_below(8))
    return data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :], f"bit {bit} of byte {at}"


def _overwrite(draw: DrawFn, data: bytes) -> tuple[bytes, str]:
    start, end = _piece(draw, data)
    new = draw(st.binary(max_size=8))
    return data[:start] + new + data[end:], f"bytes {start} to {end} became {new.hex()}"


def _double(draw: DrawFn, data: bytes) -> tuple[bytes, str]:
    start, end = _piece(draw, data)
    at = _place(draw, data)
    return data[:at] + data[start:end] + data[at:], f"bytes {start} to {end} again at {at}"


def _repeat(draw: DrawFn, data: bytes) -> tuple[bytes, str]:
    times = draw(st.integers(2, 3))
    return data * times, f"all of it {times} times"


def _foreign(draw: DrawFn, data: bytes) -> tuple[bytes, str]:
    at = _place(draw, data)
    number = draw(st.sampled_from([0, 1, 2, 3, 5, 15, 16, 17, 99, 2**29 - 1, 2**29]))
    field = draw(st.sampled_from(_FOREIGN))
    tag, rest = field[0], field[1:]
    new = varints.varint_bytes(number << 3 | tag) + rest
    if tag == varints.GROUP:
        new += varints.varint_bytes(number << 3 | varints.END_GROUP)
    return data[:at] + new + data[at:], f"foreign field {new.hex()} at {at}"


_FOREIGN: Final = (
    bytes([varints.VARINT, 5]),
    bytes([varints.VARINT, *[255] * 9, 1]),
    bytes([varints.VARINT, *[255] * 10, 1]),
    bytes([varints.FIXED32, 1, 2, 3, 4]),
    bytes([varints.FIXED64, 1, 2, 3, 4, 5, 6, 7, 8]),
    bytes([varints.LENGTH, 0]),
    bytes([varints.LENGTH, 2, 8, 5]),
    bytes([varints.LENGTH, 127]),
    bytes([varints.GROUP, 8, 5]),
    bytes([varints.GROUP, 11, 12]),
    bytes([varints.END_GROUP]),
    bytes([6]),
    bytes([7]),
)


def _nest(draw: DrawFn, data: bytes) -> tuple[bytes, str]:
    """The whole as field 1 of field 1 of ...: as deep as runtimes go, and deeper."""
    levels = draw(st.sampled_from([1, 2, 50, 97, 98, 99, 100, 101, 150]))
    for _ in range(levels):
        data = b"\x0a" + varints.varint_bytes(len(data)) + data
    return data, f"nested {levels} times in field 1"


def _lengthen(draw: DrawFn, data: bytes) -> tuple[bytes, str]:
    """A byte below 128, which may be a varint, with continuation bytes that add nothing."""
    if not data:
        return data, "nothing to lengthen"
    at = draw(st.integers(0, len(data) - 1))
    more = draw(st.integers(1, 10))
    new = bytes([data[at] | 128, *[128] * (more - 1), 0])
    return data[:at] + new + data[at + 1 :], f"byte {at} lengthened by {more}"


_FAULTS: Final = (
    _truncate,
    _flip,
    _overwrite,
    _double,
    _repeat,
    _foreign,
    _nest,
    _lengthen,
)


# The same as `hypothesis_plugin` does, for a checkout that is not installed and has no entry point.
for _cls in MESSAGES.values():
    st.register_type_strategy(_cls, messages)
st.register_type_strategy(Int32, _INT32)
