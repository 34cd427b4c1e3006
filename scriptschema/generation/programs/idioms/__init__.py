"""Idioms: pieces of programs that reach something, as templates with names and weights.

They stand in the `.luau` files beside this one, by topic, each below a line with its name and
weight: `-- counter: 3`. What a template may say is described in `templates/__init__.py`. The first
idiom is the simplest: what programs shrink to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

FILES: Final = ("basics", "functions", "objects", "coroutines", "errors", "data", "optimizer")
"""The topics."""

_HEAD: Final = re.compile(r"^-- (?P<name>.+): (?P<weight>[\d.]+)\n", re.MULTILINE)


def _read(topic: str) -> str:
    return (Path(__file__).parent / f"{topic}.luau").read_text(encoding="utf-8")


def _idioms() -> Iterator[tuple[str, tuple[float, str]]]:
    for topic in FILES:
        _, *parts = _HEAD.split(_read(topic))
        for name, weight, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
            yield name, (float(weight), text)


IDIOMS: Final[Mapping[str, tuple[float, str]]] = MappingProxyType(dict(_idioms()))
"""Each idiom's weight and template, by its name."""

MODULE: Final = _read("module")
"""The template of the module that a program can require."""
