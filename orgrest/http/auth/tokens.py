"""The OAuth 2.0 tokens of one run: requested once, cached, and refreshed when they expire."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from orgrest.http.auth.oauth2 import DEVICE_CODE, Message, Pause, issue, refresh
from orgrest.model import OrgrestError, Request

if TYPE_CHECKING:
    from collections.abc import Callable

    from orgrest.http.auth.oauth2 import Flow, Grant, Token
    from orgrest.model import Response

_LEEWAY = 5.0
"""The number of seconds before its expiry at which a token counts as expired."""


class Tokens:
    """The tokens of one run.

    `send` sends a request and does not follow redirects: a client's secret goes to the server of
    the grant and to no other. `notify` shows a text to the user; None if there is nobody to read
    it.
    """

    def __init__(
        self,
        send: Callable[[Request], Response],
        notify: Callable[[str], None] | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._send = send
        self._notify = notify
        self._clock = clock
        self._sleep = sleep
        self._tokens: dict[Grant, tuple[Token, float | None]] = {}

    def get(self, grant: Grant) -> Token:
        """Return a valid token. Raises OrgrestError if the server issues none."""
        if grant.flow == DEVICE_CODE and self._notify is None:
            reason = "the device flow shows a code to confirm, and there is no terminal to show it"
            raise OrgrestError(reason, code="credentials")
        token, expires = self._tokens.get(grant, (None, None))
        if token is None or (expires is not None and expires - _LEEWAY < self._clock()):
            token = (self._refreshed(grant, token) if token else None) or self._done(issue(grant))
            ends = None if token.lifetime is None else self._clock() + token.lifetime
            self._tokens[grant] = token, ends
        return token

    def _refreshed(self, grant: Grant, token: Token) -> Token | None:
        """Return a new token for an expired one, or None if the server refuses."""
        if token.refresh is None:
            return None
        try:
            return self._done(refresh(grant, token.refresh))
        except OrgrestError:
            return None

    def _done(self, flow: Flow) -> Token:
        """Perform the steps of a flow."""
        answer: Response | float | None = None
        while True:
            try:
                step = flow.send(answer)
            except StopIteration as done:
                token: Token = done.value
                return token
            if isinstance(step, Request):
                answer = self._send(step)
            elif isinstance(step, Pause):
                if step.seconds:
                    self._sleep(step.seconds)
                answer = self._clock()
            elif isinstance(step, Message) and self._notify is not None:
                answer = self._notify(step.text)
