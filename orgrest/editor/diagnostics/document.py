"""Checks everything in an Org document except requests: header arguments, names and calls.

Each check in the table `CHECKS` is a generator of findings. To add a check, add a function and a
row in the table.
"""

from __future__ import annotations

import itertools
import re
from difflib import get_close_matches
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

from orgrest.editor import arguments
from orgrest.editor.diagnostics.fixes import suggested
from orgrest.editor.diagnostics.model import Diagnostic, Finding, Fix
from orgrest.editor.parsed_regions import settings_of
from orgrest.model import Span
from orgrest.org import document as org
from orgrest.org.known import KNOWN
from orgrest.org.text import Edit
from orgrest.run.documents import misspelt
from orgrest.run.documents.noweb import REFERENCE, Noweb
from orgrest.run.documents.selection import left_alone, unclosed_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from orgrest.editor.analysis import Analysis
    from orgrest.editor.diagnostics.model import Severity
    from orgrest.editor.parsed_regions import Fault
    from orgrest.org.blocks import Block

_ARGUMENTS = [f":{name}" for name in KNOWN]
_RESULT_BELOW = re.compile(r"(?:[ \t]*\n)+[ \t]*#\+results(?:\[.*\])?:[ \t]*(\S+)", re.IGNORECASE)
_ALIKE = 0.6  # the least `difflib` ratio at which a known name is suggested for an unknown one
_ALIKE_ARGUMENT = 0.8


def _faults(analysis: Analysis, document: org.OrgDocument) -> Iterator[Finding]:
    """Yield findings about header arguments that are malformed or refer to a missing element."""
    for part in analysis.judged:
        for fault in part.given.faults:
            block = cast("Block", part.region.block)  # which has the header arguments
            span = fault.variable and arguments.variable_span(document, block, fault.variable)
            yield _fault(fault, span or arguments.line_span(document, block.line))


def _fault(fault: Fault, span: Span) -> Finding:
    severity: Severity = "error" if fault.code == "bad-argument" else "warning"
    return Finding(Diagnostic(span, severity, fault.code, fault.message))


def _calls(analysis: Analysis, document: org.OrgDocument) -> Iterator[Finding]:
    """Yield findings about calls of missing blocks, and about what calls of requests pass."""
    names = _block_names(document)
    for block in document.blocks:
        if block.call is None or block.heading.comment:
            continue
        target = document.block_named(block.call.name)
        at = arguments.called_at(analysis.text, block)
        span = Span(at, at + len(block.call.name))
        if target is None:
            message = f"no source block named {block.call.name}"
            yield _misspelt(analysis.text, "unknown-name", message, names, span, _ALIKE)
        elif target.language in analysis.languages:
            faults = settings_of(block, document, Path()).faults
            known = settings_of(target, document, Path()).faults if faults else ()
            for fault in faults:
                if fault not in known:
                    yield _fault(fault, span)


def _noweb(analysis: Analysis, document: org.OrgDocument) -> Iterator[Finding]:
    """Yield findings about references ``<<name>>`` to missing blocks."""
    noweb, names = Noweb(document), _block_names(document)
    for part in analysis.judged:
        block = part.region.block
        if block is None or not part.given.inserts_noweb:
            continue
        start, end = document.offset(block.first), document.offset(block.last)
        for match in REFERENCE.finditer(analysis.text, start, end):
            name = match[1]
            if not name.endswith(")") and not noweb.blocks(name):
                span = Span(match.start(1), match.end(1))
                message = f"<<{name}>>: no source block with this name"
                yield _misspelt(analysis.text, "unknown-name", message, names, span, _ALIKE)


def _block_names(document: org.OrgDocument) -> list[str]:
    return [block.name for block in document.blocks if block.name and block.kind == "block"]


def _properties(analysis: Analysis, document: org.OrgDocument) -> Iterator[Finding]:
    """Yield findings about unknown header arguments in properties for request blocks only."""
    if not analysis.property_texts:
        return
    blocks = [block for block in document.blocks if block.kind == "block"]
    ours = all(block.language in analysis.languages for block in blocks)
    read = {text.partition(" ")[2].strip() for _, text in document.keywords}
    for heading in {part.region.block.heading for part in analysis.parts if part.region.block}:
        read.update(text for here in heading.path() for text in here.properties.values())
    for text, start, language in analysis.property_texts:
        if text not in read:
            continue  # an example in a block of text
        if language in analysis.languages or (ours and not language):
            yield from _unknown_arguments(analysis.text, text, start)


