"""The request being built: a mutable object that the stages of a run modify in turn."""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING, Self

import attrs

from orgrest.run.outcomes import EvaluationError, Outcome, failed, located

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from orgrest.http.auth.flows import Token
    from orgrest.http.syntax import ParsedRequest
    from orgrest.http.transport.client import Client
    from orgrest.http.transport.cookies import Cookies
    from orgrest.http.values import Context, Values
    from orgrest.http.values.context import TokenNeededError
    from orgrest.model import Bound, OrgrestError, Request, Response, Secret, Source, Verdict
    from orgrest.rendering.results import Rendered
    from orgrest.run.outcomes import Exchange, Task
    from orgrest.run.results import RequestResults
    from orgrest.run.services import Services
    from orgrest.run.settings import Settings
    from orgrest.run.token_requests import TokenRequests

MOST_WAIT = 3600.0
"""The longest wait, in seconds, that a document may cause in a run without a time limit."""


@attrs.define
class Logged:
    """The log and tests of scripts, and whether they cancelled their request."""

    notes: list[str] = attrs.field(factory=list)
    tests: list[Verdict] = attrs.field(factory=list)
    cancelled: bool = False

    def take(self, others: Logged) -> None:
        """Add the log and tests of other scripts."""
        self.notes += others.notes
        self.tests += others.tests


@attrs.define(eq=False)
class Work:
    """The state that the jobs of one run share.

    `client` is None where nothing is sent; `file` is the document's name in messages. The requests
    for `tokens` are listed in the last list of `asked`, which belongs to the current job. `sent_at`
    has the times of requests by slot of `@ratelimit`; `ran` has the results of the scripts that run
    once, of which `pending` are reported with the next request.
    """

    settings: Settings
    services: Services
    client: Client | None
    cookies: Cookies | None
    results: RequestResults
    file: str
    numbers: Iterator[int] = attrs.field(factory=partial(itertools.count, 1))
    tokens: TokenRequests | None = None
    asked: list[list[Exchange]] = attrs.field(factory=lambda: [[]])
    sent_at: dict[str, list[float]] = attrs.field(factory=dict)
    ran: dict[tuple[Source, int], OrgrestError | bool] = attrs.field(factory=dict)
    pending: list[Logged] = attrs.field(factory=list)
    _slept: float = 0.0

    @classmethod
    def of_run(
        cls, settings: Settings, services: Services, results: RequestResults, file: str
    ) -> Self:
        """Begin a run over the document called `file`."""
        client, cookies = services.client, services.cookies
        if cookies is None and client is not None:
            from orgrest.http.transport.cookies import Cookies

            cookies = Cookies()
        return cls(settings, services, client, cookies, results, file)

    def get_token(self, needed: TokenNeededError) -> tuple[Token, Bound | None]:
        """Return the token that a request needs. Raises OrgrestError if it cannot be obtained."""
        if self.tokens is None:
            from orgrest.run.token_requests import TokenRequests, identity

            self.tokens = TokenRequests(
                self.numbers,
                self.services.person,
                self.services.logins,
                identity(self.settings.inputs.directory, self.file),
                self.asked,
            )
        return self.tokens.get(needed.grant, self.sending, needed.secrets, needed.url)

    @property
    def sending(self) -> Client:
        """The client. Raises EvaluationError where nothing can be sent."""
        if self.client is None:
            raise EvaluationError("nothing can be sent here")
        return self.client

    def sleep(self, length: float, what: str = "sleep() in scripts") -> None:
        """Wait, as requested by a document, except in a dry run. Raises EvaluationError."""
        if self.settings.dry_run:
            return
        self._slept += length
        self.check_wait(what, self._slept)
        self.sending.budget.wait(length)

    def check_wait(self, what: str, length: float) -> None:
        """Raise EvaluationError if a document makes the run wait too long."""
        if length > MOST_WAIT and self.sending.budget.deadline is None:
            limit = f"{MOST_WAIT / 60:g} minutes in all"
            reason = f"{what} makes a run wait for {limit} at most (more with --max-time)"
            raise EvaluationError(reason)


