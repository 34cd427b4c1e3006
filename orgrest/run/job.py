"""A task in progress: a mutable object that each stage of a run updates in turn."""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING, Any

from orgrest import classes
from orgrest.model import BAD_LENGTH, OrgrestError
from orgrest.run.outcomes import EvaluationError, Outcome, failed, located

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from orgrest.http.auth.flows import Token
    from orgrest.http.syntax import ParsedRequest
    from orgrest.http.transport.client import Client
    from orgrest.http.transport.cookies import Cookies
    from orgrest.http.values import Context, Values
    from orgrest.http.values.context import TokenNeededError
    from orgrest.model import Bound, Request, Response, Secret, Source, Verdict
    from orgrest.rendering.results import Rendered
    from orgrest.run.outcomes import Exchange, Task
    from orgrest.run.results import RequestResults
    from orgrest.run.services import Services
    from orgrest.run.settings import Settings
    from orgrest.run.token_requests import TokenRequests

MOST_WAIT = 3600.0
"""The maximum total delay, in seconds, that a document may cause if --max-time is not given."""

_MOST_NAMED = 20  # the maximum number of list elements that a message names


@classes.define
class Logged:
    """The log messages and test results of scripts, and whether a script cancelled the request."""

    notes: list[str] = classes.field(factory=list)
    tests: list[Verdict] = classes.field(factory=list)
    cancelled: bool = False

    def take(self, logged: Logged) -> None:
        """Move the log messages and test results in `logged` to this object."""
        self.notes += logged.notes
        self.tests += logged.tests
        logged.notes, logged.tests = [], []


@classes.define(eq=False)
class Work:
    """The state that all jobs of a run share.

    `client` is None if requests are not sent, and `file` is the document's name in messages. The
    last list in `asked` contains the token requests that were sent for the current job. `ran`
    contains the results of scripts that run only once. `pending` contains these scripts' log
    messages and test results until they are reported with the next request, even if that request
    is not sent.
    """

    settings: Settings
    services: Services
    client: Client | None
    cookies: Cookies | None
    results: RequestResults
    file: str
    numbers: Iterator[int] = classes.field(factory=partial(itertools.count, 1))
    tokens: TokenRequests | None = None
    asked: list[list[Exchange]] = classes.field(factory=lambda: [[]])
    ran: dict[tuple[Source, int], OrgrestError | bool] = classes.field(factory=dict)
    pending: Logged = classes.field(factory=Logged)
    _slept: float = 0.0

    def get_token(self, needed: TokenNeededError) -> tuple[Token, Bound | None]:
        """Return the token that a request needs. Raises OrgrestError if the run cannot get it."""
        if self.tokens is None:
            from orgrest.run.token_requests import TokenRequests, identity

            self.tokens = TokenRequests(
                self.numbers,
                self.services.person,
                self.services.logins,
                identity(self.settings.inputs.directory, self.file),
                self.asked,
                self.settings.retry_policy,
            )
        return self.tokens.get(needed.grant, self.sending, needed.secrets, needed.url)

    @property
    def sending(self) -> Client:
        """The client of the run. Raises EvaluationError if the run cannot send requests."""
        if self.client is None:
            raise EvaluationError("requests cannot be sent in this run: it has no HTTP client")
        return self.client

    def sleep(
        self, length: float, what: str = "sleep() in scripts", counted: float | None = None
    ) -> None:
        """Wait for `length` seconds, because the document asks for it. A dry run does not wait.

        `what` names the cause in error messages. Raises EvaluationError if the document's waits are
        too long in total. If `counted` is given, only so many seconds count.
        """
        if self.settings.dry_run:
            return
        slept = self._slept + (length if counted is None else counted)
        self.check_wait(what, slept)
        self._slept = slept
        self.sending.budget.wait(length)

    def check_wait(self, what: str, length: float) -> None:
        """Raise EvaluationError if a document may not wait for a total of `length` seconds."""
        if length > MOST_WAIT and self.sending.budget.deadline is None:
            limit = f"a total of {MOST_WAIT / 60:g} minutes"
            reason = (
                f"{what} can make a run wait for at most {limit} (use --max-time to allow more)"
            )
            raise EvaluationError(reason)


