"""One run over a file of requests: each becomes a task, and there is no document to change.

A request that others refer to (`{{login.response...}}`, `# @ref login`) is sent once, whoever needs
it first. Other files are imported for their requests and variables; what they `run` is sent where
that line stands.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, TypeGuard

import attrs

from orgrest.http.parsing.dialects import read
from orgrest.http.syntax import Import, ParsedRequest
from orgrest.http.values import Context, Values
from orgrest.model import OrgrestError, Source, Text, possible, secrets_in
from orgrest.run.documents.imports import Imports
from orgrest.run.documents.selection import check_names
from orgrest.run.outcomes import EvaluationError, Outcome, Task, failed
from orgrest.run.plan import Plan, Step, StepId, split_tags
from orgrest.run.stages.elements import MOST_TURNS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from orgrest.http.syntax import Directive, Document
    from orgrest.run.document import Running
    from orgrest.run.documents.imports import File
    from orgrest.run.services import Services
    from orgrest.run.settings import Settings

_TURNS = re.compile(r"for\s+(\d+)")
_WHILE = re.compile(r"while\s+(?P<code>.+)")
_EACH = re.compile(r"for\s+(?P<name>\w+)\s+of\s+(?P<list>.+)")


class RequestFile:
    """A request file for `Run`."""

    def __init__(
        self,
        text: str,
        *,
        file: str,
        settings: Settings,
        services: Services,
    ) -> None:
        """Take the requests in `text`, of the file called `file`; the rest is the run's."""
        self.text = text
        self._file = file
        self._settings = settings
        self._write = services.write or (lambda _path, _content: None)
        self._source = Source(text, file=file)
        self.names = Imports(read(self._source), file, Context(settings.inputs, helpers=services))

    def plan(self) -> Plan:
        """Choose what is sent. Raises EvaluationError."""
        plan = plan_of(self.names, self._settings, self._file)
        notices = Context(self._settings.inputs).environment.every.notices
        return attrs.evolve(plan, notices=(*notices, *plan.notices))

    def title(self, step: Step) -> str:
        """Return the method and URL of a request as they are written, or a `run` line."""
        one = step.source
        if isinstance(one, ParsedRequest):
            return one.title
        return self.text[one.span.start : one.span.end].strip()

    def tasks(self, step: Step, run: Running) -> Iterator[Task | Outcome]:
        """Return the requests of a step, one after the other."""
        if isinstance(step.source, ParsedRequest):
            yield from self._of_request(step.source, run)
        else:
            yield from self._run(step.source, run, self._source, {}, (self.names.main,), ())

    def place(self, _task: Task, outcome: Outcome, _run: Running) -> Outcome:
        """Save responses if requested; request files do not contain results."""
        for path, content in outcome.files:
            self._write(path, content)
        return outcome

    def _of_request(
        self,
        parsed: ParsedRequest,
        run: Running,
        given: Mapping[str, str] | None = None,
        runs: tuple[tuple[str, int], ...] = (),
    ) -> Iterator[Task | Outcome]:
        """Return a request as a task, or several in a loop; a skipped outcome if it is disabled.

        `given` are the values of the `run` lines that lead to it, which are at `runs`.
        """
        line = parsed.source.position(parsed.span.start).line
        file = parsed.source.file or self._file
        disabled = parsed.directive("disabled")
        step = attrs.evolve(self.names.id_of(parsed), runs=runs)
        try:
            task = self._task(parsed, line, step, run, given)
            if disabled is not None:
                condition, around = disabled, task.context
                if condition.value.text:
                    run.prepare(task)  # its variables may be a script's
                if run.resolved(lambda: _is_true(condition, parsed, around)):
                    yield _skipped(parsed, "it is disabled", file, line)
                    return
            loop = parsed.directive("loop")
            if loop is None:
                yield task
                return
            run.prepare(task)  # its list may be a script's
            turn = -1
            text, around = loop.value.text, task.context
            for turn, values in enumerate(self._turns(text, parsed, around, run)):
                context = task.context.block(literal=values)
                yield attrs.evolve(task, context=context, id=attrs.evolve(step, turn=turn))
            if turn < 0:
                yield _skipped(parsed, "its @loop has no turn", file, line)
        except Exception as error:
            outcome = failed(line, parsed.name, error, file)
            yield attrs.evolve(outcome, file=file, title=parsed.title)

    def _turns(
        self, text: str, parsed: ParsedRequest, context: Context, run: Running
    ) -> Iterator[dict[str, str]]:
        """Yield the variables of each turn of `@loop`. Raises one of FAILURES."""
        condition = _WHILE.fullmatch(text.strip())
        if condition is None:
            yield from run.resolved(lambda: list(_turns(text, parsed, context)))
            return
        code, offset = condition["code"], parsed.span.start
        for turn in range(MOST_TURNS):
            given = {"$index": str(turn)}
            if not self._settings.dry_run:  # in which no script runs
                inner = context.block(literal=given)
                if not run.resolved(partial(_holds, code, offset, parsed, inner)):
                    return
            yield given
            if self._settings.dry_run:
                return
        raise EvaluationError(f"@loop sends a request at most {MOST_TURNS:,} times")

    def _task(
        self,
        parsed: ParsedRequest,
        line: int,
        step: StepId,
        run: Running,
        given: Mapping[str, str] | None = None,
    ) -> Task:
        needed = tuple(
            partial(self._need, one.value.text, parsed, run, again=one.name == "force-ref")
            for one in parsed.directives
            if one.name in ("ref", "force-ref") and not self._settings.dry_run
        )
        context = run.context
        file = self.names.file(parsed.source)
        if file is not None and (given or file is not self.names.main):
            own = file is self.names.main
            context = context.imported(context.directory if own else file.path.parent, given or {})
        name = parsed.source.file or self._file
        return Task(line, parsed.name, (parsed,), context, id=step, needed=needed, file=name)

    # other requests

    def _need(self, name: str, needing: ParsedRequest, run: Running, *, again: bool) -> None:
        """Send the request that a name in another one refers to, as `need` does."""
        source = needing.source
        parsed = self.names.of(source, name, needing.span.start)
        if parsed is None:
            known = ", ".join(sorted(self.names.named(source))) or "none"
            raise EvaluationError(f"no request is named {name}; there are {known}")
        self.need(self.names.id_of(parsed), run, again=again)

    def need(self, request: StepId, run: Running, *, again: bool = False) -> None:
        """Send a request, in all its turns, unless it was sent or `again`.

        Raises the first failure, and EvaluationError if the request is disabled.
        """
        failures: list[Exception] = []
        parsed = self.names.request(request)
        for task in self._of_request(parsed, run):
            try:
                if isinstance(task, Task):
                    run.send(task.id, partial(_same, task), again=again)
                elif task.state == "failed" and task.reason is not None:
                    raise task.reason
                elif task.state == "skipped" and parsed.directive("disabled") is not None:
                    raise EvaluationError(f"not sent: depends on {request}, which is disabled")
            except Exception as error:
                failures.append(error)
        if failures:
            raise failures[0]

    def _run(
        self,
        item: Import,
        run: Running,
        source: Source,
        given: Mapping[str, str],
        above: tuple[File, ...],
        runs: tuple[tuple[str, int], ...],
    ) -> Iterator[Task | Outcome]:
        """Yield the requests that a `run` in a source sends, in order and recursively."""
        line = source.position(item.span.start).line
        try:
            file = self.names.imported(item.path.text, source) if item.path else None
            found = self._found(item, source, file)
            if file in above:
                chain = " -> ".join(one.name for one in (*above, file) if one)
                raise EvaluationError(f"files run each other in a circle: {chain}")
        except Exception as error:
            name = source.file or self._file
            yield attrs.evolve(failed(line, None, error, name), file=name)
            return
        runs = (*runs, (source.file or self._file, item.span.start))
        given = {**dict(item.values), **given}
        for one in found:
            if isinstance(one, Import) and file is not None:
                yield from self._run(one, run, file.document.source, given, (*above, file), runs)
            elif isinstance(one, ParsedRequest):
                yield from self._of_request(one, run, given, runs)

    def _found(
        self, item: Import, source: Source, file: File | None
    ) -> Sequence[ParsedRequest | Import]:
        """Return the request that a `run` names, in a `file` or its own. Raises OrgrestError."""
        broken = {id(one.own): one.error for one in self.names.broken}
        if item.path is not None and file is None:
            error = broken.get(id(item))
            raise error or EvaluationError(f"{item.path.text} could not be imported")
        if item.request is None:
            items = () if file is None else file.document.items
            return [one for one in items if _is_sent(one)]
        name = item.request.text
        inside = source if file is None else file.document.source
        parsed = self.names.of(inside, name, item.span.start if file is None else None)
        if parsed is None:
            raise EvaluationError(f"no request is named {name}")
        return [parsed]