@attrs.define(eq=False)
class Job:
    """A task in progress: its current request, and its results so far.

    `parsed` is the request as scripts changed it, `context` that of its turn, `values` are those of
    its variables, `defined` the values of definitions that its scripts saw, `held` the secrets in
    the parts that scripts created. `attempts` are those of the current request, `asked` the
    requests for tokens and by scripts that are not part of an exchange yet. Its tests begin at
    `tested`. `features` are the features of the request that select stages; a request that is
    `declined` is not sent. `unsent` has the reasons for declined requests.
    """

    work: Work
    task: Task
    parsed: ParsedRequest = attrs.field(
        init=False, default=attrs.Factory(lambda self: self.task.parsed[0], takes_self=True)
    )
    context: Context = attrs.field(
        init=False, default=attrs.Factory(lambda self: self.task.context, takes_self=True)
    )
    asked: list[Exchange] = attrs.field(factory=list)
    values: Values | None = None
    request: Request | None = None
    response: Response | None = None
    defined: dict[object, str] = attrs.field(factory=dict)
    held: set[tuple[str, Secret]] = attrs.field(factory=set)
    features: set[str] = attrs.field(factory=set)
    declined: bool = False
    unsent: list[str] = attrs.field(factory=list)
    tested: int = 0
    attempts: list[Exchange] = attrs.field(factory=list)
    exchanges: list[Exchange] = attrs.field(factory=list)
    notes: list[str] = attrs.field(factory=list)
    files: list[tuple[Path, bytes]] = attrs.field(factory=list)
    scripts: Logged = attrs.field(factory=Logged)

    def begin(self, parsed: ParsedRequest) -> None:
        """Begin with a request of the task."""
        self.parsed, self.context = parsed, self.task.context
        self.tested = len(self.scripts.tests)
        self.declined = False
        self.cancel()
        self.held = set()
        arguments, descriptions = self.task.arguments, self.work.services.descriptions
        features = {
            "": True,
            "captures": parsed.captures,
            "directives": parsed.directives,
            "scripts": parsed.scripts or parsed.shared_scripts,
            "savings": parsed.savings,
            "elements": not parsed.restclient and "$." in parsed.source.text,
            "judged": parsed.assertions
            or "expect" in arguments
            or descriptions.concern(parsed, arguments),
        }
        self.features = {name for name, has in features.items() if has}

    def decline(self, reason: str) -> None:
        """Record that the request is not sent, and why."""
        self.declined = True
        self.unsent.append(reason)

    def cancel(self) -> None:
        """Decline the request if a script cancelled it."""
        if self.scripts.cancelled and not self.declined:
            self.decline("a script cancelled it")

    def turn(self, context: Context) -> None:
        """Begin with the next turn of the request."""
        if self.exchanges and context is not self.context:
            self.tested = len(self.scripts.tests)
        self.context = context
        self.request = self.response = None

    @property
    def sent(self) -> tuple[Request, Response]:
        """The request and its response; only valid after the stage that sends it."""
        assert self.request is not None  # noqa: S101 - the order of the stages
        assert self.response is not None  # noqa: S101 - the order of the stages
        return self.request, self.response

    def keep(self, rendered: Rendered | None, tests: tuple[Verdict, ...]) -> None:
        """Add the last attempt as an exchange, with the earlier attempts in its `earlier`."""
        *others, last = self.attempts
        earlier = [*self.asked]
        for one in others:
            earlier += (*one.earlier, attrs.evolve(one, earlier=(), reason="attempt"))
        earlier += last.earlier
        self.exchanges.append(
            attrs.evolve(last, rendered=rendered, tests=tests, earlier=tuple(earlier))
        )
        self.attempts = []
        self.asked.clear()

    def outcome(self) -> Outcome:
        """Return its outcome, including token and script requests of a request skipped later."""
        task, reason, unsent = self.task, None, self.unsent
        if not self.exchanges and unsent:
            error = EvaluationError("; ".join(dict.fromkeys(unsent)))
            reason, unsent = located(error, task.file or self.work.file, task.line), []
        return Outcome(
            task.line,
            task.name,
            "done" if self.exchanges else "skipped",
            (*self.exchanges, *self.asked),
            reason=reason,
            notes=(*task.notes, *self.notes, *unsent, *self.scripts.notes),
            files=tuple(self.files),
            tests=tuple(self.scripts.tests),
            file=task.file,
            title=task.parsed[0].title,
        )

    def failed(self, error: Exception) -> Outcome:
        """Return its outcome up to a failure."""
        task = self.task
        outcome = failed(task.line, task.name, error, task.file or self.work.file)
        if not self.attempts and self.asked:  # no token was given
            self.attempts = [self.asked.pop()]
        if self.attempts:
            self.keep(None, ())
            *_, broken = self.exchanges
            outcome = attrs.evolve(outcome, broken=broken, exchanges=tuple(self.exchanges[:-1]))
        return attrs.evolve(outcome, file=task.file, title=task.parsed[0].title)
