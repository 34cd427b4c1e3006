"""Regular expressions of documents, matched by RE2 in linear time for any text."""

from __future__ import annotations

from typing import Any

from orgrest.installing import install_command
from orgrest.model import OrgrestError

_MEMORY = 8 * 2**20


class PatternError(OrgrestError):
    """RE2 is not installed, or does not support a pattern."""


def matches(pattern: str, text: str) -> bool:
    """Return whether a pattern matches anywhere in a text. Raises PatternError."""
    return _compiled(pattern).search(text.encode("utf-8", "replace")) is not None


def replaced(pattern: str, text: str, by: str) -> str:
    """Replace all matches of a pattern in a text. Raises PatternError."""
    data = text.encode("utf-8", "surrogateescape")
    made: bytes = _compiled(pattern).sub(by.encode(), data)
    return made.decode("utf-8", "surrogateescape")


def _compiled(pattern: str) -> Any:
    try:
        import re2
    except ImportError:
        reason = f"patterns are matched by RE2: {install_command('google-re2')}"
        raise PatternError(reason) from None
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    try:
        return re2.compile(pattern.encode("utf-8", "surrogateescape"), options)
    except re2.error as error:
        said = error.args[0] if error.args else ""
        said = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
        raise PatternError(f"RE2 cannot read {pattern}: {said}") from None