def plan_of(imports: Imports, settings: Settings, file: str) -> Plan:
    """Choose what is sent of a request file, which is called `file`. Raises EvaluationError."""
    document = imports.main.document
    problems = [one.error for one in imports.broken if not (one.item.run and one.own.run)]
    if settings.lines or settings.names:
        wanted = _wanted(document, settings, file)
        return Plan(tuple(_step(one, imports) for one in wanted), (), tuple(problems))
    notices = [f"line {one.line}: {one.reason}" for one in document.notices]
    notices += (
        f"line {position(again)}: {same_name(again, first)}"
        for again, first in namesakes(document)
        if settings.is_above(position(again))
    )
    problems += (one for one in document.problems if settings.is_above(one.line))
    steps = (_step(one, imports) for one in document.items if _is_sent(one))
    chosen = tuple(step for step in steps if settings.is_above(step.line))
    return Plan(chosen, tuple(notices), tuple(problems))


def _wanted(document: Document, settings: Settings, file: str) -> list[ParsedRequest]:
    check_names(settings.names, {request.name for request in document.requests}, file)
    chosen = [one for one in document.requests if one.name in settings.names]
    source = document.source
    for line in settings.lines:
        found = None
        if 1 <= line <= source.text.count("\n") + 1:
            found = document.request_at(source.offset(line))
        if found is None:
            raise EvaluationError("no request here", file=file, line=line)
        chosen.append(found)
    return sorted(dict.fromkeys(chosen), key=lambda one: one.span.start)


