"""The plan of an Org document: which of its blocks are evaluated.

Requests (including verb's below headings) and calls in request languages, unless a heading above is
a COMMENT or they are in a result's position: text sent by a server is never treated as a request.
Names and lines select among them, and may select a commented block.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING

from orgrest.http.parsing.grammar import is_request_line
from orgrest.org.arguments import arguments_of
from orgrest.org.blocks import ALL_LANGUAGES, VERB
from orgrest.org.known import KNOWN
from orgrest.org.lisp import ArgumentError
from orgrest.org.placing import place
from orgrest.org.results import result_of
from orgrest.run.documents.verb import VerbTree
from orgrest.run.outcomes import EvaluationError
from orgrest.run.plan import Plan, Step, StepId, split_tags

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from orgrest.org.arguments import Inherited
    from orgrest.org.blocks import Block
    from orgrest.org.document import Document
    from orgrest.run.settings import Settings


_TAG = re.compile(r"^[ \t]*(?:#|//)[ \t]*@tag[ \t]+(.*)$", re.MULTILINE)


def plan_of(document: Document, inherited: Inherited, settings: Settings, file: str) -> Plan:
    """Choose the blocks to evaluate in a document, of the file called `file`.

    Raises EvaluationError if `Settings.names` or `Settings.lines` choose nothing.
    """
    notices: list[str] = []
    languages = languages_of(document, settings)
    found, inside = _requests(document, inherited, languages)
    unclosed = list(document.unclosed_requests())
    nameless = _nameless(document)
    mixed = "; the file's line ends are mixed, LF and CRLF" if "\r\n" in document.text else ""
    suspects = [
        (line, f"this block has no #+end_src, and so is none{mixed}")
        for line in unclosed
        if settings.is_above(line) and not within(inside, document.offset(line - 1))
    ]
    suspects += (
        (block.line + 1, f"no source block here is named {block.call.name}")
        for block in nameless
        if block.call and not within(inside, block.start)
    )
    suspects += _misspelt_languages(document, inside)
    if not settings.languages:
        suspects += _left_alone(document, languages)
    suspects += _misspelt_arguments(document, inherited, found)
    notices += map(_same_name, namesakes(document, found))
    problems: tuple[EvaluationError, ...] = ()
    if not (found or nameless or unclosed or suspects or settings.names or settings.lines):
        reason = f"no request here: a request is a block like #+begin_src {sorted(languages)[0]}"
        problems = (EvaluationError(reason, file=file, line=1, code="no-request"),)
    if settings.names or settings.lines:
        found = _wanted(document, found, settings, file)
    else:
        above = [block for block in found if settings.is_above(block.line + 1)]
        found = list(_sent(document, above, file, notices))
    tags = {tag for key, text in document.keywords if key == "filetags" for tag in text.split(":")}
    return Plan(
        tuple(
            Step(
                id_of(block, file, block.start),
                block.line + 1,
                block.name,
                _tags(document.text[block.start : block.end], block) | tags - {""},
                block,
            )
            for block in found
        ),
        tuple(notices),
        problems,
        tuple(EvaluationError(why, file=file, line=line) for line, why in suspects),
    )


def sent_of(document: Document, inherited: Inherited, languages: frozenset[str]) -> list[Block]:
    """Return the blocks in these languages that a run of a whole document evaluates."""
    return list(_sent(document, _requests(document, inherited, languages)[0], "", []))


def _requests(
    document: Document, inherited: Inherited, languages: frozenset[str]
) -> tuple[list[Block], list[tuple[int, int]]]:
    """Return the blocks in these languages outside results, and the spans of the results."""
    texts = [(one.start, document.offset(one.last)) for one in document.verb]
    found = [
        block
        for block in document.evaluated
        if is_request(document, block, languages)
        and (block.kind == "heading" or not within(texts, block.start))
    ]
    inside: list[tuple[int, int]] = []
    missing = document.unclosed_requests() or _nameless(document)
    # only these kinds of results may contain a block: a paragraph, a list or a container
    if missing or any(
        block.kind not in ("block", "heading") or block.region.inside or block.region.item >= 0
        for block in found
    ):
        inside = result_spans(document, inherited, found)
        found = [block for block in found if not within(inside, block.start)]
    return found, inside


def _nameless(document: Document) -> list[Block]:
    """Return the calls of blocks that do not exist."""
    return [
        block
        for block in document.blocks
        if block.call and document.block_named(block.call.name) is None
    ]


def _sent(
    document: Document, blocks: Sequence[Block], file: str, notices: list[str]
) -> Iterator[Block]:
    """Yield the `blocks` that a run of the whole document evaluates."""
    tree = VerbTree(document, file) if any(one.language == VERB for one in blocks) else None
    for block in blocks:
        if (
            not block.heading.comment
            and not (block.kind == "block" and block.result is not None and _noted(block, notices))
            and (tree is None or _is_sent(block, tree, notices))
        ):
            yield block


def id_of(block: Block, file: str, start: int) -> StepId:
    """Return the identity of a block; `start` is its offset in the text as first read."""
    name = block.heading.properties.get("VERB-STORE") or block.name or ""
    return StepId(file, start, name=name)


def languages_of(document: Document, settings: Settings) -> frozenset[str]:
    """Return the languages of the requests in a document."""
    return settings.languages or document.request_languages()


def _left_alone(document: Document, languages: frozenset[str]) -> Iterator[tuple[int, str]]:
    for language in sorted(ALL_LANGUAGES - languages):
        lines = [b.line for b in document.blocks if b.call is None and b.language == language]
        if lines:
            blocks = f"{len(lines)} block{'s' if len(lines) > 1 else ''} in {language}"
            reason = f"{blocks} left alone in a restclient document (--lang {language} takes them)"
            yield lines[0] + 1, reason


def _misspelt_languages(
    document: Document, inside: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, str]]:
    """Yield line and reason for each request block with a misspelt request language."""
    for block in document.blocks:
        language = block.language
        if block.kind != "block" or language in ALL_LANGUAGES:
            continue
        if inside and within(inside, block.start):
            continue
        if meant := _similar(language, ALL_LANGUAGES, 0.8):
            body = document.text[block.start : block.end].splitlines()[1:]
            lines = (line for line in body if line.strip() and line.lstrip()[0] not in "#:")
            if is_request_line(next(lines, "")):
                yield block.line + 1, f"not a language of requests: {language} (is it {meant}?)"


def _misspelt_arguments(
    document: Document, inherited: Inherited, blocks: Iterable[Block]
) -> Iterator[tuple[int, str]]:
    """Yield line and reason for each misspelt header argument of `blocks`."""
    for block in blocks:
        try:
            arguments = arguments_of(document, inherited, block)
        except ArgumentError:
            continue  # reported when the block is evaluated
        for name in arguments.values:
            if name.lower() not in KNOWN and (meant := _similar(name, KNOWN, 0.8)):
                yield block.line + 1, f"no header argument :{name} is known (is it :{meant}?)"


def _similar(word: str, known: Iterable[str], least: float) -> str | None:
    """Return the most similar known word; None if no ratio (of `difflib`) is at least `least`."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(word.lower(), sorted(known), 1, least)), None)


