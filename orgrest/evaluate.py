"""A document's requests evaluated: document in, requests sent, new document out.

An `Evaluation` walks over the request blocks, calls and inline blocks of an Org text from top to
bottom and yields an `Outcome` for each; its `text` is the document with all results so far. A file
of requests has no results to place: `Evaluation` yields the outcomes alone.

Rules: an error in one block leaves its old result as it is and the others go on. A block that
others refer to is sent once a run, whoever needs it first. COMMENT trees, and blocks that are
results themselves, are not evaluated. With several jobs, only neighbouring requests with safe
methods that capture nothing run at once; results are placed in order all the same.

Nothing is read or written here but what a request asks for: files that results want written are
in `Outcome.files`, for the caller.
"""

from __future__ import annotations

import contextlib
import itertools
import re
from bisect import bisect_left, bisect_right, insort
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import attrs

from orgrest import arguments as header
from orgrest import data, layout, lisp, org, requests, results, syntax, variables
from orgrest.model import OrgrestError, Request, Response, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from concurrent.futures import Future

    from orgrest.transport import Client, Cookies

MAX_NOWEB = 4 * 2**20

_NOWEB = re.compile(r"<<([^ \t\n<>](?:[^\n<>]*[^ \t\n<>])?)>>")
_DEFINITION = re.compile(r":([^\s:=]+)[ \t]*:?=")


class EvaluationError(OrgrestError):
    """A block that cannot be evaluated: its header arguments, references or body."""


@attrs.frozen
class Options:
    """What is evaluated, and how. `names` and `lines` choose blocks; empty, all are meant.

    With `until`, only those that start at that line or above it are. In a dry run a name in angle
    brackets stands for an answer that another block would get; with `complete` that is an error.

    Without `languages`, a document that has restclient blocks is taken for one of ob-restclient's:
    its blocks in http and rest are some other tool's. Elsewhere all three are ours.
    """

    languages: frozenset[str] = frozenset()
    names: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()
    jobs: int = 1
    dry_run: bool = False
    complete: bool = False
    timeout: float | None = None
    until: int | None = None
    ask: Callable[[str], bool] | None = None


@attrs.frozen
class Exchange:
    """A request, and (unless nothing was sent) its response and how that is shown."""

    request: Request
    response: Response | None = None
    rendered: results.Rendered | None = None


@attrs.frozen(eq=False)
class Placing:
    """How a result was put in, for an editor whose text may have moved on since.

    `start` is the offset of its block in the text that was to be evaluated, `kind` and `name` are
    the block's.
    """

    start: int
    kind: str
    name: str | None
    _make: Callable[[org.Document, org.Block], org.Edit]

    def edit(self, document: org.Document, block: org.Block) -> org.Edit:
        """Give the edit that puts the result in below `block` of `document`.

        Raises EvaluationError where it would close something that is open above it.
        """
        edit = self._make(document, block)
        opened = document.closes(edit, block)
        if opened is not None:
            raise EvaluationError(
                f"line {opened} opens a block or drawer that the end of this result would close: "
                "give the result another form (:wrap, :results), or close the block or drawer"
            )
        return edit


