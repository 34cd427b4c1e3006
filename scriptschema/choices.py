"""Choices: the source of every decision that a generator makes.

Each decision has a simplest value: 0, the empty string, the first of several. A source that always
returns it yields the smallest tree: what Hypothesis shrinks to, and what a generator builds once a
fuzzer's bytes are used up. A third source, over Hypothesis's `draw`, is in `strategies.py`.
"""

from __future__ import annotations

import random
from bisect import bisect
from collections.abc import Sequence
from typing import Final, Protocol

from scriptschema.base import INT32_MAX, INT32_MIN

SMALL: Final = 48
"""Most integers are below this: for indexes of names, equality matters more than size."""

INTEGERS: Final = (
    *(100, 127, 128, 199, 200, 255, 256, 1000, 16383, 16384, 65535, 65536, -1, -2, -128),
    *(INT32_MAX, INT32_MIN, INT32_MAX - 1, INT32_MIN + 1),
)
"""Integers where behaviour may change: lengths of varints, limits of compilers and of int32."""

WORDS: Final = ("a", "x", "key", "value", "hello", "__index", "end", "0", "0x10", "1e5", " ")
"""Strings that occur in programs."""

PIECES: Final = (
    *("\0", "\n", "\r\n", "\t", '"', "'", "\\", "`", "{", "}", "]]", "--", "\x7f", "%s", "%"),
    *("é", "ß", "中", "\u2028", "\ufeff", "\U0001f600", "e\u0301", "\u202e", "\udc80", "\udcff"),
)
"""Text that printers and parsers often mishandle; the last two are bytes that are not UTF-8."""


class Choices(Protocol):
    """The decisions that a generator needs.

    `fills` says whether trees should come near the requested size. It is false for a source that is
    shrunk or can run out: the size is then only a limit, and the same choices give the same tree in
    any context.
    """

    @property
    def fills(self) -> bool:
        """Whether trees should come near the requested size."""

    def below(self, n: int) -> int:
        """Return an integer from 0 to n - 1, for n from 1 to 256; 0 is the simplest."""

    def pick(self, cumulative: Sequence[float]) -> int:
        """Return an index into weights, given as their running sums; the first is the simplest."""

    def part(self, whole: int, share: int, shares: int) -> int:
        """Return about `whole * share / shares`: a part of a budget, from 0 to `whole`."""

    def int32(self) -> int:
        """Return a 32-bit integer; 0 is the simplest."""

    def string(self) -> str:
        """Return a string, lone surrogates for bytes that are not UTF-8; empty is the simplest."""


class RandomChoices:
    """Choices from Python's random numbers: the same seed gives the same choices on every machine.

    `source` is a seed or a `random.Random`, of which only `random()` is used: the only method whose
    sequence Python promises not to change.
    """

    fills = True

    def __init__(self, source: int | random.Random) -> None:
        if not isinstance(source, random.Random):
            source = random.Random(source)  # noqa: S311  # no secret
        self.random = source.random

    def below(self, n: int) -> int:
        """Return an integer from 0 to n - 1."""
        return int(self.random() * n)

    def pick(self, cumulative: Sequence[float]) -> int:
        """Return an index into weights that are given as their running sums."""
        return bisect(cumulative, self.random() * cumulative[-1])

    def part(self, whole: int, share: int, shares: int) -> int:
        """Return a random part, from nothing to twice the fair share, so that siblings differ."""
        return min(whole, int(2 * self.random() * whole * share / shares))

    def int32(self) -> int:
        """Return mostly a small integer, sometimes one of `INTEGERS`, rarely any 32-bit integer."""
        x = self.random() * 64
        if x < SMALL + 8:
            return int(x) % SMALL
        if x < 63:
            return INTEGERS[int(self.random() * len(INTEGERS))]
        return int(self.random() * 2**32) - 2**31

    def string(self) -> str:
        """Return mostly a word, often with awkward characters in it, rarely a long string."""
        kind = self.below(8)
        if kind == 0:
            return ""
        if kind <= 3:
            return WORDS[self.below(len(WORDS))]
        pieces = [
            (WORDS if self.below(2) else PIECES)[self.below(len(WORDS))]
            if kind == 4
            else PIECES[self.below(len(PIECES))]
            for _ in range(1 + self.below(4))
        ]
        return "".join(pieces) * (1 + self.below(200) if kind == 7 and self.below(4) == 0 else 1)


class BytesChoices:
    """Choices from the bytes that a fuzzing engine provides; any bytes are valid.

    Each choice consumes a byte or two, so that small changes by the engine are small changes of the
    tree. When the bytes run out, every choice is the simplest.
    """

    fills = False

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def _byte(self) -> int:
        position = self.position
        if position >= len(self.data):
            return 0
        self.position = position + 1
        return self.data[position]

    def below(self, n: int) -> int:
        """Return an integer from 0 to n - 1; consumes a byte."""
        return self._byte() % n

    def pick(self, cumulative: Sequence[float]) -> int:
        """Return an index into weights that are given as their running sums; consumes a byte."""
        return bisect(cumulative, self._byte() * cumulative[-1] / 256)

    def part(self, whole: int, share: int, shares: int) -> int:
        """Return the fair share; consumes nothing."""
        return whole * share // shares

    def int32(self) -> int:
        """Return an integer; consumes a byte, and four more if its value is 255."""
        value = self._byte()
        if value < 128:
            return value % SMALL
        if value < 255:
            return INTEGERS[(value - 128) % len(INTEGERS)]
        data = self.data[self.position : self.position + 4]
        self.position += len(data)
        return int.from_bytes(data, "little", signed=True) if len(data) == 4 else 0

    def string(self) -> str:
        """Return a string; consumes a byte for kind and length, then that many bytes."""
        value = self._byte()
        if value < 64:
            return WORDS[value % len(WORDS)] if value else ""
        if value < 128:
            return PIECES[value % len(PIECES)]
        data = self.data[self.position : self.position + value - 128]
        self.position += len(data)
        return data.decode("utf-8", "surrogateescape")


def choices_of(source: int | bytes | Choices) -> Choices:
    """Return `source` itself if it is a source of choices, else choices from a seed or bytes.

    Raises TypeError for anything else.
    """
    if isinstance(source, int):
        return RandomChoices(source)
    if isinstance(source, bytes):
        return BytesChoices(source)
    if not hasattr(source, "below"):
        raise TypeError(f"a seed, bytes or a source of choices is needed, not {source!r:.40}")
    return source
