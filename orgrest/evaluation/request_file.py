"""One run over a file of requests: each becomes a task, and there is no document to change.

A request that others refer to (`{{login.response...}}`, `# @ref login`) is sent once, whoever needs
it first. Other files are imported for their requests and variables; what they `run` is sent where
that line stands.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

import attrs

from orgrest.evaluation.items import Item, split_tags
from orgrest.evaluation.outcomes import FAILURES, EvaluationError, Outcome, Task, failed
from orgrest.evaluation.selection import check_names
from orgrest.evaluation.weak import weakly
from orgrest.http.reading import read
from orgrest.http.syntax import Definition, Import, ParsedRequest
from orgrest.model import OrgrestError, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from orgrest.evaluation.answers import Answers
    from orgrest.evaluation.outcomes import Options
    from orgrest.http.syntax import Document
    from orgrest.http.variables import Scope

MOST_FILES = 100
"""How many files one may import."""
MOST_TURNS = 10_000
"""How many times `@loop` may send a request."""

_TURNS = re.compile(r"for\s+(\d+)")
_EACH = re.compile(r"for\s+(?P<name>\w+)\s+of\s+(?P<list>.+)")


class RequestFile:
    """A file of requests for `Evaluation`; `notices` is what the user should know about it."""

    def __init__(
        self,
        text: str,
        *,
        file: str,
        scope: Scope,
        options: Options,
        answers: Answers,
        send: Callable[[Task], Outcome],
        write: Callable[[Path, bytes], None] | None = None,
    ) -> None:
        """Take the requests in `text`, of the file called `file`; the rest is the run's.

        `write` writes the files that responses are saved into.
        """
        self.text = text
        self.notices: tuple[str, ...] = ()
        self._file = file
        self._scope = scope
        self._options = options
        self._answers = answers
        self._send = send
        self._write = write or (lambda _path, _content: None)
        self._source = Source(text, file=file)
        self.items: list[Item] = []
        self._problems: list[OrgrestError] = []
        self._named: dict[str, ParsedRequest] = {}
        self._files: dict[str, Document] = {}

    def plan(self) -> int:
        """Choose what is sent, and tell how many requests that are. Raises EvaluationError."""
        self.items = [self._item(one) for one in self._choose()]
        return len(self.items)

    def problems(self) -> Iterator[Outcome]:
        """Give the failures of the whole file."""
        for problem in self._problems:
            yield Outcome(problem.line or 1, None, "failed", reason=problem)

    def tasks(self, items: Sequence[Item]) -> Iterator[Task | Outcome]:
        """Give the requests of items, one after the other."""
        for item in items:
            what, line = item.what, item.line
            if isinstance(what, ParsedRequest):
                yield from self._of_request(what)
                continue
            try:
                found = self._run(what)
            except FAILURES as error:
                yield failed(line, None, error, self._file)
                continue
            for parsed in found:
                for step in self._of_request(parsed):
                    if isinstance(step, Task):
                        step.key = None  # sent here, whether it was sent before or not
                    yield step

    def place(self, _task: Task, outcome: Outcome) -> Outcome:
        """Save responses where that is asked for; they do not stand in such a file."""
        for path, content in outcome.files:
            self._write(path, content)
        return outcome

    def _item(self, one: ParsedRequest | Import) -> Item:
        line = self._source.position(one.span.start).line
        if isinstance(one, Import):
            return Item(line, one.request, frozenset(), one)
        tags = (tag for d in one.directives if d.name == "tag" for tag in split_tags(d.value.text))
        return Item(line, one.name, frozenset(tags), one)

    def _of_request(self, parsed: ParsedRequest) -> Iterator[Task | Outcome]:
        line = parsed.source.position(parsed.span.start).line
        disabled = parsed.directive("disabled")
        if disabled is not None and disabled.value.text in ("", "true"):
            yield Outcome(line, parsed.name, "skipped")
            return
        try:
            if disabled is not None:
                raise EvaluationError("@disabled with an expression is not understood here")
            loop = parsed.directive("loop")
            if loop is None:
                yield self._task(parsed, line)
                return
            for values in _turns(loop.value.text, self._scope):
                task = self._task(attrs.evolve(parsed, name=None), line)
                task.scope = self._scope.block(literal=values)
                yield task
        except FAILURES as error:
            yield failed(line, parsed.name, error, parsed.source.file or self._file)

    def _task(self, parsed: ParsedRequest, line: int) -> Task:
        needed = tuple(
            partial(self._fetch, one.value.text, again=one.name == "force-ref")
            for one in parsed.directives
            if one.name in ("ref", "force-ref") and not self._options.dry_run
        )
        return Task(line, parsed.name, (parsed,), self._scope, key=parsed.name, needed=needed)

    # other requests

    def _fetch(self, name: str, *, again: bool = False) -> None:
        """Send the request of a name, unless it was sent already. Raises one of FAILURES."""
        parsed = self._named.get(name)
        if parsed is None:
            known = ", ".join(sorted(self._named)) or "none"
            raise EvaluationError(f"no request is named {name}; there are {known}")
        line = parsed.source.position(parsed.span.start).line

        def task() -> Task:
            return self._task(parsed, line)

        with self._answers.needing(name, name):
            if again and self._answers.known(name) is not None:
                self._send(task())
            else:
                self._answers.of(name, task, self._send)

    def _imported(self, path: str) -> Document:
        """Return the requests of another file. Raises OrgrestError."""
        location = str(self._scope.locate(path))
        if location not in self._files:
            if len(self._files) >= MOST_FILES:
                raise EvaluationError(f"{path}: more than {MOST_FILES} files are imported")
            try:
                text = self._scope.read(path).decode("utf-8-sig")
            except UnicodeDecodeError as error:
                raise EvaluationError(f"{path} is not UTF-8: byte {error.start}") from None
            self._files[location] = document = read(Source(text, file=path))
            for problem in document.problems:
                if problem.code == "too-many-variables":
                    raise problem
            self._take(document)
        return self._files[location]

    def _take(self, document: Document, *, own: bool = False) -> None:
        """Let the requests and variables of a file be referred to, and of those it imports."""
        for request in document.requests:
            if request.name is not None:
                self._named.setdefault(request.name, request)
        if not own:
            definitions = [one for one in document.items if isinstance(one, Definition)]
            self._scope.import_variables({d.name: d.value.text for d in reversed(definitions)})
        for item in document.items:
            if isinstance(item, Import) and item.path is not None:
                try:
                    self._imported(item.path.text)
                except OrgrestError as error:
                    offset = item.path.offset(0)
                    raise EvaluationError.at(document.source, offset, error.reason) from None

    def _run(self, item: Import) -> list[ParsedRequest]:
        """Return the requests that a `run` names."""
        if item.request is not None:
            if item.path is not None:
                self._imported(item.path.text)
            if item.request not in self._named:
                raise EvaluationError(f"no request is named {item.request}")
            return [self._named[item.request]]
        return list(self._imported(item.path.text).requests) if item.path else []

    # what is chosen

    def _choose(self) -> list[ParsedRequest | Import]:
        options = self._options
        document = read(self._source)
        self._files[str(self._file)] = document
        try:
            self._take(document, own=True)
        except OrgrestError as error:
            self._problems.append(error)
        self._scope.exchanges.name_requests(self._named, weakly(self._fetch))
        if not (options.lines or options.names):
            self.notices = tuple(f"line {one.line}: {one.reason}" for one in document.notices)
            self._problems += [one for one in document.problems if options.is_above(one.line)]
            return [
                one
                for one in document.items
                if isinstance(one, ParsedRequest) or (isinstance(one, Import) and one.run)
                if options.is_above(self._source.position(one.span.start).line)
            ]
        check_names(options.names, {request.name for request in document.requests}, self._file)
        chosen = [one for one in document.requests if one.name in options.names]
        for line in options.lines:
            found = None
            if 1 <= line <= self.text.count("\n") + 1:
                found = document.request_at(self._source.offset(line))
            if found is None:
                raise EvaluationError("no request here", file=self._file, line=line)
            chosen.append(found)
        return sorted(dict.fromkeys(chosen), key=lambda one: one.span.start)


def _turns(text: str, scope: Scope) -> Iterator[dict[str, str]]:
    """Yield the variables of each turn of `@loop`. Raises EvaluationError."""
    import json

    if match := _TURNS.fullmatch(text.strip()):
        if int(match[1]) > MOST_TURNS:
            raise EvaluationError(f"@loop sends a request at most {MOST_TURNS:,} times")
        for index in range(int(match[1])):
            yield {"$index": str(index)}
        return
    match = _EACH.fullmatch(text.strip())
    if match is None:
        raise EvaluationError("@loop is written `for 3` or `for name of list`")
    given = scope.captured.get(match["list"].strip(), match["list"].strip())
    try:
        items = json.loads(given)
    except (ValueError, RecursionError):
        items = None
    if not isinstance(items, list) or len(items) > MOST_TURNS:
        reason = f"@loop goes over a JSON list of at most {MOST_TURNS:,} items, not {given[:60]!r}"
        raise EvaluationError(reason)
    for index, item in enumerate(items):
        shown = item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)
        yield {"$index": str(index), match["name"]: shown}
