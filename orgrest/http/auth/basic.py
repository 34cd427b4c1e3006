"""Basic authentication (RFC 7617)."""

from __future__ import annotations

from urllib.parse import unquote_to_bytes

from orgrest.model import to_bytes


def basic(userinfo: str) -> str:
    """Return the credentials of RFC 7617 for a URL's user info, `user:password`, %-encoded."""
    from base64 import b64encode

    user, _, password = userinfo.partition(":")
    pair = unquote_to_bytes(to_bytes(user)) + b":" + unquote_to_bytes(to_bytes(password))
    return "Basic " + b64encode(pair).decode("ascii")
