"""Evaluates a document: sends its requests, and produces the document with the results.

A `Run` does the steps of a document's plan: the request blocks, calls and inline blocks of an Org
text from top to bottom, or the requests of a request file. It yields an `Outcome` for each; its
`text` is the document with all results so far. A request file has no results to place.

Rules: an error in one block leaves its old result unchanged and does not stop the others. A block
that others refer to is sent once per run, when it is first needed. COMMENT trees, and blocks that
are results themselves, are not evaluated.

Only files that a request names are read. Files of results are written by the caller's `write`,
before the links to them are inserted; a result whose file cannot be written fails.
"""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from orgrest.http.values import Context
from orgrest.http.values.context import RequestNeededError, TokenNeededError
from orgrest.model import OrgrestError, explained
from orgrest.run import stages
from orgrest.run.job import Job, Work
from orgrest.run.outcomes import Outcome, Task, failed, located
from orgrest.run.results import RequestResults
from orgrest.run.services import Services

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from orgrest.http.transport.client import Client
    from orgrest.run.document import Document
    from orgrest.run.plan import Plan, Step, StepId
    from orgrest.run.settings import Settings


_Value = TypeVar("_Value")


class Run:
    """One run over one document: `results` are the outcomes so far."""

    def __init__(
        self,
        text: str,
        *,
        file: str,
        settings: Settings,
        services: Services | None = None,
        plain: bool = False,
    ) -> None:
        """Prepare the evaluation of `text`, of the file called `file` (for messages and links).

        Without `services`, nothing can be sent. `plain` tells that the text is a request file, not
        an Org document.
        """
        self._name = file
        self._settings = settings
        self._services = services = services or Services()
        self.document = _read(text, file, settings, services, plain=plain)
        self.context = Context(
            settings.inputs,
            self.document.names,
            services,
            placeholders=settings.dry_run and not settings.complete,
            computes=True,
        )
        self.results = RequestResults(self.context.answers)
        self._work = Work.of_run(settings, services, self.results, file)
        self._needed: list[Outcome] = []  # for the step being finished

    def resolved(self, compute: Callable[[], _Value]) -> _Value:
        """Compute what requests refer to; what that needs is sent before.

        Raises what `compute` raises, for instance since a request that it needs failed.
        """
        answers = self.context.answers
        unmet: dict[Hashable, OrgrestError] = {}
        while True:
            try:
                answers.unmet.update(unmet)
                return compute()
            except RequestNeededError as needed:
                unmet |= self._answer(needed.key)
            except TokenNeededError as needed:
                self._get_token(needed)
            finally:
                for key in unmet:
                    answers.unmet.pop(key, None)

    def _answer(self, key: Any) -> dict[Hashable, OrgrestError]:
        """Send a request that another one needs; return why it has no response, by its key."""
        try:
            self.document.need(key, self)
        except Exception as error:
            return {key: explained(error)}
        if key in self.context.answers.exchanges:
            return {}
        return {key: OrgrestError(f"the request {key} got no response", code="no-response")}

    def _get_token(self, needed: TokenNeededError) -> None:
        found: Any
        try:
            found = self._work.tokens.get(
                needed.grant, self._work.sending, needed.secrets, needed.url
            )
        except OrgrestError as error:
            found = error
        self.context.tokens[needed.grant, needed.url] = found

    # ------------------------------------------------------------------------ for who has it run

    @property
    def text(self) -> str:
        """The document with the results of the run so far."""
        return self.document.text

    @cached_property
    def plan(self) -> Plan:
        """What is evaluated. Raises EvaluationError if nothing has a chosen name or line."""
        return self.document.plan()

    @cached_property
    def _planned(self) -> set[StepId]:
        """The steps whose outcomes are not yet yielded."""
        return {step.id for step in self.plan if self._settings.choice.takes(step)}

    def outcomes(self) -> Iterator[Outcome]:
        """Do all steps of the plan, in order; yield an outcome for each request or block."""
        try:
            yield from self.problems()
            for step in self.plan:
                yield from self.evaluate(step)
        finally:
            self.close()

    @cached_property
    def _path(self) -> str:
        folder = self._settings.inputs.directory.resolve()
        return str(folder / os.path.basename(self._name))  # noqa: PTH119 - of "", too

    def problems(self) -> Iterator[Outcome]:
        """Return the failures that concern the whole document."""
        for error in self.plan.problems:
            yield self.told(Outcome(error.line or 1, None, "failed", reason=error))

    def evaluate(self, step: Step, client: Client | None = None) -> Iterator[Outcome]:
        """Do one of the plan's steps; a loop yields several outcomes.

        A `client` that is given is used from now on. Call `close` at the end.
        """
        self._work.client = client or self._work.client
        for outcome in self._outcomes(step):
            self._planned.discard(step.id)
            needed, self._needed = tuple(self._needed), []
            title = outcome.title or self.document.title(step)
            yield self.told(attrs.evolve(outcome, needed=needed, title=title))

    def _outcomes(self, step: Step) -> Iterator[Outcome]:
        """Do one of the plan's steps; whatever is raised is its failure."""
        try:
            for what in self.document.tasks(step, self):
                yield self._placed(what) if isinstance(what, Task) else what
        except Exception as error:
            yield failed(step.line, step.name, error, self._name)

    def told(self, outcome: Outcome) -> Outcome:
        """Return an outcome with all secrets known by now, and keep it in the history."""
        needed = tuple(map(self.told, outcome.needed))
        told = attrs.evolve(outcome, needed=needed, secrets=self.context.secrets.texts)
        if self._services.history is not None:
            self._services.history.keep(told, self._path)
        return told

    def was_sent(self, step: Step) -> bool:
        """Tell whether a step, or a turn of its loop, was already sent for another one.

        If not, it is reported as not sent: it may still be sent later for another step.
        """
        sent = self.results.has(step.id)
        if not sent:
            self._planned.discard(step.id)
        return sent

    def close(self) -> None:
        """End the engine of the scripts, if one was started."""
        self.context.close()

    def _placed(self, task: Task) -> Outcome:
        with self.results.needing(task.id):
            outcome = self._sent(task.id, lambda: task)
        if self._settings.dry_run or outcome.state == "failed":
            return outcome
        try:
            return self.document.place(task, outcome, self)
        except Exception as error:
            reason = located(error, self._name, task.line)
            return attrs.evolve(outcome, state="failed", reason=reason, files=())

    def prepare(self, task: Task) -> None:
        """Run the scripts of a request's file that run once. Raises OrgrestError.

        In a dry run, its request tells why one failed.
        """
        from orgrest.run.stages.scripts import prepare

        try:
            prepare(self._job(task))
        except OrgrestError:
            if not self.context.placeholders:
                raise

    def _job(self, task: Task) -> Job:
        return Job(self._work, task, [], self.resolved, task.context, task.parsed[0])

    def _done(self, what: Task | Outcome) -> Outcome:
        return stages.do(self._job(what)) if isinstance(what, Task) else what

    def _sent(self, step: StepId | None, read: Callable[[], Task | Outcome]) -> Outcome:
        """Return the outcome of a step, sending it unless it was sent before."""
        outcome = self.results.known(step)
        if outcome is None:
            outcome = self._done(read())
            self.results.keep(step, outcome)
        return outcome

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
        sent = self.results.known(step) is not None
        anew = apart or (again and sent)
        with self.results.needing(step):
            outcome = self._done(read()) if anew else self._sent(step, read)
        if anew or not (sent or (step is not None and step.request in self._planned)):
            self._needed.append(outcome)
        if outcome.state == "failed" and outcome.reason is not None:
            raise outcome.reason.with_traceback(None)
        return outcome


def _read(
    text: str,
    file: str,
    settings: Settings,
    services: Services,
    *,
    plain: bool,
) -> Document:
    """Read a document of either kind; a further one would be a further file and line here."""
    if plain:
        from orgrest.run.documents.request_file import RequestFile

        return RequestFile(text, file=file, settings=settings, services=services)
    from orgrest.run.documents.org_file import OrgFile

    return OrgFile(text, file=file, settings=settings, services=services)
