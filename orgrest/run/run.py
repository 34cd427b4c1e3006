"""Evaluates a document: sends its requests, and produces the document with the results.

A `Run` carries out the steps of a document's plan: the request blocks, calls and inline blocks of
an Org text from top to bottom, or the requests of a request file. It yields an `Outcome` for each;
its `text` is the document with all results so far. A request file has no results to place.

A step in progress yields what it needs (`NeededError`): the response of another request, which is
then sent first, as a separate step, or a token. So only this loop sends.

Rules: an error in one block leaves its old result unchanged and does not stop the others. A block
that others refer to is sent once per run, when it is first needed. COMMENT trees, and blocks that
are results themselves, are not evaluated.

Only files that a request names are read. Files of results are written by the caller's `write`,
before the links to them are inserted; a result whose file cannot be written fails.
"""

from __future__ import annotations

import os
import time
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import attrs

from orgrest.http.sandbox import children
from orgrest.http.values import Context
from orgrest.http.values.context import NeededError, RequestNeededError, TokenNeededError
from orgrest.model import OrgrestError, explained
from orgrest.run import stages
from orgrest.run.job import Job, Work
from orgrest.run.outcomes import EvaluationError, Outcome, Task, failed, located
from orgrest.run.plan import Part
from orgrest.run.results import RequestResults, resolved
from orgrest.run.services import Services

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from orgrest.http.transport.client import Client
    from orgrest.run.control import Control
    from orgrest.run.documents.org_file import OrgFile
    from orgrest.run.documents.request_file import RequestFile
    from orgrest.run.plan import Plan, Step, StepId
    from orgrest.run.results import Needing
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

        Without `services`, nothing can be sent. `plain`: whether the text is a request file, not an
        Org document.
        """
        self._name = file
        self._settings = settings
        self._services = services = services or Services()
        self.context = Context(
            settings.inputs,
            helpers=services,
            placeholders=settings.dry_run and not settings.complete,
            computes=True,
        )
        self.results = RequestResults(self.context.answers)
        self._work = Work.of_run(settings, services, self.results, file)
        self._needed: list[Outcome] = []  # for the step being finished
        self._reported: set[StepId] = set()  # the steps whose outcomes were yielded
        self.document: OrgFile | RequestFile
        if plain:
            from orgrest.run.documents.request_file import RequestFile

            self.document = RequestFile(text, file, settings, services, self.context)
        else:
            from orgrest.run.documents.org_file import OrgFile

            self.document = OrgFile(text, file, settings, services, self.context, self.results)

    # ------------------------------------------------------------------------------- for callers

    @property
    def text(self) -> str:
        """The document with the results of the run so far."""
        return self.document.text

    @cached_property
    def plan(self) -> Plan:
        """The steps to evaluate. Raises EvaluationError if nothing has a chosen name or line."""
        return self.document.plan()

    def outcomes(self, control: Control | None = None) -> Generator[Outcome, None, None]:
        """Carry out all steps of the plan, in order; yield an outcome for each request or block.

        In a run of tests, which has a `control`, only the chosen steps are carried out, between the
        setup and the teardown. Once the setup has begun, the teardown always follows. All other
        steps have the outcome `skipped`.
        """
        steps, teardown, why, begun = list(self.plan.steps), [], "", False
        if control is not None:
            parts = {part: self.plan.of(part, self._settings.choice) for part in get_args(Part)}
            steps, teardown = [*parts["setup"], *parts["request"]], parts["teardown"]
            if not parts["request"]:
                steps, teardown = [], []  # setup and teardown alone are not sent
        try:
            yield from self.problems(tests=control is not None)
            for step in steps:
                why = (control.why if control else "") or why
                if why:
                    yield from self._skipped(step, why)
                    continue
                begun = True
                for outcome in self.evaluate(step):
                    yield outcome
                    if control is not None:
                        every = (*outcome.needed, outcome)
                        if step.part == "setup" and any(one.fails(strictly=True) for one in every):
                            why = "the setup failed"
                        if control.why:  # for the rest of its loop, or of the files that it runs
                            break
        except GeneratorExit:
            teardown = []
            raise
        finally:
            for step in teardown:
                if control is not None and begun:
                    with children.allowed():
                        yield from self.evaluate(step, control.teardown_client())
                elif control is not None:
                    yield from self._skipped(step, control.why or "nothing was sent")
            self.close()

    def problems(self, *, tests: bool = False) -> Iterator[Outcome]:
        """Yield the failures of the whole document; in a run of `tests`, its suspects, too."""
        for error in (*self.plan.problems, *(self.plan.suspects if tests else ())):
            yield self.told(Outcome(error.line or 1, None, "failed", reason=error))

    def evaluate(self, step: Step, client: Client | None = None) -> Iterator[Outcome]:
        """Carry out one of the plan's steps; a loop yields several outcomes.

        A given `client` is used from now on. Call `close` after the last step.
        """
        self._work.client = client or self._work.client
        began, start = time.time(), time.monotonic()
        for outcome in self._outcomes(step):
            self._reported.add(step.id)
            needed, self._needed = tuple(self._needed), []
            yield self.told(
                attrs.evolve(
                    outcome,
                    needed=needed,
                    title=outcome.title or self.document.title(step),
                    step=step,
                    began=began,
                    duration=time.monotonic() - start,
                )
            )
            began, start = time.time(), time.monotonic()

    def _outcomes(self, step: Step) -> Iterator[Outcome]:
        """Carry out one of the plan's steps; any exception becomes its failure."""
        try:
            for what in self._tasks(step.id, partial(self.document.tasks, step)):
                yield self._placed(what) if isinstance(what, Task) else what
        except Exception as error:
            yield failed(step.line, step.name, error, self._name)

    def told(self, outcome: Outcome) -> Outcome:
        """Return an outcome with all secrets known by now, and keep it in the history."""
        needed = tuple(map(self.told, outcome.needed))
        told = attrs.evolve(outcome, needed=needed, secrets=self.context.secrets.texts)
        if self._services.history is not None:
            folder = self._settings.inputs.directory.resolve()
            name = os.path.basename(self._name)  # noqa: PTH119 - of "", too
            self._services.history.keep(told, str(folder / name))
        return told

    def _skipped(self, step: Step, why: str) -> Iterator[Outcome]:
        """Yield a step as skipped, or its outcomes if it was sent for another step."""
        if self.results.has(step.id):
            yield from self.evaluate(step)
        else:
            self._reported.add(step.id)  # it may still be sent later for another step
            title, reason = self.document.title(step), OrgrestError(why)
            yield Outcome(step.line, step.name, "skipped", reason=reason, title=title, step=step)

    def close(self) -> None:
        """End the engine of the scripts, if one was started."""
        self.context.close()

    # ---------------------------------------------------------------------------------- internals

    def _tasks(
        self, step: StepId, find: Callable[[], Iterable[Task | Outcome]]
    ) -> Iterator[Task | Outcome]:
        """Yield the tasks of a step, after meeting the needs of finding them."""
        with self.results.needing(step):
            found = self._done(resolved(self.context, find))
        for what in found:
            if isinstance(what, Task) and what.turns:
                from orgrest.run.stages.turns import tasks

                turns = tasks(Job(self._work, attrs.evolve(what, turns=False)))
                while True:
                    try:
                        with self.results.needing(step):
                            turn: Task | Outcome = self._next(turns)
                    except StopIteration:
                        break
                    yield turn
            else:
                yield what

    def _next(self, work: Generator[Any, OrgrestError | None, Any]) -> Any:
        """Return the next value of some work, after meeting its needs. Raises StopIteration."""
        found = work.send(None)
        while isinstance(found, NeededError):
            found = work.send(self._failure(found))
        return found

    def _done(self, work: Needing[_Value]) -> _Value:
        """Return the result of some work, after meeting its needs."""
        try:
            self._next(work)
        except StopIteration as end:
            value: _Value = end.value
            return value
        raise AssertionError  # it yields nothing else

    def _failure(self, needed: NeededError) -> OrgrestError | None:
        """Send the needed request, or get the token; return the error if that failed."""
        try:
            if isinstance(needed, TokenNeededError):
                self._get_token(needed)
            elif isinstance(needed, RequestNeededError):
                self._send_needed(needed)
        except Exception as error:
            return explained(error)
        return None

    def _get_token(self, needed: TokenNeededError) -> None:
        tokens, asked = self.context.tokens, (needed.grant, needed.url)
        try:
            tokens[asked] = self._work.get_token(needed)
        except OrgrestError as error:
            tokens[asked] = error

    def _send_needed(self, needed: RequestNeededError) -> None:
        """Send a request, in all its turns, unless it was sent before. Raises its first failure."""
        failures: list[Exception] = []
        for what in self._tasks(needed.key, partial(self.document.needed, needed)):
            try:
                outcome = what
                if isinstance(outcome, Task):
                    outcome = self.send(outcome, again=needed.again, needed=True)
                elif outcome.state == "failed":
                    self._add_needed(needed.key, outcome)
                elif outcome.reason is not None and outcome.reason.code == "disabled":
                    raise EvaluationError(f"not sent: depends on {needed.key}, which is disabled")
                if outcome.state == "failed" and outcome.reason is not None:
                    raise outcome.reason.with_traceback(None)
            except Exception as error:
                failures.append(error)
        if failures:
            raise failures[0]

    def send(self, task: Task, *, again: bool = False, needed: bool = False) -> Outcome:
        """Return the outcome of a task; send it if it was not sent yet, or if `again` is true."""
        with self.results.needing(task.id):
            outcome = self.results.known(task.id)
            if outcome is not None and not again:
                return outcome
            sent = self._done(stages.do(Job(self._work, task)))
        if outcome is None:
            self.results.keep(task.id, sent)
        if needed:
            self._add_needed(None if outcome is not None else task.id, sent)
        return sent

    def _add_needed(self, step: StepId | None, outcome: Outcome) -> None:
        """Report an outcome with the step that needs it, unless its own step will report it."""
        own = None
        if step is not None and step == step.request and step not in self._reported:
            own = next((one for one in self.plan.steps if one.id == step), None)
        if own is None or not self._settings.choice.takes(own):
            self._needed.append(outcome)

    def _placed(self, task: Task) -> Outcome:
        outcome = attrs.evolve(self.send(task), task=task)
        if self._settings.dry_run or outcome.state == "failed":
            return outcome
        try:
            return self._done(resolved(self.context, lambda: self.document.place(task, outcome)))
        except Exception as error:
            reason = located(error, self._name, task.line)
            return attrs.evolve(outcome, state="failed", reason=reason, files=())
