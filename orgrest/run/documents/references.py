"""Resolves the values of ``:var``: named data in the document, or another block's response."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from orgrest.org import data, lisp
from orgrest.org.argument_syntax import Lisp, Reference, call_arguments, value
from orgrest.org.arguments import Arguments
from orgrest.org.blocks import ALL_LANGUAGES
from orgrest.org.results import element_named
from orgrest.run.outcomes import EvaluationError
from orgrest.run.plan import Call

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from orgrest.org.argument_syntax import Value
    from orgrest.org.blocks import Block
    from orgrest.run.documents.document_editor import DocumentEditor
    from orgrest.run.outcomes import Outcome
    from orgrest.run.results import RequestResults

EMACS_LISP = ("emacs-lisp", "elisp")


class References:
    """Looks up what the blocks of a document editor refer to."""

    def __init__(
        self,
        editor: DocumentEditor,
        results: RequestResults,
        by: Hashable,
        *,
        complete: bool,
    ) -> None:
        """Look up data in `editor`, and the responses to other blocks in `results`.

        `by` identifies the referring block. With `complete`, dry runs need responses, too.
        """
        self._editor = editor
        self._results = results
        self._by = by
        self._calls = 0
        self._complete = complete

    def resolve(self, given: Value, arguments: Arguments) -> str:
        """Return the text of a value in a block with these header arguments.

        Lists and tables are returned as JSON. Raises OrgrestError if there is no such value, and
        RequestNeededError if it names a request that was not sent yet.
        """
        if isinstance(given, Lisp):
            return lisp.understand(given.text, {})
        if isinstance(given, Reference):
            block = self._editor.document.block_named(given.name)
            if block is not None and (
                given.arguments is not None or block.language in ALL_LANGUAGES
            ):
                return self._result_of(block, given)
            return data.to_text(self._data(block, given, arguments))
        return data.to_text(given)

    def outcome(self, block: Block, given: Mapping[str, str]) -> Outcome:
        """Return the outcome of a request block; with `given` variables it is always sent again.

        Raises RequestNeededError if that was not done yet, and the block's own error if it failed.
        """
        step = self._editor.id_of(block)
        if given or step is None:
            self._calls += 1
            at, name = -1 - block.start if step is None else step.start, block.name or ""
            file = self._editor.file
            step = Call(file, at, name=name, by=self._by, number=self._calls)
        return self._results.needed(step, given)

    def argument(self, text: str) -> tuple[str, str]:
        """Read an argument of a call, ``name=value``. Raises OrgrestError."""
        name, given = value(text)
        return name, self.resolve(given, Arguments())

    def _data(self, block: Block | None, reference: Reference, arguments: Arguments) -> data.Data:
        """Return the data under a name in the document."""
        name = reference.name
        if block is not None and block.language in EMACS_LISP:
            with contextlib.suppress(lisp.ArgumentError):  # its result may be in the document, too
                return lisp.understand(self._editor.document.body(block).text, {})
        element = element_named(self._editor.as_placed(name), name)
        if element is not None:
            with_header = arguments.get("colnames") == "no"
            return data.read(element, name, reference.indices, header=with_header)
        if block is not None:
            raise EvaluationError(
                f"{name} is a block in {block.language or 'no language'}, which is not run "
                "here, and it has no result in this document"
            )
        raise EvaluationError(f"no block, table, list or result is named {name} in this document")

    def _result_of(self, block: Block, reference: Reference) -> str:
        """Return the response body of a request block, sending it unless that was done already."""
        name, text = reference.name, reference.arguments or ""
        if block.language not in ALL_LANGUAGES:
            if block.language in EMACS_LISP:
                given = dict(map(self.argument, call_arguments(text)))
                return lisp.understand(self._editor.document.body(block).text, given)
            raise EvaluationError(f"{name} is a block in {block.language}, which is not run here")
        outcome = self.outcome(block, dict(map(self.argument, call_arguments(text))))
        if not outcome.exchanges:
            raise EvaluationError(f"{name} was not sent, and so has no response")
        rendered = outcome.exchanges[-1].rendered
        if rendered is None and self._complete:
            raise EvaluationError(
                f"this needs the answer to {name}, which is not sent here: "
                "give the variable a value (--var)"
            )
        return f"<result of {name}>" if rendered is None else rendered.uncut()
