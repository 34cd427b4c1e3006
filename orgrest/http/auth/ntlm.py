r"""Reads `Authorization: NTLM USER PASSWORD` or `Negotiate ...`, and answers a challenge with NTLM.

The user may be `DOMAIN\user`, or `DOMAIN\\{{user}}`, since `\{{` does not begin a variable. The
handshake ([MS-NTHT]) takes place over one connection, which is authenticated from then on.
`Negotiate` (RFC 4559) uses the same messages: Kerberos is not supported. pyspnego (the extra
`ntlm`) computes the messages in pure Python, so the credentials of the Windows user are not used.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING

from orgrest import classes
from orgrest.http.auth.basic import PasswordCredentials, pair
from orgrest.installing import install_command
from orgrest.model import OrgrestError, TransportError, find_headers
from orgrest.regular import compiled

if TYPE_CHECKING:
    from collections.abc import Generator

    from orgrest.http.auth import DocumentLookups
    from orgrest.model import Request, Response

_CHALLENGE = compiled(
    r"(?:^|,)\s*(ntlm|negotiate)(?:\s+([A-Za-z0-9+/]+=*))?\s*(?=,|$)", re.IGNORECASE
)
_AS_SENT = compiled(r"(?:TlRMTVNTUA|YI|oY|oX)[A-Za-z0-9+/]+=*")
"""Matches a Base64-encoded NTLM message or RFC 4178 token."""


@classes.frozen
class NtlmCredentials(PasswordCredentials):
    """The credentials for answering a server's challenge with the NTLM or Negotiate scheme."""

    one_connection = True

    scheme: str

    def flow(
        self, request: Request, _host: str, _target: str
    ) -> Generator[Request, Response, str | None]:
        """Yield the request unchanged, then with each of the client's two NTLM messages.

        Returns a warning if the server sent no challenge. Raises TransportError if the handshake
        cannot be completed.
        """
        response = yield request
        if response.status != 401:
            return None
        if _challenge(response, self.scheme) is None:
            return f"the server did not ask for {self.scheme} credentials, so they were not sent"
        handshake = _Handshake(self)
        response = yield _with(request, handshake.announcement())
        if response.status != 401:
            return None
        challenge = _challenge(response, self.scheme)
        if not challenge:
            return f"the server sent no {self.scheme} challenge, so the password was not used"
        response = yield _with(request, handshake.answer(challenge))
        if response.status == 401 and response.timing and response.timing.connect is not None:
            raise TransportError(
                f"the server, or a proxy, closed the connection during the {self.scheme} "
                "handshake, which requires a single connection"
            )
        return None

    def curl(self, _host: str) -> list[str]:
        """Return the equivalent curl options."""
        return [f"--{self.scheme.lower()}", "--user", f"{self.user}:{self.password}"]


def read(value: str, document: DocumentLookups) -> str | NtlmCredentials:
    """Parse `user password` or `user:password`. A bare scheme or a token is returned unchanged.

    Raises OrgrestError if the user or the password is missing.
    """
    scheme, _blank, rest = value.partition(" ")
    credentials = rest.strip()
    if not credentials or _AS_SENT.fullmatch(credentials):
        return value
    user, password = pair(value, document) or ("", "")
    name = {"ntlm": "NTLM"}.get(scheme.lower(), "Negotiate")
    if not user:
        reason = f"{name} credentials must be `user password` or `user:password`"
        raise OrgrestError(
            f"{reason}; `user` can include a domain: `DOMAIN\\user`", code="credentials"
        )
    return NtlmCredentials(user.replace("\\\\", "\\"), password.strip(), name)


class _Handshake:
    """Computes the client's messages in one NTLM handshake."""

    def __init__(self, credentials: NtlmCredentials) -> None:
        self._scheme = credentials.scheme
        try:
            import spnego
        except ImportError as error:
            reason = f"{self._scheme} requires pyspnego: {install_command('pyspnego')}"
            raise TransportError(reason) from error
        try:
            self._context = spnego.client(
                credentials.user,
                credentials.password,
                protocol="ntlm",
                options=spnego.NegotiateOptions.use_ntlm,
            )
        except (ValueError, spnego.exceptions.SpnegoError) as error:  # an invalid LM_COMPAT_LEVEL
            raise TransportError(f"{self._scheme} failed: {error}") from error

    def announcement(self) -> str:
        return self._value(self._context.step())

    def answer(self, challenge: str) -> str:
        try:
            return self._value(self._context.step(b64decode(challenge)))
        except Exception as error:  # pyspnego does not document its exceptions for invalid bytes
            raise TransportError(f"invalid {self._scheme} challenge from the server") from error

    def _value(self, message: bytes | None) -> str:
        return f"{self._scheme} {b64encode(message or b'').decode()}"


def _challenge(response: Response, scheme: str) -> str | None:
    """Return the challenge's token, which may be "", or None if there is no challenge."""
    for value in find_headers(response.headers, "WWW-Authenticate"):
        for match in _CHALLENGE.finditer(value):
            if match[1].lower() == scheme.lower():
                return match[2] or ""
    return None


def _with(request: Request, value: str) -> Request:
    return classes.evolve(request, headers=(*request.headers, ("Authorization", value)))
