"""Tasks for blocks and requests, and their outcomes.

These classes are shared by the modules of this package, the command line and the editors.
"""

from __future__ import annotations

import time
from functools import cached_property
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Literal

from orgrest import classes
from orgrest.model import OrgrestError, TransportError, explained
from orgrest.org.blocks import Arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from orgrest.http.syntax import ParsedRequest
    from orgrest.http.transport.client import Hop
    from orgrest.http.values import Context, Origin
    from orgrest.http.values.context import RequestNeededError
    from orgrest.model import Request, Response, Verdict
    from orgrest.org.blocks import Block
    from orgrest.org.placing import Placing
    from orgrest.rendering.results import Rendered
    from orgrest.run.comparison import Volatile
    from orgrest.run.plan import Step, StepId


class EvaluationError(OrgrestError):
    """Raised if a block cannot be evaluated because of its header arguments, references or body."""


Reason = Literal["token", "script", "attempt", "redirect", "challenge"]
"""The reason for sending a request that is not in the document itself."""


@classes.frozen
class Exchange:
    """A request and its response, in raw and rendered form.

    `number` is the request's index in the run, counted from 1, and `started` is the Unix time at
    which it was sent. If there is no response, `error` is the reason, and `duration` is the time in
    seconds until the error. `tests` contains the verdicts of the request's assertions and of the
    tests in its scripts. In a dry run, `variables` contains the variables that the request uses.

    `earlier` contains, in order, the other exchanges that the request needed, each with its
    `reason`: requests for tokens, requests by scripts, earlier attempts, redirects and challenges.
    `sent` is the last exchange after all redirects and challenges.
    """

    request: Request
    response: Response | None = None
    render: Callable[..., Rendered] | None = classes.field(default=None, eq=False, repr=False)
    variables: tuple[Origin, ...] = ()
    tests: tuple[Verdict, ...] = ()
    number: int = 0
    started: float = 0.0
    error: TransportError | None = None
    earlier: tuple[Exchange, ...] = ()
    reason: Reason | None = None
    sent: Exchange | None = None
    duration: float | None = None

    @classmethod
    def of_hop(cls, hop: Hop, request: Request, **fields: Any) -> Exchange:
        """Return the exchange for a hop, with the given request and other fields."""
        fields = {"number": hop.number, "started": hop.started, "duration": hop.duration, **fields}
        return cls(request, hop.response, **fields)

    @classmethod
    def of_hops(
        cls,
        request: Request,
        hops: Sequence[Hop],
        response: Response | None = None,
        error: TransportError | None = None,
    ) -> Exchange:
        """Return the exchange for a request that was sent in several hops, such as redirects."""
        if not hops:
            return cls(request, error=error)
        exchanges = [cls.of_hop(hop, hop.request, error=hop.error) for hop in hops]
        return cls(
            request,
            response,
            number=exchanges[0].number,
            started=exchanges[0].started,
            error=error,
            earlier=tuple(classes.evolve(hop, reason=_led_on(hop)) for hop in exchanges[:-1]),
            sent=exchanges[-1],
            duration=None if response is not None else time.monotonic() - hops[0].began,
        )

    @property
    def took(self) -> float | None:
        """The time in seconds until the response or the error, or None if nothing was sent."""
        return self.duration if self.response is None else self.response.duration

    @cached_property
    def rendered(self) -> Rendered | None:
        """The rendered response, computed on first use because a test run seldom needs it."""
        return None if self.render is None else self.render()

    def unmasked(self) -> Rendered | None:
        """Return the rendered response without masking, for requests that refer to it."""
        if self.render is None or not self.request.secrets:
            return self.rendered
        return self.render(secrets=frozenset())

    @property
    def unexpected_status(self) -> int | None:
        """The status if it is 400 or above and no test checks it, otherwise None."""
        if self.response is None or any(test.about_status for test in self.tests):
            return None
        return self.response.status if self.response.status >= 400 else None

    @property
    def failed(self) -> bool:
        """Whether there is an error, a failed test or an unexpected status."""
        is_bad = self.reason is None and self.unexpected_status is not None
        return self.error is not None or is_bad or not all(test.held for test in self.tests)

    @property
    def attempts(self) -> int:
        """The number of attempts to send the request."""
        return sum(exchange.reason == "attempt" for exchange in self.earlier) + 1


def _led_on(hop: Exchange) -> Reason:
    if hop.response is None:  # sent again, since the server had closed a kept-alive connection
        return "attempt"
    return "challenge" if hop.response.status == HTTPStatus.UNAUTHORIZED else "redirect"