def _wanted(
    document: Document, found: Sequence[Block], settings: Settings, file: str
) -> list[Block]:
    check_names(settings.names, {block.name for block in found}, file)
    wanted = [block for block in found if block.name in settings.names]
    for line in settings.lines:
        at = document.block_at(line)
        if at is None or not any(at is block for block in found):
            raise EvaluationError("no request block here", file=file, line=line)
        wanted.append(at)
    return sorted(dict.fromkeys(wanted), key=lambda block: block.start)


def _tags(text: str, block: Block) -> frozenset[str]:
    lines = _TAG.finditer(text) if "@tag" in text else ()
    return block.heading.tags.union(*(split_tags(one[1]) for one in lines))


def _noted(block: Block, notices: list[str]) -> bool:
    """Add a notice that a block is in a result's position, so it may come from a server."""
    line = block.line + 1
    notice = f"line {line}: a request right below #+RESULTS: may be an answer, and is not sent"
    notices.append(f"{notice} (--line {line} sends it)")
    return True


def _is_sent(block: Block, tree: VerbTree, notices: list[str]) -> bool:
    """Return whether a block, or the text of a heading, is more than a verb template."""
    if block.language != VERB or block.kind not in ("heading", "block"):
        return True
    if block.kind == "heading" and tree.is_prose(block):
        if block.heading not in tree.with_blocks:
            where = f"line {block.first + 1}"
            notices.append(f"{where}: no request, in a heading with verb's tag: not sent")
        return False
    return tree.is_request(block)


def is_request(document: Document, block: Block, languages: Container[str]) -> bool:
    """Return whether a block, or the block that a call names, is in one of these languages."""
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
    """Find the `blocks` with the name of an earlier one: (block, the first of that name)."""
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
    """Find the old results of `blocks`; blocks inside them are not the user's requests.

    Returns their spans in order, without results that evaluation keeps.
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
    """Return whether a block's header arguments keep its old result."""
    try:
        arguments = arguments_of(document, inherited, block)
    except ArgumentError:
        return False
    return bool({"append", "prepend"} & set(arguments.results))


def within(spans: Sequence[tuple[int, int]], offset: int) -> bool:
    """Return whether an offset lies in one of the sorted `spans`."""
    at = bisect_left(spans, (offset + 1,))
    return at > 0 and offset < spans[at - 1][1]
