"""One run over an Org document: its blocks become tasks, and what comes of them results in it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from orgrest.org.arguments import target_of
from orgrest.org.blocks import VERB
from orgrest.org.results import result_of
from orgrest.run.draft import Draft
from orgrest.run.file_results import FileResults
from orgrest.run.items import Item, split_tags
from orgrest.run.outcomes import FAILURES, EvaluationError, Outcome, failed
from orgrest.run.placing import Placer
from orgrest.run.reading import BlockReader
from orgrest.run.references import References
from orgrest.run.selection import Selection
from orgrest.run.verb import EXPORT, is_export
from orgrest.run.weak import weakly

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from orgrest.http.values import Scope
    from orgrest.org.arguments import Arguments
    from orgrest.org.blocks import Block
    from orgrest.run.answers import Answers
    from orgrest.run.outcomes import Options, Task
    from orgrest.run.sending import Sender

_TAG = re.compile(r"^[ \t]*(?:#|//)[ \t]*@tag[ \t]+(.*)$", re.MULTILINE)


class OrgFile:
    """A document for `Evaluation`; `draft` is the document with the results so far."""

    def __init__(
        self,
        text: str,
        *,
        file: str,
        scope: Scope,
        options: Options,
        sender: Sender,
        answers: Answers,
        write: Callable[[Path, bytes], None] | None = None,
    ) -> None:
        """Read the Org document `text`, of the file called `file`; the rest is the run's."""
        self.draft = Draft(text, write)
        self._file = file
        self._options = options
        self._answers = answers
        self._scope = scope
        self._sender = sender
        self._selection = Selection(self.draft, options, file)
        read = weakly(self._read)
        self._references = References(self.draft, answers, options, read, sender.exchange)
        self.reader = BlockReader(self.draft, scope, file, self._references.resolve)
        files = FileResults(self.draft, scope.directory, file, self._selection.languages)
        self.placer = Placer(self.draft, files, self._references, weakly(self._evaluate), file)
        self.items: list[Item] = []

    @property
    def text(self) -> str:
        """The document with all results so far."""
        return self.draft.text

    @property
    def notices(self) -> tuple[str, ...]:
        """What the user should know about the choice that `plan` made."""
        return self._selection.notices

    def plan(self) -> int:
        """Choose what is evaluated, and tell how many blocks that are. Raises EvaluationError."""
        chosen = self._selection.blocks()
        if stores := self.reader.verb.stores:
            self._scope.exchanges.name_requests(stores, weakly(self._fetch))
        self.draft.follow(chosen)
        everywhere = {
            tag
            for key, text in self.draft.document.keywords
            if key == "filetags"
            for tag in text.split(":")
        }
        self.items = [
            Item(block.line + 1, block.name, self._tags(block, everywhere), block)
            for block in chosen
        ]
        return len(chosen)

    def problems(self) -> Iterator[Outcome]:
        """Give the failures of the whole document: each is of one block, and told there."""
        yield from ()

    def tasks(self, items: Sequence[Item]) -> Iterator[Task | Outcome]:
        """Read the blocks of items, one after the other; outcomes are of blocks not to be sent."""
        for item in items:
            now = self.draft.now(item.what)
            if now is not None:
                yield self._prepare(item.what, now)

    def _tags(self, block: Block, everywhere: set[str]) -> frozenset[str]:
        tags = block.heading.tags | everywhere
        text = self.draft.document.text[block.start : block.end]
        for found in _TAG.finditer(text) if "@tag" in text else ():
            tags |= set(split_tags(found[1]))
        return tags - {""}

    def place(self, task: Task, outcome: Outcome) -> Outcome:
        """Put what came of a task into the document. Raises one of FAILURES."""
        return outcome if task.block is None else self.placer.place(task.block, task, outcome)

    def _prepare(self, block: Block, now: Block) -> Task | Outcome:
        line = now.line + 1
        try:
            arguments = self.draft.arguments(now)
            skipped = self._skipped(now, arguments)
            if skipped is not None:
                return skipped
            task = self.reader.read(now, arguments)
            if arguments.flag("cache") and task.digest is not None:
                result = result_of(self.draft.document, now)
                if result is not None and result.hash == task.digest:
                    return Outcome(line, now.name, "cached")
        except FAILURES as error:
            return failed(line, now.name, error, self._file)
        task.block = block
        return task

    def _skipped(self, block: Block, arguments: Arguments) -> Outcome | None:
        """Give the outcome of a block that ``:eval`` says is not evaluated, else None."""
        wanted = arguments.eval
        line = block.line + 1
        if is_export(arguments) and target_of(self.draft.document, block).language == VERB:
            error = EvaluationError(EXPORT, file=self._file, line=line)
            return Outcome(line, block.name, "skipped", reason=error)
        if wanted in ("no", "never"):
            return Outcome(line, block.name, "skipped")
        if wanted != "query" or self._options.dry_run:
            return None
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

    def _fetch(self, store: str) -> None:
        """Send the request whose response is stored under a key. Raises one of FAILURES."""
        task = self._read(self.reader.verb.stores[store], {})
        key = task.key or store
        with self._answers.needing(key, store):
            self._answers.of(key, lambda: task, self._sender.exchange)

    def _read(self, block: Block, given: Mapping[str, str]) -> Task:
        return self.reader.read(block, self.draft.arguments(block), given)

    def _evaluate(self, block: Block, given: Mapping[str, str]) -> Outcome:
        return self._sender.exchange(self._read(block, given))
