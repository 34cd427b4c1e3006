"""Known bugs: a file of signature patterns. Matching bugs are counted but not reported.

Each line is a glob pattern (`*`, `?`, `[...]`) for a printed signature, such as `crash: lua_concat
< *`. A line that starts with `#` is a comment.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

from scriptschema import files
from scriptschema.files import FileError
from scriptschema.fuzzing.oracles.verdict import Signature


class KnownBugs:
    """The patterns in a file. An empty path means no patterns.

    Raises FileError if the file cannot be read.
    """

    def __init__(self, path: str) -> None:
        self._patterns: list[str] = []
        if path:
            try:
                text = Path(path).read_text("utf-8", "replace")
            except OSError as error:
                raise FileError(f"{path}: {files.reason_of(error)}") from None
            lines = [line.strip() for line in text.splitlines()]
            self._patterns = [line for line in lines if line and not line.startswith("#")]

    def match(self, signature: Signature) -> str | None:
        """Return the first pattern that matches a signature, or None if the bug is not known."""
        text = str(signature)
        for pattern in self._patterns:
            if pattern == text or fnmatchcase(text, pattern):
                return pattern
        return None
