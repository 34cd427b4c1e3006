"""One run over a request file: each request becomes a task, and the file is not changed.

A request that others refer to (`{{login.response...}}`, `# @ref login`) is sent once, when the
first of them needs it. Other files are imported for their requests and variables; the requests of a
`run` line are sent at the position of that line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

import attrs

from orgrest.http.parsing.dialects import read
from orgrest.http.syntax import Import, ParsedRequest
from orgrest.http.values import Context
from orgrest.http.values.context import RequestNeededError
from orgrest.model import Source
from orgrest.run.documents.imports import Imports
from orgrest.run.documents.selection import check_names
from orgrest.run.outcomes import EvaluationError, Outcome, Task, failed
from orgrest.run.plan import Plan, Step, StepId, split_tags

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from orgrest.http.syntax import Directive, Document
    from orgrest.run.documents.imports import File
    from orgrest.run.services import Services
    from orgrest.run.settings import Settings


class RequestFile:
    """A request file for `Run`."""

    def __init__(
        self,
        text: str,
        file: str,
        settings: Settings,
        services: Services,
        context: Context,
    ) -> None:
        """Read the requests in `text`, of the file called `file`, with the objects of the run."""
        self._context = context
        self.text = text
        self._file = file
        self._settings = settings
        self._write = services.write or (lambda _path, _content: None)
        self._source = Source(text, file=file)
        own = Context(settings.inputs, helpers=services)  # a context without the responses
        self.names = context.names = Imports(read(self._source), file, own)

    def plan(self) -> Plan:
        """Choose the requests to send. Raises EvaluationError."""
        plan = plan_of(self.names, self._settings, self._file)
        notices = self._context.environment.every.notices
        return attrs.evolve(plan, notices=(*notices, *plan.notices))

    def title(self, step: Step) -> str:
        """Return the method and URL of a request, or a `run` line, as written."""
        one = step.source
        if isinstance(one, ParsedRequest):
            return one.title
        return self.text[one.span.start : one.span.end].strip()

    def tasks(self, step: Step) -> Iterator[Task | Outcome]:
        """Yield the requests of a step."""
        if isinstance(step.source, ParsedRequest):
            yield self._task(step.source)
        else:
            yield from self._run(step.source, self._source, {}, (self.names.main,), ())

    def needed(self, needed: RequestNeededError) -> Iterator[Task]:
        """Yield the task of a request that another request needs."""
        yield self._task(self.names.request(needed.key))

    def place(self, _task: Task, outcome: Outcome) -> Outcome:
        """Save responses if requested; request files do not contain results."""
        for path, content in outcome.files:
            self._write(path, content)
        return outcome

    def _task(
        self,
        parsed: ParsedRequest,
        given: Mapping[str, str] | None = None,
        runs: tuple[tuple[str, int], ...] = (),
    ) -> Task:
        """Return a request as a task.

        `given` are the values from the `run` lines that lead to it; `runs` are their positions.
        """
        context, file = self._context, self.names.file(parsed.source)
        if file is not None and (given or file is not self.names.main):
            own = file is self.names.main
            context = context.imported(context.directory if own else file.path.parent, given or {})
        refers = ("ref", "force-ref")
        return Task(
            attrs.evolve(self.names.id_of(parsed), runs=runs),
            position(parsed),
            parsed.name,
            (parsed,),
            context,
            file=parsed.source.file or self._file,
            needed=tuple(
                self._named(one, parsed)
                for one in parsed.directives
                if one.name in refers and not self._settings.dry_run
            ),
            turns=any(one.name in ("disabled", "loop") for one in parsed.directives),
        )

    # other requests

    def _named(
        self, directive: Directive, needing: ParsedRequest
    ) -> RequestNeededError | EvaluationError:
        """Return the need for the request that `@ref` or `@force-ref` names, or an error."""
        name, source = directive.value.text, needing.source
        parsed = self.names.of(source, name, needing.span.start)
        if parsed is not None:
            key = self.names.id_of(parsed)
            return RequestNeededError(key, again=directive.name == "force-ref")
        known = ", ".join(sorted(self.names.named(source))) or "none"
        return EvaluationError(f"no request is named {name}; there are {known}")

    def _run(
        self,
        item: Import,
        source: Source,
        given: Mapping[str, str],
        above: tuple[File, ...],
        runs: tuple[tuple[str, int], ...],
    ) -> Iterator[Task | Outcome]:
        """Yield the requests that a `run` line of a source sends, in order and recursively."""
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
                yield from self._run(one, file.document.source, given, (*above, file), runs)
            elif isinstance(one, ParsedRequest):
                yield self._task(one, given, runs)

    def _found(
        self, item: Import, source: Source, file: File | None
    ) -> Sequence[ParsedRequest | Import]:
        """Return what a `run` line sends, from `file` or its own file. Raises OrgrestError."""
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
    """Choose the requests to send from a request file called `file`. Raises EvaluationError."""
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
    """Find the requests with the name of an earlier one: (request, the first of that name)."""
    firsts: dict[str, ParsedRequest] = {}
    named = [(one, one.name) for one in document.requests if one.name is not None]
    pairs = [(one, firsts.setdefault(name, one)) for one, name in named]
    return [(one, first) for one, first in pairs if one is not first]


def same_name(request: ParsedRequest, first: ParsedRequest) -> str:
    """Return a warning about two requests with the same name."""
    return (
        f"the request at line {position(first)} is named {request.name}, too: both are sent, and "
        "the name means the last one above whoever refers to it"
    )


def _is_sent(item: object) -> TypeGuard[ParsedRequest | Import]:
    return isinstance(item, ParsedRequest) or (isinstance(item, Import) and item.run)
