"""The requests with which a run gets its OAuth 2.0 tokens, recorded with the tasks in need."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import attrs

from orgrest.run.outcomes import Exchange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from orgrest.http.auth.oauth2 import Grant, Token
    from orgrest.http.auth.tokens import Tokens
    from orgrest.http.transport import Client
    from orgrest.model import Bound, Request, Response


class TokenRequests:
    """Gets the tokens of a run, each once."""

    def __init__(
        self,
        numbers: Iterator[int],
        notify: Callable[[str], None] | None,
    ) -> None:
        """Begin without tokens; `numbers` are those of the run's requests.

        `notify` shows the user what to do to get a token, None if nobody reads it.
        """
        self._client: Client | None = None
        self._bound: tuple[Bound, ...] = ()
        self._numbers = numbers
        self._notify = notify
        self._tokens: Tokens | None = None
        self._asked: list[Exchange] = []  # by the task under way
        self._hidden: frozenset[str] = frozenset()  # secrets of the answers
        self._under_way = 0

    def get(self, grant: Grant, client: Client, bound: tuple[Bound, ...]) -> Token:
        """Return a token, which `client` asks for, sending `bound` secrets where they may go.

        Raises OrgrestError if there is none.
        """
        from orgrest.http.auth.tokens import Tokens

        self._client, self._bound = client, bound

        if self._tokens is None:
            self._tokens = Tokens(self._send, self._notify, sleep=self._wait)
        return self._tokens.get(grant)

    @contextmanager
    def of_task(self) -> Iterator[list[Exchange]]:
        """A context in which a task is sent: the list gets what is sent for its tokens."""
        outer, self._asked = (self._asked, []) if self._under_way else ([], self._asked)
        self._under_way += 1
        try:
            yield self._asked
        finally:
            self._under_way -= 1
            self._asked = outer

    def _wait(self, seconds: float) -> None:
        assert self._client is not None  # noqa: S101 - see get
        self._client.budget.wait(seconds)

    def _send(self, request: Request) -> Response:
        from orgrest.http.auth.oauth2 import secrets_in
        from orgrest.http.transport import Trace

        trace = Trace(self._numbers)
        try:
            assert self._client is not None  # noqa: S101 - see get
            bound = attrs.evolve(request, bound=self._bound)
            return self._client.send(bound, follow=False, trace=trace)
        finally:
            for hop in trace.hops:
                if hop.response is not None:
                    self._hidden |= secrets_in(hop.response)
                self._asked.append(
                    Exchange(
                        attrs.evolve(hop.request, secrets=self._hidden),
                        hop.response,
                        number=hop.number,
                        started=hop.started,
                        reason="token",
                    )
                )
