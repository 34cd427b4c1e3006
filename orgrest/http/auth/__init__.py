"""Credentials as HTTP carries them: a module for each authentication scheme.

Each says how its credentials are written in a document (`read`, for what `Authorization` may begin
with), which of their values are secret, what is sent with them (`Credentials.flow`: requests out,
responses in), and with which options curl does the same. `SCHEMES` has a row for each; Basic is
sent as a header at once, and so is OAuth 2.0's token, which `tokens` gets. `certificates` are files
for TLS. Nothing here opens a socket.
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
"""The module of a scheme, by the word in lower case with which its credentials begin."""


@attrs.frozen
class Document:
    """What a scheme may ask of the document: the value of a variable, None where there is none.

    And the access token for a grant; None in a dry run.
    """

    variable: Callable[[str], str | None]
    token: Callable[[Grant], str | None]


class _Scheme(Protocol):
    read: Callable[[str, Document], str | Credentials]


def read(value: str, document: Document) -> str | Credentials:
    """Return what a value of Authorization stands for: the value to send, or credentials.

    What is of no scheme that is written in short, or is written as it goes over the wire, is sent
    as it is. Raises OrgrestError for credentials that are written wrong, or would have to be
    computed in a way that is not known here.
    """
    name = SCHEMES.get(value.partition(" ")[0].lower())
    if name is None:
        return value
    scheme: _Scheme = import_module(f"orgrest.http.auth.{name}")
    return scheme.read(value, document)
