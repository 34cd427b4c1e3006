"""Evaluates regular expressions from documents with RE2, which takes linear time for any input."""

from __future__ import annotations

from typing import Any

from orgrest.installing import install_command
from orgrest.model import OrgrestError

_MEMORY = 8 * 2**20


class PatternError(OrgrestError):
    """Raised if RE2 is not installed, or does not support a pattern."""


def matches(pattern: str, text: str) -> bool:
    """Return whether a pattern matches anywhere in a string. Raises PatternError."""
    return _compiled(pattern).search(text.encode("utf-8", "replace")) is not None


def replaced(pattern: str, text: str, by: str) -> str:
    """Return a string with all matches of a pattern replaced. Raises PatternError."""
    data = text.encode("utf-8", "surrogateescape")
    result: bytes = _compiled(pattern).sub(by.encode(), data)
    return result.decode("utf-8", "surrogateescape")


def _compiled(pattern: str) -> Any:
    try:
        import re2
    except ImportError:
        reason = f"regular expressions require RE2: {install_command('google-re2')}"
        raise PatternError(reason) from None
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    try:
        return re2.compile(pattern.encode("utf-8", "surrogateescape"), options)
    except re2.error as error:
        message = error.args[0] if error.args else ""
        message = message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)
        raise PatternError(f"invalid regular expression {pattern}: {message}") from None
