"""Parses the body of a request: text, `< file`, multipart with files, or a here-document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orgrest import classes
from orgrest.http.parsing.grammar import BODY_HERE, FILE, is_request_line
from orgrest.http.parsing.lines import joined, one_line
from orgrest.http.syntax import Body, Inclusion
from orgrest.model import Span
from orgrest.regular import compiled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orgrest.http.parsing.lines import Line, RequestLines

_PART_FILE = compiled(r"<[ \t]++([^<>]++)")


def read_body(request: RequestLines) -> Body | None:
    """Read the body of a request, up to the `#` line that ends it. Return None if it is empty.

    Assertions are recorded instead of being added to the body, except in a here-document.
    """
    lines, indent = request.lines, request.indent
    first = lines.at
    if lines.left:
        text, start = lines.next.dedented(indent)
        if here := BODY_HERE.fullmatch(text):
            return _here(request, here[1], start)
    lines.skip_to_comment(indent)
    last = lines.at
    while last > first and not lines.all[last - 1].text:
        last -= 1
    if last == first:
        return None
    body_lines = [line for line in lines.all[first:last] if not _take_assertion(request, line)]
    while body_lines and not body_lines[-1].text:
        body_lines.pop()
    if not body_lines:
        return None
    span = Span(body_lines[0].start, body_lines[-1].end)
    texts = [line.dedented(indent) for line in body_lines]
    if match := FILE.fullmatch(texts[0][0]):
        index = 1 if match[1] else 2
        path = one_line(match[index].rstrip(), texts[0][1] + match.start(index))
        if len(texts) > 1:
            request.notice(texts[1][1], "lines below `< FILE` are not sent", "lost-text")
        return Body(one_line("", span.start), path, (), span)
    for text, start in texts:
        if text[:1].isalpha() and "://" in text and is_request_line(text):
            request.notice(
                start,
                "this request line is part of the body above: separate requests with a "
                "line that starts with #",
                "no-separator",
            )
    return _text_body(texts, span)


def _take_assertion(request: RequestLines, line: Line) -> bool:
    hint = " (to send such a line, use <<END ... END)"
    return request.take_assertion(*line.dedented(request.indent), line.end, hint)


def _here(request: RequestLines, word: str, start: int) -> Body | None:
    """Read a here-document and the assertions below it. Return None if it is never closed."""
    lines = request.lines
    first = lines.at
    lines.at += 1
    document = lines.here_document(word, request.indent)
    if document is None:
        reason = f"this << is never closed: the line {word} is missing"
        request.problem(start, reason, "unclosed-here")
        lines.at = first + 1
        lines.skip_to_comment()
        return None
    template, end = document
    while lines.left:
        text, offset_below = lines.next.dedented(request.indent)
        if text.startswith("#"):
            break
        if text and not _take_assertion(request, lines.next):
            reason = f"unexpected text after the {word} that ends the body"
            request.problem(offset_below, reason, "lost-text")
        lines.at += 1
    texts = [
        (text, offset)
        for text, (_, offset) in zip(template.text.split("\n"), template.anchors, strict=True)
    ]
    body = _text_body(texts, Span(start, end))
    return classes.evolve(body, span=Span(lines.all[first].start, end))


def _text_body(texts: Sequence[tuple[str, int]], span: Span) -> Body:
    template = joined(texts)
    files = tuple(
        Inclusion(at, at + len(text), one_line(match[1].rstrip(), start + match.start(1)), None)
        for (text, start), (at, _) in zip(texts, template.anchors, strict=True)
        if (match := _PART_FILE.fullmatch(text))
    )
    return Body(template, None, files, span)
