"""The interfaces between a run and the kinds of documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from orgrest.http.values import Context, RequestNames
    from orgrest.run.outcomes import Outcome, Resolved, Task
    from orgrest.run.plan import Plan, Step, StepId
    from orgrest.run.results import RequestResults


class Running(Protocol):
    """A run as its documents see it."""

    @property
    def context(self) -> Context:
        """The context of the document's requests."""

    @property
    def results(self) -> RequestResults:
        """The outcomes of its requests so far."""

    @property
    def resolved(self) -> Resolved:
        """Computes what requests refer to; what that needs is sent before."""

    def prepare(self, task: Task) -> None:
        """Run the scripts of a request's file that run once. Raises OrgrestError."""

    def send(
        self,
        step: StepId | None,
        read: Callable[[], Task | Outcome],
        *,
        again: bool = False,
        apart: bool = False,
    ) -> Outcome:
        """Return the outcome of a step that is needed now, sending it unless it was sent before.

        With `again`, it is sent once more in any case. With `apart`, it is a request of its own,
        distinct from the step's. Raises the error with which it failed.
        """


class Document(Protocol):
    """A document of any kind: its plan, and its results."""

    @property
    def text(self) -> str:
        """The document with the results of the run so far."""

    @property
    def names(self) -> RequestNames:
        """What the names in its requests refer to."""

    def plan(self) -> Plan:
        """Choose what is evaluated. Raises EvaluationError."""

    def title(self, step: Step) -> str:
        """Return the method and URL of a step as they are written, "" if it has none."""

    def tasks(self, step: Step, run: Running) -> Iterator[Task | Outcome]:
        """Yield the tasks of a step; an outcome stands for one that is not sent."""

    def place(self, task: Task, outcome: Outcome, run: Running) -> Outcome:
        """Store the result of a task. Raises OrgrestError."""

    def need(self, request: StepId, run: Running) -> None:
        """Send a request, unless it was sent. Raises OrgrestError."""
