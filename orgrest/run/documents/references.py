"""Looks up values of ``:var`` that refer to named data in the document or to another block."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from orgrest.org import data, lisp
from orgrest.org.argument_syntax import ValueReference, call_arguments, value
from orgrest.org.arguments import of_block, target_of
from orgrest.org.blocks import ALL_LANGUAGES, ArgumentError, Arguments, Lisp
from orgrest.org.results import element_named, is_result
from orgrest.run.outcomes import EvaluationError
from orgrest.run.plan import StepId

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from orgrest.org.argument_syntax import Value
    from orgrest.org.blocks import Block
    from orgrest.run.documents.edited_document import EditedDocument
    from orgrest.run.outcomes import Outcome
    from orgrest.run.results import RequestResults

EMACS_LISP = ("emacs-lisp", "elisp")


def not_run(block: Block) -> str:
    """Return the reason why orgrest does not run a block, beginning with the block's name."""
    kind = f"block in {block.language}" if block.language else "block without a language"
    return f"{block.name} is a {kind}, which orgrest does not run"


class References:
    """Looks up the data and responses that a block refers to."""

    def __init__(self, edited: EditedDocument, results: RequestResults, by: Hashable) -> None:
        """Prepare to look up data in a document, and responses in `results`.

        `by` identifies the referring block.
        """
        self.edited = edited
        self._results = results
        self._by = by
        self._calls = 0

    def resolve(self, value: Value, arguments: Arguments) -> data.Data:
        """Return `value`, or what it refers to.

        `arguments` are the referring block's header arguments. Raises OrgrestError if a name does
        not exist, and RequestNeededError if it names a request that has not been sent yet.
        """
        if isinstance(value, Lisp):
            return lisp.understand(value.text, {})
        if isinstance(value, ValueReference):
            block = self.edited.document.block_named(value.name)
            if block is not None and (
                value.arguments is not None or block.language in ALL_LANGUAGES
            ):
                found = self._result_of(block, value)
            else:
                found = self._data(block, value)
            if found is None:
                return f"<result of {value.name}>"
            return data.selected(found, value.name, value.indices, arguments.get("colnames"))
        return value

    def outcome(self, block: Block, variables: Mapping[str, str]) -> Outcome:
        """Return the outcome of a request block.

        If there are `variables`, the block is sent again for each reference. Raises
        RequestNeededError if the block must be sent first, and the block's own error if it failed.
        """
        step = self.edited.id_of(block)
        if variables or step is None:
            self._calls += 1
            at, name = -1 - block.start if step is None else step.start, block.name or ""
            file = self.edited.file
            step = StepId(file, at, call=(self._by, self._calls), name=name)
        return self._results.needed(step, variables)

    def argument(self, text: str) -> tuple[str, str]:
        """Return the name and value of a call's argument ``name=value``.

        Raises OrgrestError if the argument is invalid or its value does not exist.
        """
        name, assigned = value(text)
        return name, data.to_text(self.resolve(assigned, Arguments()))

    def _data(self, block: Block | None, reference: ValueReference) -> data.Data:
        """Return data in the document, or the result of a call of a request, which is sent."""
        name = reference.name
        if block is not None and block.language in EMACS_LISP:
            with contextlib.suppress(ArgumentError):  # its result may be in the document, too
                return lisp.understand(self.edited.document.body(block).text, {})
        call = self.edited.document.call_named(name) if block is None else None
        if call is not None:
            target = target_of(self.edited.document, call)
            if target.language in ALL_LANGUAGES:
                return self._result_of(call, reference)
        document = self.edited.as_placed(name)
        element = element_named(document, name)
        if element is not None:
            return data.read(element, is_result=block is None and is_result(document, name))
        if block is not None:
            raise EvaluationError(f"{not_run(block)}, and it has no result in this document")
        if call is not None:
            raise EvaluationError(f"{not_run(target)}, and {name} has no result in this document")
        raise EvaluationError(f"no block, table, list or result named {name} in this document")

    def _result_of(self, block: Block, reference: ValueReference) -> data.Data:
        """Return the result of a block or call, or None if nothing is sent in this run."""
        name, text = reference.name, reference.arguments or ""
        if block.call is None and block.language not in ALL_LANGUAGES:
            if block.language in EMACS_LISP:
                variables = dict(map(self.argument, call_arguments(text)))
                return lisp.understand(self.edited.document.body(block).text, variables)
            raise EvaluationError(not_run(block))
        outcome = self.outcome(block, dict(map(self.argument, call_arguments(text))))
        if not outcome.own:
            raise EvaluationError(f"{name} was not sent, so it has no response")
        rendered = outcome.own[-1].unmasked()
        if rendered is None and self.edited.settings.complete:
            raise EvaluationError(
                f"this requires the response to {name}, but no requests are sent here: set the "
                "variable with --var"
            )
        if rendered is None:
            return None
        from orgrest.rendering import layout

        return layout.shaped(of_block(self.edited.document, block), rendered.uncut())
