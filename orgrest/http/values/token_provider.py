"""The OAuth 2.0 tokens used by a document's requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from orgrest.model import OrgrestError

if TYPE_CHECKING:
    from collections.abc import Callable

    from orgrest.http.auth.oauth2 import Grant
    from orgrest.http.values.context import RunContext
    from orgrest.http.values.taken_secrets import TakenSecrets


@attrs.frozen
class TokenProvider:
    """The tokens of a run; `secret` registers values that must not be shown."""

    _run: RunContext
    _secret: Callable[[str], str]
    _taken: TakenSecrets

    def token(self, grant: Grant, url: str | None, kind: str = "token") -> str | None:
        """Return the access token (or `idToken`) for a grant, or None in a dry run.

        `url` is where the request goes, None if that is not known yet. Raises `OrgrestError` if
        there is none.
        """
        for secret in grant.secrets:
            self._secret(secret)
        if self._run.placeholders:
            return None
        with self._taken.handed_over() as bound:
            token, itself = self._run.token(grant, bound, url)
        for secret in token.secrets:
            self._secret(secret)
            if itself is not None:
                self._taken.hold(secret, itself)
        if kind == "idToken" and token.identity is None:
            raise OrgrestError(f"{grant.token_url} gave no ID token", code="credentials")
        return token.access if kind == "token" else token.identity
