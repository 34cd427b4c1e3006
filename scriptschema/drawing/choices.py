"""Choices that Hypothesis draws, in chunks of bytes.

What a draw costs hardly depends on what is drawn, so there is one draw for each expression,
statement and type: a chunk of bytes for the choices in it. That is many times faster than a
strategy for each message, and shrinks as well: every byte shrinks towards 0, and 0 is the simplest
choice everywhere; a chunk stands at the start of what it decides, so that leaving chunks out leaves
out items, and puts an inner tree into an outer one's place.
"""

from __future__ import annotations

import threading
from bisect import bisect
from collections.abc import Callable, Sequence
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from scriptschema.base import INT32_MAX, INT32_MIN
from scriptschema.choices import INTEGERS, PIECES, SMALL, WORDS, BytesChoices

# As many as most expressions, statements and types read; those that read more draw another chunk.
CHUNK_SIZE: Final = 12
_CHUNK: Final = st.binary(min_size=CHUNK_SIZE, max_size=CHUNK_SIZE)

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


class DrawnChoices(BytesChoices):
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
        """Return an index, as `Choices.pick` does."""
        # Hypothesis tries 0 and 1 for every byte: so the two simplest are tried, whatever weights.
        value = self._byte()
        if value == 1 and len(cumulative) > 1 and cumulative[0] < cumulative[1]:
            return 1
        return bisect(cumulative, value * cumulative[-1] / 256)

    def last_byte(self) -> int:
        """Return the next byte from the back of the chunk."""
        self._refill()
        self.end -= 1
        return self.data[self.end]

    def apart(self, strategy: SearchStrategy[Any], make: Callable[[], Any]) -> Any:
        """Return what `make` makes, drawn as one thing with chunks of its own.

        Hypothesis then knows where it starts and ends, and can put an inner one into an outer one's
        place when it shrinks. `strategy` is one of `span`.
        """
        _waiting.last = self, make
        return self.draw(strategy)

    def _refill(self) -> None:
        if self.position == self.end:
            self.data, self.position, self.end = self.draw(_CHUNK), 0, CHUNK_SIZE

    def int32(self) -> int:
        """Return an integer, the small ones without another draw."""
        value = self._byte()
        large = value - 256 + len(_LIMITS)
        if large < 0:
            return value % SMALL
        limit = _LIMITS[large]
        magnitude = min(self.draw(_MAGNITUDE), abs(limit))
        return magnitude if limit > 0 else -magnitude

    def string(self) -> str:
        """Return a string, most often one of the words."""
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


def span(name: str) -> SearchStrategy[Any]:
    """The strategy of `DrawnChoices.apart`, under a name that Hypothesis tells it by.

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
