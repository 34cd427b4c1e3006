"""One run over an Org document: its blocks become tasks, whose results are placed in it."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING

import attrs

from orgrest.http.values import RequestNames
from orgrest.org.arguments import target_of
from orgrest.org.blocks import VERB
from orgrest.org.results import result_of
from orgrest.run.documents.block_reader import BlockReader
from orgrest.run.documents.document_editor import DocumentEditor
from orgrest.run.documents.references import References
from orgrest.run.documents.selection import languages_of, plan_of
from orgrest.run.documents.verb import EXPORT, is_export
from orgrest.run.outcomes import EvaluationError, Outcome, failed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from orgrest.http.syntax import ParsedRequest
    from orgrest.org.arguments import Arguments
    from orgrest.org.blocks import Block
    from orgrest.run.document import Running
    from orgrest.run.documents.file_results import FileResults
    from orgrest.run.documents.result_writer import ResultWriter
    from orgrest.run.outcomes import Task
    from orgrest.run.plan import Plan, Step, StepId
    from orgrest.run.services import Services
    from orgrest.run.settings import Settings


@attrs.frozen
class _Stores(RequestNames):
    """The requests whose responses verb stores, by the names of the stores."""

    _reader: BlockReader
    _editor: DocumentEditor

    def requests_named(self, name: str, using: ParsedRequest) -> tuple[StepId, ...]:
        """Return the request whose response is stored under a name."""
        del using
        block = self._reader.verb.stores.get(name)
        found = None if block is None else self._editor.id_of(block)
        return () if found is None else (found,)


class OrgFile:
    """A document for `Run`; `editor` is the document with the results so far."""

    def __init__(
        self,
        text: str,
        *,
        file: str,
        settings: Settings,
        services: Services,
    ) -> None:
        """Read the Org document `text`, of the file called `file`; the rest is the run's."""
        self.editor = DocumentEditor(text, file, services.write)
        self._file = file
        self._settings = settings
        self._ask = services.ask
        self._planned = self.editor.document  # the blocks of steps are its blocks
        self.reader = BlockReader(self.editor, file)
        self.names = _Stores(self.reader, self.editor)
        self._languages = languages_of(self.editor.document, settings)

    @cached_property
    def _files(self) -> FileResults:
        from orgrest.run.documents.file_results import FileResults

        folder, allowed = self._settings.inputs.directory, self._settings.allow_write
        return FileResults(self.editor, folder, self._file, self._languages, allowed)

    @property
    def text(self) -> str:
        """The document with all results so far."""
        return self.editor.text

    def plan(self) -> Plan:
        """Choose what is evaluated. Raises EvaluationError."""
        editor = self.editor
        plan = plan_of(editor.document, editor.inherited, self._settings, self._file)
        editor.follow(step.source for step in plan)
        return plan

    def title(self, step: Step) -> str:
        """Return the method and URL of a block's first request as they are written."""
        return self.reader.title(step.source, self._planned)

    def tasks(self, step: Step, run: Running) -> Iterator[Task | Outcome]:
        """Yield the task of a step's block; an outcome if it is not to be sent."""
        now = self.editor.now(step.source)
        if now is not None:
            yield self._prepare(step.source, now, run)

    def place(self, task: Task, outcome: Outcome, run: Running) -> Outcome:
        """Place the result of a task in the document. Raises OrgrestError."""
        return (
            outcome
            if task.block is None
            else self.result_writer(run).place(task.block, task, outcome)
        )

    def result_writer(self, run: Running) -> ResultWriter:
        """Return the object that places results in this document."""
        from orgrest.run.documents.result_writer import ResultWriter

        send = partial(self._send, run)
        return ResultWriter(self.editor, self._files, self._references(run), send, self._file)

    def _references(self, run: Running) -> References:
        return References(self.editor, self._settings, partial(self._send, run))

    def _read(self, block: Block, run: Running, given: Mapping[str, str] | None = None) -> Task:
        arguments = self.editor.arguments(block)
        return self.reader.read(block, arguments, run.context, self._references(run).resolve, given)

    def _prepare(self, block: Block, now: Block, run: Running) -> Task | Outcome:
        line = now.line + 1
        try:
            arguments = self.editor.arguments(now)
            skipped = self._skipped(now, arguments)
            if skipped is not None:
                return run.results.known(self.editor.id_of(now)) or skipped
            with run.results.needing(self.editor.id_of(now)):
                task = self._read(now, run)
            if arguments.flag("cache") and task.digest is not None:
                result = result_of(self.editor.document, now)
                if result is not None and result.hash == task.digest:
                    reason = "the result below is already the one of this request (:cache)"
                    return self._unsent(now, reason, "cached")
        except Exception as error:
            outcome = failed(line, now.name, error, self._file)
            run.results.keep(self.editor.id_of(now), outcome)
            return outcome
        return attrs.evolve(task, block=block)

    def _skipped(self, block: Block, arguments: Arguments) -> Outcome | None:
        """Return the outcome of a block that ``:eval`` excludes, else None."""
        wanted = arguments.eval
        line = block.line + 1
        if is_export(arguments) and target_of(self.editor.document, block).language == VERB:
            return self._unsent(block, EXPORT)
        if wanted in ("no", "never"):
            return self._unsent(block, f":eval {wanted}")
        if wanted != "query" or self._settings.dry_run:
            return None
        where = f"{self._file}:{line}"
        name = f" {block.name}" if block.name else ""
        if self._ask is None:
            reason = ":eval query needs a terminal to ask on"
        elif self._ask(f"Evaluate the block{name} at {where}?"):
            return None
        else:
            reason = "not evaluated, as you said"
        return self._unsent(block, reason)

    def _unsent(self, block: Block, reason: str, state: str = "skipped") -> Outcome:
        error = EvaluationError(reason, file=self._file, line=block.line + 1)
        return Outcome(block.line + 1, block.name, state, reason=error)

    def need(self, request: StepId, run: Running) -> None:
        """Send a stored request, unless it was sent. Raises OrgrestError."""
        for block in self.reader.verb.stores.values():
            if self.editor.id_of(block) == request:
                self._send(run, block, {})

    def _send(self, run: Running, block: Block, given: Mapping[str, str]) -> Outcome:
        """Send a block, unless it was sent; with `given` variables it is always sent.

        Raises OrgrestError.
        """

        def read() -> Task | Outcome:
            try:
                return self._read(block, run, given)
            except Exception as error:
                outcome = failed(block.line + 1, block.name, error, self._file)
                title = self.reader.title(block, self.editor.document)
                return attrs.evolve(outcome, title=title)

        return run.send(self.editor.id_of(block), read, apart=bool(given))
