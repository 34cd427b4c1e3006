"""A request file in a run. Each request becomes a task, and the file is not changed.

A request that others refer to (`{{login.response...}}`, `# @ref login`) is sent once, when it is
first needed. A `run` line sends the requests that it names when the run reaches the line.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeGuard

from orgrest import classes
from orgrest.http.parsing.dialects import read
from orgrest.http.syntax import Definition, Definitions, Import, ParsedRequest, Template
from orgrest.http.values import Context
from orgrest.http.values.context import RequestNeededError
from orgrest.model import Source, Span
from orgrest.run.documents.imports import Imports
from orgrest.run.outcomes import EvaluationError, Outcome, Task, failed
from orgrest.run.plan import Plan, Step, StepId, split_tags

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from orgrest.http.syntax import Directive, Document
    from orgrest.run.documents.imports import File
    from orgrest.run.services import Services
    from orgrest.run.settings import Settings


class RequestFile:
    """The request file of a `Run`."""

    def __init__(
        self,
        text: str,
        file: str,
        settings: Settings,
        services: Services,
        context: Context,
    ) -> None:
        """Parse the request file `text`, called `file`, and read its imports.

        The other parameters are objects that belong to the run.
        """
        self._context = context
        self.text = text
        self._file = file
        self._settings = settings
        self._source = Source(text, file=file)
        own = Context(settings.inputs, helpers=services)  # without the responses
        self.names = context.names = Imports(read(self._source), file, own)

    def texts(self) -> Iterator[str]:
        """Yield the texts of the file and of the files that it imports."""
        return (file.document.source.text for file in self.names.files)

    def plan(self) -> Plan:
        """Return the plan of the run.

        Raises EvaluationError if the settings specify a name or line that does not exist.
        """
        plan = plan_of(self.names, self._settings, self._file)
        notices = self._context.environment.every.notices
        return classes.evolve(plan, notices=(*notices, *plan.notices))

    def title(self, step: Step) -> str:
        """Return the method and URL of a step's request, or its `run` line, as written."""
        item = step.source
        if isinstance(item, ParsedRequest):
            return item.title
        return self.text[item.span.start : item.span.end].strip()

    def tasks(self, step: Step) -> Iterator[Task | Outcome]:
        """Yield the tasks of a step: one for a request, several for a `run` line."""
        if isinstance(step.source, ParsedRequest):
            yield self._task(step.id, step.source)
        else:
            yield from self._run(step.source, self._source, {}, (self.names.main,), ())

    def needed(self, needed: RequestNeededError) -> Iterator[Task]:
        """Yield the task for a request that another request needs."""
        yield self._task(needed.key.request, self.names.request(needed.key))

    def place(self, _task: Task, outcome: Outcome) -> Outcome:
        """Return the outcome unchanged. Results are not inserted into request files."""
        return outcome

    def _task(
        self, step: StepId, parsed: ParsedRequest, variables: Mapping[str, str] | None = None
    ) -> Task:
        """Return the task of a request, for which a `run` line may set `variables`."""
        context, file = self._context, self.names.file(parsed.source)
        if file is not None and (variables or file is not self.names.main):
            own = file is self.names.main
            context = context.imported(
                context.directory if own else file.path.parent, variables or {}
            )
        needed = [
            self._named(directive, parsed)
            for directive in parsed.directives
            if directive.name in ("ref", "force-ref")
        ]
        if self._settings.dry_run:  # in a dry run nothing is sent for it, but errors are reported
            needed = [error for error in needed if isinstance(error, EvaluationError)]
        return Task(
            step,
            position(parsed),
            parsed.name,
            (parsed,),
            context,
            file=parsed.source.file or self._file,
            needed=tuple(needed),
            imported=tuple(
                (_only_scripts(imported.document), context.imported(imported.path.parent, {}))
                for imported in self.names.scripted(parsed)
            ),
            turns=not parsed.problems
            and any(directive.name in ("disabled", "loop") for directive in parsed.directives),
        )

    # other requests

    def _named(
        self, directive: Directive, needing: ParsedRequest
    ) -> RequestNeededError | EvaluationError:
        """Return the request that `@ref` or `@force-ref` needs, or an error."""
        name, source = directive.value.text, needing.source
        parsed = self.names.of(source, name, needing.span.start)
        if parsed is not None and any(
            condition.name == "disabled" and not condition.value.text
            for condition in parsed.directives
        ):
            return EvaluationError(f"not sent: depends on {name}, which is disabled")
        if parsed is not None:
            key = self.names.id_of(parsed)
            return RequestNeededError(key, again=directive.name == "force-ref")
        names = ", ".join(sorted(self.names.named(source))) or "none"
        return EvaluationError(f"no request named {name}; available: {names}")

    def _run(
        self,
        item: Import,
        source: Source,
        variables: Mapping[str, str],
        above: tuple[File, ...],
        runs: tuple[tuple[str, int], ...],
    ) -> Iterator[Task | Outcome]:
        """Yield the tasks for a `run` line of `source`, including those for nested `run` lines.

        `above` contains the files that lead to this line, `runs` contains the positions of their
        `run` lines, and `variables` contains the values in those lines.
        """
        line = source.position(item.span.start).line
        try:
            file = self.names.imported(item.path.text, source) if item.path else None
            items = self._found(item, source, file)
            if file in above:
                chain = " -> ".join(importing.name for importing in (*above, file) if importing)
                raise EvaluationError(f"files run each other in a cycle: {chain}")
        except Exception as error:
            name = source.file or self._file
            yield classes.evolve(failed(line, None, error, name), file=name)
            return
        runs = (*runs, (source.file or self._file, item.span.start))
        variables = {**dict(item.values), **variables}
        for sent in items:
            if isinstance(sent, Import) and file is not None:
                yield from self._run(sent, file.document.source, variables, (*above, file), runs)
            elif isinstance(sent, ParsedRequest):
                step = classes.evolve(self.names.id_of(sent), runs=runs)
                yield self._task(step, sent, variables)

    def _found(
        self, item: Import, source: Source, file: File | None
    ) -> Sequence[ParsedRequest | Import]:
        """Return the request that a `run` line names, or all requests and `run` lines of `file`.

        If `file` is None, the name is looked up in the file with the `run` line.
        """
        broken = {id(failure.own): failure.error for failure in self.names.broken}
        if item.path is not None and file is None:
            error = broken.get(id(item))
            raise error or EvaluationError(f"could not import {item.path.text}")
        if item.request is None:
            items = () if file is None else file.document.items
            return [candidate for candidate in items if _is_sent(candidate)]
        name = item.request.text
        inside = source if file is None else file.document.source
        parsed = self.names.of(inside, name, item.span.start if file is None else None)
        if parsed is None:
            raise EvaluationError(f"no request named {name}")
        return [parsed]


