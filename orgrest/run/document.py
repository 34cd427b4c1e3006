"""What a run and a kind of document know of each other: `Document`, and the run as it sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from orgrest.http.syntax import ParsedRequest
    from orgrest.http.values import Scope
    from orgrest.run.identity import StepId
    from orgrest.run.items import Item
    from orgrest.run.outcomes import Outcome, Task
    from orgrest.run.results import RequestResults


class Running(Protocol):
    """A run, for the documents in it."""

    @property
    def scope(self) -> Scope:
        """What the variables of the document's requests stand for."""

    @property
    def results(self) -> RequestResults:
        """What came of its requests so far."""

    def send(
        self,
        key: StepId | None,
        read: Callable[[], Task | Outcome],
        *,
        again: bool = False,
        apart: bool = False,
    ) -> Outcome:
        """Give what came of a step that is needed now: it is read and sent, unless it was.

        What was sent is sent `again` where that is asked for. What is sent `apart` is another
        request than the one that the step has. Raises what it failed with.
        """


class Document(Protocol):
    """A document of a kind: what it has to be done, and what comes of it."""

    @property
    def text(self) -> str:
        """The document with the results of the run so far."""

    @property
    def notices(self) -> tuple[str, ...]:
        """What the user should know about the choice that `plan` made."""

    @property
    def items(self) -> list[Item]:
        """What `plan` chose, in order."""

    def plan(self) -> int:
        """Choose what is evaluated, and tell how much that is. Raises EvaluationError."""

    def problems(self) -> Iterator[Outcome]:
        """Give the failures that concern the whole document, after `plan`."""

    def tasks(self, item: Item, run: Running) -> Iterator[Task | Outcome]:
        """Read what an item stands for; an outcome is of what is not to be sent."""

    def place(self, task: Task, outcome: Outcome, run: Running) -> Outcome:
        """Keep what came of a task where it belongs. Raises one of FAILURES."""

    def imported_value(self, name: str) -> str | None:
        """Return what another file, which this one imports, gives for a variable, or None."""

    def requests_named(self, name: str, using: ParsedRequest) -> Iterator[StepId]:
        """Yield what a name may mean in a request: itself once it was answered, and another."""

    def need(self, key: StepId, run: Running) -> None:
        """Send the request of a key, unless it was sent. Raises one of FAILURES."""
