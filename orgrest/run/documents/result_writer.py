"""Places the result of a block in the document, as its header arguments require."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING

import attrs

from orgrest.org import lisp, placing
from orgrest.org.argument_syntax import Reference, call_arguments, value
from orgrest.org.blocks import ALL_LANGUAGES, VERB
from orgrest.rendering import layout
from orgrest.run.documents.expect import expects_same
from orgrest.run.documents.references import EMACS_LISP
from orgrest.run.documents.verb import part_asked
from orgrest.run.outcomes import EvaluationError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from orgrest.model import Verdict
    from orgrest.org.arguments import Arguments
    from orgrest.org.blocks import Block
    from orgrest.rendering.results import Rendered
    from orgrest.run.documents.document_editor import DocumentEditor
    from orgrest.run.documents.file_results import FileResults
    from orgrest.run.documents.references import References
    from orgrest.run.outcomes import Outcome, Task
    from orgrest.run.settings import Settings


@attrs.define
class Written:
    """The responses of a block as text: bare, wrapped, and with headers as comments.

    `files` are the targets of links: (path, content). `links`: whether a response is only a link.
    """

    values: list[str] = attrs.field(factory=list)
    blocks: list[str] = attrs.field(factory=list)
    texts: list[str] = attrs.field(factory=list)
    files: list[tuple[Path, bytes]] = attrs.field(factory=list)
    links: bool = False


class ResultWriter:
    """Puts results into a document editor."""

    def __init__(
        self, editor: DocumentEditor, settings: Settings, languages: frozenset[str]
    ) -> None:
        """Place results in the document of `editor`; `languages` are those of its requests."""
        self._editor = editor
        self._settings = settings
        self._languages = languages

    @cached_property
    def _files(self) -> FileResults:
        from orgrest.run.documents.file_results import FileResults

        folder, allowed = self._settings.inputs.directory, self._settings.allow_write
        return FileResults(self._editor, folder, self._editor.file, self._languages, allowed)

    def place(self, block: Block, task: Task, outcome: Outcome, references: References) -> Outcome:
        """Place the result of a task below its block; `references` looks up the block of ``:post``.

        Returns the outcome with that change. Raises OrgrestError.
        """
        arguments = task.arguments
        words = arguments.results
        if "volatile" in arguments:
            from orgrest.run.comparison import Volatile

            outcome = attrs.evolve(outcome, volatile=Volatile.of(arguments))
        same = expects_same(arguments)
        if "silent" in words or "none" in words:
            return outcome
        if block.kind in ("inline", "inline call"):
            rendered = [exchange.rendered for exchange in outcome.exchanges]
            text = inline_text(arguments, [one for one in rendered if one], task.language)
            return self._editor.put(
                block,
                outcome,
                lambda found, at: placing.place_inline(found, at, text),
                partial(self._judge_same, task, ()) if same else None,
            )
        written = self.written(block, arguments, outcome, task.language)
        if written.links:
            shown = layout.Shown("".join(written.blocks))
        else:
            values = written.values
            if "post" in arguments:
                values = self._post(arguments, values, references)
            shown = layout.show(arguments, values, written.blocks, task.language)
        mode = next((word for word in words if word in ("append", "prepend")), "replace")
        return self._editor.put(
            block,
            attrs.evolve(outcome, notes=outcome.notes + shown.notes, files=tuple(written.files)),
            lambda found, at: placing.place(
                found, at, shown.text, mode=mode, digest=task.digest, prose=shown.prose
            ),
            partial(self._judge_same, task, tuple(written.files)) if same else None,
        )

    def _judge_same(
        self, task: Task, files: tuple[tuple[Path, bytes], ...], old: str, new: str
    ) -> Verdict:
        """Return the verdict whether a result equals the one in the document."""
        from orgrest.run.comparison import Volatile
        from orgrest.run.documents.expect import judge_same

        place = (self._editor.file, task.line)
        return judge_same(old, new, files, Volatile.of(task.arguments), place)

    def written(
        self, block: Block, arguments: Arguments, outcome: Outcome, language: str
    ) -> Written:
        """Return each response bare and wrapped, or as a link, and the files of the links.

        A response that is too long is truncated, with a link to its file; lists and tables cannot
        be truncated and become only the link.
        """
        written = Written()
        whole = {"file", "list", "table", "vector"} & set(arguments.results)
        for exchange in outcome.exchanges:
            one = exchange.rendered
            if one is None:
                continue
            if one.data is not None or "file" in arguments.results:
                link, file = self._files.make(block, arguments, exchange, len(written.files))
                written.files += file
                if whole or not one.is_cut:
                    written.links = True
                    written.values.append(link)
                    written.blocks.append(link)
                    continue
                one = attrs.evolve(one, link=link.rstrip("\n"))
            written.values.append(
                one.as_verb(part_asked(arguments)) if language == VERB else one.value
            )
            written.blocks.append(one.block())
            written.texts.append(one.text)
        return written

    def _post(self, arguments: Arguments, values: list[str], references: References) -> list[str]:
        """Pass the result to the block that ``:post`` names."""
        post = arguments.get("post")
        if not post:
            return values
        _, reference = value(f"post={post}")
        if not isinstance(reference, Reference):
            raise EvaluationError(f":post names a block: name(variable=*this*), not {post}")
        block = self._editor.document.block_named(reference.name)
        if block is None:
            raise EvaluationError(f":post: no source block is named {reference.name}")
        given: dict[str, str] = {}
        for part in call_arguments(reference.arguments or ""):
            name, _, text = part.partition("=")
            if text.strip() == "*this*":
                given[name.strip()] = "".join(values)
            else:
                given.update([references.argument(part)])
        if block.language in ALL_LANGUAGES:
            outcome = references.outcome(block, given)
            shown = (one.rendered for one in outcome.exchanges if one.rendered is not None)
            return [one.value for one in shown if one.uncut()]
        if block.language not in EMACS_LISP:
            raise EvaluationError(f":post: {block.language} is not run here")
        text = lisp.understand(self._editor.document.body(block).text, given)
        return [text if text.endswith("\n") or not text else text + "\n"]


def inline_text(arguments: Arguments, rendered: Sequence[Rendered], language: str) -> str:
    """Return the text of an inline block's responses, as inserted into its line.

    Raises EvaluationError if that is more than one line.
    """
    text = "".join(one.uncut() for one in rendered).rstrip("\n")
    shown = layout.inline(arguments, text, language)
    if shown is None:
        lines = text.count("\n") + 1
        what = f"the response has {lines}" if lines > 1 else "this response is not safe there"
        raise EvaluationError(
            f"an inline block shows one line, {what}: pick from it with :jq, or use a source block"
        )
    return shown
