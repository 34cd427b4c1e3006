"""Idioms: pieces of programs that exercise a feature, as templates with names and weights.

The `.luau` files of this folder contain the idioms, by topic. A line such as `-- counter: 3` above
each idiom gives its name and weight. The mark `! untyped` on that line means that the idiom runs,
but a type checker rejects it. A version such as `! 0.711` introduced the idiom's syntax or library
member, which the original schema cannot represent. `templates/__init__.py` describes the notation
of templates. Programs shrink to the first idiom, which is the simplest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from scriptschema.versions import Span, Version

FILES: Final = (
    *("basics", "functions", "objects", "coroutines", "errors", "data", "optimizer", "machine"),
    *("large", "types", "newer", "compiled"),
)
"""The topics, which are also the file names."""

_HEAD: Final = re.compile(r"^-- (.+): ([\d.]+)(?: ! (0\.\d+))?(?: ! (untyped))?\n", re.MULTILINE)


def _read(topic: str) -> str:
    return (Path(__file__).parent / f"{topic}.luau").read_text(encoding="utf-8")


def _idioms(topic: str) -> Iterator[tuple[str, float, Span | None, bool, str]]:
    _, *parts = _HEAD.split(_read(topic))
    for name, weight, since, mark, text in zip(*(parts[n::5] for n in range(5)), strict=True):
        span = Span(Version.parse(since)) if since else None
        yield name, float(weight), span, mark is not None, text


_ALL: Final = [idiom for topic in FILES for idiom in _idioms(topic)]

IDIOMS: Final[Mapping[str, tuple[float, str]]] = MappingProxyType(
    {name: (weight, text) for name, weight, _, _, text in _ALL}
)
"""The weight and the template of each idiom, by its name."""

SPANS: Final[Mapping[str, Span]] = MappingProxyType(
    {name: span for name, _, span, _, _ in _ALL if span}
)
"""For each idiom that the original schema cannot represent, the Luau versions that support it."""

UNTYPED: Final = frozenset(name for name, _, _, is_untyped, _ in _ALL if is_untyped)
"""The idioms that programs with sound types do not use, because a type checker rejects them.

If a type checker rejects only parts of an idiom, the template marks these parts with UNTYPED.
"""

LARGE: Final = frozenset(name for name, *_ in _idioms("large"))
"""The idioms with hundreds of nodes. Some programs begin with one of these."""

COMPILED: Final = frozenset(name for name, *_ in _idioms("compiled"))
"""The idioms that are used only in programs that are compiled but not run."""

MODULE: Final = _read("module")
"""The template of a module that a program can require."""

MODULE_EXPORTS: Final = _read("module_exports")
"""The template of a module that exports its values."""

EXPORTS: Final = _read("exports")
"""The template of the exports at the end of a program."""
