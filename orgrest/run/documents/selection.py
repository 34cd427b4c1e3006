"""Which blocks of an Org document are evaluated.

Requests (including verb's below headings) and calls in request languages, unless a heading above is
a COMMENT or they are in the place of a result: text sent by a server is never taken for a request.
Names and lines select among them, and may select a commented one.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from orgrest.org.arguments import arguments_of
from orgrest.org.blocks import ALL_LANGUAGES, VERB
from orgrest.org.lisp import ArgumentError
from orgrest.org.placing import place
from orgrest.org.results import result_of
from orgrest.run.documents.verb import VerbTree
from orgrest.run.outcomes import EvaluationError

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from orgrest.org.arguments import Inherited
    from orgrest.org.blocks import Block
    from orgrest.org.document import Document
    from orgrest.run.documents.document_editor import DocumentEditor
    from orgrest.run.settings import Settings


class Selection:
    """The choice for one run: `languages` are those of requests in this document.

    `notices` are warnings about the choice.
    """

    def __init__(self, editor: DocumentEditor, settings: Settings, file: str) -> None:
        """Choose among the blocks of `editor`, of the file called `file` (for messages)."""
        self.notices: tuple[str, ...] = ()
        self._editor = editor
        self._document = editor.document
        self._settings = settings
        self._file = file
        self.languages = settings.languages or self._usual_languages()

    def blocks(self) -> list[Block]:
        """Return the blocks that are evaluated, in the order of the text.

        Raises EvaluationError if `Settings.names` or `Settings.lines` choose nothing.
        """
        options, document = self._settings, self._document
        mixed = "; the file's line ends are mixed, LF and CRLF" if "\r\n" in document.text else ""
        texts = [(one.start, document.offset(one.last)) for one in document.verb]
        found = [
            block
            for block in document.evaluated
            if is_request(document, block, self.languages)
            and (block.kind == "heading" or not within(texts, block.start))
        ]
        inside = result_spans(document, self._editor.inherited, found)
        found = [block for block in found if not within(inside, block.start)]
        self.notices += tuple(
            f"line {line}: this block has no #+end_src, and so is none{mixed}"
            for line in document.unclosed_requests()
            if options.is_above(line) and not within(inside, document.offset(line - 1))
        )
        self.notices += tuple(
            f"line {block.line + 1}: no source block here is named {block.call.name}"
            for block in document.blocks
            if block.call
            and document.block_named(block.call.name) is None
            and not within(inside, block.start)
        )
        self.notices += tuple(map(_same_name, namesakes(document, found)))
        if not (options.names or options.lines):
            tree = VerbTree(document, self._file)
            return [
                block
                for block in found
                if options.is_above(block.line + 1)
                and not block.commented
                and not self._is_answer(block)
                and self._is_sent(block, tree)
            ]
        check_names(options.names, {block.name for block in found}, self._file)
        wanted = [block for block in found if block.name in options.names]
        for line in options.lines:
            at = document.block_at(line)
            if at is None or not any(at is block for block in found):
                raise EvaluationError("no request block here", file=self._file, line=line)
            wanted.append(at)
        return sorted(dict.fromkeys(wanted), key=lambda block: block.start)

    def _usual_languages(self) -> frozenset[str]:
        usual = self._document.request_languages()
        used = [block.language for block in self._document.blocks if block.call is None]
        for language in sorted(ALL_LANGUAGES - usual):
            if count := used.count(language):
                blocks = f"{count} block{'s' if count > 1 else ''} in {language}"
                self.notices += (
                    f"{blocks} left alone in a restclient document (--lang {language} takes them)",
                )
        return usual

    def _is_answer(self, block: Block) -> bool:
        """Tell whether a block is in the place of a result, and so may come from a server."""
        if block.kind != "block" or block.result is None:
            return False
        line = block.line + 1
        notice = f"line {line}: a request right below #+RESULTS: may be an answer, and is not sent"
        self.notices += (f"{notice} (--line {line} sends it)",)
        return True

    def _is_sent(self, block: Block, tree: VerbTree) -> bool:
        """Tell whether a block, or the text of a heading, is more than a verb template."""
        if block.language != VERB or block.kind not in ("heading", "block"):
            return True
        if block.kind == "heading" and tree.is_prose(block):
            if block.heading not in tree.with_blocks:
                where = f"line {block.first + 1}"
                self.notices += (f"{where}: no request, in a heading with verb's tag: not sent",)
            return False
        return tree.is_request(block)


def is_request(document: Document, block: Block, languages: Container[str]) -> bool:
    """Tell whether a block, or the one that a call names, is in one of these languages."""
    if block.call is None:
        return block.language in languages
    target = document.block_named(block.call.name)
    return target is not None and target.language in languages


def check_names(names: Iterable[str], known: Container[str | None], file: str) -> None:
    """Raise EvaluationError for a name that is not known."""
    for name in names:
        if name not in known:
            raise EvaluationError(f"no request block is named {name}", file=file)


def namesakes(document: Document, blocks: Iterable[Block]) -> list[tuple[Block, Block]]:
    """Find those of `blocks` whose name another one has already: (block, the first of the name)."""
    named = (block for block in blocks if block.name and block.kind != "heading")
    firsts = ((block, document.namesakes(block.name or "")[0]) for block in named)
    return [(block, first) for block, first in firsts if first is not block]


def _same_name(pair: tuple[Block, Block]) -> str:
    block, first = pair
    return (
        f"line {block.line + 1}: the block at line {first.line + 1} is named {block.name}, too: "
        "each keeps a result of its own here, but Org, and whoever refers to the name, finds the "
        "first one only: rename one"
    )


def result_spans(
    document: Document, inherited: Inherited, blocks: Iterable[Block]
) -> list[tuple[int, int]]:
    """Find the old results of `blocks`, in which no block is a request of the user.

    Returns spans of offsets in order, without results that evaluation keeps.
    """
    spans: list[tuple[int, int]] = []
    for block in blocks:
        if block.kind in ("inline", "inline call"):
            continue
        result = result_of(document, block)
        if result is not None and result.end > result.start:
            if _keeps_old(document, inherited, block):
                continue
            edit = place(document, block, "")
            if edit.end > result.start:
                spans.append((result.start, edit.end))
    return sorted(spans)


def _keeps_old(document: Document, inherited: Inherited, block: Block) -> bool:
    """Tell whether a block's header arguments say that its old result stays."""
    try:
        arguments = arguments_of(document, inherited, block)
    except ArgumentError:
        return False
    return bool({"append", "prepend"} & set(arguments.results))


def within(spans: Sequence[tuple[int, int]], offset: int) -> bool:
    """Tell whether an offset lies in one of the sorted `spans`."""
    at = bisect_left(spans, (offset + 1,))
    return at > 0 and offset < spans[at - 1][1]
