"""One run over an Org document: its blocks become tasks, whose results are placed in it."""

from __future__ import annotations

from functools import cached_property
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
    from collections.abc import Hashable, Mapping

    from orgrest.http.syntax import ParsedRequest
    from orgrest.http.values import Context
    from orgrest.http.values.context import RequestNeededError
    from orgrest.org.arguments import Arguments
    from orgrest.org.blocks import Block
    from orgrest.run.documents.result_writer import ResultWriter
    from orgrest.run.outcomes import Task
    from orgrest.run.plan import Plan, Step, StepId
    from orgrest.run.results import RequestResults
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
        file: str,
        settings: Settings,
        services: Services,
        context: Context,
        results: RequestResults,
    ) -> None:
        """Read the Org document `text`, of the file called `file`, with the objects of the run."""
        self.editor = DocumentEditor(text, file, services.write)
        self._file = file
        self._settings = settings
        self._ask = services.ask
        self._planned = self.editor.document  # the blocks of steps are its blocks
        self._confirmed: set[StepId] = set()  # by the user
        self._context = context
        self._results = results
        self.reader = BlockReader(self.editor, file)
        context.names = _Stores(self.reader, self.editor)
        self._languages = languages_of(self.editor.document, settings)

    @property
    def text(self) -> str:
        """The document with all results so far."""
        return self.editor.text

    def plan(self) -> Plan:
        """Choose the blocks to evaluate. Raises EvaluationError."""
        editor = self.editor
        plan = plan_of(editor.document, editor.inherited, self._settings, self._file)
        editor.follow(step.source for step in plan.steps)
        return plan

    def title(self, step: Step) -> str:
        """Return the method and URL of a block's first request, as written."""
        return self.reader.title(step.source, self._planned)

    def tasks(self, step: Step) -> list[Task | Outcome]:
        """Return the task of a step's block, or an outcome if it is not sent.

        Raises RequestNeededError until the blocks that it refers to were sent.
        """
        now = self.editor.now(step.source)
        if now is None:
            return []
        try:
            arguments = self.editor.arguments(now)
            skipped = self._skipped(now, arguments, step.id)
            if skipped is not None:
                return [self._results.known(step.id) or skipped]
            task = self._read(now, step.id, arguments)
            if arguments.flag("cache") and task.digest is not None:
                result = result_of(self.editor.document, now)
                if result is not None and result.hash == task.digest:
                    reason = "the result below is already the one of this request (:cache)"
                    return [self._unsent(now, reason, "cached")]
        except Exception as error:
            return [self._failed(step.id, now, error)]
        return [attrs.evolve(task, block=step.source)]

    def needed(self, needed: RequestNeededError) -> list[Task | Outcome]:
        """Return the task of a block that another block refers to; raises the errors of `tasks`."""
        block = self.editor.block_of(needed.key)
        try:
            return [self._read(block, needed.key, self.editor.arguments(block), needed.given)]
        except Exception as error:
            return [self._failed(needed.key, block, error)]

    def _failed(self, step: StepId, block: Block, error: Exception) -> Outcome:
        outcome = failed(block.line + 1, block.name, error, self._file)
        title = self.reader.title(block, self.editor.document)
        outcome = attrs.evolve(outcome, title=title)
        self._results.keep(step, outcome)
        return outcome

    def place(self, task: Task, outcome: Outcome) -> Outcome:
        """Place the result of a task in the document.

        Raises OrgrestError, and RequestNeededError for the block that `:post` names.
        """
        if task.block is None:
            return outcome
        return self.results.place(task.block, task, outcome, self._references((task.id, "post")))

    @cached_property
    def results(self) -> ResultWriter:
        """The object that places results in this document."""
        from orgrest.run.documents.result_writer import ResultWriter

        return ResultWriter(self.editor, self._settings, self._languages)

    def _references(self, by: Hashable) -> References:
        return References(self.editor, self._results, by, complete=self._settings.complete)

    def _read(
        self,
        block: Block,
        step: StepId,
        arguments: Arguments,
        given: Mapping[str, str] | None = None,
    ) -> Task:
        resolve = self._references(step).resolve
        return self.reader.read(block, step, arguments, self._context, resolve, given)

    def _skipped(self, block: Block, arguments: Arguments, step: StepId) -> Outcome | None:
        """Return the outcome of a block that ``:eval`` excludes, else None."""
        wanted = arguments.eval
        line = block.line + 1
        verbs = target_of(self.editor.document, block).language == VERB
        if verbs and is_export(arguments):
            return self._unsent(block, EXPORT)
        if wanted in ("no", "never"):
            return self._unsent(block, f":eval {wanted}")
        if wanted != "query" or self._settings.dry_run or step in self._confirmed:
            return None
        where = f"{self._file}:{line}"
        name = f" {block.name}" if block.name else ""
        if self._ask is None:
            reason = ":eval query needs a terminal to ask on"
        elif self._ask(f"Evaluate the block{name} at {where}?"):
            self._confirmed.add(step)
            return None
        else:
            reason = "not evaluated, as you said"
        return self._unsent(block, reason)

    def _unsent(self, block: Block, reason: str, state: str = "skipped") -> Outcome:
        error = EvaluationError(reason, file=self._file, line=block.line + 1)
        return Outcome(block.line + 1, block.name, state, reason=error)
