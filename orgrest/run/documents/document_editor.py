"""The Org document of a run, with the results so far.

Results are collected as edits. When a new edit would touch an earlier edit, all edits are applied,
the new text is parsed, and the tracked blocks are located in it.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right, insort
from operator import attrgetter
from typing import TYPE_CHECKING

from orgrest import classes
from orgrest.model import OrgrestError
from orgrest.org.document import OrgDocument
from orgrest.org.placing import Placing, request_of
from orgrest.org.text import apply
from orgrest.run.documents.selection import id_of
from orgrest.run.outcomes import EvaluationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from orgrest.model import Verdict
    from orgrest.org.blocks import Block
    from orgrest.org.text import Edit
    from orgrest.run.outcomes import Outcome
    from orgrest.run.plan import StepId

_SPAN = attrgetter("start", "end")


class DocumentEditor:
    """Inserts results into an Org document.

    `document` is the most recently parsed version.
    """

    def __init__(
        self, text: str, file: str, write: Callable[[Path, bytes], None] | None = None
    ) -> None:
        """Parse `text`, the content of the file called `file`.

        `write` writes the result files before the links to them are inserted.
        """
        self.document = OrgDocument(text)
        self.file = file
        self._origins = {block.start: block.start for block in self.document.evaluated}
        self._write = write or (lambda _path, _content: None)
        self._edits: list[Edit] = []  # in order
        self._placed: set[str] = set()
        self._now: dict[Block, Block | None] = {}

    @property
    def text(self) -> str:
        """The document with all results so far."""
        return apply(self.document.text, self._edits) if self._edits else self.document.text

    def id_of(self, block: Block) -> StepId | None:
        """Return the identity of a block in `document`, or None if it is part of a new result."""
        start = self._origins.get(block.start)
        return None if start is None else id_of(block, self.file, start)

    def block_of(self, step: StepId) -> Block:
        """Return the block with the identity `step`.

        A negative `step.start` identifies a block inside a new result, at offset `-1 - step.start`
        in `document`.
        """
        begins = step.start

        def is_it(block: Block) -> bool:
            start = self._origins.get(block.start)
            return (-1 - block.start if start is None else start) == begins

        return next(
            candidate
            for candidate in (*self.document.blocks, *self.document.verb)
            if is_it(candidate)
        )

    def as_placed(self, name: str) -> OrgDocument:
        """Return the document, parsed again if it has a new result named `name`."""
        return (
            OrgDocument(self.text, self.document) if name.lower() in self._placed else self.document
        )

    # Blocks move when results are inserted above them.

    def follow(self, blocks: Iterable[Block]) -> None:
        """Track `blocks`: locate them again each time the text is parsed."""
        self._now = {block: block for block in blocks}

    def now(self, block: Block) -> Block | None:
        """Return the current version of a tracked block, or None if a result replaced it."""
        return self._now.get(block, block)

    def put(
        self,
        block: Block,
        outcome: Outcome,
        make: Callable[[OrgDocument, Block], Edit],
        judge: Callable[[str, str], Verdict] | None = None,
        files: tuple[tuple[Path, bytes], ...] = (),
    ) -> Outcome:
        """Insert a block's result with the edit that `make` returns, and return the new outcome.

        `judge` compares the old and the new text. If it rejects the new text, an existing result
        remains, and nothing is written. `files` contains the path and content of each file that the
        result links to.

        Raises EvaluationError if the block no longer exists or if `write` fails, and PlacingError
        if the result cannot be inserted (see `Placing.edit`). The document is then unchanged.
        """
        present = self._present(block)
        request = request_of(self.document, present)
        placing = Placing(block.start, block.kind, block.name, request, make)
        edit = placing.edit(self.document, present)
        if self._edits and not self._is_free(edit):
            self._read_again()
            edit = placing.edit(self.document, self._present(block))
        if judge is not None:
            old = self.document.text[edit.start : edit.end]
            verdict = judge(old, edit.text)
            outcome = outcome.with_test(verdict)
            if old.strip() and not verdict.held:
                return outcome
        for path, content in files:
            try:
                self._write(path, content)
            except OrgrestError as error:
                raise EvaluationError(
                    f"could not write the file for this result: {error}"
                ) from error
        insort(self._edits, edit, key=_SPAN)
        if block.name:
            self._placed.add(block.name.lower())
        change = (self.document.text[edit.start : edit.end], edit.text)
        files = (*outcome.files, *files)
        return classes.evolve(outcome, change=change, placing=placing, files=files)

    def _present(self, block: Block) -> Block:
        current = self.now(block)
        if current is None:
            raise EvaluationError("the block was overwritten by an earlier result")
        return current

    def _is_free(self, edit: Edit) -> bool:
        at = bisect_left(self._edits, _SPAN(edit), key=_SPAN)
        neighbours = self._edits[max(at - 1, 0) : at + 1]
        return all(x.end <= edit.start or edit.end <= x.start for x in neighbours)

    def _read_again(self) -> None:
        """Apply the edits, parse the new text, and locate the tracked blocks in it."""
        ends = [edit.end for edit in self._edits]
        moved = [0, *itertools.accumulate(len(e.text) - (e.end - e.start) for e in self._edits)]
        self.document = OrgDocument(self.text, self.document)
        self._edits, self._placed = [], set()

        def now(start: int) -> int:
            return start + moved[bisect_right(ends, start)]

        starts = {current.start: current for current in self.document.evaluated}
        origins = {now(start): origin for start, origin in self._origins.items()}
        self._origins = {start: origins[start] for start in starts if start in origins}
        for block, old in self._now.items():
            if old is not None:
                self._now[block] = starts.get(now(old.start))
