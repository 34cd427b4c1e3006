"""The Org document of a run, with the results so far.

Results are collected as edits. When a new edit would touch an earlier edit, all edits are applied,
the new text is parsed, and the blocks are located in it.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right, insort
from operator import attrgetter
from typing import TYPE_CHECKING

from orgrest import classes
from orgrest.http.values import RequestNames
from orgrest.model import OrgrestError
from orgrest.org.document import OrgDocument
from orgrest.org.placing import Placing, check_open
from orgrest.org.text import apply
from orgrest.run.documents.noweb import Noweb
from orgrest.run.documents.selection import id_of, is_request
from orgrest.run.documents.verb import VerbTree
from orgrest.run.outcomes import EvaluationError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from orgrest.http.syntax import ParsedRequest
    from orgrest.model import Verdict
    from orgrest.org.blocks import Block
    from orgrest.org.text import Edit
    from orgrest.run.outcomes import Outcome
    from orgrest.run.plan import StepId
    from orgrest.run.settings import Settings

_SPAN = attrgetter("start", "end")


class EditedDocument(RequestNames):
    """An Org document with the results so far.

    `document` is the most recently parsed version. `languages` contains the languages of request
    blocks. The names of requests are the `Verb-Store` properties of their headings.
    """

    def __init__(
        self,
        text: str,
        file: str,
        settings: Settings,
        write: Callable[[Path, bytes], None] | None = None,
    ) -> None:
        """Parse `text`, the content of the file called `file`.

        `settings` are those of the run. `write` writes the result files before the links to them
        are inserted.
        """
        self.document = OrgDocument(text)
        self.file = file
        self.settings = settings
        self.languages = settings.languages or self.document.request_languages()
        self._origins = {block.start: block.start for block in self.document.evaluated}
        self._write = write or (lambda _path, _content: None)
        self._edits: list[Edit] = []  # in order
        self._placed: set[str] = set()
        # the blocks of the original text, in the parsed version
        self._now: dict[Block, Block | None] = {b: b for b in self.document.evaluated}
        self._verb: VerbTree | None = None
        self._noweb: Noweb | None = None
        self._numbers: dict[Block, int] | None = None

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

    def requests_named(self, name: str, using: ParsedRequest) -> tuple[StepId, ...]:
        """Return a tuple with the identity of the block that stores its response as `name`."""
        del using
        block = self.verb.stores.get(name)
        step = None if block is None else self.id_of(block)
        return () if step is None else (step,)

    @property
    def verb(self) -> VerbTree:
        """The verb requests in `document`."""
        self._verb = self._verb or VerbTree(self.document, self.file)
        return self._verb

    @property
    def noweb(self) -> Noweb:
        """The noweb references in `document`."""
        self._noweb = self._noweb or Noweb(self.document, self.file)
        return self._noweb

    def number(self, block: Block) -> int:
        """Return the index, from 1, of an unnamed block among those not below a results keyword."""
        document = self.document
        if self._numbers is None:
            nameless = (
                candidate
                for candidate in document.evaluated
                if is_request(document, candidate, self.languages)
                and not candidate.name
                and candidate.result is None
            )
            self._numbers = {unnamed: number for number, unnamed in enumerate(nameless, 1)}
        return self._numbers.get(self.now(block) or block, len(self._numbers) + 1)

    def now(self, block: Block) -> Block | None:
        """Return a block of the original text as it is in `document`, or None if it was replaced.

        Other blocks are returned unchanged.
        """
        return self._now.get(block, block)

    def put(
        self,
        block: Block,
        written: str,
        outcome: Outcome,
        make: Callable[[OrgDocument, Block], Edit],
        judge: Callable[[str, str], Verdict] | None = None,
        files: tuple[tuple[Path, bytes], ...] = (),
    ) -> Outcome:
        """Insert a block's result with the edit that `make` returns, and return the new outcome.

        `written` is the text of the block when it was read. `judge` compares the old and the new
        text. If it rejects the new text, an existing result remains, and nothing is written.
        `files` contains the path and content of each file that the result links to.

        Raises EvaluationError if the block no longer exists or if `write` fails, and PlacingError
        if the result would close an element above it. The document is then unchanged.
        """
        edit = self._edit(block, make)
        if self._edits and not self._is_free(edit):
            self._read_again()
            edit = self._edit(block, make)
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
        request = written.rstrip(), block.call
        placing = Placing(block.start, block.kind, block.name, request, make)
        files = (*outcome.files, *files)
        return classes.evolve(outcome, change=change, placing=placing, files=files)

    def _edit(self, block: Block, make: Callable[[OrgDocument, Block], Edit]) -> Edit:
        current = self.now(block)
        if current is None:
            raise EvaluationError("the block was overwritten by an earlier result")
        edit = make(self.document, current)
        check_open(self.document, edit, current)
        return edit

    def _is_free(self, edit: Edit) -> bool:
        at = bisect_left(self._edits, _SPAN(edit), key=_SPAN)
        neighbours = self._edits[max(at - 1, 0) : at + 1]
        return all(x.end <= edit.start or edit.end <= x.start for x in neighbours)

    def _read_again(self) -> None:
        """Apply the edits, parse the new text, and locate the blocks in it."""
        ends = [edit.end for edit in self._edits]
        moved = [0, *itertools.accumulate(len(e.text) - (e.end - e.start) for e in self._edits)]
        self.document = OrgDocument(self.text, self.document)
        self._edits, self._placed = [], set()
        self._verb = self._noweb = self._numbers = None

        def now(start: int) -> int:
            return start + moved[bisect_right(ends, start)]

        starts = {current.start: current for current in self.document.evaluated}
        origins = {now(start): origin for start, origin in self._origins.items()}
        self._origins = {start: origins[start] for start in starts if start in origins}
        for block, old in self._now.items():
            if old is not None:
                self._now[block] = starts.get(now(old.start))
