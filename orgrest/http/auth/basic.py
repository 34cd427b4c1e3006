"""Reads `Authorization: Basic USER PASSWORD` (RFC 7617), and the user info of a URL."""

from __future__ import annotations

from binascii import Error as NotBase64
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

from orgrest.model import OrgrestError, to_bytes

if TYPE_CHECKING:
    from orgrest.http.auth import DocumentLookups


def basic(pair: bytes) -> str:
    """Return Basic credentials for `user:password`."""
    from base64 import b64encode

    return "Basic " + b64encode(pair).decode("ascii")


def of_userinfo(userinfo: str) -> str:
    """Return Basic credentials for a URL's percent-encoded user info, `user:password`."""
    user, _, password = userinfo.partition(":")
    return basic(unquote_to_bytes(to_bytes(user)) + b":" + unquote_to_bytes(to_bytes(password)))


def read(value: str, _: DocumentLookups) -> str:
    """Return the value to send for `user password` or `user:password`.

    A value that is already encoded is returned unchanged. Raises OrgrestError for any other value.
    """
    scheme = value.partition(" ")[0]
    return f"{scheme} {_encoded(value.removeprefix(scheme).strip())}"


def _encoded(credentials: str) -> str:
    from base64 import b64decode, b64encode

    user, blank, password = credentials.partition(" ")
    if blank and ":" not in user:
        return b64encode(to_bytes(f"{user}:{password.strip()}")).decode()
    if ":" in credentials:
        return b64encode(to_bytes(credentials)).decode()
    try:
        b64decode(credentials, validate=True)
    except (NotBase64, ValueError):
        raise OrgrestError(
            "Basic credentials must be `user password`, `user:password` or their Base64 form",
            code="credentials",
        ) from None
    return credentials