@classes.define(eq=False)
class Job:
    """A task in progress: its current request, and its results so far.

    `parsed` is the current request, as changed by scripts. `context` contains the values of its
    variables for this iteration. `values` contains the values that the request uses. `defined`
    contains the values of definitions that scripts read. `held` contains the secrets in parts of
    the request that scripts created. `features` selects the stages of the request. If `declined` is
    true, the request is not sent.

    `attempts` contains the attempts to send the request. `asked` contains the token requests and
    the scripts' requests that `keep` will add to an exchange. `tested` is the index of the
    iteration's first test. `unsent` maps each reason for declining a request to the indexes of the
    list elements concerned, counted from 1.
    """

    work: Work
    task: Task
    parsed: ParsedRequest = classes.field(
        init=False, default=classes.Factory(lambda self: self.task.parsed[0], takes_self=True)
    )
    context: Context = classes.field(
        init=False, default=classes.Factory(lambda self: self.task.context, takes_self=True)
    )
    asked: list[Exchange] = classes.field(factory=list)
    values: Values | None = None
    request: Request | None = None
    response: Response | None = None
    defined: dict[object, str] = classes.field(factory=dict)
    held: set[tuple[str, Secret]] = classes.field(factory=set)
    features: set[str] = classes.field(factory=set)
    declined: bool = False
    unsent: dict[str, list[int]] = classes.field(factory=dict)
    tested: int = 0
    attempts: list[Exchange] = classes.field(factory=list)
    exchanges: list[Exchange] = classes.field(factory=list)
    notes: list[str] = classes.field(factory=list)
    files: list[tuple[Path, bytes]] = classes.field(factory=list)
    scripts: Logged = classes.field(factory=Logged)

    def begin(self, parsed: ParsedRequest) -> None:
        """Start the next request of the task, `parsed`."""
        self.parsed, self.context = parsed, self.task.context.request()
        self.tested = len(self.scripts.tests)
        self.declined = self.scripts.cancelled = False
        self.held = set()
        prepared: Job | None = self.task.prepared
        if prepared is not None:
            self.parsed = parsed = prepared.parsed
            self.held, self.defined = prepared.held.copy(), prepared.defined.copy()
            self.report(prepared)
        arguments = self.task.arguments
        described = self.work.services.descriptions.concern(parsed, arguments)
        features = {
            "": True,
            "captures": parsed.captures,
            "directives": parsed.directives,
            "definitions": parsed.region and parsed.known.computed_within(parsed.region),
            "scripts": parsed.scripts or parsed.shared_scripts or self.task.imported,
            "savings": parsed.savings,
            "elements": not parsed.restclient and parsed.source.holds("$."),
            "described": described,
            "judged": parsed.assertions or "expect" in arguments or described,
        }
        self.features = {name for name, has in features.items() if has}

    def report(self, prepared: Job) -> None:
        """Move the log messages, tests and requests of the scripts in `prepared` to this job."""
        self.scripts.take(prepared.scripts)
        self.notes += prepared.notes
        self.asked += prepared.asked
        prepared.notes, prepared.asked = [], []

    def decline(self, reason: str) -> None:
        """Mark the current iteration as one that will not be sent, and record the `reason`."""
        self.declined = True
        numbers = self.unsent.setdefault(reason, [])
        if self.context.iteration is not self.task.context.iteration:
            numbers.append(int(self.context.iteration["$index"]) + 1)

    def cancel(self) -> None:
        """Mark the current iteration as one that will not be sent, if a script cancelled it."""
        if self.scripts.cancelled:
            self.decline("cancelled by a script")

    def turn(self, context: Context) -> None:
        """Start the next iteration of the current request, with the variables in `context`."""
        if self.context.iteration is not self.task.context.iteration:  # not the first
            self.tested = len(self.scripts.tests)
        self.declined = self.scripts.cancelled = False
        self.context = context
        self.request = self.response = None

    @property
    def sent(self) -> tuple[Request, Response]:
        """The current request and its response. Available after the stage `send`."""
        assert self.request is not None  # noqa: S101 - the order of the stages
        assert self.response is not None  # noqa: S101 - the order of the stages
        return self.request, self.response

    def keep(self, render: Callable[[], Rendered] | None, tests: tuple[Verdict, ...]) -> None:
        """Record the last attempt as an exchange that includes the earlier attempts.

        `render` renders the response, and `tests` contains the verdicts on it.
        """
        self.exchanges.append(_joined(self.asked, self.attempts, render, tests))
        self.attempts = []
        self.asked.clear()

    def _unsent(self) -> list[str]:
        return [reason + _for_elements(numbers) for reason, numbers in self.unsent.items()]

    def outcome(self) -> Outcome:
        """Return the outcome of the task.

        The outcome includes requests for tokens and requests from scripts, even if the task's own
        request was skipped.
        """
        task, reason, unsent = self.task, None, self._unsent()
        if not self.exchanges and unsent:
            error = EvaluationError("; ".join(unsent))
            reason, unsent = located(error, task.file or self.work.file, task.line), []
        state = "done" if self.exchanges else "skipped"
        exchanges = (*self.exchanges, *self.asked)
        return Outcome(task.line, task.name, state, exchanges, reason, **self._description(unsent))

    def failed(self, error: Exception) -> Outcome:
        """Return the outcome of the task, which has failed with `error`.

        The job stays as it is.
        """
        task = self.task
        if isinstance(error, OrgrestError) and error.code == BAD_LENGTH:
            header = self.parsed.header("content-length")
            if header is not None:
                place = self.parsed.source.position(header.name.offset(0))
                error.line, error.column = place.line, place.column
                error.file = task.file or self.work.file
        outcome = failed(task.line, task.name, error, task.file or self.work.file)
        asked, attempts, broken = self.asked, self.attempts, None
        if not attempts:  # the last token request or script's request was the last exchange
            asked, attempts = asked[:-1], asked[-1:]
        if attempts:
            broken = _joined(asked, attempts, None, tuple(self.scripts.tests[self.tested :]))
        description = self._description(self._unsent())
        return classes.evolve(
            outcome, broken=broken, exchanges=tuple(self.exchanges), **description
        )

    def _description(self, unsent: list[str]) -> dict[str, Any]:
        """Return the fields of the task's outcome that do not depend on whether it succeeded."""
        task = self.task
        return {
            "notes": (*task.notes, *self.notes, *unsent, *self.scripts.notes),
            "files": tuple(self.files),
            "tests": tuple(self.scripts.tests),
            "file": task.file,
            "title": task.parsed[0].title,
            "task": task,
        }


def _joined(
    asked: list[Exchange],
    attempts: list[Exchange],
    render: Callable[[], Rendered] | None,
    tests: tuple[Verdict, ...],
) -> Exchange:
    """Return the last attempt as an exchange that includes `asked` and the earlier attempts."""
    *earlier_attempts, last = attempts
    earlier = [*asked]
    for attempt in earlier_attempts:
        earlier += (*attempt.earlier, classes.evolve(attempt, earlier=(), reason="attempt"))
    earlier += last.earlier
    return classes.evolve(last, render=render, tests=tests, earlier=tuple(earlier))


def _for_elements(numbers: list[int]) -> str:
    if len(numbers) < 2:
        return "".join(f" for element {number} of the list" for number in numbers)
    more = ", ..." if len(numbers) > _MOST_NAMED else ""
    named = ", ".join(map(str, numbers[:_MOST_NAMED]))
    return f" for {len(numbers)} elements of the list: {named}{more}"
