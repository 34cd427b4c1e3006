"""Known bugs: a file of signature patterns. Matching bugs are counted but not reported.

Each line is a glob pattern (`*`, `?`, `[...]`) for a printed signature, such as `crash: lua_concat
< *`. The same pattern matches bugs that were seen only once, such as `seen once: crash: lua_concat
< f`. A line that starts with `#` is a comment.

A construct in parentheses also matches all constructs that contain it: `hang: -O2 (math.floor)`
matches `hang: -O2 (math.floor, pcall)`.

Patterns may also have the form of earlier versions: `difference: -O0 {file} / -O2 {file}`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import attrs

from scriptschema import files
from scriptschema.fuzzing.oracles import differential
from scriptschema.fuzzing.oracles.construct import contains, from_text
from scriptschema.fuzzing.oracles.verdict import Signature


class KnownBugs:
    """The patterns in a file. An empty path means no patterns.

    `targets` are the names of all runs of a program. Raises FileError if the file cannot be read.
    """

    def __init__(self, path: str, targets: Sequence[str] = ()) -> None:
        self._patterns: list[str] = []
        self._targets = targets
        if path:
            with files.errors_of(path):
                text = Path(path).read_text("utf-8", "replace")
            lines = [line.strip() for line in text.splitlines()]
            self._patterns = [line for line in lines if line and not line.startswith("#")]

    def match(self, signature: Signature) -> str | None:
        """Return the first pattern that matches a signature, or None if the bug is not known."""
        forms = [signature, differential.outdated(signature, self._targets)]
        texts = {str(each) for form in forms for each in (form, form.seen)}
        for pattern in self._patterns:
            if any(pattern == text or fnmatchcase(text, pattern) for text in texts):
                return pattern
            # A message may contain parentheses, and so may a construct.
            starts = [found.start() for found in re.finditer(r" \(", pattern)]
            if pattern.endswith(")") and any(
                _contains(form, pattern[:start], pattern[start + 2 : -1])
                for start in starts
                for form in forms
            ):
                return pattern
        return None


def _contains(signature: Signature, bare: str, construct: str) -> bool:
    """Return whether a signature matches the pattern `bare`, and its construct contains another."""
    text = str(attrs.evolve(signature, construct=""))
    used = from_text(signature.construct)
    matches = text == bare or fnmatchcase(text, bare)
    return matches and contains(used, from_text(construct))
