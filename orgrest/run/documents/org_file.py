"""An Org document in a run. Its blocks become tasks, and their results are inserted into it."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from orgrest import classes
from orgrest.org.arguments import of_block, target_of
from orgrest.org.blocks import VERB
from orgrest.org.results import result_of
from orgrest.regular import compiled
from orgrest.run.documents.block_reader import BlockReader
from orgrest.run.documents.document_editor import DocumentEditor
from orgrest.run.documents.references import References
from orgrest.run.documents.selection import plan_of
from orgrest.run.documents.verb import EXPORT, is_export
from orgrest.run.outcomes import EvaluationError, Outcome, failed

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from orgrest.http.values import Context
    from orgrest.http.values.context import RequestNeededError
    from orgrest.org.blocks import Arguments, Block
    from orgrest.run.documents.result_writer import ResultWriter
    from orgrest.run.outcomes import Task
    from orgrest.run.plan import Plan, Step, StepId
    from orgrest.run.results import RequestResults
    from orgrest.run.services import Services
    from orgrest.run.settings import Settings

_RESULTS = compiled(r"^[ \t]*#\+RESULTS\b.*", re.IGNORECASE | re.MULTILINE)


class OrgFile:
    """The Org document of a `Run`. `editor` contains the document with the results so far."""

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
        self.editor = DocumentEditor(text, file, services.write)
        self._settings = settings
        self._ask = services.ask
        self._planned = self.editor.document  # the blocks of steps belong to this version
        self._confirmed: set[StepId] = set()  # steps that the user allowed
        self._context = context
        self._results = results
        self.reader = BlockReader(self.editor)
        context.names = self.reader
        self._languages = settings.languages or self.editor.document.request_languages()

    @property
    def text(self) -> str:
        """The document with all results so far."""
        return self.editor.text

    def texts(self) -> tuple[str]:
        """Return the text of the document, without the names of the blocks that have results."""
        return (_RESULTS.sub("", self.text),)

    def plan(self) -> Plan:
        """Return the plan of the run.

        Raises EvaluationError if the settings specify a name or line that does not exist.
        """
        editor = self.editor
        plan = plan_of(editor.document, self._languages, self._settings, editor.file)
        editor.follow(step.source for step in plan.steps)
        return plan

    def title(self, step: Step) -> str:
        """Return the method and URL of the first request in a step's block, as written."""
        return self.reader.title(step.source, self._planned)

    def tasks(self, step: Step) -> list[Task | Outcome]:
        """Return the task for a step, or an outcome if its block is not sent.

        The list is empty if another block's result has replaced the block. Raises
        RequestNeededError if the block refers to a block that has not been sent yet.
        """
        now = self.editor.now(step.source)
        if now is None:
            return []
        try:
            arguments = of_block(self.editor.document, now)
            skipped = self._skipped(now, arguments, step.id)
            if skipped is not None:
                return [self._results.known(step.id) or skipped]
            task = self._read(now, step.id, arguments)
            if arguments.flag("cache") and task.digest is not None:
                result = result_of(self.editor.document, now)
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
        block = self.editor.block_of(needed.key)
        try:
            arguments = of_block(self.editor.document, block)
            skipped = self._skipped(block, arguments, needed.key)
            if skipped is not None:
                return [skipped]
            if block.kind == "block":
                self.check_file(block, needed.key, arguments)
            return [self._read(block, needed.key, arguments, needed.variables)]
        except Exception as error:
            return [self._failed(needed.key, block, error)]

    def check_file(self, block: Block, step: StepId, arguments: Arguments) -> None:
        """Raise OrgrestError if a block names a result file that it may not write.

        A step that was already sent is not checked.
        """
        if "file" in arguments.results and self._results.known(step) is None:
            self.results.check(block, arguments)

    def _failed(self, step: StepId, block: Block, error: Exception) -> Outcome:
        outcome = failed(block.line + 1, block.name, error, self.editor.file)
        title = self.reader.title(block, self.editor.document)
        outcome = classes.evolve(outcome, title=title)
        self._results.keep(step, outcome)
        return outcome

    def place(self, task: Task, outcome: Outcome) -> Outcome:
        """Insert a task's result into the document, and return the updated outcome.

        Raises OrgrestError if the result cannot be inserted. Raises RequestNeededError if the block
        that `:post` names must be sent first.
        """
        if task.block is None:
            return outcome
        return self.results.place(task.block, task, outcome, self._references((task.id, "post")))

    @cached_property
    def results(self) -> ResultWriter:
        """The object that inserts results into this document."""
        from orgrest.run.documents.result_writer import ResultWriter

        return ResultWriter(self.editor, self._settings, self._languages)

    def _references(self, by: Hashable) -> References:
        return References(self.editor, self._results, by, complete=self._settings.complete)

    def _read(
        self,
        block: Block,
        step: StepId,
        arguments: Arguments,
        variables: Mapping[str, str] | None = None,
    ) -> Task:
        resolve = self._references(step).resolve
        return self.reader.read(block, step, arguments, self._context, resolve, variables)

    def _skipped(self, block: Block, arguments: Arguments, step: StepId) -> Outcome | None:
        """Return the outcome of a block that must not be sent, otherwise None. May ask the user."""
        evaluation = arguments.eval
        line = block.line + 1
        verbs = target_of(self.editor.document, block).language == VERB
        if verbs and is_export(arguments):
            return self._unsent(block, EXPORT)
        if evaluation in ("no", "never"):
            return self._unsent(block, f":eval {evaluation}")
        if evaluation != "query" or self._settings.dry_run or step in self._confirmed:
            return None
        where = f"{self.editor.file}:{line}"
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
        error = EvaluationError(reason, file=self.editor.file, line=block.line + 1, code=code)
        return Outcome(block.line + 1, block.name, state, reason=error)
