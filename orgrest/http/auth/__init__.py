"""HTTP authentication: schemes, OAuth 2.0 tokens and client certificates.

Each scheme in `SCHEMES` has a module, whose `read` parses credentials. Basic credentials and OAuth
2.0 tokens become a header value. For other schemes, `Credentials.flow` yields the requests to send.
`tokens` obtains OAuth 2.0 tokens, and `certificates` reads client certificates for TLS. No module
in this package opens a socket.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from orgrest import classes
from orgrest.model import OrgrestError

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
    """The data that a scheme reads from the document.

    `variable` returns a variable's value, or None for an undefined variable. `token` returns an
    access token for a grant, or None in a dry run. `written` is the header value before expansion.
    """

    variable: Callable[[str], str | None]
    token: Callable[[Grant], str | None]
    written: str = ""


def read(value: str, document: DocumentLookups) -> str | Credentials:
    """Return the value to send for an Authorization header, or credentials that compute it.

    Values of unknown schemes, and values already in wire format, are returned unchanged. Raises
    OrgrestError for malformed credentials, for VS Code REST Client's Cognito credentials, or if no
    OAuth 2.0 token can be obtained.
    """
    words = value.split()
    if len(words) > 2 and words[0].lower() == "cognito":  # a password in plain text
        raise OrgrestError(
            "orgrest cannot sign in to AWS Cognito; get an access token in another way and write "
            "Authorization: Bearer {{token}}",
            code="credentials",
        )
    name = SCHEMES.get(value.partition(" ")[0].lower())
    if name is None:
        return value
    scheme = import_module(f"orgrest.http.auth.{name}")
    credentials: str | Credentials = scheme.read(value, document)
    return credentials
