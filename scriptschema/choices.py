"""Choices: the source of every decision that a generator makes.

`RandomChoices` uses random numbers, and `BytesChoices` uses a fuzzer's bytes. A third class, in
`drawing/choices.py`, uses Hypothesis's `draw`.

Each decision has a simplest value: 0, the empty string, or the first alternative. The simplest
values yield the smallest tree. Hypothesis shrinks towards that tree. When a fuzzer's bytes run out,
every further choice has the simplest value.
"""

from __future__ import annotations

import random
from bisect import bisect
from collections.abc import Sequence
from typing import Final, Protocol

from scriptschema.base import INT32_MAX, INT32_MIN

SMALL: Final = 48
"""Most random integers lie between 0 and `SMALL` - 1. They often serve as indexes into a table of
names, and reusing a few names is more useful than having many different names."""

INTEGERS: Final = (
    *(100, 127, 128, 199, 200, 255, 256, 1000, 16383, 16384, 65535, 65536, -1, -2, -128),
    *(INT32_MAX, INT32_MIN, INT32_MAX - 1, INT32_MIN + 1),
)
"""Integers at which behaviour may change, because of the length of varints, the limits of compilers
or the range of int32."""

WORDS: Final = ("a", "x", "key", "value", "hello", "__index", "end", "0", "0x10", "1e5", " ")
"""Typical strings in programs."""

PIECES: Final = (
    *("\0", "\n", "\r\n", "\t", '"', "'", "\\", "`", "{", "}", "]]", "--", "\x7f", "%s", "%"),
    *("é", "ß", "中", "\u2028", "\ufeff", "\U0001f600", "e\u0301", "\u202e", "\udc80", "\udcff"),
)
"""Strings that printers and parsers often mishandle. The last two represent bytes that are not
UTF-8."""


class Choices(Protocol):
    """The interface of all sources of choices.

    `fills` is false for a source that can shrink or run out. With such a source, the requested size
    is only a limit, and equal choices yield equal subtrees.
    """

    @property
    def fills(self) -> bool:
        """Return whether a generator should try to reach the requested size."""

    def below(self, n: int) -> int:
        """Return an integer from 0 to n - 1, for n from 1 to 256. The simplest is 0."""

    def pick(self, cumulative: Sequence[float]) -> int:
        """Return an index, chosen according to the cumulative weights. The simplest is 0."""

    def part(self, whole: int, share: int, shares: int) -> int:
        """Return about `whole * share / shares`: a share of a budget, from 0 to `whole`."""

    def int32(self) -> int:
        """Return a 32-bit integer. The simplest is 0."""

    def string(self) -> str:
        """Return a string. The simplest is the empty string.

        Lone surrogates in the string represent bytes that are not UTF-8.
        """


class RandomChoices:
    """Choices from random numbers. The same seed gives the same choices on every machine.

    `source` is a seed or a `random.Random`. If it is None, the choices are different each time.
    """

    fills = True

    def __init__(self, source: int | random.Random | None) -> None:
        if not isinstance(source, random.Random):
            source = random.Random(source)  # noqa: S311  # not for secrets
        # The only method whose sequence Python guarantees not to change.
        self.random = source.random

    def below(self, n: int) -> int:
        """Return an integer from 0 to n - 1."""
        return int(self.random() * n)

    def pick(self, cumulative: Sequence[float]) -> int:
        """Return a random index, chosen according to the cumulative weights."""
        return bisect(cumulative, self.random() * cumulative[-1])

    def part(self, whole: int, share: int, shares: int) -> int:
        """Return a random share from 0 to twice the fair share, so that sizes of siblings vary."""
        return min(whole, int(2 * self.random() * whole * share / shares))

    def int32(self) -> int:
        """Return an integer: usually small, sometimes from `INTEGERS`, rarely an arbitrary one."""
        x = self.random() * 64
        if x < SMALL + 8:
            return int(x) % SMALL
        if x < 63:
            return INTEGERS[int(self.random() * len(INTEGERS))]
        return int(self.random() * 2**32) - 2**31

    def string(self) -> str:
        """Return an empty string, one of `WORDS`, or one to four `PIECES` joined together.

        Some of the joined strings also contain words. A few repeat up to 200 times.
        """
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
    """Choices from the bytes of a fuzzing engine. Any bytes are valid.

    Most choices consume one byte, so a small change to the bytes is a small change to the tree.
    When no bytes are left, every choice has the simplest value.
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
        """Return an integer from 0 to n - 1, and consume one byte."""
        return self._byte() % n

    def pick(self, cumulative: Sequence[float]) -> int:
        """Consume one byte, and return an index, chosen according to the cumulative weights."""
        return bisect(cumulative, self._byte() * cumulative[-1] / 256)

    def part(self, whole: int, share: int, shares: int) -> int:
        """Return the fair share `whole * share / shares`, and consume no bytes."""
        return whole * share // shares

    def int32(self) -> int:
        """Return an integer, and consume one byte, or five bytes if the first is 255."""
        value = self._byte()
        if value < 128:
            return value % SMALL
        if value < 255:
            return INTEGERS[(value - 128) % len(INTEGERS)]
        data = self.data[self.position : self.position + 4]
        self.position += len(data)
        return int.from_bytes(data, "little", signed=True) if len(data) == 4 else 0

    def string(self) -> str:
        """Return an empty string, one of `WORDS` or `PIECES`, or up to 127 of the next bytes.

        The first byte selects the string or the number of bytes.
        """
        value = self._byte()
        if value < 64:
            return WORDS[value % len(WORDS)] if value else ""
        if value < 128:
            return PIECES[value % len(PIECES)]
        data = self.data[self.position : self.position + value - 128]
        self.position += len(data)
        return data.decode("utf-8", "surrogateescape")


def seeded(seed: int | None, choices: Choices | None) -> Choices:
    """Return `choices` or, if it is None, random choices from `seed`.

    Raises ValueError if both are given.
    """
    if seed is not None and choices is not None:
        raise ValueError("seed and choices cannot be combined")
    return choices or RandomChoices(seed)


def choices_of(source: int | bytes | Choices) -> Choices:
    """Return choices from a seed or bytes. A `Choices` object is returned unchanged.

    Raises TypeError if `source` is anything else.
    """
    if isinstance(source, int):
        return RandomChoices(source)
    if isinstance(source, bytes):
        return BytesChoices(source)
    if not hasattr(source, "below"):
        raise TypeError(f"expected a seed, bytes or a source of choices, found {source!r:.40}")
    return source
