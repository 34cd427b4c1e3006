"""The plan of an Org document: which of its blocks are evaluated.

A run evaluates request blocks, requests below verb headings, and calls of request blocks. It skips
blocks below a COMMENT heading, unless the user selects them by name or line. It also skips blocks
inside a result, because text from a server is never treated as a request.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING

from orgrest.org.argument_syntax import parse
from orgrest.org.arguments import of_block
from orgrest.org.blocks import ALL_LANGUAGES, INLINE, VERB, ArgumentError
from orgrest.org.known import KNOWN
from orgrest.org.placing import place
from orgrest.org.results import result_of
from orgrest.regular import compiled
from orgrest.rendering.content import LANGUAGES
from orgrest.run.documents.verb import VerbTree
from orgrest.run.outcomes import EvaluationError
from orgrest.run.plan import Choice, Plan, Step, StepId, split_tags

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence

    from orgrest.org.blocks import Block
    from orgrest.org.document import OrgDocument
    from orgrest.run.settings import Settings


_UNUSUAL = compiled(
    r"^[ \t]*#(?:\+(?!(?:begin_src|end_src|results|name|title)\b)|#*[ \t]*@)",
    re.MULTILINE | re.IGNORECASE,
)
_SPELT_CORRECTLY = ALL_LANGUAGES.union(LANGUAGES.values())  # of requests and of their results
_TAG = compiled(r"^[ \t]*(?:#|//)[ \t]*@tag[ \t]+(.*)$", re.MULTILINE)


def plan_of(
    document: OrgDocument, languages: frozenset[str], settings: Settings, file: str
) -> Plan:
    """Return the plan for a document called `file`, whose requests are in `languages`.

    Raises EvaluationError if a name or line in `settings` does not select a block.
    """
    notices: list[str] = []
    chosen, inside = _requests(document, languages)
    suspects = [(line, why) for line, why in _unclosed(document, inside) if settings.is_above(line)]
    suspects += (
        (block.line + 1, f"no source block named {block.call.name}")
        for block in document.calls_without_target
        if block.call and not within(inside, block.start)
    )
    if not settings.languages:
        suspects += left_alone(document, languages)
    if _may_be_misspelt(document, chosen):
        suspects += _misspelt(document, chosen, inside)
    notices += map(_same_name, namesakes(document, chosen))
    suspected = tuple(EvaluationError(why, file=file, line=line) for line, why in suspects)
    problems: tuple[EvaluationError, ...] = ()
    if not (chosen or settings.narrows):
        reason = f"no request found: requests are blocks like #+begin_src {sorted(languages)[0]}"
        nothing = EvaluationError(reason, file=file, line=1, code="no-request")
        problems, suspected = suspected or (nothing,), ()
    tags = {tag for key, text in document.keywords if key == "filetags" for tag in text.split(":")}
    steps = {
        block: Step(
            id_of(block, file, block.start),
            block.line + 1,
            block.name,
            _tags(document.text[block.start : block.end], block) | tags - {""},
            block,
        )
        for block in chosen
    }
    if settings.narrows:
        sent = {steps[block] for block in _sent(document, chosen, file, [])}
        planned = wanted([*steps.values()], sent, document.block_at, settings, file)
    else:
        above = [block for block in chosen if settings.is_above(block.line + 1)]
        planned = tuple(steps[block] for block in _sent(document, above, file, notices))
    return Plan(planned, tuple(notices), problems, suspected)


def _may_be_misspelt(document: OrgDocument, blocks: Sequence[Block]) -> bool:
    """Return False if a document certainly contains no misspelt request. This check is fast."""
    source_blocks = [block for block in document.blocks if block.kind == "block"]
    return (
        any(block.language not in _SPELT_CORRECTLY for block in source_blocks)
        or document.text.lower().count("#+begin_src") != len(source_blocks)
        or any(block.call or _has_unknown_arguments(block) for block in blocks)
        or any(here.properties for block in blocks for here in block.heading.path())
        or _UNUSUAL.search(document.text) is not None
    )


def _has_unknown_arguments(block: Block) -> bool:
    try:
        pairs = [pair for text in (block.arguments, *block.headers) for pair in parse(text)]
    except ArgumentError:
        return False  # reported when the block is evaluated
    return any(name[:1] != ":" or name[1:] not in KNOWN for name, _ in pairs)


def _misspelt(
    document: OrgDocument, blocks: Sequence[Block], inside: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, str]]:
    """Yield (line, reason) for each probable spelling mistake outside the results in `inside`."""
    from orgrest.run.documents import misspelt

    for block, why in misspelt.languages(document):
        if not within(inside, block.start):
            yield block.line + 1, why
    for at, why in misspelt.lines(document, blocks):
        if not within(inside, at):
            yield document.line_of(at) + 1, why
    yield from misspelt.header_arguments(document, blocks)
    for block in blocks:
        for why in misspelt.unmarked(block):
            yield block.line + 1, why


def sent_of(document: OrgDocument, languages: frozenset[str]) -> list[Block]:
    """Return the blocks in these languages that a run of the whole document evaluates."""
    return list(_sent(document, _requests(document, languages)[0], "", []))


def unclosed_blocks(document: OrgDocument, languages: frozenset[str]) -> Iterator[tuple[int, str]]:
    """Yield (line, reason) for each request block without an end, except in results."""
    if document.unclosed_requests:
        yield from _unclosed(document, _requests(document, languages)[1])


def _unclosed(
    document: OrgDocument, inside: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, str]]:
    mixed = "; the file mixes LF and CRLF line endings" if "\r\n" in document.text else ""
    for line in document.unclosed_requests:
        if not within(inside, document.offset(line - 1)):
            yield line, f"this block was ignored: missing #+end_src{mixed}"


def _requests(
    document: OrgDocument, languages: frozenset[str]
) -> tuple[list[Block], list[tuple[int, int]]]:
    """Return the request blocks outside results, and the results' spans if blocks may be inside."""
    texts = [(heading.start, document.offset(heading.last)) for heading in document.verb]
    requests = [
        block
        for block in document.evaluated
        if is_request(document, block, languages)
        and (block.kind == "heading" or not within(texts, block.start))
    ]
    inside: list[tuple[int, int]] = []
    missing = document.unclosed_requests or document.calls_without_target
    # blocks can only occur in these kinds of results: paragraphs, lists and containers
    if missing or any(
        block.kind not in ("block", "heading") or block.region.inside or block.region.item >= 0
        for block in requests
    ):
        inside = result_spans(document, requests)
        requests = [block for block in requests if not within(inside, block.start)]
    return requests, inside