@classes.frozen
class Outcome:
    """The outcome of one block or request.

    `state` is ``done``, ``failed``, ``skipped`` or ``cached``. `reason` is the error if the block
    failed or was skipped. `exchanges` may end with requests for tokens and requests by scripts,
    each with its `reason`, that preceded a request which was then not sent. `tests` contains the
    verdicts on all `exchanges`. `broken` is the exchange that a failure interrupted. `needed`
    contains the outcomes of requests that were sent for this block or request and are not reported
    elsewhere. `title` is the method and URL as written, if known. `secrets` must be masked in all
    output.

    `change` is a pair (replaced text, new result), and `placing` is the place of the result. Both
    are None if nothing was inserted. `volatile` describes the parts that may differ between old and
    new results. `files` contains (path, content) pairs for saved responses and result files.

    `file` is the imported file with the request, or None for the document itself. `task` is the
    task that was carried out, if any. `step` is the step of the plan, if any. `began` is a Unix
    time, and `duration` is in seconds.
    """

    line: int
    name: str | None
    state: str
    exchanges: tuple[Exchange, ...] = ()
    reason: OrgrestError | None = None
    notes: tuple[str, ...] = ()
    files: tuple[tuple[Path, bytes], ...] = ()
    change: tuple[str, str] | None = None
    placing: Placing | None = None
    volatile: Volatile | None = None
    tests: tuple[Verdict, ...] = ()
    broken: Exchange | None = None
    file: str | None = None
    needed: tuple[Outcome, ...] = ()
    title: str = ""
    secrets: frozenset[str] = classes.field(default=frozenset(), repr=False)
    task: Task | None = classes.field(default=None, eq=False, repr=False)
    step: Step | None = classes.field(default=None, eq=False, repr=False)
    began: float = classes.field(factory=time.time, eq=False)
    duration: float = classes.field(default=0.0, eq=False)
    described: dict[str, Any] = classes.field(factory=dict, init=False, eq=False, repr=False)
    """The parts of the outcome's record that history and reports share, computed only once."""

    @property
    def own(self) -> list[Exchange]:
        """The exchanges of the requests themselves, without those for tokens or by scripts."""
        return [exchange for exchange in self.exchanges if exchange.reason is None]

    @property
    def verdict(self) -> Literal["passed", "failed", "error", "skipped"]:
        """The outcome as it appears in reports. ``failed`` means that an assertion failed.

        A test in a script can fail even if the script then cancels the request.
        """
        if self.state == "failed":
            return "error"
        own = self.own
        answered = any(exchange.response is not None for exchange in own)
        if own and not answered:
            return "skipped"  # a dry run, in which tests may fail for lack of responses
        if not all(test.held for test in self.tests):
            return "failed"
        return "passed" if answered else "skipped"

    @property
    def unexpected(self) -> list[int]:
        """The statuses of 400 and above that no test checks."""
        return [exchange.unexpected_status for exchange in self.own if exchange.unexpected_status]

    def fails(self, *, strictly: bool) -> bool:
        """Return whether this outcome counts as a failure.

        It does if the block or request could not be carried out. If `strictly` is true, a failed
        test or an unexpected status also counts.
        """
        if not strictly:
            return self.state == "failed"
        return self.verdict in ("error", "failed") or bool(self.unexpected)

    def with_test(self, verdict: Verdict) -> Outcome:
        """Return this outcome with an additional verdict on its last exchange."""
        exchanges = self.exchanges
        if exchanges:
            last = classes.evolve(exchanges[-1], tests=(*exchanges[-1].tests, verdict))
            exchanges = (*exchanges[:-1], last)
        return classes.evolve(self, exchanges=exchanges, tests=(*self.tests, verdict))


@classes.frozen(eq=False)
class Task:
    """A block, or a request in a request file, parsed and ready to be sent.

    `id` is unique in the run. `parsed` contains the task's requests. `block` is the block in the
    evaluated text, or None in a request file, and `written` is its text. `file` is the imported
    file with the request, or None for the document itself. `needed` contains requests that must be
    sent first, or errors for requests that cannot be sent.

    `imported` contains a pair for each imported file with scripts that run first: a request that
    only has these scripts and is not sent, and the file's context. If `turns` is true, the request
    has a loop or a condition, and the task represents all iterations. In an iteration of a loop,
    `prepared` is the `Job` that has run the scripts above the request line, if any.
    """

    id: StepId
    line: int
    name: str | None
    parsed: tuple[ParsedRequest, ...]
    context: Context
    arguments: Arguments = classes.field(factory=Arguments)
    block: Block | None = None
    written: str = ""
    file: str | None = None
    language: str = ""
    digest: str | None = None
    notes: tuple[str, ...] = ()
    needed: tuple[RequestNeededError | EvaluationError, ...] = ()
    imported: tuple[tuple[ParsedRequest, Context], ...] = ()
    turns: bool = False
    prepared: Any = None


def located(error: Exception, file: str, line: int) -> OrgrestError:
    """Return a step's error as an OrgrestError with a position.

    An error without a position gets the position `file` and `line`.
    """
    problem = explained(error)
    if problem.line is None:
        problem.file, problem.line = file, line
    return problem


def failed(line: int, name: str | None, error: Exception, file: str) -> Outcome:
    """Return the outcome of a block or request that failed with `error`."""
    return Outcome(line, name, "failed", reason=located(error, file, line))
