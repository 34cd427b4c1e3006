"""Reads `Authorization: Basic USER PASSWORD` (RFC 7617), and the user info of a URL."""

from __future__ import annotations

from binascii import Error as NotBase64
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

from orgrest import classes
from orgrest.model import Credentials, OrgrestError, to_bytes
from orgrest.regular import compiled

if TYPE_CHECKING:
    from orgrest.http.auth import DocumentLookups

_PLACEHOLDER = compiled(r"\{\{.*?\}\}")


@classes.frozen
class PasswordCredentials(Credentials):
    """A user name and a password, with which a request is authenticated when it is sent."""

    user: str
    password: str = classes.field(repr=False)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The values that must not be shown: the password."""
        return (self.password,)


def basic(pair: bytes, scheme: str = "Basic") -> str:
    """Return Basic credentials for `user:password`."""
    from base64 import b64encode

    return f"{scheme} {b64encode(pair).decode('ascii')}"


def of_userinfo(userinfo: str) -> str:
    """Return Basic credentials for a URL's percent-encoded user info, `user:password`."""
    user, _, password = userinfo.partition(":")
    return basic(unquote_to_bytes(to_bytes(user)) + b":" + unquote_to_bytes(to_bytes(password)))


def pair(value: str, document: DocumentLookups) -> tuple[str, str] | None:
    """Return the user and the password in `SCHEME user password` or `SCHEME user:password`.

    The form is that of the text in the document, before variables were replaced: in
    `{{user}}:{{password}}`, both may contain spaces. If the text has neither form, because a single
    variable contains both, the form is that of `value`. Returns None if `value` has neither form.
    """
    credentials = value.partition(" ")[2].strip()
    words = _PLACEHOLDER.sub("x", document.written).partition(" ")[2].split()
    if len(words) < 2 and ":" not in "".join(words):
        words = credentials.split()
    if words and ":" in words[0]:
        user, separator, password = credentials.partition(":")
    else:
        user, separator, password = credentials.partition(" ")
        password = password.lstrip()
    return (user, password) if separator else None


def read(value: str, document: DocumentLookups) -> str:
    """Return the value to send for `Basic user password` or `Basic user:password`.

    Base64 credentials are returned unchanged. Raises OrgrestError for any other value.
    """
    from base64 import b64decode

    scheme, _, credentials = value.partition(" ")
    found = pair(value, document)
    if found is not None:
        return basic(to_bytes(":".join(found)), scheme)
    try:
        b64decode(credentials.strip(), validate=True)
    except (NotBase64, ValueError):
        raise OrgrestError(
            "Basic credentials must be `user password`, `user:password` or their Base64 form",
            code="credentials",
        ) from None
    return f"{scheme} {credentials.strip()}"
