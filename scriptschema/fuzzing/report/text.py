"""Prepares text for the page: highlights programs, and marks where two outputs differ."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from scriptschema.fuzzing.oracles.verdict import Difference
from scriptschema.fuzzing.targets.outcome import shortened, visible

if TYPE_CHECKING:
    from markupsafe import Markup

SOURCE: Final = 20_000
"""The maximum number of characters shown of a program."""

LINE: Final = 400
"""The maximum number of characters shown of each of the three parts of a differing line."""


def highlighted(source: str, limit: int = SOURCE) -> Markup:
    """Return a Luau source as HTML, cut after `limit` characters, with the classes of `styles`."""
    import pygments
    from markupsafe import Markup

    lexer, formatter = _highlighter()
    html: str = pygments.highlight(shortened(source, limit), lexer, formatter)
    return Markup(html)  # noqa: S704  # the formatter has escaped the source


def styles(*, dark: bool) -> str:
    """Return CSS for highlighted sources, which have the class `code`."""
    from pygments.formatters import HtmlFormatter

    formatter: Any = HtmlFormatter(style="github-dark" if dark else "xcode")
    lines = formatter.get_style_defs(".code").splitlines()
    # Only the colours of tokens: the page styles their surroundings, and a token that was cut off
    # is not an error (`err`).
    token = re.compile(r"\.code \.(?!err)\w+ ")
    return "\n".join(line for line in lines if token.match(line))


@cache
def _highlighter() -> tuple[Any, Any]:
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name

    return get_lexer_by_name("luau", stripnl=False, ensurenl=False), HtmlFormatter(nowrap=True)


def marked(difference: Difference) -> list[tuple[str, tuple[str, str, str] | None]]:
    """Return, for each of two runs, its name and its version of the differing line in three parts.

    Only the middle part differs. The line is None if the run did not print it.
    """
    left, right = difference.left, difference.right
    before = after = 0
    if left is not None and right is not None:
        before = _common_length(left, right)
        after = _common_length(left[before:][::-1], right[before:][::-1])
    return [
        (target, None if text is None else _parts(text, before, after))
        for target, text in difference.sides
    ]


def _common_length(left: str, right: str) -> int:
    pairs = enumerate(zip(left, right, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(left), len(right)))


def _parts(text: str, before: int, after: int) -> tuple[str, str, str]:
    start, middle = text[:before], text[before : len(text) - after]
    end = text[len(text) - after :]
    start = f"…{start[-LINE:]}" if len(start) > LINE else start
    middle = f"{middle[:LINE]}…" if len(middle) > LINE else middle
    end = f"{end[:LINE]}…" if len(end) > LINE else end
    return visible(start), visible(middle), visible(end)


def duration(seconds: float) -> str:
    """Return a duration in readable form: `4 s`, `3 min 20 s`, `2 h 5 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    minutes, left = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {left} s"
    return f"{minutes // 60} h {minutes % 60} min"