def _sent(
    document: OrgDocument, blocks: Sequence[Block], file: str, notices: list[str]
) -> Iterator[Block]:
    """Yield the blocks that are evaluated by default."""
    tree = (
        VerbTree(document, file)
        if any(candidate.language == VERB for candidate in blocks)
        else None
    )
    for block in blocks:
        if (
            not block.heading.comment
            and not (block.kind == "block" and block.result is not None and _noted(block, notices))
            and (tree is None or _is_sent(block, tree, notices))
        ):
            yield block


def id_of(block: Block, file: str, start: int) -> StepId:
    """Return the identity of a block. `start` is its offset in the original text."""
    name = block.heading.properties.get("VERB-STORE") or block.name or ""
    return StepId(file, start, name=name)


def left_alone(document: OrgDocument, languages: frozenset[str]) -> Iterator[tuple[int, str]]:
    """Yield (line, reason) for each language whose blocks are ignored in a document.

    In documents for restclient, these are the languages `http` and `rest`.
    """
    for language in sorted(ALL_LANGUAGES - languages):
        lines = [b.line for b in document.blocks if b.call is None and b.language == language]
        if lines:
            blocks = f"{len(lines)} block{'s' if len(lines) > 1 else ''} in {language}"
            it = "them" if len(lines) > 1 else "it"
            options = f"--lang restclient --lang {language}"
            reason = f"{blocks} ignored in a restclient document (to send {it}, too, use {options})"
            yield lines[0] + 1, reason


