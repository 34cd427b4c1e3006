"""Credentials as HTTP carries them: a module for each authentication scheme.

Each defines how its credentials are written in a document (`read`, for a prefix of
`Authorization`), which of their values are secret, the requests to send with them
(`Credentials.flow`), and the equivalent curl options. `SCHEMES` has a row for each; Basic is
sent directly as a header, and so is OAuth 2.0's token, which `tokens` obtains. `certificates`
handles client certificates for TLS. Nothing here opens a socket.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final, Protocol

import attrs

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
"""The module of each scheme, by the lower-case word with which its credentials begin."""


@attrs.frozen
class Document:
    """Callbacks with which a scheme reads the document.

    `variable` returns the value of a variable, or None; `token` returns the access token for a
    grant, None in a dry run.
    """

    variable: Callable[[str], str | None]
    token: Callable[[Grant], str | None]


class _Scheme(Protocol):
    read: Callable[[str, Document], str | Credentials]


def read(value: str, document: Document) -> str | Credentials:
    """Parse a value of Authorization: return the value to send, or credentials.

    Values of other schemes, and those already in wire format, are sent unchanged. Raises
    OrgrestError for malformed credentials, and for unsupported algorithms.
    """
    name = SCHEMES.get(value.partition(" ")[0].lower())
    if name is None:
        return value
    scheme: _Scheme = import_module(f"orgrest.http.auth.{name}")
    return scheme.read(value, document)
