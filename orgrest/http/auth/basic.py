"""Reads `Authorization: Basic USER PASSWORD` (RFC 7617), and the user info of a URL."""

from __future__ import annotations

from binascii import Error as NotBase64
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

from orgrest.model import OrgrestError, to_bytes
from orgrest.regular import compiled

if TYPE_CHECKING:
    from orgrest.http.auth import DocumentLookups

_PLACEHOLDER = compiled(r"\{\{.*?\}\}")


def basic(pair: bytes, scheme: str = "Basic") -> str:
    """Return Basic credentials for `user:password`."""
    from base64 import b64encode

    return f"{scheme} {b64encode(pair).decode('ascii')}"


def of_userinfo(userinfo: str) -> str:
    """Return Basic credentials for a URL's percent-encoded user info, `user:password`."""
    user, _, password = userinfo.partition(":")
    return basic(unquote_to_bytes(to_bytes(user)) + b":" + unquote_to_bytes(to_bytes(password)))


def read(value: str, document: DocumentLookups) -> str:
    """Return the value to send for `Basic user password` or `Basic user:password`.

    In `{{user}}:{{password}}`, both variables may contain spaces. Base64 credentials are returned
    unchanged. Raises OrgrestError for any other value.
    """
    scheme = value.partition(" ")[0]
    credentials = value.removeprefix(scheme).strip()
    written = _PLACEHOLDER.sub("", document.written).removeprefix(scheme).split()
    if len(written) == 1 and ":" in written[0]:
        return basic(to_bytes(credentials), scheme)
    return f"{scheme} {_encoded(credentials)}"


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
