"""Regular expressions that are compiled on first use.

Compilation is delayed because a command imports many more patterns than it uses. For type checkers,
`compiled` is `re.compile`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from re import compile as compiled
else:

    class compiled:  # noqa: N801 - used like a function
        """A pattern with the methods and attributes of `re.Pattern`, compiled on first use."""

        def __init__(self, pattern, flags=0):
            self.pattern = pattern
            self._flags = flags

        def __getattr__(self, name):
            pattern = re.compile(self.pattern, self._flags)
            for method in ("match", "fullmatch", "search", "sub", "finditer", "findall", "split"):
                setattr(self, method, getattr(pattern, method))
            return getattr(pattern, name)


__all__ = ["compiled"]
