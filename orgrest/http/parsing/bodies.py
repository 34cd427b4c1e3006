"""Parses the body of a request: text, `< file`, multipart with files, or a here-document."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from orgrest import classes
from orgrest.http.parsing.grammar import BODY_HERE, FILE, is_request_line
from orgrest.http.parsing.lines import Line, Lines, assertion_in, joined, one_line
from orgrest.http.syntax import Assertion, Body, Inclusion
from orgrest.model import Notice, RequestSyntaxError, Source, Span
from orgrest.regular import compiled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orgrest.model import OrgrestError

_PART_FILE = compiled(r"<[ \t]++([^<>]++)")


@classes.frozen
class BodyReader:
    """Parses a body from `lines`.

    An assertion is added to `assertions` instead of the body, except in a here-document. Errors are
    added to `problems`, and warnings to `notices`.
    """

    source: Source
    lines: Lines
    indent: int
    problems: list[OrgrestError]
    notices: list[Notice]
    assertions: list[Assertion]

    def read(self) -> Body | None:
        """Read and return the body, up to the `#` line that ends it, or None if it is empty."""
        lines = self.lines
        first = lines.at
        if lines.left:
            text, start = lines.next.dedented(self.indent)
            if here := BODY_HERE.fullmatch(text):
                return self._here(here[1], start)
        lines.skip_to_comment(self.indent)
        last = lines.at
        while last > first and not lines.all[last - 1].text:
            last -= 1
        if last == first:
            return None
        body_lines = [line for line in lines.all[first:last] if not self._take_assertion(line)]
        while body_lines and not body_lines[-1].text:
            body_lines.pop()
        if not body_lines:
            return None
        span = Span(body_lines[0].start, body_lines[-1].end)
        texts = [line.dedented(self.indent) for line in body_lines]
        if match := FILE.fullmatch(texts[0][0]):
            return self._file(match, texts, span)
        for text, start in texts:
            if text[:1].isalpha() and "://" in text and is_request_line(text):
                self._notice(
                    start,
                    "this request line is part of the body above: separate requests with a "
                    "line that starts with #",
                    "no-separator",
                )
        return _text_body(texts, span)

    def _take_assertion(self, line: Line) -> bool:
        """Record the assertion in a line, or its error. Return whether there is an assertion."""
        text, start = line.dedented(self.indent)
        assertion = assertion_in(text, start, line.end)
        if assertion is None:
            return False
        if isinstance(assertion, str):
            self._problem(
                start, f"{assertion} (to send such a line, use <<END ... END)", "bad-assertion"
            )
        else:
            self.assertions.append(assertion)
        return True

    def _file(self, match: re.Match[str], texts: Sequence[tuple[str, int]], span: Span) -> Body:
        index = 1 if match[1] else 2
        path = one_line(match[index].rstrip(), texts[0][1] + match.start(index))
        if len(texts) > 1:
            self._notice(texts[1][1], "lines below `< FILE` are not sent", "lost-text")
        return Body(one_line("", span.start), path, (), span)

    def _here(self, word: str, start: int) -> Body | None:
        """Read a here-document and the assertions below it. Return None if it is never closed."""
        lines = self.lines
        first = lines.at
        lines.at += 1
        document = lines.here_document(word, self.indent)
        if document is None:
            reason = f"this << is never closed: the line {word} is missing"
            self._problem(start, reason, "unclosed-here")
            lines.at = first + 1
            lines.skip_to_comment()
            return None
        template, end = document
        while lines.left:
            text, offset_below = lines.next.dedented(self.indent)
            if text.startswith("#"):
                break
            if text and not self._take_assertion(lines.next):
                self._problem(
                    offset_below,
                    f"unexpected text after the {word} that ends the body",
                    "lost-text",
                )
            lines.at += 1
        texts = [
            (text, offset)
            for text, (_, offset) in zip(template.text.split("\n"), template.anchors, strict=True)
        ]
        body = _text_body(texts, Span(start, end))
        return classes.evolve(body, span=Span(lines.all[first].start, end))

    def _problem(self, offset: int, reason: str, code: str) -> None:
        self.problems.append(RequestSyntaxError.at(self.source, offset, reason, code))

    def _notice(self, offset: int, reason: str, code: str) -> None:
        self.notices.append(Notice.at(self.source, offset, reason, code))


def _text_body(texts: Sequence[tuple[str, int]], span: Span) -> Body:
    template = joined(texts)
    files = tuple(
        Inclusion(at, at + len(text), one_line(match[1].rstrip(), start + match.start(1)), None)
        for (text, start), (at, _) in zip(texts, template.anchors, strict=True)
        if (match := _PART_FILE.fullmatch(text))
    )
    return Body(template, None, files, span)
