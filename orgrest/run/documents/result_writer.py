"""Inserts the result of a block into the document, in the form that its arguments require."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING

from orgrest import classes
from orgrest.org import lisp, placing
from orgrest.org.argument_syntax import ValueReference, call_arguments, value
from orgrest.org.blocks import ALL_LANGUAGES, VERB
from orgrest.rendering import layout
from orgrest.run.documents.expect import expects_same, judge_same
from orgrest.run.documents.references import EMACS_LISP, not_run
from orgrest.run.documents.verb import selected_part
from orgrest.run.outcomes import EvaluationError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from orgrest.org.blocks import Arguments, Block
    from orgrest.rendering.results import Rendered
    from orgrest.run.documents.document_editor import DocumentEditor
    from orgrest.run.documents.file_results import FileResults
    from orgrest.run.documents.references import References
    from orgrest.run.outcomes import Outcome, Task
    from orgrest.run.settings import Settings


@classes.define
class Written:
    """The responses of a block as text, ready to be inserted.

    `values` contains the bodies, or the parts that verb's ``:op`` selects. `blocks` contains the
    responses in Org blocks. `shown` contains those responses that are not only links. `files`
    contains (path, content) pairs for linked files. If `links` is true, each response is only a
    link.
    """

    values: list[str] = classes.field(factory=list)
    blocks: list[str] = classes.field(factory=list)
    shown: list[Rendered] = classes.field(factory=list)
    files: list[tuple[Path, bytes]] = classes.field(factory=list)
    links: bool = False


class ResultWriter:
    """Inserts results into the document of an editor."""

    def __init__(
        self, editor: DocumentEditor, settings: Settings, languages: frozenset[str]
    ) -> None:
        """Create a writer for the document of `editor`.

        `languages` contains the languages of the document's requests.
        """
        self._editor = editor
        self._settings = settings
        self._languages = languages

    @cached_property
    def _files(self) -> FileResults:
        from orgrest.run.documents.file_results import FileResults

        return FileResults(self._editor, self._settings, self._languages)

    def check(self, block: Block, arguments: Arguments) -> None:
        """Raise OrgrestError if a block with `:results file` names a file it may not write."""
        is_inline = block.kind in ("inline", "inline call")
        if not is_inline and not {"silent", "none"} & set(arguments.results):
            self._files.check(block, arguments)

    def place(self, block: Block, task: Task, outcome: Outcome, references: References) -> Outcome:
        """Insert a task's result below its block, and return the updated outcome.

        `references` looks up the block that ``:post`` names. Raises OrgrestError if the result
        cannot be inserted.
        """
        arguments = task.arguments
        words = arguments.results
        if "volatile" in arguments:
            from orgrest.run.comparison import Volatile

            outcome = classes.evolve(outcome, volatile=Volatile.of(arguments))
        same = "expect" in arguments and expects_same(arguments)
        if "silent" in words or "none" in words:
            return outcome
        if block.kind in ("inline", "inline call"):
            rendered = [exchange.rendered for exchange in outcome.exchanges]
            values = [response.uncut() for response in rendered if response]
            values = self._post(arguments, Written(values), references)
            text = inline_text(arguments, values, task.language)
            return self._editor.put(
                block,
                outcome,
                lambda document, at: placing.place_inline(document, at, text),
                partial(judge_same, task, ()) if same else None,
            )
        written = self.written(block, arguments, outcome, task.language)
        values = self._post(arguments, written, references)
        if written.links:
            shown = layout.RenderedResult("".join(written.blocks))
        else:
            shown = layout.show(arguments, values, written.blocks, task.language)
        mode = next((word for word in words if word in ("append", "prepend")), "replace")
        files = tuple(written.files)
        return self._editor.put(
            block,
            classes.evolve(outcome, notes=outcome.notes + shown.notes),
            lambda document, at: placing.place(
                document, at, shown.text, mode=mode, digest=task.digest, prose=shown.prose
            ),
            partial(judge_same, task, files) if same else None,
            files,
        )

    def written(
        self, block: Block, arguments: Arguments, outcome: Outcome, language: str
    ) -> Written:
        """Return the responses of an outcome as text, or as links to files.

        A long response is truncated and gets a link to its file. Lists and tables cannot be
        truncated, so only the link is inserted. Raises OrgrestError if a body that would only be
        linked was not read completely, because nothing would show that its file is incomplete.
        """
        written = Written()
        whole = {"file", "list", "table", "vector"} & set(arguments.results)
        for exchange in outcome.exchanges:
            shown = exchange.rendered
            if shown is None:
                continue
            if shown.data is not None or "file" in arguments.results:
                only_linked = whole or not shown.is_cut
                response = exchange.response
                if only_linked and response is not None and response.unread:
                    raise EvaluationError(f"could not save the response: {response.unread}")
                link, file = self._files.make(block, arguments, exchange, len(written.files))
                written.files += file
                if only_linked:
                    written.links = True
                    written.values.append(link)
                    written.blocks.append(link)
                    continue
                shown = classes.evolve(shown, link=link.rstrip("\n"))
            written.values.append(
                shown.as_verb(selected_part(arguments)) if language == VERB else shown.value
            )
            written.blocks.append(shown.block())
            written.shown.append(shown)
        return written

    def _post(self, arguments: Arguments, written: Written, references: References) -> list[str]:
        """Return the results of the block that ``:post`` names, or else the values themselves.

        In the arguments of ``:post``, ``*this*`` is replaced by the joined values.
        """
        post = arguments.get("post")
        if not post:
            return written.values
        _, reference = value(f"post={post}")
        if not isinstance(reference, ValueReference):
            raise EvaluationError(
                f":post must name a block, as in name(variable=*this*); found {post}"
            )
        block = self._editor.document.block_named(reference.name)
        if block is None:
            raise EvaluationError(f":post: no source block named {reference.name}")
        if written.links:
            raise EvaluationError(
                ":post cannot process this result, because it is a link to a file: remove :post, "
                "or use a result without a file"
            )
        variables: dict[str, str] = {}
        for part in call_arguments(reference.arguments or ""):
            name, _, text = part.partition("=")
            if text.strip() == "*this*":
                variables[name.strip()] = "".join(written.values)
            else:
                variables.update([references.argument(part)])
        if block.language in ALL_LANGUAGES:
            outcome = references.outcome(block, variables)
            shown = (
                exchange.rendered for exchange in outcome.exchanges if exchange.rendered is not None
            )
            return [response.value for response in shown if response.uncut()]
        if block.language not in EMACS_LISP:
            raise EvaluationError(f":post: {not_run(block)}")
        text = lisp.understand(self._editor.document.body(block).text, variables)
        return [text if text.endswith("\n") or not text else text + "\n"]


def inline_text(arguments: Arguments, values: Sequence[str], language: str) -> str:
    """Return the text that replaces an inline block's result.

    Raises EvaluationError if the text has more than one line.
    """
    text = "".join(values).rstrip("\n")
    shown = layout.inline(arguments, text, language)
    if shown is None:
        lines = text.count("\n") + 1
        what = (
            f"the response has {lines}" if lines > 1 else "this response cannot be inserted safely"
        )
        raise EvaluationError(
            f"an inline block can only show one line, but {what}: select a part with :jq, or "
            "use a source block"
        )
    return shown
