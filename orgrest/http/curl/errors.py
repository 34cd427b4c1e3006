"""The errors of curl commands."""

from __future__ import annotations

from orgrest.model import OrgrestError


class CurlError(OrgrestError):
    """A curl command that cannot be turned into a request."""


def one_line(text: str, what: str) -> str:
    """Return `text`. Raises CurlError if it has more than one line."""
    if any(c in text for c in "\r\n\0"):
        raise CurlError(f"{what} holds a line break: take it out")
    return text
