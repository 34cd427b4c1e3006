"""An Org document in a run. Its blocks become tasks, and their results are inserted into it."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from orgrest import classes
from orgrest.http.parsing.dialects import read
from orgrest.model import Source
from orgrest.org import lisp, placing
from orgrest.org.argument_syntax import value
from orgrest.org.arguments import digest as hash_of
from orgrest.org.arguments import of_block, target_of
from orgrest.org.blocks import INLINE, VERB
from orgrest.org.data import to_text
from orgrest.org.results import result_of
from orgrest.regular import compiled
from orgrest.run.documents.edited_document import EditedDocument
from orgrest.run.documents.expect import expected_status, expects_same, judge_same
from orgrest.run.documents.selection import plan_of
from orgrest.run.documents.verb import EXPORT, is_export, selected_part
from orgrest.run.outcomes import EvaluationError, Outcome, Task, failed

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from orgrest.http.syntax import Document, ParsedRequest
    from orgrest.http.values import Context
    from orgrest.http.values.context import RequestNeededError
    from orgrest.org.argument_syntax import Value
    from orgrest.org.blocks import Arguments, Block
    from orgrest.org.data import Data
    from orgrest.org.document import OrgDocument
    from orgrest.org.text import Edit
    from orgrest.run.documents.references import References
    from orgrest.run.plan import Plan, Step, StepId
    from orgrest.run.results import RequestResults
    from orgrest.run.services import Services
    from orgrest.run.settings import Settings

    Resolve: TypeAlias = Callable[[Value, Arguments], Data]

_RESULTS = compiled(r"^[ \t]*#\+RESULTS\b.*", re.IGNORECASE | re.MULTILINE)
_DEFINITION = compiled(r":([^\s:=]+)[ \t]*:?=")
_NOT_REPLACED = frozenset({"silent", "none", "append", "prepend"})


class OrgFile:
    """The Org document of a `Run`. `edited` is the document with the results so far."""

    def __init__(
        self,
        text: str,
        file: str,
        settings: Settings,
        services: Services,
        context: Context,
        results: RequestResults,
    ) -> None:
        """Parse the Org document `text`, which is in the file called `file`.

        The other parameters are objects that belong to the run.
        """
        self.edited = EditedDocument(text, file, settings, services.write)
        self._ask = services.ask
        self._planned = self.edited.document  # the blocks of steps belong to this version
        self._confirmed: set[StepId] = set()  # steps that the user allowed
        self._context = context
        self._results = results
        # The context must not refer to itself through `edited`: without a cycle, the responses are
        # freed when the run ends.
        context.names = self.edited

    @property
    def text(self) -> str:
        """The document with all results so far."""
        return self.edited.text

    def texts(self) -> tuple[str]:
        """Return the text of the document, without the names of the blocks that have results."""
        return (_RESULTS.sub("", self.text),)

    def plan(self) -> Plan:
        """Return the plan of the run.

        Raises EvaluationError if the settings specify a name or line that does not exist.
        """
        edited = self.edited
        return plan_of(edited.document, edited.languages, edited.settings, edited.file)

    def title(self, step: Step) -> str:
        """Return the method and URL of the first request in a step's block, as written."""
        return _title(self._planned, step.source)

    def tasks(self, step: Step) -> list[Task | Outcome]:
        """Return the task for a step, or an outcome if its block is not sent.

        The list is empty if another block's result has replaced the block. Raises
        RequestNeededError if the block refers to a block that has not been sent yet.
        """
        now = self.edited.now(step.source)
        if now is None:
            return []
        try:
            arguments = of_block(self.edited.document, now)
            skipped = self._skipped(now, arguments, step.id)
            if skipped is not None:
                return [self._results.known(step.id) or skipped]
            task = self.task(now, step.id, arguments)
            if arguments.flag("cache") and task.digest is not None:
                result = result_of(self.edited.document, now)
                if result is not None and result.hash == task.digest:
                    reason = "the result below is up to date (:cache)"
                    return [self._unsent(now, reason, "cached")]
            self.check_file(now, step.id, arguments)
        except Exception as error:
            return [self._failed(step.id, now, error)]
        return [classes.evolve(task, block=step.source)]

    def needed(self, needed: RequestNeededError) -> list[Task | Outcome]:
        """Return the task for a block that another block needs, or an outcome if it is not sent.

        As in Org, `:eval` also applies to blocks that other blocks need.
        """
        block = self.edited.block_of(needed.key)
        try:
            arguments = of_block(self.edited.document, block)
            skipped = self._skipped(block, arguments, needed.key)
            if skipped is not None:
                return [skipped]
            if block.kind == "block":
                self.check_file(block, needed.key, arguments)
            return [self.task(block, needed.key, arguments, needed.variables)]
        except Exception as error:
            return [self._failed(needed.key, block, error)]

    def check_file(self, block: Block, step: StepId, arguments: Arguments) -> None:
        """Raise OrgrestError if a block names a result file that it may not write.

        A step that was already sent is not checked.
        """
        if (
            "file" in arguments.results
            and not {"silent", "none"} & set(arguments.results)
            and block.kind not in INLINE
            and self._results.known(step) is None
        ):
            from orgrest.run.documents import file_results

            file_results.check(self.edited, block, arguments)

    def _failed(self, step: StepId, block: Block, error: Exception) -> Outcome:
        outcome = failed(block.line + 1, block.name, error, self.edited.file)
        outcome = classes.evolve(outcome, title=_title(self.edited.document, block))
        self._results.keep(step, outcome)
        return outcome

    def task(
        self,
        block: Block,
        step: StepId,
        arguments: Arguments,
        variables: Mapping[str, str] | None = None,
    ) -> Task:
        """Return the task for a block, or for the block that it calls.

        `variables` override the block's ``:var`` variables. Raises OrgrestError if the block is
        invalid, and RequestNeededError if it refers to a block that has not been sent yet.
        """
        target = target_of(self.edited.document, block)
        body = self.edited.document.body(target, self.edited.file)
        written = block.inline if block.call else body.text
        values, literal = dict[str, str](), dict(variables or {})
        shown: list[tuple[str, object]] = []
        if arguments.variables or arguments.inserts_noweb:
            resolve = self._references(step).resolve
            values, literal, shown = _variables(arguments, literal, self._context, resolve)
            if arguments.inserts_noweb:
                body = self.edited.noweb.expand(body, resolve)
        digest = _digest(arguments, body.text, shown) if arguments.flag("cache") else None
        task = self.task_from_body(block, target, step, arguments, body, values, literal)
        return classes.evolve(task, written=written, digest=digest)

    def _references(self, by: Hashable) -> References:
        from orgrest.run.documents.references import References

        return References(self.edited, self._results, by)

    def task_from_body(
        self,
        block: Block,
        target: Block,
        step: StepId,
        arguments: Arguments,
        body: Source,
        values: Mapping[str, str],
        literal: Mapping[str, str],
    ) -> Task:
        """Return the task for the requests in `body`, the text of a block or of its `target`.

        `values` and `literal` are passed to `Context.block`. Raises OrgrestError if the block is
        invalid.
        """
        if "prologue" in arguments or "epilogue" in arguments:
            body = _with_prologue_and_epilogue(arguments, body, (block.line + 1, 0))
        language = target.language
        document = read(body, language, arguments.variables, self.edited.document.text)
        parsed, notes = _requests(document, arguments)
        if language == VERB:
            selected_part(arguments)  # an error must be found before anything is sent
            parsed = tuple(self.edited.verb.complete(request, target) for request in parsed)
            literal = self.edited.verb.variables(target, self._context) | dict(literal)
        if "expect" in arguments:  # an error must be found before anything is sent
            _check_expectation(arguments, self.edited.file, block.line + 1)
        directory = self._context.directory
        if folder := arguments.get("dir"):
            directory = _below(directory, folder)
        return Task(
            step,
            block.line + 1,
            block.name,
            parsed,
            self._context.block(values=values, literal=literal, directory=directory),
            arguments,
            block,
            language=language,
            notes=notes,
        )

    def place(self, task: Task, outcome: Outcome) -> Outcome:
        """Insert a task's result below its block, and return the updated outcome.

        Raises OrgrestError if the result cannot be inserted. Raises RequestNeededError if the block
        that `:post` names must be sent first.
        """
        block, arguments = task.block, task.arguments
        words = arguments.results
        if "volatile" in arguments:
            from orgrest.run.comparison import Volatile

            outcome = classes.evolve(outcome, volatile=Volatile.of(arguments))
        same = "expect" in arguments and expects_same(arguments)
        if block is None or "silent" in words or "none" in words:
            return outcome
        from orgrest.rendering import layout
        from orgrest.run.documents.result_text import Written, inline_text, post, written

        is_inline = block.kind in INLINE
        if is_inline:
            rendered = [exchange.rendered for exchange in outcome.exchanges]
            result = Written([response.uncut() for response in rendered if response])
        else:
            result = written(self.edited, block, arguments, outcome, task.language)
        values, files = result.values, tuple(result.files)
        if arguments.get("post"):
            references = self._references((task.id, "post"))
            values = post(references, arguments.get("post"), result)
        if is_inline:
            text = inline_text(arguments, values, task.language)

            def make(document: OrgDocument, at: Block) -> Edit:
                return placing.place_inline(document, at, text)
        else:
            if result.links:
                shown = layout.RenderedResult("".join(result.blocks))
            else:
                shown = layout.show(arguments, values, result.blocks, task.language)
            outcome = classes.evolve(outcome, notes=outcome.notes + shown.notes)
            mode = next((word for word in words if word in ("append", "prepend")), "replace")

            def make(document: OrgDocument, at: Block) -> Edit:
                return placing.place(
                    document, at, shown.text, mode=mode, digest=task.digest, prose=shown.prose
                )

        judge = partial(judge_same, task, files) if same else None
        return self.edited.put(block, task.written, outcome, make, judge, files)

    def _skipped(self, block: Block, arguments: Arguments, step: StepId) -> Outcome | None:
        """Return the outcome of a block that must not be sent, otherwise None. May ask the user."""
        evaluation = arguments.eval
        if target_of(self.edited.document, block).language == VERB and is_export(arguments):
            return self._unsent(block, EXPORT)
        if evaluation in ("no", "never"):
            return self._unsent(block, f":eval {evaluation}")
        if evaluation != "query" or self.edited.settings.dry_run or step in self._confirmed:
            return None
        where = f"{self.edited.file}:{block.line + 1}"
        name = f" {block.name}" if block.name else ""
        if self._ask is None:
            reason = ":eval query requires a terminal"
        elif self._ask(f"Evaluate the block{name} at {where}?"):
            self._confirmed.add(step)
            return None
        else:
            reason = "not evaluated: you declined"
        return self._unsent(block, reason)

    def _unsent(self, block: Block, reason: str, state: str = "skipped") -> Outcome:
        code = "disabled" if state == "skipped" else ""
        error = EvaluationError(reason, file=self.edited.file, line=block.line + 1, code=code)
        return Outcome(block.line + 1, block.name, state, reason=error)


