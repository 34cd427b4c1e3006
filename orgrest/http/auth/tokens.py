"""The OAuth 2.0 tokens of one run: requested once, then reused, and refreshed when they expire."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from orgrest import classes
from orgrest.http.auth.flows import Message, Pause, RefusedError, Visit, issue, refresh
from orgrest.model import OrgrestError, Request, TransportError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from orgrest.http.auth.flows import Flow, Token
    from orgrest.http.auth.oauth2 import Grant
    from orgrest.model import Response

LEEWAY = 5.0
"""Tokens are replaced this many seconds before they expire."""


@classes.frozen
class Steps:
    """Callbacks that perform the steps of a flow.

    `send` does not follow redirects, so the client secret reaches only the grant's server. `visit`
    lets the user sign in with a browser, and returns the redirect URI and the query parameters sent
    there.
    """

    send: Callable[[Request], Response]
    show: Callable[[Message], None]
    visit: Callable[[Visit], tuple[str, Mapping[str, str]]]
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def token(self, flow: Flow) -> Token:
        """Run a flow and return its token. Raises OrgrestError if the server issues no token."""
        try:
            step = next(flow)
            while True:
                try:
                    answer = self._perform(step)
                except TransportError as error:
                    step = flow.throw(error)
                else:
                    step = flow.send(answer)
        except StopIteration as done:
            token: Token = done.value
            return token

    def _perform(self, step: Request | Pause | Message | Visit) -> Any:
        if isinstance(step, Request):
            return self.send(step)
        if isinstance(step, Pause):
            if step.seconds:
                self.sleep(step.seconds)
            return self.clock()
        return self.visit(step) if isinstance(step, Visit) else self.show(step)


def refreshed(steps: Steps, grant: Grant, token: Token) -> Token | None:
    """Return a replacement for a token.

    Returns None if `token` has no refresh token, or if the server refuses it. Raises TransportError
    if no response arrives, in which case the token can be refreshed later.
    """
    if token.refresh is None:
        return None
    try:
        return steps.token(refresh(grant, token.refresh))
    except TransportError:
        raise
    except OrgrestError:
        return None


class Tokens:
    """The tokens of one run that are issued without the user having to sign in."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._tokens: dict[Grant, tuple[Token, float | None]] = {}
        self._refused: dict[Grant, RefusedError] = {}

    def get(self, grant: Grant) -> Token:
        """Return a valid token for a grant. Raises OrgrestError if the server issues no token."""
        token, expires = self._tokens.get(grant, (None, None))
        if token is None or (expires is not None and expires - LEEWAY < self._steps.clock()):
            new = refreshed(self._steps, grant, token) if token else None
            token = self._keep(grant, new or self._issued(grant))
        return token

    def renew(self, grant: Grant) -> Token | None:
        """Replace a token that a server rejected, and return the new token.

        Returns None if the token endpoint issues no token. Raises TransportError if no response
        arrives.
        """
        token, _ = self._tokens[grant]
        try:
            new = refreshed(self._steps, grant, token) or self._issued(grant)
        except TransportError:
            raise
        except OrgrestError:
            return None
        return self._keep(grant, new)

    def _issued(self, grant: Grant) -> Token:
        """Return a new token. A refused request is not repeated, as it might lock the account."""
        if (refusal := self._refused.get(grant)) is not None:
            raise RefusedError(refusal.reason, code=refusal.code)
        try:
            return self._steps.token(issue(grant))
        except RefusedError as error:
            self._refused[grant] = error
            raise

    def _keep(self, grant: Grant, token: Token) -> Token:
        expires = None if token.lifetime is None else self._steps.clock() + token.lifetime
        self._tokens[grant] = token, expires
        return token
