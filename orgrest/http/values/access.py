"""The tokens of OAuth 2.0 that requests of a document carry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orgrest.model import OrgrestError

if TYPE_CHECKING:
    from collections.abc import Callable

    from orgrest.http.auth.oauth2 import Grant, Token


class Access:
    """The tokens of one run; in a dry run no server is asked for one."""

    def __init__(self, secret: Callable[[str], str], *, dry_run: bool = False) -> None:
        """Note with `secret` what must not be shown."""
        self._secret = secret
        self._dry_run = dry_run
        self._get: Callable[[Grant], Token] | None = None

    def obtain_with(self, get: Callable[[Grant], Token]) -> None:
        """Let requests carry tokens; `get` asks a server for one."""
        self._get = get

    def token(self, grant: Grant, kind: str = "token") -> str | None:
        """Return the access token (or `idToken`) for a grant, or None in a dry run.

        Raises `OrgrestError` where there is none.
        """
        for secret in grant.secrets:
            self._secret(secret)
        if self._dry_run:
            return None
        if self._get is None:
            reason = "a token is asked for only when the request is sent"
            raise OrgrestError(reason, code="credentials")
        token = self._get(grant)
        for secret in token.secrets:
            self._secret(secret)
        if kind == "idToken" and token.identity is None:
            raise OrgrestError(f"{grant.token_url} gave no ID token", code="credentials")
        return token.access if kind == "token" else token.identity