def _title(document: OrgDocument, block: Block) -> str:
    """Return the method and URL of a block's first request, as written in `document`."""
    target = target_of(document, block)
    requests = read(document.body(target), target.language).requests
    return requests[0].title if requests else ""


def _variables(
    arguments: Arguments, variables: Mapping[str, str], context: Context, resolve: Resolve
) -> tuple[dict[str, str], dict[str, str], list[tuple[str, object]]]:
    """Return the values and literals for `Context.block`, and the (name, value) pairs to hash."""
    values: dict[str, str] = {}
    literal = dict(variables)
    shown: list[tuple[str, object]] = []
    for name, assignment in arguments.variables.items():
        if name in literal or context.inputs.overrides.get(name) is not None:
            continue
        _, assigned = value(assignment)
        if isinstance(assigned, str):
            values[name] = assigned
            shown.append((name, assigned))
        else:
            found = resolve(assigned, arguments)
            literal[name] = to_text(found)
            shown.append((name, found))
    return values, literal, shown


def _check_expectation(arguments: Arguments, file: str, line: int) -> None:
    """Raise EvaluationError if the value of ``:expect`` is invalid, or cannot be checked."""
    expected_status(arguments, file, line)
    if expects_same(arguments) and _NOT_REPLACED & set(arguments.results):
        raise EvaluationError(
            ":expect same requires a result that replaces the previous one (:results replace)"
        )


