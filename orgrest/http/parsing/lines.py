"""A cursor over the lines of a source, shared by the parsers of the request languages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orgrest import classes
from orgrest.http.parsing.grammar import ASSERTION, HURL_STATUS, MISMARKED
from orgrest.http.syntax import LineState, Template
from orgrest.model import Notice, RequestSyntaxError, Span

if TYPE_CHECKING:
    import re
    from collections.abc import Sequence

    from orgrest.http.syntax import Assertion
    from orgrest.model import OrgrestError, Source

BLANKS = " \t\r"


@classes.frozen
class Line:
    """A line of a source: its text without trailing whitespace, its offset, and its `raw` text."""

    text: str
    start: int
    raw: str

    @property
    def indent(self) -> int:
        """The number of leading spaces and tabs."""
        return len(self.text) - len(self.text.lstrip(" \t"))

    @property
    def end(self) -> int:
        """The offset where the text ends."""
        return self.start + len(self.text)

    @property
    def span(self) -> Span:
        """The span of the text."""
        return Span(self.start, self.end)

    def dedented(self, indent: int) -> tuple[str, int]:
        """Remove up to `indent` leading spaces and tabs. Return the rest and its start offset."""
        return _dedent(self.text, self.start, indent)


class Lines:
    """The lines of a source.

    `at` is the index of the next line to read. `state` is the parser's state before that line.
    `unclosed` is True if the last here-document was never closed.
    """

    def __init__(self, text: str, part: Span | None = None) -> None:
        """Split `text`, or only the given `part` of it, into lines."""
        self.all: list[Line] = []
        start, end = (0, len(text)) if part is None else (part.start, part.end)
        for raw in text[start:end].split("\n"):  # only LF ends a line
            self.all.append(Line(raw.rstrip(BLANKS), start, raw))
            start += len(raw) + 1
        self.at = 0
        self.unclosed = False
        self.state = LineState()

    @property
    def left(self) -> bool:
        """Whether there are lines left to read."""
        return self.at < len(self.all)

    @property
    def next(self) -> Line:
        """The next line to read."""
        return self.all[self.at]

    def skip_to_comment(self, indent: int = 0) -> None:
        """Advance to the next line that starts with `#` after at most `indent` spaces or tabs."""
        while self.left and not self.next.dedented(indent)[0].startswith("#"):
            self.at += 1

    def here_document(self, word: str | None, indent: int) -> tuple[Template, int] | None:
        """Consume a here-document. Return its text and the end offset of its terminator.

        The terminator is the line `word` or, if `word` is None, the next line that starts with `#`.
        If there is no terminator, all lines are consumed, and the result is None.
        """
        pieces: list[tuple[str, int]] = []
        outer_state, self.state = self.state, LineState("quoted")
        while self.left:
            line = self.next
            self.at += 1
            text, start = line.dedented(indent)
            if text == word or (word is None and text.startswith("#")):
                self.state = outer_state
                return joined(pieces or [("", line.start)]), line.end
            if word is not None:
                text, start = _dedent(line.raw.rstrip("\r"), line.start, indent)
            pieces.append((text, start))
        self.unclosed = True
        return None


class RequestLines:
    """A request that is being parsed: its lines, and what was found in them.

    `indent` is the number of leading blanks that are not part of the lines.
    """

    def __init__(self, source: Source, lines: Lines, indent: int = 0) -> None:
        self.source = source
        self.lines = lines
        self.indent = indent
        self.problems: list[OrgrestError] = []
        self.notices: list[Notice] = []
        self.assertions: list[Assertion] = []

    def problem(self, offset: int, reason: str, code: str) -> None:
        """Record an error, which prevents the request from being sent."""
        self.problems.append(RequestSyntaxError.at(self.source, offset, reason, code))

    def notice(self, offset: int, reason: str, code: str) -> None:
        """Record a warning."""
        self.notices.append(Notice.at(self.source, offset, reason, code))

    def take_assertion(self, text: str, start: int, end: int, hint: str = "") -> bool:
        """Record the assertion in a line, or its error. Return whether there is an assertion.

        For the parameters, see `assertion_in`. `hint` is appended to the error.
        """
        assertion = assertion_in(text, start, end)
        if isinstance(assertion, str):
            self.problem(start, assertion + hint, "bad-assertion")
        elif assertion is not None:
            self.assertions.append(assertion)
        return assertion is not None


def one_line(text: str, offset: int) -> Template:
    """Return a template for a single-line string that starts at `offset` in the source."""
    return Template(text, ((0, offset),))


def assertion_in(text: str, start: int, end: int) -> Assertion | str | None:
    """Return the assertion in a stripped line, or None if the line is not an assertion.

    If the line looks like an assertion but is invalid, returns an error message. `start` and `end`
    are the line's offsets in the source.
    """
    match = ASSERTION.fullmatch(text)
    if match is None:
        return mismarked(text)
    from orgrest.http.assertions.language import read_assertion

    return read_assertion(one_line(match["text"], start + match.start("text")), Span(start, end))


def mismarked(text: str) -> str | None:
    """Return an error message if a line is an assertion not marked with `??`, otherwise None."""
    if match := HURL_STATUS.fullmatch(text):
        return f"to check the status, use ??, as in ?? status == {match['status']}"
    match = MISMARKED.fullmatch(text)
    if match is None:
        return None
    from orgrest.http.assertions.language import find

    if isinstance(find(match["text"]), str):
        return None  # prose
    return f"an assertion begins with ??, as in ?? {match['text']}"


def is_assertion(text: str) -> bool:
    """Return whether a line is an assertion, even one that is not marked with `??`."""
    return ASSERTION.fullmatch(text) is not None or mismarked(text) is not None


def joined(pieces: Sequence[tuple[str, int]], mark: str = "\n") -> Template:
    """Join pieces of text, each with its offset in the source, into one template.

    `mark` is inserted between the pieces.
    """
    anchors = []
    size = 0
    for text, offset in pieces:
        anchors.append((size, offset))
        size += len(text) + len(mark)
    return Template(mark.join(text for text, _ in pieces), tuple(anchors))


def target_of(
    url: Sequence[tuple[str, int]], version: re.Pattern[str]
) -> tuple[Template, str | None]:
    """Join the lines of a URL. Return the URL without the HTTP version, and the version or None.

    The version may be at the end of the last or the first line. The pattern `version` matches it
    together with the whitespace before it.
    """
    url, http_version = list(url), None
    for at in (-1, 0)[: len(url)]:
        text, offset = url[at]
        if http_version is None and (match := version.search(text)):
            http_version = match[1]
            url[at] = (text[: match.start()], offset)
    return joined(url, ""), http_version


def _dedent(text: str, start: int, indent: int) -> tuple[str, int]:
    removed = min(indent, len(text) - len(text.lstrip(" \t")))
    return text[removed:], start + removed
