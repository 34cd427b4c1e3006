"""Regular expressions mean the same in every Python 3.11.

CPython before 3.11.5 matches a possessive quantifier over a group wrongly if an iteration of the
group fails halfway (gh-106052). Debian 12 has 3.11.2. Every pattern of both packages at module
level is tried there on random strings, and compared with the Python that runs the tests.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest

import orgrest
import scriptschema

SEARCH = """
import json, re, sys
for pattern, flags, strings in json.load(sys.stdin):
    found = re.compile(pattern, flags)
    print(json.dumps([[list(one.span(n) for n in range(found.groups + 1))
                       for one in found.finditer(string)] for string in strings]))
"""


def module_names() -> Iterator[str]:
    for package in (orgrest, scriptschema):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__"):
                yield module.name


def possessive_groups() -> dict[str, tuple[str, int]]:
    """Return the text and flags of patterns with a possessive quantifier after a group, by name."""
    found = {}
    for name in module_names():
        for attribute, value in vars(importlib.import_module(name)).items():
            # `orgrest.regular.compiled` compiles later
            if isinstance(value, re.Pattern) or type(value).__name__ == "compiled":
                is_bytes = isinstance(value.pattern, bytes)
                pattern = value.pattern.decode("latin-1") if is_bytes else value.pattern
                if re.search(r"\)(?:[*+?]|\{[\d,]+\})\+", pattern):
                    flags = value.flags | re.ASCII if is_bytes else value.flags & ~re.UNICODE
                    found[f"{name}.{attribute}"] = pattern, flags
    return found


def old_python() -> str | None:
    """Return a CPython 3.11 from before the fix, such as Debian 12's own, or None."""
    for name in ("/usr/bin/python3.11", "python3.11", "python3"):
        path = shutil.which(name)
        if path is None:
            continue
        version = "import sys; print(*sys.version_info[:3])"
        done = subprocess.run([path, "-ISc", version], capture_output=True, check=False)
        if (3, 11, 0) <= tuple(map(int, done.stdout.split())) < (3, 11, 5):
            return path
    return None


def random_strings(pattern: str, seed: int) -> list[str]:
    """Return strings of the characters in the pattern, and a few others."""
    rng = random.Random(seed)
    characters = [
        *sorted({c for c in pattern if not c.isalpha()}),
        *"\"'\\`{}<>[]()\n\r \t.:=-/*ab0zux",
    ]
    return ["".join(rng.choices(characters, k=rng.randrange(24))) for _ in range(400)]


def test_debians_python_matches_what_later_ones_match() -> None:
    old = old_python()
    if old is None:
        pytest.skip("needs a CPython from 3.11.0 to 3.11.4 (Debian 12: apt install python3)")
    patterns = possessive_groups()
    assert len(patterns) >= 8, "the search for patterns finds nothing any more"
    asked = [
        (pattern, flags, random_strings(pattern, seed))
        for seed, (pattern, flags) in enumerate(patterns.values())
    ]
    there, here = (
        subprocess.run(
            [python, "-ISc", SEARCH],
            input=json.dumps(asked),
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        ).stdout.splitlines()
        for python in (old, sys.executable)
    )
    assert dict(zip(patterns, there, strict=True)) == dict(zip(patterns, here, strict=True))