def _only_scripts(document: Document) -> ParsedRequest:
    """Return a request that contains only the scripts that run once."""
    known, begin = Definitions(), Span(0, 0)
    for item in document.items:
        if isinstance(item, Definition):
            known.add(item)
    return ParsedRequest(
        method="",
        target=Template("", ((0, 0),)),
        version=None,
        headers=(),
        captures=(),
        body=None,
        name=None,
        problems=(),
        notices=(),
        source=document.source,
        span=begin,
        method_span=begin,
        known=known,
        scripts=tuple(script for script in document.scripts if script.runs == "once"),
        region=Span(0, len(document.source.text)),
    )


def plan_of(imports: Imports, settings: Settings, file: str) -> Plan:
    """Return the plan for a request file called `file`.

    Raises EvaluationError if the settings specify a name or line that does not exist.
    """
    document = imports.main.document
    problems = [
        failure.error for failure in imports.broken if not (failure.item.run and failure.own.run)
    ]
    if settings.narrows:
        from orgrest.run.documents.selection import wanted

        requests = [_step(request, imports) for request in document.requests]
        chosen = wanted(requests, set(requests), partial(_request_at, document), settings, file)
        return Plan(chosen, (), tuple(problems))
    notices = [f"line {notice.line}: {notice.reason}" for notice in document.notices]
    notices += (
        f"line {position(later)}: {same_name(later, first)}"
        for later, first in namesakes(document)
        if settings.is_above(position(later))
    )
    problems += (problem for problem in document.problems if settings.is_above(problem.line))
    steps = (_step(item, imports) for item in document.items if _is_sent(item))
    chosen = tuple(step for step in steps if settings.is_above(step.line))
    return Plan(chosen, tuple(notices), tuple(problems))


def _request_at(document: Document, line: int) -> ParsedRequest | None:
    source = document.source
    is_inside = 1 <= line <= source.text.count("\n") + 1
    return document.request_at(source.offset(line)) if is_inside else None


def _step(item: ParsedRequest | Import, imports: Imports) -> Step:
    file = imports.main
    line = file.document.source.position(item.span.start).line
    if isinstance(item, Import):
        name = item.request.text if item.request else None
        return Step(StepId(str(file.path), item.span.start), line, name, frozenset(), item)
    tags = (tag for d in item.directives if d.name == "tag" for tag in split_tags(d.value.text))
    return Step(imports.id_of(item), line, item.name, frozenset(tags), item)


def position(request: ParsedRequest) -> int:
    """Return the line number of a request, counted from 1."""
    return request.source.position(request.span.start).line


def namesakes(document: Document) -> list[tuple[ParsedRequest, ParsedRequest]]:
    """Return (request, first) for each request whose name an earlier request already has.

    `first` is the first request with that name.
    """
    firsts: dict[str, ParsedRequest] = {}
    named = [(request, request.name) for request in document.requests if request.name is not None]
    pairs = [(request, firsts.setdefault(name, request)) for request, name in named]
    return [(request, first) for request, first in pairs if request is not first]


def same_name(request: ParsedRequest, first: ParsedRequest) -> str:
    """Return a warning that a request has the same name as the request `first`."""
    return (
        f"the request at line {position(first)} is also named {request.name}: both are sent, "
        "and references to the name use the closest one above them"
    )


def _is_sent(item: object) -> TypeGuard[ParsedRequest | Import]:
    return isinstance(item, ParsedRequest) or (isinstance(item, Import) and item.run)