@attrs.frozen
class Outcome:
    """What became of one block: `state` is ``done``, ``failed``, ``skipped`` or ``cached``.

    `reason` says why it failed or was skipped. `files` are to be written: (path, content). `change`
    is the text that the result replaced, and the result, and `placing` how that was done; None
    where nothing was placed. `secrets` must not be shown, in whatever of this is told.
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
    secrets: frozenset[str] = attrs.field(default=frozenset(), repr=False)


@attrs.frozen
class Reply:
    """What Babel gets to know of a block: the value that its function returns, and the outcome.

    `old` is where an old result stands that Org would leave there (from, to), None without one.
    """

    value: layout.Returned
    outcome: Outcome
    old: tuple[int, int] | None = None


@attrs.define(eq=False)
class _Task:
    """A block on its way: read, and perhaps sent."""

    block: org.Block | None
    line: int
    name: str | None
    arguments: header.Arguments
    parsed: tuple[syntax.ParsedRequest, ...]
    scope: variables.Scope
    language: str = ""
    digest: str | None = None
    notes: tuple[str, ...] = ()
    request: Request | None = None
    response: Future[Response] | None = None


class Evaluation:
    """One run over one document; `text` is the document with the results of the run so far.

    `notices` is what the user should know about the choice that `plan` made.
    """

    def __init__(
        self,
        text: str,
        *,
        file: str,
        scope: variables.Scope,
        client: Client | None,
        options: Options,
        plain: bool = False,
        cookies: Cookies | None = None,
    ) -> None:
        """Prepare the evaluation of `text`, of the file called `file` (for messages and links).

        `scope` is the document's; `client` may be None in a dry run. `plain` says that the text is
        no Org document but a file of requests. `cookies` are those of earlier runs, to go on with.
        """
        self._file = file
        self._scope = scope
        self._client = client
        if cookies is None and client is not None:
            cookies = client.new_cookies()
        self._cookies = cookies
        self._options = options
        self._plain = plain
        self._edits: list[org.Edit] = []
        self._spans: list[tuple[int, int]] = []
        self._placed: set[str] = set()
        self._memory: dict[str, Outcome] = {}
        self._active: list[str] = []
        self._grown = 0
        self._noweb_texts: dict[str, str] = {}
        self._numbers: dict[org.Block, int] | None = None
        self._noweb_refs: dict[str, list[org.Block]] | None = None
        self._todo: list[org.Block] = []
        self._origins: dict[org.Block, int] = {}  # of blocks that an edit has moved
        self._parsed: list[syntax.ParsedRequest] = []
        self._problems: tuple[OrgrestError, ...] = ()
        self._waiting: list[_Task | Outcome] = []
        self._base = text
        self._languages = options.languages
        self.notices: tuple[str, ...] = ()
        if not plain:
            self._document = org.Document(text)
            self._inherited = header.Inherited(self._document)

    @property
    def text(self) -> str:
        """The document with all results so far."""
        return org.apply(self._base, self._edits) if self._edits else self._base

    def plan(self) -> int:
        """Choose what is evaluated, and tell how much that is.

        Raises EvaluationError where `Options.names` or `Options.lines` choose nothing.
        """
        if self._plain:
            self._parsed = self._choose_requests()
            return len(self._parsed)
        self._todo = self._choose()
        return len(self._todo)

    def run(self) -> Iterator[Outcome]:
        """Evaluate what `plan` chose, in order; yield an outcome for each block."""
        for outcome in self._outcomes():
            yield attrs.evolve(outcome, secrets=self._scope.secrets)

    def _outcomes(self) -> Iterator[Outcome]:
        tasks = self._requests() if self._plain else self._blocks()
        if self._options.jobs <= 1 or self._options.dry_run:
            for step in tasks:
                yield self._finish(step) if isinstance(step, _Task) else step
            return
        yield from self._run_together(tasks)

    def babel(
        self,
        line: int,
        text: str,
        arguments: header.Arguments,
        values: Mapping[str, str],
        literal: Mapping[str, str],
    ) -> Reply:
        """Evaluate a block that Org itself has read, for Org to place the result.

        It stands at `line` (from 1). `text` is its body with all references expanded, `arguments`
        are its header arguments, `values` and `literal` its ``:var``s as in `Scope.block`.
        Raises OrgrestError where the evaluation fails.
        """
        block = self._document.block_at(line)
        if block is None:
            raise EvaluationError("no request block here", file=self._file, line=line)
        self._languages = org.REQUEST_LANGUAGES
        target = block.call and self._document.block_named(block.call.name)
        body = self._document.body(target or block)
        places = [(block.line + 1, 0)] * (text.count("\n") + 1)
        if body.text.rstrip("\n") == text.rstrip("\n"):
            places = [*body.places, *places][: len(places)]
        try:
            task = self._task(block, arguments, text, places, values, literal)
            task.language = (target or block).language
            outcome = self._exchange(task)
            return self._returned(block, task, outcome)
        except lisp.ArgumentError as error:
            raise EvaluationError(str(error), file=self._file, line=line) from error
        except OrgrestError as error:
            raise self._located(error, line) from None

    def _returned(self, block: org.Block, task: _Task, outcome: Outcome) -> Reply:
        arguments, language = task.arguments, task.language
        words = arguments.results
        rendered = [exchange.rendered for exchange in outcome.exchanges]
        shown = [one for one in rendered if one is not None]
        if {"silent", "none"} & set(words):  # another block wants the value
            return Reply(layout.shaped(arguments, shown[-1].body) if shown else None, outcome)
        if block.kind in ("inline", "inline call"):
            # Org puts a raw text in as it is, and raw is its default for these languages.
            others = tuple(word for word in words if word != "raw")
            text = self._inline_text(attrs.evolve(arguments, results=others), shown, language)
            if "raw" in words and "wrap" not in arguments:
                return Reply(f"{{{{{{results({text})}}}}}}", outcome)
            return Reply("".join(one.body for one in shown).rstrip("\n"), outcome)
        values, blocks, files = self._shown(block, arguments, outcome)
        outcome = attrs.evolve(outcome, files=tuple(files))
        if "file" in words:  # Org makes the link, with the path of :file where there is one
            path = values[0].removeprefix("[[file:").partition("]")[0]
            return Reply(None if arguments.get("file") else path, outcome)
        if files:
            return Reply("".join(values), outcome)
        texts = [one.text for one in shown]
        made, notes, prose = layout.returned(arguments, values, blocks, texts, language)
        old = None
        result = self._document.result(block) if prose else None
        if result is not None and not {"append", "prepend"} & set(words):
            edit = self._document.place(block, str(made), prose=True)
            old = (result.start, edit.end)
        return Reply(made, attrs.evolve(outcome, notes=outcome.notes + notes), old)

    def _run_together(self, tasks: Iterator[_Task | Outcome]) -> Iterator[Outcome]:
        """Evaluate with several requests on their way; the outcomes come in order."""
        from concurrent.futures import ThreadPoolExecutor

        waiting = self._waiting
        pool = ThreadPoolExecutor(self._options.jobs)
        try:
            for step in tasks:
                free = isinstance(step, _Task) and self._independent(step)
                if isinstance(step, _Task) and free:
                    step.response = pool.submit(self._send, step)
                waiting.append(step)
                while len(waiting) > (2 * self._options.jobs if free else 0):
                    yield self._next()
            while waiting:
                yield self._next()
        except BaseException:
            self._keep_answered()
            raise
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _next(self) -> Outcome:
        """Finish the first of the tasks that wait."""
        step = self._waiting[0]
        outcome = self._finish(step) if isinstance(step, _Task) else step
        del self._waiting[0]
        return outcome

    def _keep_answered(self) -> None:
        """Place what was answered already, when the run is broken off."""
        for step in self._waiting:
            if isinstance(step, _Task) and step.response is not None and step.response.done():
                self._finish(step)

    def _independent(self, task: _Task) -> bool:
        """Tell whether a task can be sent while others are under way."""
        from orgrest import registry

        if len(task.parsed) != 1 or task.parsed[0].captures:
            return False
        method = registry.method(task.parsed[0].method.upper())
        if method is None or not method.safe:
            return False
        if task.block is not None and self._key(task.block) in self._memory:
            return False  # sent already
        try:
            task.request = variables.expand(task.parsed[0], task.scope)
        except OrgrestError:
            return False  # the same error comes up again, in its turn
        return True

    # what there is to do

    def _requests(self) -> Iterator[_Task | Outcome]:
        for problem in self._problems:
            yield Outcome(problem.line or 1, None, "failed", reason=problem)
        for request in self._parsed:
            line = request.source.position(request.span.start).line
            yield _Task(None, line, request.name, header.Arguments(), (request,), self._scope)

    def _choose_requests(self) -> list[syntax.ParsedRequest]:
        source = Source(self._base, file=self._file)
        document = requests.parse(source)
        if not (self._options.lines or self._options.names):
            self.notices = tuple(f"line {one.line}: {one.reason}" for one in document.notices)
            self._problems = tuple(one for one in document.problems if self._is_above(one.line))
            return [
                one
                for one in document.requests
                if self._is_above(source.position(one.span.start).line)
            ]
        self._complain_of_names({request.name for request in document.requests})
        chosen = [one for one in document.requests if one.name in self._options.names]
        for line in self._options.lines:
            found = None
            if 1 <= line <= self._base.count("\n") + 1:
                found = document.request_at(source.offset(line))
            if found is None:
                raise EvaluationError("no request here", file=self._file, line=line)
            chosen.append(found)
        return sorted(dict.fromkeys(chosen), key=lambda one: one.span.start)

    def _is_above(self, line: int | None) -> bool:
        until = self._options.until
        return until is None or (line or 1) <= until

    def _complain_of_names(self, known: set[str | None]) -> None:
        for name in self._options.names:
            if name not in known:
                raise EvaluationError(f"no request block is named {name}", file=self._file)

    def _blocks(self) -> Iterator[_Task | Outcome]:
        while self._todo:
            yield self._prepare(self._todo.pop(0))

    def _choose(self) -> list[org.Block]:
        options = self._options
        self._languages = options.languages or self._usual_languages()
        mixed = "; the file's line ends are mixed, LF and CRLF" if "\r\n" in self._base else ""
        self.notices += tuple(
            f"line {line}: this block has no #+end_src, and so is none{mixed}"
            for line in self._document.unclosed_requests()
            if self._is_above(line)
        )
        self.notices += tuple(
            f"line {block.line + 1}: no source block here is named {block.call.name}"
            for block in self._document.blocks
            if block.call and self._document.block_named(block.call.name) is None
        )
        found = [block for block in self._document.blocks if self._is_ours(block)]
        inside = self._result_spans(found)
        found = [block for block in found if not _within(inside, block.start)]
        if not (options.names or options.lines):
            return [
                block
                for block in found
                if self._is_above(block.line + 1)
                and not block.commented
                and not self._is_answer(block)
            ]
        self._complain_of_names({block.name for block in found})
        wanted = [block for block in found if block.name in options.names]
        for line in options.lines:
            at = self._document.block_at(line)
            if at is None or not any(at is block for block in found):
                raise EvaluationError("no request block here", file=self._file, line=line)
            wanted.append(at)
        return sorted(dict.fromkeys(wanted), key=lambda block: block.start)

    def _usual_languages(self) -> frozenset[str]:
        usual = self._document.request_languages()
        used = [block.language for block in self._document.blocks if block.call is None]
        for language in sorted(org.REQUEST_LANGUAGES - usual):
            if count := used.count(language):
                blocks = f"{count} block{'s' if count > 1 else ''} in {language}"
                self.notices += (
                    f"{blocks} left alone in a restclient document (--lang {language} takes them)",
                )
        return usual

    def _is_ours(self, block: org.Block) -> bool:
        if block.call is None:
            return block.language in self._languages
        target = self._document.block_named(block.call.name)
        return target is not None and target.language in self._languages

    def _is_answer(self, block: org.Block) -> bool:
        """Tell whether a block stands where an answer does, and so may be a server's."""
        if block.kind != "block" or block.result is None:
            return False
        line = block.line + 1
        notice = f"line {line}: a request right below #+RESULTS: may be an answer, and is not sent"
        self.notices += (f"{notice} (--line {line} sends it)",)
        return True

    def _result_spans(self, blocks: Sequence[org.Block]) -> list[tuple[int, int]]:
        """Find the old results, where blocks are no requests of the user's."""
        spans: list[tuple[int, int]] = []
        for block in blocks:
            if block.kind in ("inline", "inline call"):
                continue
            result = self._document.result(block)
            if result is not None and result.end > result.start:
                arguments = self._arguments_or_none(block)
                if arguments and {"append", "prepend"} & set(arguments.results):
                    continue  # nothing is replaced
                edit = self._document.place(block, "")
                if edit.end > result.start:
                    spans.append((result.start, edit.end))
        return sorted(spans)

    def _arguments_or_none(self, block: org.Block) -> header.Arguments | None:
        try:
            return self._arguments(block)
        except (lisp.ArgumentError, EvaluationError):
            return None

    # reading a block

    def _arguments(self, block: org.Block) -> header.Arguments:
        if block.call is None:
            return header.of_block(block, self._inherited)
        target = self._target(block, block.call)
        return header.of_call(block, block.call, target, self._inherited)

    def _target(self, block: org.Block, call: org.Call) -> org.Block:
        target = self._document.block_named(call.name)
        if target is None:
            raise EvaluationError(
                f"no source block is named {call.name}", file=self._file, line=block.line + 1
            )
        return target

    def _prepare(self, block: org.Block) -> _Task | Outcome:
        line = block.line + 1
        try:
            arguments = self._arguments(block)
            skipped = self._skips(block, arguments)
            if skipped is not None:
                return skipped
            task = self._read(block, arguments)
            if arguments.flag("cache") and task.digest is not None:
                result = self._document.result(block)
                if result is not None and result.hash == task.digest:
                    return Outcome(line, block.name, "cached")
        except OrgrestError as error:
            return self._failed(line, block.name, error)
        except lisp.ArgumentError as error:
            return self._failed(line, block.name, EvaluationError(str(error)))
        return task

    def _failed(self, line: int, name: str | None, error: OrgrestError) -> Outcome:
        return Outcome(line, name, "failed", reason=self._located(error, line))

    def _located(self, error: OrgrestError, line: int) -> OrgrestError:
        if error.line is None:
            error.file, error.line = self._file, line
        return error

    def _skips(self, block: org.Block, arguments: header.Arguments) -> Outcome | None:
        wanted = arguments.eval
        line = block.line + 1
        if wanted in ("no", "never"):
            return Outcome(line, block.name, "skipped")
        if wanted == "query" and not self._options.dry_run:
            where = f"{self._file}:{line}"
            name = f" {block.name}" if block.name else ""
            if self._options.ask is None:
                reason = ":eval query needs a terminal to ask on"
            elif self._options.ask(f"Evaluate the block{name} at {where}?"):
                return None
            else:
                reason = "not evaluated, as you said"
            error = EvaluationError(reason, file=self._file, line=line)
            return Outcome(line, block.name, "skipped", reason=error)
        return None

    def _read(
        self,
        block: org.Block,
        arguments: header.Arguments,
        given: Mapping[str, str] | None = None,
    ) -> _Task:
        """Read a block's requests, with its variables."""
        target = block if block.call is None else self._target(block, block.call)
        values: dict[str, str] = {}
        literal: dict[str, str] = dict(given or {})
        shown: list[tuple[str, object]] = []
        for name, assignment in arguments.variables.items():
            if name in literal or self._scope.overrides(name):
                continue
            _, value = header.value(assignment)
            if isinstance(value, str):
                values[name] = value
                shown.append((name, value))
            else:
                literal[name] = self._resolve(value, arguments)
                shown.append((name, value if isinstance(value, lisp.Number) else literal[name]))
        body = self._document.body(target)
        text, places = body.text, list(body.places)
        if arguments.flag("noweb") and arguments.get("noweb") != "tangle":
            self._grown = 0
            text, places = self._noweb(text, places, [])
        digest = None
        if arguments.flag("cache"):
            digest = self._digest(arguments, text, shown)
        task = self._task(block, arguments, text, places, values, literal)
        task.language, task.digest = target.language, digest
        return task

    def _task(
        self,
        block: org.Block,
        arguments: header.Arguments,
        text: str,
        places: list[tuple[int, int]],
        values: Mapping[str, str],
        literal: Mapping[str, str],
    ) -> _Task:
        """Read the requests in the body of a block, with what stands around it."""
        first = (block.line + 1, 0)
        prologue = arguments.get("prologue")
        if prologue:
            lines = [
                line
                for line in prologue.split("\n")
                if not ((match := _DEFINITION.match(line)) and match[1] in arguments.variables)
            ]
            text = "\n".join([*lines, text])
            places[:0] = [first] * len(lines)
        epilogue = arguments.get("epilogue")
        if epilogue:
            text = f"{text}\n{epilogue}"
            places += [first] * (epilogue.count("\n") + 1)
        source = Source(text, file=self._file, places=places)
        document = requests.parse(source)
        parsed = document.requests
        if document.problems:
            raise document.problems[0]
        notes = [str(notice) for notice in document.notices]
        if arguments.get("requests") != "all":
            if more := len(parsed[1:]):
                several = f"{more} requests" if more > 1 else "request"
                notes.append(f"the other {several} of this block: not sent (:requests all)")
            parsed = parsed[:1]
        directory = self._scope.directory
        if arguments.get("dir"):
            try:
                directory = directory / Path(arguments.get("dir")).expanduser()
            except RuntimeError as error:  # a ~user without a home
                raise EvaluationError(f":dir {arguments.get('dir')}: {error}") from error
        scope = self._scope.block(values=values, literal=literal, directory=directory)
        task = _Task(block, block.line + 1, block.name, arguments, tuple(parsed), scope)
        task.notes = tuple(notes)
        return task

    def _digest(
        self, arguments: header.Arguments, text: str, shown: Sequence[tuple[str, object]]
    ) -> str:
        """Compute the hash of a block, of its text as Emacs would hand it on."""
        parts = [arguments.get("prologue")] if arguments.get("prologue") else []
        parts += [
            f":{name} = {lisp.write(value) if isinstance(value, lisp.Number) else value}"
            for name, value in shown
        ]
        parts.append(text)
        if arguments.get("epilogue"):
            parts.append(arguments.get("epilogue"))
        return header.digest(arguments, "\n".join(parts), shown)

    def _noweb(
        self,
        text: str,
        places: list[tuple[int, int]],
        within: list[str],
    ) -> tuple[str, list[tuple[int, int]]]:
        """Put the blocks in that ``<<name>>`` stands for; what stands before it is repeated."""
        lines: list[str] = []
        where: list[tuple[int, int]] = []
        for line, place in zip(text.split("\n"), places, strict=True):
            match = _NOWEB.search(line)
            if match is None:
                lines.append(line)
                where.append(place)
                continue
            at = 0
            new = [""]
            for match in _NOWEB.finditer(line):
                before = line[at : match.start()]
                new[-1] += before
                text = self._noweb_text(match[1], place[0], within)
                prefix = line[: match.start()]
                self._grown += len(text) + text.count("\n") * len(prefix)
                if self._grown > MAX_NOWEB:
                    raise EvaluationError(
                        f"<<...>> make this block longer than {MAX_NOWEB} characters",
                        file=self._file,
                        line=place[0],
                    )
                inner = text.split("\n")
                new[-1] += inner[0]
                new += [prefix + more if more else more for more in inner[1:]]
                at = match.end()
            new[-1] += line[at:]
            lines += new
            where += [place] * len(new)
        return "\n".join(lines), where

    def _noweb_text(self, name: str, line: int, within: list[str]) -> str:
        if name.endswith(")"):
            match = re.match(r"([^(\[]+)\((.*)\)$", name)
            if match is not None:
                reference = header.Reference(match[1].strip(), "", match[2])
                return self._resolve(reference, header.Arguments())
        if name in within:
            raise EvaluationError(f"<<{name}>> contains itself", file=self._file, line=line)
        if len(within) >= lisp.MAX_DEPTH:
            raise EvaluationError(f"<<{name}>> is nested too deep", file=self._file, line=line)
        if name in self._noweb_texts:
            return self._noweb_texts[name]
        found = self._document.block_named(name)
        blocks = [found] if found is not None else self._with_noweb_ref(name)
        if not blocks:
            raise EvaluationError(
                f"<<{name}>>: no source block has this name", file=self._file, line=line
            )
        texts: list[str] = []
        for block in blocks:
            body = self._document.body(block)
            texts.append(self._noweb(body.text, list(body.places), [*within, name])[0])
        return self._noweb_texts.setdefault(name, "\n".join(texts))

    def _with_noweb_ref(self, name: str) -> list[org.Block]:
        if self._noweb_refs is None:
            self._noweb_refs = {}
            for block in self._document.blocks:
                if block.kind == "block":
                    with contextlib.suppress(lisp.ArgumentError):
                        given = header.of_block(block, self._inherited).get("noweb-ref")
                        self._noweb_refs.setdefault(given, []).append(block)
        return self._noweb_refs.get(name, [])

    # references

    def _resolve(self, value: header.Value, arguments: header.Arguments) -> str:
        """Give what a ``:var`` stands for, lists and tables as JSON."""
        if isinstance(value, header.Lisp):
            return lisp.understand(value.text, {})
        if isinstance(value, header.Reference):
            block = self._document.block_named(value.name)
            if block is not None and (
                value.arguments is not None or block.language in org.REQUEST_LANGUAGES
            ):
                return self._result_of(block, value)
            return data.to_text(self._data(block, value, arguments))
        return data.to_text(value)

    def _data(
        self, block: org.Block | None, value: header.Reference, arguments: header.Arguments
    ) -> data.Data:
        """Give the data that stands in the document under a name."""
        if block is not None and block.language in ("emacs-lisp", "elisp"):
            with contextlib.suppress(lisp.ArgumentError):  # its result may stand there, too
                return lisp.understand(self._document.body(block).text, {})
        name = value.name.lower()
        document = org.Document(self.text) if name in self._placed else self._document
        with_header = arguments.get("colnames") == "no"
        element = document.element_named(value.name)
        if element is not None:
            return data.read(element, value.name, value.indices, header=with_header)
        if block is not None:
            raise EvaluationError(
                f"{value.name} is a block in {block.language or 'no language'}, which is not run "
                "here, and it has no result in this document"
            )
        raise EvaluationError(
            f"no block, table, list or result is named {value.name} in this document"
        )

    def _result_of(self, block: org.Block, reference: header.Reference) -> str:
        """Give the body that a request block gets, sending it unless that was done already."""
        name = reference.name.lower()
        if name in self._active:
            raise EvaluationError(f"{reference.name} refers to itself")
        if len(self._active) >= lisp.MAX_DEPTH:
            raise EvaluationError(f"{reference.name}: references go deeper than {lisp.MAX_DEPTH}")
        if block.language not in org.REQUEST_LANGUAGES:
            if block.language in ("emacs-lisp", "elisp"):
                given = dict(
                    self._argument(text)
                    for text in header.call_arguments(reference.arguments or "")
                )
                return lisp.understand(self._document.body(block).text, given)
            raise EvaluationError(
                f"{reference.name} is a block in {block.language}, which is not run here"
            )
        self._active.append(name)
        try:
            if reference.arguments:
                outcome = self._called(block, reference.arguments)
            else:
                if name not in self._memory:
                    task = self._under_way(block) or self._read(block, self._arguments(block))
                    self._memory[name] = self._exchange(task)
                outcome = self._memory[name]
        finally:
            self._active.pop()
        rendered = outcome.exchanges[-1].rendered
        if rendered is None and self._options.complete:
            raise EvaluationError(
                f"this needs the answer to {reference.name}, which is not sent here: "
                "give the variable a value (--var)"
            )
        return f"<result of {reference.name}>" if rendered is None else rendered.body

    def _under_way(self, block: org.Block) -> _Task | None:
        """Find the task of a block that was sent but is not finished."""
        for step in self._waiting:
            if isinstance(step, _Task) and step.block is block:
                return step
        return None

    def _called(self, block: org.Block, text: str) -> Outcome:
        given = dict(self._argument(part) for part in header.call_arguments(text))
        return self._exchange(self._read(block, self._arguments(block), given))

    def _argument(self, text: str) -> tuple[str, str]:
        name, value = header.value(text)
        return name, self._resolve(value, header.Arguments())

    def _key(self, block: org.Block) -> str | None:
        """Give the name under which others refer to a block, None where they cannot."""
        if not block.name or self._document.block_named(block.name) is not block:
            return None
        return block.name.lower()

    # sending

    def _finish(self, task: _Task) -> Outcome:
        """Send what has to be sent, and place the result."""
        try:
            key = None if task.block is None else self._key(task.block)
            known = None if key is None else self._memory.get(key)
            outcome = known or self._exchange(task)
            if task.block is None or self._options.dry_run:
                return outcome
            if key is not None:
                self._memory.setdefault(key, outcome)
            return self._place(task.block, task.arguments, outcome, task)
        except OrgrestError as error:
            return self._failed(task.line, task.name, error)
        except lisp.ArgumentError as error:
            return self._failed(task.line, task.name, EvaluationError(str(error)))

    def _exchange(self, task: _Task) -> Outcome:
        from orgrest.transport import wire_headers, wire_url

        exchanges: list[Exchange] = []
        notes = list(task.notes)
        for parsed in task.parsed:
            request = task.request or variables.expand(parsed, task.scope)
            task.request = request
            notes += (str(warning) for warning in request.notices)
            if self._options.dry_run:
                wire_url(request)  # what could not be sent is told here, too
                wire_headers(request)
                exchanges.append(Exchange(request))
            else:
                response = task.response.result() if task.response else self._send(task)
                for name, value in results.captures(request, response):
                    task.scope.capture(parsed, name, value)
                rendered = self._render(task, request, response)
                notes += rendered.notes
                exchanges.append(Exchange(request, response, rendered))
            task.request = None
        return Outcome(task.line, task.name, "done", tuple(exchanges), notes=tuple(notes))

    def _send(self, task: _Task) -> Response:
        arguments = task.arguments
        timeout = self._options.timeout
        given = arguments.get("timeout")
        if given:
            try:
                timeout = float(given)
            except ValueError:
                timeout = -1
            if not 0 < timeout < 1e6:
                raise EvaluationError(f":timeout is a number of seconds, not {given}")
        if self._client is None or task.request is None:
            raise EvaluationError("nothing can be sent here")
        return self._client.send(
            task.request,
            cookies=self._cookies,
            follow="follow" not in arguments or arguments.flag("follow"),
            timeout=timeout,
        )

    def _render(self, task: _Task, request: Request, response: Response) -> results.Rendered:
        arguments = task.arguments
        heads = arguments.get("headers", "yes").lower()
        if heads not in ("yes", "no", "only"):
            raise EvaluationError(f":headers is yes, no or only, not {heads}")
        if heads == "yes" and arguments.flag("noheaders"):
            heads = "no"
        return results.render(
            request,
            response,
            headers=heads,
            jq=arguments.get("jq") or None,
            jq_args=arguments.get("jq-args"),
        )

    # placing

    def _place(
        self,
        block: org.Block,
        arguments: header.Arguments,
        outcome: Outcome,
        task: _Task,
    ) -> Outcome:
        """Put the result of a block into the document."""
        words = arguments.results
        if "silent" in words or "none" in words:
            return outcome
        rendered = [exchange.rendered for exchange in outcome.exchanges]
        shown_all = [one for one in rendered if one is not None]
        if block.kind in ("inline", "inline call"):
            text = self._inline_text(arguments, shown_all, task.language)
            return self._put(block, outcome, lambda found, at: found.place_inline(at, text))
        values, blocks, files = self._shown(block, arguments, outcome)
        if files or "file" in words:
            shown = layout.Shown("".join(values))
        else:
            values = self._post(arguments, values)
            shown = layout.show(arguments, values, blocks, task.language)
        mode = next((word for word in words if word in ("append", "prepend")), "replace")
        outcome = attrs.evolve(outcome, notes=outcome.notes + shown.notes, files=tuple(files))
        return self._put(
            block,
            outcome,
            lambda found, at: found.place(
                at,
                shown.text,
                mode=mode,
                digest=task.digest,
                prose=shown.prose,
            ),
        )

    def _shown(
        self, block: org.Block, arguments: header.Arguments, outcome: Outcome
    ) -> tuple[list[str], list[str], list[tuple[Path, bytes]]]:
        """Give each response bare and wrapped, or as a link, and the files of the links."""
        values: list[str] = []
        blocks: list[str] = []
        files: list[tuple[Path, bytes]] = []
        for exchange in outcome.exchanges:
            one = exchange.rendered
            if one is None:
                continue
            if one.data is not None or "file" in arguments.results:
                link, file = self._file_result(block, arguments, exchange, len(files))
                files += file
                values.append(link)
                blocks.append(link)
            else:
                values.append(one.value)
                blocks.append(one.block())
        return values, blocks, files

    def _post(self, arguments: header.Arguments, values: list[str]) -> list[str]:
        """Hand the result to the block that ``:post`` names."""
        post = arguments.get("post")
        if not post:
            return values
        _, reference = header.value(f"post={post}")
        if not isinstance(reference, header.Reference):
            raise EvaluationError(f":post names a block: name(variable=*this*), not {post}")
        block = self._document.block_named(reference.name)
        if block is None:
            raise EvaluationError(f":post: no source block is named {reference.name}")
        given: dict[str, str] = {}
        for part in header.call_arguments(reference.arguments or ""):
            name, _, text = part.partition("=")
            if text.strip() == "*this*":
                given[name.strip()] = "".join(values)
            else:
                given.update([self._argument(part)])
        if block.language in org.REQUEST_LANGUAGES:
            outcome = self._exchange(self._read(block, self._arguments(block), given))
            return [one.rendered.value for one in outcome.exchanges if one.rendered is not None]
        if block.language not in ("emacs-lisp", "elisp"):
            raise EvaluationError(f":post: {block.language} is not run here")
        text = lisp.understand(self._document.body(block).text, given)
        return [text if text.endswith("\n") or not text else text + "\n"]

    def _inline_text(
        self, arguments: header.Arguments, rendered: Sequence[results.Rendered], language: str
    ) -> str:
        text = "".join(one.body for one in rendered).rstrip("\n")
        shown = layout.inline(arguments, text, language)
        if shown is None:
            lines = text.count("\n") + 1
            what = f"the response has {lines}" if lines > 1 else "this response is not safe there"
            raise EvaluationError(
                f"an inline block shows one line, {what}: pick from it with :jq, or use a "
                "source block"
            )
        return shown

    def _file_result(
        self,
        block: org.Block,
        arguments: header.Arguments,
        exchange: Exchange,
        number: int,
    ) -> tuple[str, list[tuple[Path, bytes]]]:
        """Give the link to a result that goes into a file, and the file."""
        words = arguments.results
        folder = self._scope.directory
        given = arguments.get("file")
        if given:
            start = folder / arguments.get("dir") / arguments.get("output-dir")
            path = start / given
            if number:
                path = path.with_stem(f"{path.stem}-{number + 1}")
        else:
            found = exchange.rendered.extension if exchange.rendered else ""
            extension = arguments.get("file-ext") or found or ".txt"
            path = folder / arguments.get("output-dir")
            path /= self._file_name(block, number) + "." + extension.removeprefix(".")
        try:
            target = path.resolve()
        except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a NUL
            raise EvaluationError(f":file {given}: {error}") from error
        if not target.is_relative_to(folder.resolve()) or any(
            part.startswith(".") for part in target.relative_to(folder.resolve()).parts
        ):
            raise EvaluationError(
                f":file {given}: results are written below the document's folder only, "
                "and not to hidden files"
            )
        if target == (folder / PurePosixPath(self._file).name).resolve():
            raise EvaluationError(f":file {given} is the document itself")
        shown = path.relative_to(folder) if path.is_relative_to(folder) else path
        link = f"file:{shown}"
        if "file-desc" in arguments:
            link = f"{link}][{arguments.get('file-desc') or shown}"
        files: list[tuple[Path, bytes]] = []
        if not {"link", "graphics"} & set(words):
            files.append((target, _content(exchange, arguments)))
        return f"[[{link}]]\n", files

    def _file_name(self, block: org.Block, number: int) -> str:
        name = block.name or f"{Path(self._file).stem}-{self._count(block)}"
        name = re.sub(r"[^\w.-]+", "-", name).strip("-.") or "result"
        return f"{name}-{number + 1}" if number else name

    def _count(self, block: org.Block) -> int:
        """Give a nameless request block's number among its like, for the name of its file."""
        if self._numbers is None:
            ours = (
                one
                for one in self._document.blocks
                if self._is_ours(one) and not one.name and one.result is None
            )
            self._numbers = {one: number for number, one in enumerate(ours, 1)}
        return self._numbers.get(block, len(self._numbers) + 1)

    # edits

    def _put(
        self,
        block: org.Block,
        outcome: Outcome,
        make: Callable[[org.Document, org.Block], org.Edit],
    ) -> Outcome:
        """Make the edit that places a result, after the ones before it where it builds on them.

        Gives the outcome with the text that it replaces, and the new one.
        """
        start = self._origins.get(block, block.start)
        placing = Placing(start, block.kind, block.name, make)
        if block.name and block.name.lower() in self._placed:
            block = self._read_again(block)
        edit = placing.edit(self._document, block)
        if not self._is_free(edit):
            block = self._read_again(block)
            edit = placing.edit(self._document, block)
        insort(self._spans, (edit.start, edit.end))
        self._edits.append(edit)
        if block.name:
            self._placed.add(block.name.lower())
        change = (self._base[edit.start : edit.end], edit.text)
        return attrs.evolve(outcome, change=change, placing=placing)

    def _is_free(self, edit: org.Edit) -> bool:
        at = bisect_left(self._spans, (edit.start, edit.end))
        before = self._spans[at - 1][1] if at else -1
        after = self._spans[at][0] if at < len(self._spans) else len(self._base) + 1
        return before <= edit.start and edit.end <= after

    def _read_again(self, block: org.Block) -> org.Block:
        """Make the results so far part of the text, and find `block` in it."""
        edits = sorted(self._edits, key=lambda edit: edit.end)
        ends = [edit.end for edit in edits]
        moved = [0, *itertools.accumulate(len(e.text) - (e.end - e.start) for e in edits)]
        self._base = self.text
        self._document = org.Document(self._base)
        self._inherited = header.Inherited(self._document)
        self._numbers = None
        self._edits, self._spans, self._placed = [], [], set()
        now = {one.start: one for one in self._document.blocks}

        origins, self._origins = self._origins, {}

        def find(old: org.Block) -> org.Block | None:
            found = now.get(old.start + moved[bisect_right(ends, old.start)])
            if found is not None:
                self._origins[found] = origins.get(old, old.start)
            return found

        self._todo = [found for old in self._todo if (found := find(old)) is not None]
        for task in self._waiting:
            if isinstance(task, _Task) and task.block is not None:
                task.block = find(task.block) or task.block
        found = find(block)
        if found is None:
            raise EvaluationError("a result that was put in before took this block's place")
        return found


def _content(exchange: Exchange, arguments: header.Arguments) -> bytes:
    """Give what a file result holds: the body as it came, secrets hidden; or what jq made of it."""
    if arguments.get("jq"):
        text = exchange.rendered.body if exchange.rendered else ""
    else:
        body = exchange.response.body if exchange.response else b""
        text = results.mask(body.decode("utf-8", "surrogateescape"), exchange.request.secrets)
    return text.encode("utf-8", "surrogateescape")


def _within(spans: Sequence[tuple[int, int]], offset: int) -> bool:
    at = bisect_left(spans, (offset + 1,))
    return at > 0 and offset < spans[at - 1][1]