def _arguments(analysis: Analysis, document: org.OrgDocument) -> Iterator[Finding]:
    """Yield findings about unknown header arguments of blocks."""
    for part in analysis.judged:
        kept = part.region.kept
        if kept is None or not any(map(_unknown, (kept.arguments, *kept.headers))):
            continue
        for text, start in arguments.texts_of(document, part.region.block):
            yield from _unknown_arguments(analysis.text, text, start)


def _look_alikes(analysis: Analysis, document: org.OrgDocument) -> Iterator[Finding]:
    """Yield findings about lines that look like parts of requests but are ignored in a run."""
    requests = [part.region.block for part in analysis.parts if part.region.block is not None]
    lines = [(block.line, why) for block, why in misspelt.languages(document)]
    lines += ((document.line_of(at), why) for at, why in misspelt.lines(document, requests))
    lines += ((block.line, why) for block in requests for why in misspelt.unmarked(block))
    lines += ((line - 1, why) for line, why in left_alone(document, analysis.languages))
    unclosed = unclosed_blocks(document, analysis.languages)
    lines += ((line - 1, why) for line, why in unclosed)
    for line, why in lines:
        span = arguments.line_span(document, line)
        fixes = partial(_suggested, analysis.text, span, why)
        yield Finding(Diagnostic(span, "warning", "misspelt", why), fixes)


def _suggested(text: str, span: Span, message: str) -> tuple[Fix, ...]:
    made = suggested(message, text, span.start, span.end)
    if made is None:
        return ()
    title, change = made
    return (Fix(title, (Edit(change.start, change.end, change.text),), guess=True),)


def _repeated_names(analysis: Analysis, document: org.OrgDocument) -> Iterator[Finding]:
    names = [block.name.lower() for block in document.blocks if block.name]
    used = set(names)
    if len(used) == len(names):
        return
    for block in document.blocks:
        first = document.block_named(block.name) if block.name else None
        if first is None or first is block or block.kind != "block" or block.name is None:
            continue
        if not {first.language, block.language} & analysis.languages or block.heading.comment:
            continue
        span = arguments.name_span(document, block)
        if span is not None:
            message = (
                f"the block at line {first.line + 1} is also named {block.name}: references "
                "to this name use that block's result"
            )
            diagnostic = Diagnostic(span, "warning", "repeated-name", message)
            yield Finding(diagnostic, partial(_renaming, document, block, span, used))


def _renaming(
    document: org.OrgDocument, block: Block, span: Span, used: Collection[str]
) -> tuple[Fix, ...]:
    """Return a fix that renames a block together with a result of the same name below."""
    name = document.text[span.start : span.end]
    new = next(x for n in itertools.count(2) if (x := f"{name}-{n}").lower() not in used)
    edits = [Edit(span.start, span.end, new)]
    result = _RESULT_BELOW.match(document.text, block.end)
    if result is not None and result[1].lower() == name.lower():
        edits.append(Edit(result.start(1), result.end(1), new))
    return (Fix(f"Rename to {new}", tuple(edits)),)


def _unknown_arguments(whole: str, text: str, start: int) -> Iterator[Finding]:
    for name, at in _unknown(text):
        span = Span(start + at, start + at + len(name))
        message = f"unknown header argument {name}: it has no effect"
        yield _misspelt(whole, "unknown-argument", message, _ARGUMENTS, span, _ALIKE_ARGUMENT)


@lru_cache(4096)
def _unknown(text: str) -> tuple[tuple[str, int], ...]:
    """Return (name, index) for each unknown argument name in `text`."""
    return tuple(name for name in arguments.names_in(text) if name[0][1:] not in KNOWN)


def _misspelt(
    text: str, code: str, message: str, known: Sequence[str], span: Span, alike: float
) -> Finding:
    """Return a finding about an unknown name. Its fix inserts the most similar known name.

    `alike` (0 to 1) is the least similarity of a suggested name.
    """

    def fixes() -> tuple[Fix, ...]:
        return tuple(
            Fix(f"Replace with {close}", (Edit(span.start, span.end, close),), guess=True)
            for close in get_close_matches(text[span.start : span.end], known, 1, alike)
        )

    return Finding(Diagnostic(span, "warning", code, message), fixes)


Check: TypeAlias = "Callable[[Analysis, org.OrgDocument], Iterator[Finding]]"

CHECKS: tuple[Check, ...] = (
    _faults,
    _calls,
    _noweb,
    _repeated_names,
    _properties,
    _arguments,
    _look_alikes,
)
