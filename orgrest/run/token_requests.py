"""Requests for OAuth 2.0 tokens in a run, recorded with the tasks that need the tokens."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

from orgrest import classes
from orgrest.model import BROKEN_OFF, OrgrestError, TransportError, possible
from orgrest.run.outcomes import Exchange

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from orgrest.http.auth.flows import Message, Token, Visit
    from orgrest.http.auth.oauth2 import Grant
    from orgrest.http.auth.tokens import Steps, Tokens
    from orgrest.http.transport.client import Client, Hop
    from orgrest.model import Bound, Request, Response, Secret
    from orgrest.run.logins import Logins, Person, Use
    from orgrest.run.settings import RetryPolicy


class TokenRequests:
    """Gets the OAuth 2.0 tokens that the requests of a run need. Each is requested only once."""

    def __init__(
        self,
        numbers: Iterator[int],
        person: Person | None,
        logins: Logins | None,
        document: tuple[str, bool],
        exchanges: list[list[Exchange]],
        retry_policy: RetryPolicy,
    ) -> None:
        """Prepare to get tokens for the requests of a document.

        `numbers` yields the index of each request in the run. `person` is the user who can sign in,
        or None if no user is present. `logins` contains the user's logins. If it is None, logins
        are forgotten at the end of the run. `document` is the document's path, and whether it is a
        file. Exchanges are appended to the last list in `exchanges`. `retry_policy` decides which
        failed requests are sent again.
        """
        self._client: Client | None = None
        self._secrets: frozenset[Secret] = frozenset()
        self._numbers = numbers
        self._person = person
        self._logins = logins
        self._document = document
        self._steps: Steps | None = None
        self._tokens: Tokens | None = None
        self._given: dict[str, Grant] = {}  # by their tokens
        self._renewed: dict[str, Token] = {}  # by the tokens that were refused
        self._failed: dict[tuple[Grant, str], OrgrestError] = {}  # each login is tried once
        self._useless: set[Grant] = set()  # their new tokens were refused, too
        self._asked = exchanges
        self._retry_policy = retry_policy
        self._hidden: frozenset[str] = frozenset()  # the secrets in the responses

    def get(
        self, grant: Grant, client: Client, secrets: frozenset[Secret], url: str | None
    ) -> tuple[Token, Bound | None]:
        """Return a token for a grant, and its binding if it is from a login.

        `client` sends the request for the token. The `secrets` of the grant are sent only to their
        hosts. `url` is the URL of the request that needs the token, if known. Raises OrgrestError
        if the token cannot be obtained.
        """
        self._client, self._secrets = client, possible(secrets)
        token, itself = self._login(grant, url) if grant.is_login else (self._own(grant), None)
        self._given[token.access] = grant
        return token, itself

    def _own(self, grant: Grant) -> Token:
        from orgrest.http.auth.tokens import Tokens

        if self._tokens is None:
            self._tokens = Tokens(self._performed())
        return self._tokens.get(grant)

    def _login(self, grant: Grant, url: str | None) -> tuple[Token, Bound]:
        from orgrest.http.auth.oauth2 import check_login

        check_login(grant)
        use = self._use(url)
        if (before := self._failed.get((grant, use.to))) is not None:
            raise OrgrestError(before.reason, code=before.code)
        try:
            return self._known().token(grant, use, self._person, self._performed())
        except OrgrestError as error:
            if error.code != BROKEN_OFF:
                self._failed[grant, use.to] = error
            raise

    def _use(self, url: str | None) -> Use:
        from orgrest.http.transport.wire import parse_url
        from orgrest.run.logins import Use

        if url is None:
            reason = "login tokens can only be used in headers and bodies, not in URLs or scripts"
            raise OrgrestError(
                f"{reason}: which login is used depends on the server that the request is sent to"
            )
        to = parse_url(url)
        scheme = {"ws": "http", "wss": "https"}.get(to.scheme, to.scheme)
        document, kept = self._document
        return Use(document, f"{scheme}://{to.netloc}", kept)

    def _known(self) -> Logins:
        if self._logins is None:
            from orgrest.run.logins import Logins

            self._logins = Logins(lambda: None)
        return self._logins

    def current(self, request: Request) -> Request:
        """Return a request with its refused tokens replaced by new tokens."""
        for old, new in self._renewed.items():
            request = _with_token(request, old, new)
        return request

    def renewed(self, request: Request) -> tuple[str, Token] | None:
        """Return a request's refused token and a new token, or None if there is no new token.

        If a new token was refused, too, it is not replaced. Raises TransportError if the token
        server cannot be reached.
        """
        old = self._token_in(request)
        if old is None or self._client is None or self._given[old] in self._useless:
            return None
        grant = self._given[old]
        if grant.is_login:
            new = self._known().renew(grant, old, self._person, self._performed())
        else:
            assert self._tokens is not None  # noqa: S101 - it gave the old one
            new = self._tokens.renew(grant)
        if new is None or new.access == old:
            return None
        self._given[new.access] = grant
        self._renewed[old] = new
        return old, new

    def refused(self, request: Request) -> None:
        """Request no more tokens like that in `request`, which did not help."""
        if (token := self._token_in(request)) is not None:
            self._useless.add(self._given[token])

    def _token_in(self, request: Request) -> str | None:
        words = (request.header("Authorization") or "").split()
        return next((token for token in self._given if token in words), None)

    # -------------------------------------------------------------------------- callbacks of flows

    def _performed(self) -> Steps:
        from orgrest.http.auth.tokens import Steps

        if self._steps is None:
            self._steps = Steps(self._send, self._show, self._visit, sleep=self._wait)
        return self._steps

    def _wait(self, seconds: float) -> None:
        assert self._client is not None  # noqa: S101 - see get
        self._client.budget.wait(seconds)

    def _show(self, message: Message) -> None:
        person = self._someone()
        person.tell(message.text)
        if message.url is not None:
            person.open(message.url)

    def _visit(self, visit: Visit) -> tuple[str, Mapping[str, str]]:
        from orgrest.http.auth.flows import LONGEST_LOGIN, parameters_in
        from orgrest.http.auth.oauth2 import origin
        from orgrest.http.transport.loopback import Loopback

        person = self._someone()
        with Loopback(visit.grant.redirect, parameters_in, visit.is_answer) as loopback:
            url = visit.url(loopback.uri)
            person.tell(f"sign in with your browser; if no page opens, go to {url}")
            person.open(url)
            answer = loopback.wait(LONGEST_LOGIN, self._wait)
        if answer is None:
            others = (
                f" ({loopback.refused} unrelated requests were rejected)"
                if loopback.refused
                else ""
            )
            raise OrgrestError(
                f"no response to this login from {origin(url)} within {LONGEST_LOGIN / 60:g} "
                f"minutes{others}",
                code="credentials",
            )
        return loopback.uri, answer

    def _someone(self) -> Person:
        assert self._person is not None  # noqa: S101 - Logins has seen to that
        return self._person

    def _send(self, request: Request) -> Response:
        from orgrest.http.auth.oauth2 import origin

        self._hidden |= request.secrets
        held = frozenset(("body", secret) for secret in self._secrets)
        request = classes.evolve(request, held=held)
        for attempt in itertools.count(1):
            try:
                return self._once(request)
            except TransportError as error:
                if error.code == BROKEN_OFF:
                    raise
                delay = self._retry_policy.after_error(request, error, attempt)
                if delay is None:
                    reason = f"could not get a token from {origin(request.url)}: {error.reason}"
                    raise TransportError(reason, code=error.code) from None
            self._wait(delay)
        raise AssertionError  # itertools.count never ends

    def _once(self, request: Request) -> Response:
        from orgrest.http.auth.flows import secrets_in

        assert self._client is not None  # noqa: S101 - see get
        hops: list[Hop] = []
        failure = None
        try:
            return self._client.send(request, follow=False, hops=hops, numbers=self._numbers)
        except TransportError as error:
            failure = error
            raise
        finally:
            for hop in hops:
                if hop.response is not None:
                    self._hidden |= secrets_in(hop.response)
                sent = classes.evolve(hop.request, secrets=self._hidden)
                why = failure if hop is hops[-1] else hop.error
                self._asked[-1].append(Exchange.of_hop(hop, sent, reason="token", error=why))


def _with_token(request: Request, old: str, new: Token) -> Request:
    if old not in (request.header("Authorization") or "").split():
        return request
    headers = tuple(
        (name, value.replace(old, new.access) if name.lower() == "authorization" else value)
        for name, value in request.headers
    )
    return classes.evolve(request, headers=headers, secrets=request.secrets.union(new.secrets))


def identity(directory: Path, file: str) -> tuple[str, bool]:
    """Return the path of the document `file` in a folder, and whether it is an existing file."""
    path = (directory / Path(file).name).resolve()
    return (str(path), True) if path.is_file() else (file, False)
