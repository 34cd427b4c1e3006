r"""`Authorization: NTLM USER PASSWORD` and `Negotiate ...`: answers a server's challenge with NTLM.

The user may be `DOMAIN\user`, or `DOMAIN\\{{user}}`, since `\{{` begins no variable. The handshake
is [MS-NTHT]'s: an announcement, the server's challenge and the answer to it (NTLMv2) go over one
connection, which belongs to the user from then on. Under `Negotiate` (RFC 4559) the same messages
are sent: Kerberos is not supported. pyspnego computes them (extra `ntlm`), in Python on all
systems: Windows' own credentials are not used.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING

import attrs

from orgrest.installing import install_command
from orgrest.model import Credentials, OrgrestError, TransportError, find_headers

if TYPE_CHECKING:
    from collections.abc import Generator

    from orgrest.http.auth import Document
    from orgrest.model import Request, Response

_CHALLENGE = re.compile(
    r"(?:^|,)\s*(ntlm|negotiate)(?:\s+([A-Za-z0-9+/]+=*))?\s*(?=,|$)", re.IGNORECASE
)
_AS_SENT = re.compile(r"(?:TlRMTVNTUA|YI|oY|oX)[A-Za-z0-9+/]+=*")
"""Base64 of a message of NTLM's, or of a token of RFC 4178's."""


@attrs.frozen
class NtlmCredentials(Credentials):
    """The credentials that answer a server's challenge under a scheme: NTLM or Negotiate."""

    one_connection = True

    scheme: str
    user: str
    password: str = attrs.field(repr=False)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The password."""
        return (self.password,)

    def flow(
        self, request: Request, _host: str, _target: str
    ) -> Generator[Request, Response, str | None]:
        """Send the request, then again with the announcement, and with the answer."""
        response = yield request
        if response.status != 401:
            return None
        if _challenge(response, self.scheme) is None:
            return f"the server does not ask for {self.scheme} credentials, which were not sent"
        handshake = _Handshake(self)
        response = yield _with(request, handshake.announcement())
        if response.status != 401:
            return None
        challenge = _challenge(response, self.scheme)
        if not challenge:
            return f"the server gives no {self.scheme} challenge: the password was not used"
        response = yield _with(request, handshake.answer(challenge))
        if response.status == 401 and response.timing and response.timing.connect is not None:
            raise TransportError(
                f"the server, or a proxy, closes the connection during the {self.scheme} "
                "handshake, which has to go over one connection"
            )
        return None

    def curl(self, _host: str) -> list[str]:
        """Return curl's options."""
        return [f"--{self.scheme.lower()}", "--user", f"{self.user}:{self.password}"]


def read(value: str, _: Document) -> str | NtlmCredentials:
    """Parse `user password` or `user:password`; the bare word, or a token, is sent unchanged."""
    scheme, _blank, rest = value.partition(" ")
    given = rest.strip()
    if not given or _AS_SENT.fullmatch(given):
        return value
    user, colon, password = given.partition(":")
    if not colon or " " in user:
        user, colon, password = given.partition(" ")
    name = {"ntlm": "NTLM"}.get(scheme.lower(), "Negotiate")
    if not colon or not user:
        reason = f"{name} credentials are `user password` or `user:password`"
        raise OrgrestError(f"{reason}; the user may be `DOMAIN\\user`", code="credentials")
    return NtlmCredentials(name, user.replace("\\\\", "\\"), password.strip())


class _Handshake:
    """The messages of one handshake. Raises TransportError."""

    def __init__(self, credentials: NtlmCredentials) -> None:
        self._scheme = credentials.scheme
        try:
            import spnego
        except ImportError as error:
            reason = f"{self._scheme} needs pyspnego: {install_command('pyspnego')}"
            raise TransportError(reason) from error
        try:
            self._context = spnego.client(
                credentials.user,
                credentials.password,
                protocol="ntlm",
                options=spnego.NegotiateOptions.use_ntlm,
            )
        except (ValueError, spnego.exceptions.SpnegoError) as error:  # an invalid LM_COMPAT_LEVEL
            raise TransportError(f"{self._scheme} cannot be spoken: {error}") from error

    def announcement(self) -> str:
        return self._value(self._context.step())

    def answer(self, challenge: str) -> str:
        try:
            return self._value(self._context.step(b64decode(challenge)))
        except Exception as error:  # a server's bytes; pyspnego does not document its exceptions
            raise TransportError(f"the server's {self._scheme} challenge is damaged") from error

    def _value(self, message: bytes | None) -> str:
        return f"{self._scheme} {b64encode(message or b'').decode()}"


def _challenge(response: Response, scheme: str) -> str | None:
    """Return a server's token for a scheme: "" if it only offers the scheme, else None."""
    for value in find_headers(response.headers, "WWW-Authenticate"):
        for found in _CHALLENGE.finditer(value):
            if found[1].lower() == scheme.lower():
                return found[2] or ""
    return None


def _with(request: Request, value: str) -> Request:
    return attrs.evolve(request, headers=(*request.headers, ("Authorization", value)))
