"""The tasks of blocks and requests, and their outcomes.

Data shared by the modules of this package, the command line and the editors.
"""

from __future__ import annotations

import time
from http import HTTPStatus
from typing import TYPE_CHECKING, Literal

import attrs

from orgrest.model import OrgrestError, TransportError, explained
from orgrest.org.arguments import Arguments
from orgrest.org.placing import closes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from orgrest.http.syntax import ParsedRequest
    from orgrest.http.transport.client import Hop
    from orgrest.http.values import Context, Origin
    from orgrest.http.values.context import RequestNeededError
    from orgrest.model import Request, Response, Verdict
    from orgrest.org.blocks import Block
    from orgrest.org.document import Document
    from orgrest.org.text import Edit
    from orgrest.rendering.results import Rendered
    from orgrest.run.comparison import Volatile
    from orgrest.run.plan import Step, StepId


class EvaluationError(OrgrestError):
    """A block that cannot be evaluated: its header arguments, references or body."""


Reason = Literal["token", "script", "attempt", "redirect", "challenge"]
"""Why something was sent in addition to the requests of a document."""


@attrs.frozen
class Exchange:
    """A request, and (unless nothing was sent) its response in raw and rendered form.

    In a dry run, `variables` are those that it uses. `tests` are the verdicts of its assertions and
    of the tests in its scripts. It is the `number`-th that the run sent, at `started` (Unix time);
    `error` is why there is no response. `earlier` has the other exchanges that were needed for it,
    in order, each with its `reason`: requests for tokens and by scripts, attempts before the final
    attempt, and the redirects and challenges that led to `sent`, the request that got the response.
    """

    request: Request
    response: Response | None = None
    rendered: Rendered | None = None
    variables: tuple[Origin, ...] = ()
    tests: tuple[Verdict, ...] = ()
    number: int = 0
    started: float = 0.0
    error: TransportError | None = None
    earlier: tuple[Exchange, ...] = ()
    reason: Reason | None = None
    sent: Exchange | None = None

    @classmethod
    def of_hops(
        cls,
        request: Request,
        hops: Sequence[Hop],
        response: Response | None = None,
        error: TransportError | None = None,
    ) -> Exchange:
        """Return the exchange of a request that was sent in these hops."""
        if not hops:
            return cls(request, error=error)
        every = [
            cls(one.request, one.response, number=one.number, started=one.started) for one in hops
        ]
        return cls(
            request,
            response,
            number=every[0].number,
            started=every[0].started,
            error=error,
            earlier=tuple(attrs.evolve(one, reason=_led_on(one)) for one in every[:-1]),
            sent=every[-1],
        )

    @property
    def unexpected_status(self) -> int | None:
        """The status if it is 400 or above, and none of the tests is about the status."""
        if self.response is None or any(test.about_status for test in self.tests):
            return None
        return self.response.status if self.response.status >= 400 else None

    @property
    def attempts(self) -> int:
        """The number of times that it was sent."""
        return sum(one.reason == "attempt" for one in self.earlier) + 1


def _led_on(hop: Exchange) -> Reason:
    if hop.response is None:  # sent again: the server had closed a kept-alive connection
        return "attempt"
    return "challenge" if hop.response.status == HTTPStatus.UNAUTHORIZED else "redirect"


@attrs.frozen(eq=False)
class Placing:
    """A record of where a result was placed, for an editor whose text may have changed since.

    `start` is the offset of its block in the evaluated text, `kind` and `name` are the block's.
    """

    start: int
    kind: str
    name: str | None
    _make: Callable[[Document, Block], Edit]

    def edit(self, document: Document, block: Block) -> Edit:
        """Return the edit that inserts the result below `block` of `document`.

        Raises EvaluationError if the result would close an element that is open above it.
        """
        edit = self._make(document, block)
        opened = closes(document, edit, block)
        if opened is not None:
            raise EvaluationError(
                f"line {opened} opens a block or drawer that the end of this result would close: "
                "give the result another form (:wrap, :results), or close the block or drawer"
            )
        return edit


@attrs.frozen
class Outcome:
    """The outcome of one block: `state` is ``done``, ``failed``, ``skipped`` or ``cached``.

    `reason` says why it failed or was skipped. `files` are the result's: (path, content). `change`
    is the pair of the replaced text and the result, and `placing` how the result was placed; both
    are None if nothing was placed. `volatile` is what may differ between the two texts. `tests` are
    those of all exchanges. `broken` is the exchange that a failure ended, if one had begun. `file`
    is the imported file that contains it, None for the document itself. `needed` are requests that
    were sent for it and are reported only here. `title` is its method and URL as written, if known.
    `secrets` must be masked in all output. `task` is the task that was to be sent for the `step` of
    the plan; each is None if there is no such task or step. It `began` at a Unix time, and took
    `duration` seconds.
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
    secrets: frozenset[str] = attrs.field(default=frozenset(), repr=False)
    task: Task | None = attrs.field(default=None, eq=False, repr=False)
    step: Step | None = attrs.field(default=None, eq=False, repr=False)
    began: float = attrs.field(factory=time.time, eq=False)
    duration: float = attrs.field(default=0.0, eq=False)

    @property
    def verdict(self) -> Literal["passed", "failed", "error", "skipped"]:
        """The outcome in the terms of reports; ``failed`` means that an assertion failed."""
        if self.state == "failed":
            return "error"
        if not any(one.response is not None for one in self.exchanges):
            return "skipped"  # as in a dry run
        return "passed" if all(test.held for test in self.tests) else "failed"

    @property
    def unexpected(self) -> list[int]:
        """The statuses of 400 and above in exchanges without a test about the status."""
        return [one.unexpected_status for one in self.exchanges if one.unexpected_status]

    def fails(self, *, strictly: bool) -> bool:
        """Return whether it is an error or, `strictly`, has a failed test or unexpected status."""
        if not strictly:
            return self.state == "failed"
        return self.verdict in ("error", "failed") or bool(self.unexpected)

    def with_test(self, verdict: Verdict) -> Outcome:
        """Return the outcome with one more verdict, about the last of the exchanges."""
        exchanges = self.exchanges
        if exchanges:
            last = attrs.evolve(exchanges[-1], tests=(*exchanges[-1].tests, verdict))
            exchanges = (*exchanges[:-1], last)
        return attrs.evolve(self, exchanges=exchanges, tests=(*self.tests, verdict))


@attrs.frozen(eq=False)
class Task:
    """A block, or a request of a request file, parsed and ready to be sent.

    `id` is unique. A `block` is that of the evaluated text. `file` is the imported file that
    contains it, None for the document itself. `needed` are requests to send before it, or the
    errors if they do not exist. With `turns`, it represents the turns of a loop or condition.
    """

    id: StepId
    line: int
    name: str | None
    parsed: tuple[ParsedRequest, ...]
    context: Context
    arguments: Arguments = attrs.field(factory=Arguments)
    block: Block | None = None
    file: str | None = None
    language: str = ""
    digest: str | None = None
    notes: tuple[str, ...] = ()
    needed: tuple[RequestNeededError | EvaluationError, ...] = ()
    turns: bool = False


def located(error: Exception, file: str, line: int) -> OrgrestError:
    """Return the error of a failed step with a position: its own, else this file and line."""
    found = explained(error)
    if found.line is None:
        found.file, found.line = file, line
    return found


def failed(line: int, name: str | None, error: Exception, file: str) -> Outcome:
    """Return the outcome of a block that failed."""
    return Outcome(line, name, "failed", reason=located(error, file, line))