def wanted(
    steps: list[Step], sent: set[Step], at: Callable[[int], object], settings: Settings, file: str
) -> tuple[Step, ...]:
    """Return those steps of a document that the settings select by name, tag or line.

    `sent` are the steps that a run of the whole document sends. Other steps are only selected by
    their line or their exact name. `at` returns the source of the step at a line number, or None.
    Raises EvaluationError for a name, tag or line that selects nothing.
    """
    choice, chosen = settings.choice, set[Step]()
    if choice.names or choice.tags:
        own = [step for step in steps if step in sent or step.name in choice.names]
        for name in choice.names:
            if not any(Choice((name,)).selects(step) for step in own):
                raise EvaluationError(f"no request named {name}", file=file)
        chosen.update(filter(choice.selects, own))
        if not chosen:
            tags = " or ".join(sorted(choice.tags))
            which = "with this name " if choice.names else ""
            raise EvaluationError(f"no request {which}has the tag {tags}", file=file)
    for line in settings.lines:
        source = at(line)
        found = [step for step in steps if step.source is source]
        if not found:
            raise EvaluationError("no request at this line", file=file, line=line)
        chosen.update(found)
    return tuple(step for step in steps if step in chosen)


def _tags(text: str, block: Block) -> frozenset[str]:
    lines = _TAG.finditer(text) if "@tag" in text else ()
    return block.heading.tags.union(*(split_tags(match[1]) for match in lines))


def _noted(block: Block, notices: list[str]) -> bool:
    """Add a notice that a block below `#+RESULTS:` is not sent, and return True."""
    line = block.line + 1
    notice = (
        f"line {line}: a request right below #+RESULTS: may be part of a response, so it "
        "was not sent"
    )
    notices.append(f"{notice} (use --line {line} to send it)")
    return True


def _is_sent(block: Block, tree: VerbTree, notices: list[str]) -> bool:
    """Return whether a block is sent, and add a notice for a verb heading without a request."""
    if block.language != VERB or block.kind not in ("heading", "block"):
        return True
    if block.kind == "heading" and tree.is_prose(block):
        if block.heading not in tree.with_blocks:
            where = f"line {block.first + 1}"
            notices.append(
                f"{where}: this heading has the verb tag but contains no request, so it is not sent"
            )
        return False
    return tree.is_request(block)


def is_request(document: OrgDocument, block: Block, languages: Container[str]) -> bool:
    """Return whether a block, or the block that it calls, is in one of these languages."""
    if block.call is None:
        return block.language in languages
    target = document.block_named(block.call.name)
    return target is not None and target.language in languages


def namesakes(document: OrgDocument, blocks: Iterable[Block]) -> list[tuple[Block, Block]]:
    """Return (block, first) for each block whose name an earlier block already has.

    `first` is the first block with that name.
    """
    named = (block for block in blocks if block.name and block.kind != "heading")
    firsts = ((block, document.namesakes(block.name or "")[0]) for block in named)
    return [(block, first) for block, first in firsts if first is not block]


def _same_name(pair: tuple[Block, Block]) -> str:
    block, first = pair
    return (
        f"line {block.line + 1}: the block at line {first.line + 1} is also named "
        f"{block.name}; orgrest keeps a result for each, but Org and references to the name "
        "only find the first, so rename one"
    )


def result_spans(document: OrgDocument, blocks: Iterable[Block]) -> list[tuple[int, int]]:
    """Return the spans of the blocks' old results, in order.

    Blocks inside these spans are parts of results. Results that evaluation would keep (`:results
    append` or `prepend`) are omitted.
    """
    spans: list[tuple[int, int]] = []
    for block in blocks:
        if block.kind in INLINE:
            continue
        result = result_of(document, block)
        if result is not None and result.end > result.start:
            if _keeps_old(document, block):
                continue
            edit = place(document, block, "")
            if edit.end > result.start:
                spans.append((result.start, edit.end))
    return sorted(spans)


def _keeps_old(document: OrgDocument, block: Block) -> bool:
    try:
        arguments = of_block(document, block)
    except ArgumentError:
        return False
    return bool({"append", "prepend"} & set(arguments.results))


def within(spans: Sequence[tuple[int, int]], offset: int) -> bool:
    """Return whether an offset lies in one of the `spans`, which are sorted."""
    at = bisect_left(spans, (offset + 1,))
    return at > 0 and offset < spans[at - 1][1]