def _below(directory: Path, folder: str) -> Path:
    try:
        return directory / Path(folder).expanduser()
    except RuntimeError as error:  # the home folder of this ~user does not exist
        raise EvaluationError(f":dir {folder}: {error}") from error


def _with_prologue_and_epilogue(
    arguments: Arguments, body: Source, first: tuple[int, int]
) -> Source:
    """Add the prologue and epilogue, whose lines get the position `first`."""
    text, places = body.text, list(body.places or ())
    prologue = arguments.get("prologue")
    if prologue:
        lines = [
            line
            for line in prologue.split("\n")
            if not ((match := _DEFINITION.match(line)) and match[1] in arguments.variables)
        ]
        text = "\n".join([*lines, text])
        places = [first] * len(lines) + places
    epilogue = arguments.get("epilogue")
    if epilogue:
        text = f"{text}\n{epilogue}"
        places = places + [first] * (epilogue.count("\n") + 1)
    return Source(text, body.file, places)


def _requests(
    document: Document, arguments: Arguments
) -> tuple[tuple[ParsedRequest, ...], tuple[str, ...]]:
    """Return the requests to send and the notices. Raises the document's first problem, if any."""
    if document.problems:
        raise document.problems[0]
    notes = [str(notice) for notice in document.notices]
    parsed = document.requests
    if arguments.get("requests") == "all":
        return parsed, tuple(notes)
    if more := len(parsed[1:]):
        several = f"{more} requests in this block are" if more > 1 else "request in this block is"
        notes.append(f"the other {several} not sent (use :requests all)")
    return parsed[:1], tuple(notes)


def _digest(arguments: Arguments, text: str, shown: Sequence[tuple[str, object]]) -> str:
    """Return the hash for `:cache`, computed from the same text as in Emacs."""
    parts = [arguments.get("prologue")] if arguments.get("prologue") else []
    parts += [f":{name} = {lisp.write(value, str)}" for name, value in shown]
    parts.append(text)
    if arguments.get("epilogue"):
        parts.append(arguments.get("epilogue"))
    return hash_of(arguments, "\n".join(parts), shown)
