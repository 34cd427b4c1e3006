"""Choices that Hypothesis draws, in chunks of bytes.

A draw costs about the same for any number of bytes. So each expression, statement and type makes
only one draw: a chunk of bytes for all its choices. This is many times faster than a strategy for
each message. It shrinks equally well, since each byte shrinks towards 0, which is always the
simplest choice. A chunk is drawn before the parts of the tree that depend on it. So by deleting
chunks, Hypothesis can delete items or replace a tree with one of its subtrees.
"""

from __future__ import annotations

import threading
from bisect import bisect
from collections.abc import Callable, Sequence
from functools import cache
from operator import itemgetter
from typing import Any, Final, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from scriptschema.base import INT32_MAX, INT32_MIN
from scriptschema.choices import INTEGERS, PIECES, SMALL, WORDS, BytesChoices

# Enough for most expressions, statements and types; those that read more draw another chunk.
CHUNK_SIZE: Final = 12
_CHUNK: Final = st.binary(min_size=CHUNK_SIZE, max_size=CHUNK_SIZE)

# In a longer table, many alternatives have less than 1/256 of the weight, so that one byte would
# never choose some of them.
_LONG: Final = 64

# The upper or lower limits of integers that are not small. Most draws exceed the limit and yield
# the limit itself. They can shrink to smaller values.
_LIMITS: Final = (INT32_MAX, INT32_MIN) * 5 + INTEGERS * 2
_MAGNITUDE: Final = st.integers(0, 2**100)
# Strings are drawn as bytes: characters would cost Hypothesis a second in the first example of a
# fresh project, which its health check reports as a slow strategy.
_STRING: Final = st.binary(max_size=20)
_SIMPLEST_FIRST: Final = bytes(
    sorted(
        range(128), key=lambda code: (not chr(code).isalnum(), not chr(code).isprintable(), code)
    )
) + bytes(range(128, 256))


ExampleT = TypeVar("ExampleT")


class DrawnChoices(BytesChoices):
    """Choices read from chunks of bytes that Hypothesis draws.

    A chunk is read from both ends, and `end` is the end of its unread part. The bytes at the back
    decide whether lists continue, so the other choices stay the same when a list gets shorter.
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
        """Return an index, chosen according to the cumulative weights."""
        # Hypothesis tries 0 and 1 for every byte, so the two simplest choices are always tried.
        value = self._byte()
        if value == 1 and len(cumulative) > 1 and cumulative[0] < cumulative[1]:
            return 1
        exact = value + self._byte() / 256 if len(cumulative) > _LONG else value
        return bisect(cumulative, exact * cumulative[-1] / 256)

    def last_byte(self) -> int:
        """Return the next byte from the back of the chunk."""
        self._refill()
        self.end -= 1
        return self.data[self.end]

    def apart(self, name: str, make: Callable[[], Any]) -> Any:
        """Return the result of `make`, drawn as a unit with its own chunks.

        When Hypothesis shrinks an example, it can replace a unit with an inner unit of the same
        `name`.
        """
        _waiting.last = self, make
        return self.draw(_unit(name))

    def _refill(self) -> None:
        if self.position == self.end:
            self.data, self.position, self.end = self.draw(_CHUNK), 0, CHUNK_SIZE

    def int32(self) -> int:
        """Return an integer.

        A small integer takes only a byte of the chunk. Any other integer takes an additional draw.
        """
        value = self._byte()
        large = value - 256 + len(_LIMITS)
        if large < 0:
            return value % SMALL
        limit = _LIMITS[large]
        magnitude = min(self.draw(_MAGNITUDE), abs(limit))
        return magnitude if limit > 0 else -magnitude

    def string(self) -> str:
        """Return a string, most often a word from `WORDS`."""
        value = self._byte()
        if value < 128:  # Avoids a draw, which costs as much as the rest of an expression.
            return WORDS[value % len(WORDS)] if value else ""
        # Each of the three decodings accepts all bytes, so that an example that uses one decoding
        # can shrink to the first.
        data = self.draw(_STRING).translate(_SIMPLEST_FIRST)
        if value < 170:
            return data.decode("latin-1")
        if value < 213:
            return data.decode("utf-8", "surrogateescape")
        return "".join([chr(b) if b < 128 else PIECES[b % len(PIECES)] for b in data])


def varied(strategy: SearchStrategy[ExampleT]) -> SearchStrategy[ExampleT]:
    """Return `strategy`, but with examples that are independent of each other.

    Otherwise, Hypothesis makes most examples from the one before, by copying one part over another.
    Many are then duplicates, and none contains anything new. From version 6.170.1 on, it does not
    copy parts inside an item of a unique list.
    """
    return st.lists(strategy, min_size=1, max_size=1, unique_by=id).map(itemgetter(0))


_waiting = threading.local()


@cache
def _unit(name: str) -> SearchStrategy[Any]:
    # `apart` passes `make` in `_waiting`: creating a strategy for each function would take longer
    # than the draw.
    def build(draw: DrawFn) -> Any:  # Hypothesis parses this function, so it is short
        return _apart(draw)

    build.__name__ = build.__qualname__ = name
    return st.composite(build)()


def _apart(draw: DrawFn) -> Any:
    choices, make = _waiting.last
    outer = choices.draw, choices.data, choices.position, choices.end
    choices.draw, choices.position = draw, choices.end  # Empty: the next choice draws a chunk.
    result = make()
    choices.draw, choices.data, choices.position, choices.end = outer
    return result