def _step(one: ParsedRequest | Import, imports: Imports) -> Step:
    file = imports.main
    line = file.document.source.position(one.span.start).line
    if isinstance(one, Import):
        name = one.request.text if one.request else None
        return Step(StepId(str(file.path), one.span.start), line, name, frozenset(), one)
    tags = (tag for d in one.directives if d.name == "tag" for tag in split_tags(d.value.text))
    return Step(imports.id_of(one), line, one.name, frozenset(tags), one)


def position(request: ParsedRequest) -> int:
    """Return the line of a request, from 1."""
    return request.source.position(request.span.start).line


def namesakes(document: Document) -> list[tuple[ParsedRequest, ParsedRequest]]:
    """Find the requests whose name another one has already: (request, the first of the name)."""
    firsts: dict[str, ParsedRequest] = {}
    named = [(one, one.name) for one in document.requests if one.name is not None]
    pairs = [(one, firsts.setdefault(name, one)) for one, name in named]
    return [(one, first) for one, first in pairs if one is not first]


def same_name(request: ParsedRequest, first: ParsedRequest) -> str:
    """Return a warning about a request with the name of another one."""
    return (
        f"the request at line {position(first)} is named {request.name}, too: both are sent, and "
        "the name means the last one above whoever refers to it"
    )


def _is_sent(item: object) -> TypeGuard[ParsedRequest | Import]:
    return isinstance(item, ParsedRequest) or (isinstance(item, Import) and item.run)


def _skipped(parsed: ParsedRequest, reason: str, file: str, line: int) -> Outcome:
    error = EvaluationError(reason, file=file, line=line)
    return Outcome(line, parsed.name, "skipped", reason=error, file=file, title=parsed.title)


def _same(task: Task) -> Task:
    return task


def _parsed(text: str) -> Any:
    import json

    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _is_true(condition: Directive, parsed: ParsedRequest, context: Context) -> bool:
    """Return whether the condition of `@disabled` holds, which it does without an expression.

    In a dry run, one that needs a response does not. Raises OrgrestError.
    """
    code = condition.value.text
    return code in ("", "true") or _holds(code, condition.span.start, parsed, context)


def _holds(code: str, offset: int, parsed: ParsedRequest, context: Context) -> bool:
    """Return whether an expression is true in JavaScript. Raises one of FAILURES."""
    try:
        return Values(parsed, context).value(f"!({code})", offset) == "false"
    except OrgrestError as error:
        error.reason = error.reason.replace(f"!({code})", code)
        raise


def _turns(text: str, parsed: ParsedRequest, context: Context) -> Iterator[dict[str, str]]:
    """Yield the variables of each turn of `@loop`. Raises OrgrestError.

    In a dry run, a list from a response has one turn.
    """
    import json

    if match := _TURNS.fullmatch(text.strip()):
        if int(match[1]) > MOST_TURNS:
            raise EvaluationError(f"@loop sends a request at most {MOST_TURNS:,} times")
        for index in range(int(match[1])):
            yield {"$index": str(index)}
        return
    match = _EACH.fullmatch(text.strip())
    if match is None:
        raise EvaluationError("@loop is written `for 3`, `for name of list` or `while expression`")
    given = match["list"].strip()
    items = _parsed(given)
    if items is None:
        values = Values(parsed, context)
        given = values.value(given, parsed.span.start)
        if values.blanks:
            unknown = Text(f"<{match['name']}>", possible(secrets_in(given)))
            yield {"$index": "0", match["name"]: unknown}
            return
        items = _parsed(given)
    if not isinstance(items, list) or len(items) > MOST_TURNS:
        reason = f"@loop goes over a JSON list of at most {MOST_TURNS:,} items, not {given[:60]!r}"
        raise EvaluationError(reason)
    secrets = possible(secrets_in(given))
    for index, item in enumerate(items):
        shown = item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)
        yield {"$index": str(index), match["name"]: Text(shown, secrets)}
