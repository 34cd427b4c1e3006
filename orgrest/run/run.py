"""Evaluates a document: sends its requests, and inserts the results.

A `Run` carries out the steps of a document's plan: the blocks of an Org document from top to
bottom, or the requests of a request file. It yields an `Outcome` for each step. Its `document` has
the text with all results so far. Request files do not contain results.

If a step needs a token or the response to another request, it yields a `NeededError`. The run
obtains the token or the response as a separate step before it continues. A block that other blocks
refer to is sent once per run, when it is first needed.

If a block fails, its old result is kept, and the other blocks are still evaluated.

Only files that a request names are read. `Services.write` saves a response as soon as it arrives,
and writes result files before the links to them are inserted. If a file cannot be written, the step
fails.
"""

from __future__ import annotations

import os
import time
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

from orgrest import classes
from orgrest.http.sandbox import children
from orgrest.http.values import Context
from orgrest.http.values.context import NeededError, RequestNeededError, TokenNeededError
from orgrest.model import OrgrestError, explained
from orgrest.run import stages
from orgrest.run.job import Job, Logged, Work
from orgrest.run.outcomes import EvaluationError, Outcome, Task, failed, located
from orgrest.run.results import Mentions, RequestResults, resolved
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
    """The run of one document.

    `results` contains the outcomes so far. `step` is the last step that was started, or None.
    """

    def __init__(
        self,
        text: str,
        *,
        file: str,
        settings: Settings,
        services: Services | None = None,
        plain: bool = False,
    ) -> None:
        """Prepare to evaluate `text`, the content of the file called `file`.

        `file` is used in messages and links. If `services` is None, nothing can be sent. If `plain`
        is true, `text` is a request file, otherwise an Org document.
        """
        self.place: tuple[str, int] | None = None
        """The file and line of the step or request in progress, if any."""
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
        client, cookies = services.client, services.cookies
        if cookies is None and client is not None:
            from orgrest.http.transport.cookies import Cookies

            cookies = Cookies()
        self._work = Work(settings, services, client, cookies, self.results, file)
        self.sending: list[Job] = []
        """The requests in progress. Each waits for the next."""
        self._due: list[Outcome] = []  # to report with the step in progress
        self._awaited: dict[StepId, dict[StepId, Outcome]] = {}  # to report with their own steps
        self._ended: set[StepId] = set()  # the steps that have yielded all their outcomes
        self.document: OrgFile | RequestFile
        if plain:
            from orgrest.run.documents.request_file import RequestFile

            self.document = RequestFile(text, file, settings, services, self.context)
        else:
            from orgrest.run.documents.org_file import OrgFile

            self.document = OrgFile(text, file, settings, services, self.context, self.results)

    # ------------------------------------------------------------------------------- for callers

    @cached_property
    def plan(self) -> Plan:
        """The steps to carry out.

        Raises EvaluationError if the settings specify a name or line that does not exist.
        """
        return self.document.plan()

    def outcomes(self, control: Control | None = None) -> Generator[Outcome, None, None]:
        """Carry out all steps in order, and yield an outcome for each request or block.

        If `control` is given, this is a test run: only the chosen steps are carried out, between
        the setup and the teardown. Steps that are not reached get the outcome `skipped`. Once a
        step has started, the teardown follows, unless the generator is closed.
        """
        steps, teardown, why, any_started = list(self.plan.steps), [], "", False
        latest: Outcome | None = None
        if control is not None:
            tested = self.plan.tested(self._settings.choice)
            steps = [step for step in tested if step.part != "teardown"]
            teardown = [step for step in tested if step.part == "teardown"]
        try:
            yield from self.problems(tests=control is not None)
            for step in steps:
                why = (control.why if control else "") or why
                if why:
                    yield from self._skipped(step, why, control)
                    continue
                any_started = True
                for outcome in self.carry_out(step, control=control):
                    yield outcome
                    if latest is not None:  # the last outcome need not be freed
                        self._release(latest)
                    latest = outcome
                    reported = (*outcome.needed, outcome)
                    if (
                        control is not None
                        and step.part == "setup"
                        and any(result.fails(strictly=True) for result in reported)
                    ):
                        why = "the setup failed"
        except GeneratorExit:
            teardown = []
            raise
        finally:
            for step in teardown:
                if control is not None and any_started:
                    with children.allowed():
                        yield from self.carry_out(step, control.teardown_client())
                elif control is not None:
                    yield from self._skipped(step, control.why or "nothing was sent", control)
            self.context.close()

    def problems(self, *, tests: bool = False) -> Iterator[Outcome]:
        """Yield an outcome for each failure that concerns the whole document.

        If `tests` is true, the plan's suspects count as failures, too.
        """
        for error in (*self.plan.problems, *(self.plan.suspects if tests else ())):
            yield self.completed(Outcome(error.line or 1, None, "failed", reason=error))

    def carry_out(
        self, step: Step, client: Client | None = None, control: Control | None = None
    ) -> Iterator[Outcome]:
        """Carry out one step of the plan, and yield its outcome, or several for a loop.

        If `client` is given, it is used from now on. If `control` ends the run, the rest of a loop
        or `run` line gets the outcome `skipped`. Close the context after the last step.
        """
        self._work.client = client or self._work.client
        self.place = self._name, step.line
        began, start = time.time(), time.monotonic()
        for outcome in self._outcomes(step, control):
            log, self._work.pending = self._work.pending, Logged()
            own = None if outcome.task is None else self.results.known(outcome.task.id)
            needed = tuple(other for other in self._due if other is not own)
            # Without responses, tests say nothing.
            is_blind = self._settings.dry_run and not outcome.own
            complete = self.completed(
                outcome,
                needed,
                title=outcome.title or self.document.title(step),
                notes=(*outcome.notes, *log.notes),
                tests=() if is_blind else (*outcome.tests, *log.tests),
                step=step,
                began=began,
                duration=time.monotonic() - start,
            )
            self._due = [complete]
            if outcome.task is not None:
                self._awaited.get(step.id, {}).pop(outcome.task.id, None)
            yield complete
            self.reported(complete)
            began, start = time.time(), time.monotonic()
        self._ended.add(step.id)
        self._awaited.pop(step.id, None)

    def reported(self, outcome: Outcome) -> None:
        """Take note that the outcome that was yielded last has been reported.

        This is assumed when the run continues, so a caller needs to say so only if it may stop.
        """
        self._due = [other for other in self._due if other is not outcome]

    def unreported(self, *, insert: bool = False) -> Iterator[Outcome]:
        """Yield the outcomes of requests that were sent, but not reported before the run ended.

        If `insert` is true, the results of steps that were not reached are inserted.
        """
        for outcome in tuple(self._due):
            yield outcome if outcome.step is not None else self.completed(outcome)
        for step in self.plan.steps:
            for outcome in self._left(step):
                done = outcome
                if insert and outcome.task is not None:
                    done = self._placed(classes.evolve(outcome.task, block=step.source), outcome)
                title = outcome.title or self.document.title(step)
                yield self.completed(done, title=title, step=step)

    def _outcomes(self, step: Step, control: Control | None) -> Iterator[Outcome]:
        """Carry out one step of the plan. An exception becomes a failed outcome."""
        try:
            tasks = self._tasks(step.id, partial(self.document.tasks, step), control)
            for number, task_or_outcome in enumerate(tasks):
                if isinstance(task_or_outcome, Task):
                    step_id = task_or_outcome.id
                    why = number and control is not None and control.why
                    if why and self.results.known(step_id) is None:
                        what = "`run` line" if step_id.runs else "loop"
                        reason = OrgrestError(f"the rest of this {what} was not sent: {why}")
                        yield Outcome(step.line, step.name, "skipped", reason=reason)
                        break
                    yield self._placed(task_or_outcome, self.send(task_or_outcome))
                elif task_or_outcome.state == "failed" or not self._left(step):
                    yield task_or_outcome
        except Exception as error:
            yield failed(step.line, step.name, error, self._name)
        yield from self._left(step)  # it is now disabled, or its loop has fewer iterations

    def _left(self, step: Step) -> list[Outcome]:
        """Return the outcomes that a step still has to report."""
        return list(self._awaited.get(step.id, {}).values())

    def completed(
        self, outcome: Outcome, needed: tuple[Outcome, ...] = (), **changes: Any
    ) -> Outcome:
        """Return an outcome with all secrets known so far, after storing it in the history.

        Secrets in its reason are masked, even if truncated. `needed` contains the outcomes of the
        requests that had to be sent first. `changes` contains new values for the outcome's other
        fields.
        """
        secrets = self.context.secrets.texts
        if outcome.reason is not None and secrets:
            from orgrest.rendering.masking import mask_message

            outcome.reason.reason = mask_message(outcome.reason.reason, secrets)
        needed = tuple(map(self.completed, needed or outcome.needed))
        complete = classes.evolve(outcome, needed=needed, secrets=secrets, **changes)
        if self._services.history is not None:
            self._services.history.keep(complete, self._path)
        return complete

    @cached_property
    def _path(self) -> str:
        name = os.path.basename(self._name)  # noqa: PTH119 - of "", too
        return str(self._settings.inputs.directory.resolve() / name)

    def _skipped(self, step: Step, why: str, control: Control | None) -> Iterator[Outcome]:
        """Yield a skipped outcome, or the actual outcome if another step has needed this step."""
        if self.results.has(step.id):
            yield from self.carry_out(step, control=control)
        else:
            self._ended.add(step.id)  # it may still be sent later for another step
            title, reason = self.document.title(step), OrgrestError(why)
            yield Outcome(step.line, step.name, "skipped", reason=reason, title=title, step=step)

    # ---------------------------------------------------------------------------------- internals

    def _tasks(
        self,
        step: StepId,
        find: Callable[[], Iterable[Task | Outcome]],
        control: Control | None = None,
        *,
        again: bool = False,
    ) -> Iterator[Task | Outcome]:
        """Yield the tasks that `find` returns, after sending the requests on which they depend.

        `find` is called again after each NeededError that it raises. After the first task, nothing
        is sent for the others if `control` has ended the run. If `again` is true, the tasks are
        sent even if they were sent before.
        """
        with self.results.needing(step):
            tasks_found = self._done(resolved(self.context, find))
        for number, task_or_outcome in enumerate(tasks_found):
            has_ended = number and control is not None and control.why
            if isinstance(task_or_outcome, Task) and task_or_outcome.turns and not has_ended:
                from orgrest.run.stages.turns import tasks

                job = Job(self._work, classes.evolve(task_or_outcome, turns=False))
                turns = tasks(job, again=again)
                while True:
                    self.sending.append(job)  # its scripts may send requests, too
                    try:
                        with self.results.needing(step):
                            turn: Task | Outcome = self._next(turns)
                    except StopIteration:
                        break
                    finally:
                        self.sending.pop()
                    yield turn
            else:
                yield task_or_outcome

    def _next(self, work: Generator[Any, OrgrestError | None, Any]) -> Any:
        """Return a generator's next value, after sending the requests that the generator needs."""
        value = work.send(None)
        while isinstance(value, NeededError):
            value = work.send(self._provide(value))
        return value

    def _done(self, work: Needing[_Value]) -> _Value:
        """Return a generator's result, after sending the requests that the generator needs."""
        try:
            self._next(work)
        except StopIteration as end:
            value: _Value = end.value
            return value
        raise AssertionError  # such a generator yields only NeededErrors

    def _provide(self, needed: NeededError) -> OrgrestError | None:
        """Send a needed request, or get a needed token. Returns the error, or None on success."""
        try:
            if isinstance(needed, TokenNeededError):
                self._get_token(needed)
            elif isinstance(needed, RequestNeededError):
                self._send_needed(needed)
        except Exception as error:
            return explained(error)
        return None

    def _get_token(self, needed: TokenNeededError) -> None:
        tokens, key = self.context.tokens, (needed.grant, needed.url)
        try:
            tokens[key] = self._work.get_token(needed)
        except OrgrestError as error:
            tokens[key] = error

    def _send_needed(self, needed: RequestNeededError) -> None:
        """Send all iterations of a needed request, then raise the first error, if any.

        Iterations that were already sent are skipped, unless `needed.again` is true. A disabled
        iteration is an error.
        """
        failures: list[Exception] = []
        find = partial(self.document.needed, needed)
        for task_or_outcome in self._tasks(needed.key, find, again=needed.again):
            try:
                outcome = task_or_outcome
                if isinstance(outcome, Task):
                    outcome = self.send(outcome, again=needed.again)
                elif outcome.exchanges or outcome.broken or outcome.tests:
                    self._due.append(outcome)  # its own step would send these again
                elif outcome.state == "failed" and needed.key.request not in self._ended:
                    if needed.key.request not in self._chosen:  # no step will report it
                        self._due.append(outcome)
                elif outcome.reason is not None and outcome.reason.code == "disabled":
                    why = outcome.reason.reason
                    why = f" ({why})" if why.startswith(":eval") else ""
                    reason = f"not sent: depends on {needed.key}, which is disabled{why}"
                    raise EvaluationError(reason)
                if outcome.state == "failed" and outcome.reason is not None:
                    raise outcome.reason.with_traceback(None)
            except Exception as error:
                failures.append(error)
        if failures:
            raise failures[0]

    def send(self, task: Task, *, again: bool = False) -> Outcome:
        """Send the request of a task, and return its outcome.

        If the request was sent before, returns the earlier outcome, unless `again` is true.
        """
        with self.results.needing(task.id):
            outcome = self.results.known(task.id)
            if outcome is not None and not again:
                return outcome
            before, self.place = self.place, (task.file or self._name, task.line)
            job = Job(self._work, task)
            self.sending.append(job)
            sent = self._done(stages.do(job))
            self.place = before  # an interrupt leaves the request that it stopped
            if outcome is None:
                self.results.keep(task.id, sent)
            self._keep_unreported(task.id, sent, again=outcome is not None)
            self.sending.pop()
        self.results.latest[task.id] = sent
        return sent

    def _keep_unreported(self, step: StepId, outcome: Outcome, *, again: bool) -> None:
        """Keep the outcome of a request that was sent until it is reported.

        Its own step will report it, unless the request was sent again, for a call with arguments or
        by a `run` line. If no step will report it, it is reported with the step in progress.
        """
        own = step.request
        extra = again or step.runs or step.call
        if extra or own in self._ended or own not in self._chosen:
            self._due.append(outcome)
        else:
            self._awaited.setdefault(own, {})[step] = outcome

    def _release(self, outcome: Outcome) -> None:
        """Free the response of a request that has been reported if nothing can refer to it."""
        task = outcome.task
        if task is not None and not any(map(self._mentions.include, {task.name, task.id.name})):
            self.results.release(task.id, outcome)

    @cached_property
    def _mentions(self) -> Mentions:
        every = self.context.environment.every
        settings = [setting for settings in every.by_name.values() for setting in settings.values()]
        values = [setting.value for setting in settings if isinstance(setting.value, str)]
        return Mentions(self.document.texts(), (*values, *every.headers.values()))

    @cached_property
    def _chosen(self) -> set[StepId]:
        choice = self._settings.choice
        return {step.id for step in self.plan.steps if choice.takes(step)}

    def _placed(self, task: Task, outcome: Outcome) -> Outcome:
        if outcome.task is not task:
            outcome = classes.evolve(outcome, task=task)
        if self._settings.dry_run or outcome.state in ("failed", "skipped"):
            return outcome
        try:
            return self._done(resolved(self.context, lambda: self.document.place(task, outcome)))
        except Exception as error:
            reason = located(error, self._name, task.line)
            return classes.evolve(outcome, state="failed", reason=reason)
