"""HTTP authentication schemes, one module for each.

A scheme's module defines how its credentials are written in an `Authorization` header (`read`),
which of their values are secret, which requests are sent with them (`Credentials.flow`), and the
equivalent curl options. `SCHEMES` has a row for each scheme. Basic credentials and OAuth 2.0 tokens
are sent directly as a header. `tokens` obtains OAuth 2.0 tokens, and `certificates` handles client
certificates for TLS. No module here opens a socket.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final, Protocol

from orgrest import classes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from orgrest.http.auth.oauth2 import Grant
    from orgrest.model import Credentials

SCHEMES: Final[Mapping[str, str]] = {
    "aws": "sigv4",
    "basic": "basic",
    "digest": "digest",
    "negotiate": "ntlm",
    "ntlm": "ntlm",
    "oauth2": "oauth2",
    "openid": "oauth2",
}
"""Maps the lower-case name of each authentication scheme to its module."""


@classes.frozen
class DocumentLookups:
    """Callbacks through which a scheme reads values from the document.

    `variable` returns the value of a variable, or None if the variable is undefined. `token`
    returns the access token for a grant, or None in a dry run. `written` is the value of the header
    as written in the document, with placeholders for variables.
    """

    variable: Callable[[str], str | None]
    token: Callable[[Grant], str | None]
    written: str = ""


class _Scheme(Protocol):
    read: Callable[[str, DocumentLookups], str | Credentials]


def read(value: str, document: DocumentLookups) -> str | Credentials:
    """Parse the value of an Authorization header, and return the value to send, or credentials.

    Values of unknown schemes, and values that are already in wire format, are returned unchanged.
    Raises OrgrestError for malformed credentials, and for unsupported algorithms.
    """
    name = SCHEMES.get(value.partition(" ")[0].lower())
    if name is None:
        return value
    scheme: _Scheme = import_module(f"orgrest.http.auth.{name}")
    return scheme.read(value, document)
