r"""Parses restclient's request language, and records the position of every part.

The language is that of restclient.el (https://github.com/pashky/restclient.el). It is read line by
line:

    # comment                          ends the request above it
    # ?? status == 200                 is also an assertion about the response; the # can be
                                       omitted below the request (Emacs would send that line)
    ### name                           also names the request below it
    :name = value                      a variable
    :name = <<                         a multi-line value, which ends before the next line that
    several lines                      starts with `#` or, if it begins with `<<WORD`, before the
    #                                  line WORD
    POST https://example.org/:id       method, URL, and optionally `HTTP/1.1`; lines directly below
      ?page=2                          that start with `?` or `&` continue the URL
      &size=10
    Content-Type: application/json     headers
    :name                              a variable that contains header lines
    -> jq-set-var :id .id              after the response, set a variable from it
                                       an empty line, then the body, up to a `#` line
    {"a": ":name", "b": "{{name}}"}

A body is text or `< file`. A body with lines that start with `#`, or with trailing whitespace, must
be a here-document:

    <<END
    # a Markdown heading
    END

Rules: `parse` never raises, and reads each line at most twice. A request's errors are in its
`problems`: an editor can show all of them, and a run rejects only that request. If a request is
indented, the same indentation is removed from all of its lines. Trailing whitespace and blank lines
at the end of a body are dropped, as in restclient's Org support. Comments among the headers are
skipped if the request continues below them. They end the request if only blank lines follow, or if
the next non-blank line is a request line, a definition, an assertion, `###`, or another comment
after a blank line.
"""

from __future__ import annotations

import re

from orgrest import classes
from orgrest.http.parsing.bodies import read_body
from orgrest.http.parsing.grammar import (
    DEFINITION,
    FOREIGN,
    HEADER,
    HEADER_VARIABLE,
    HERE,
    HOOK,
    REQUEST,
    SET_VAR,
    VERSION,
    is_request_line,
)
from orgrest.http.parsing.lines import (
    Line,
    Lines,
    RequestLines,
    assertion_in,
    is_assertion,
    one_line,
    target_of,
)
from orgrest.http.syntax import (
    Body,
    Comment,
    Definition,
    Definitions,
    Document,
    HeaderLine,
    HeaderVariable,
    LineState,
    ParsedRequest,
    Text,
    version_notices,
)
from orgrest.model import Capture, Notice, OrgrestError, RequestSyntaxError, Source, Span
from orgrest.regular import compiled


def parse(
    source: Source | str, part: Span | None = None, known: Definitions | None = None
) -> Document:
    """Parse the text of a block or request file, or only an independent `part` of it.

    `known` contains the definitions in the whole file. Never raises: errors are in the `problems`
    of the document and its requests.
    """
    source = source if isinstance(source, Source) else Source(source)
    return _DocumentReader(source, part, known).document()


# Matches adjacent comments together, which keeps the search linear. The group `ends` matches if
# the comments end the request above.
_COMMENTS = compiled(
    r"\n#.*+(?:\n[ \t\r]*+(?:#.*+)?$)*+"  # the text has a newline prepended
    rf"(?P<ends>(?=\n[ \t]*+(?:{REQUEST.pattern}|{DEFINITION.pattern})))?",
    re.MULTILINE,
)
_START = LineState()
_URL = LineState("head", url=True)
_HEAD = LineState("head")
_SEPARATOR = compiled(r"^[ \t]*###", re.MULTILINE)
_HERE = compiled(r"<<[ \t]*\w*[ \t\r]*$", re.MULTILINE)  # a here-document may contain comments


def parts(text: str) -> list[int]:
    """Return the start offsets of the parts of `text` that can be parsed separately.

    The first offset is 0.
    """
    if _HERE.search(text):
        return [0]
    starts = (
        match.start()
        for match in _COMMENTS.finditer(f"\n{text}")
        if match["ends"] is not None or _SEPARATOR.search(match[0])
    )
    return sorted({0, *starts})


def read_above(text: str) -> LineState:
    """Return the parser's state at the end of `text`. Only the last part is parsed."""
    reader = _DocumentReader(Source(text[parts(text)[-1] :]))
    reader.document()
    return reader.state


class _DocumentReader:
    def __init__(
        self, source: Source, part: Span | None = None, known: Definitions | None = None
    ) -> None:
        self.source = source
        self.items: list[Comment | Text | Definition | ParsedRequest] = []
        self.problems: list[OrgrestError] = []
        self.notices: list[Notice] = []
        self.known = Definitions() if known is None else known
        self._lines = Lines(source.text, part)
        self._name: str | None = None

    def document(self) -> Document:
        while self._lines.left:
            self._item()
        return Document(self.source, tuple(self.items), tuple(self.problems), tuple(self.notices))

    @property
    def state(self) -> LineState:
        return LineState("quoted") if self._lines.unclosed else self._lines.state

    def _problem(self, offset: int, reason: str, code: str) -> None:
        self.problems.append(RequestSyntaxError.at(self.source, offset, reason, code))

    def _item(self) -> None:
        line = self._lines.next
        text = line.text.lstrip(" \t")
        if not (self.state.head_after and text.startswith("#")):
            self._lines.state = _START
        if not text.startswith("#") and (request := REQUEST.fullmatch(text)):
            reader = _RequestReader(self.source, self._lines, request)
            self.items.append(reader.read(self._name, self.known))
            self._name = None
            return
        self._lines.at += 1
        if text.startswith("#"):
            self._comment(line, text)
        elif is_assertion(text):
            self._assertion(line, text)
        elif definition := DEFINITION.fullmatch(text):
            self._definition(line, definition)
        elif text:
            self._text(line, text)

    def _comment(self, line: Line, text: str) -> None:
        name = None
        if text.startswith("###"):
            name = text.lstrip("#").strip() or None
            self._name = name
        elif is_assertion(text):
            self._assertion(line, text)
        self.items.append(Comment(text, name, line.span))

    def _assertion(self, line: Line, text: str) -> None:
        """Add the assertion in a line to the request above it."""
        start = line.start + line.indent
        assertion = assertion_in(text, start, line.end)
        for index in reversed(range(len(self.items))):
            request = self.items[index]
            if not isinstance(request, ParsedRequest):
                continue
            if isinstance(assertion, str):
                error = RequestSyntaxError.at(self.source, start, assertion, "bad-assertion")
                self.items[index] = classes.evolve(request, problems=(*request.problems, error))
            elif assertion is not None:
                self.items[index] = classes.evolve(
                    request, assertions=(*request.assertions, assertion)
                )
            return
        reason = "assertions must follow the request that they check"
        self._problem(start, reason, "bad-assertion")

    def _text(self, line: Line, text: str) -> None:
        self.items.append(Text(text, line.span))
        if match := FOREIGN.fullmatch(text):
            replacement = f":{match[1]} = {match[2]}" if match[1] else f"GET {match[3]}"
            reason = f"this line is skipped; in restclient's language, write {replacement}"
            start = line.start + line.indent
            self.notices.append(Notice.at(self.source, start, reason, "skipped-line"))

    def _definition(self, line: Line, match: re.Match[str]) -> None:
        base = line.start + line.indent
        value = one_line(match[3], base + match.start(3))
        end = line.end
        if here := HERE.fullmatch(match[3]):
            document = self._lines.here_document(here[1], line.indent)
            if document is None:
                what = f"the line {here[1]}" if here[1] else "a line that starts with #"
                reason = f"this << is never closed: missing {what}"
                self._problem(base + match.start(3), reason, "unclosed-here")
                return
            value, end = document
        definition = Definition(
            name=match[1],
            operator=match[2],
            value=value,
            span=Span(line.start, end),
            name_span=Span(base, base + 1 + len(match[1])),
        )
        self.known.add(definition)
        self.items.append(definition)


class _RequestReader(RequestLines):
    def __init__(self, source: Source, lines: Lines, first: re.Match[str]) -> None:
        line = lines.next
        super().__init__(source, lines, line.indent)
        self._first = first
        self._start = line.start + line.indent
        self._end = line.end
        self._url = [(first[2], self._start + first.start(2))]
        self._headers: list[HeaderLine | HeaderVariable] = []
        self._captures: list[Capture] = []
        self._body: Body | None = None

    def read(self, name: str | None, known: Definitions) -> ParsedRequest:
        self.lines.at += 1
        while self.lines.left:
            self.lines.state = self._in_head()
            line = self.lines.next
            text = line.text.lstrip(" \t")
            if text.startswith("#"):
                if self._skip_comments():
                    continue
                break
            if not text:
                self.lines.at += 1
                self._read_body()
                break
            if not self._header(line, text):
                break
            self._end = line.end
            self.lines.at += 1
        else:
            self.lines.state = self._in_head()
        target, version = target_of(self._url, VERSION)
        return ParsedRequest(
            method=self._first[1],
            target=target,
            version=version,
            headers=tuple(self._headers),
            captures=tuple(self._captures),
            body=self._body,
            name=name,
            problems=tuple(self.problems),
            notices=(*version_notices(self.source, version, self._start), *self.notices),
            source=self.source,
            assertions=tuple(self.assertions),
            span=Span(self._start, max(self._end, self._body.span.end if self._body else 0)),
            method_span=Span(self._start, self._start + len(self._first[1])),
            known=known,
        )

    def _header(self, line: Line, text: str) -> bool:
        """Parse a line below the request line, and return False if the body has begun."""
        start = line.start + line.indent
        if self.take_assertion(text, start, line.end):
            return True
        if text[0] in "?&" and not self._headers and not self._captures:
            self._url.append((text, start))
        elif hook := HOOK.fullmatch(text):
            self._hook(hook, start)
        elif variable := HEADER_VARIABLE.fullmatch(text):
            self._headers.append(HeaderVariable(variable[1] or variable[2], line.span))
        elif header := HEADER.fullmatch(text):
            self._headers.append(
                HeaderLine(
                    name=one_line(header[1], start),
                    value=one_line(header[2], start + header.start(2)),
                    span=line.span,
                )
            )
        elif text[0] in "{[<":
            reason = "this line starts the body: insert an empty line before it"
            self.notice(start, reason, "no-empty-line")
            self._read_body()
            return False
        else:
            self.problem(start, *_header_error(text))
        return True

    def _in_head(self) -> LineState:
        return _HEAD if self._headers or self._captures or self.problems else _URL

    def _read_body(self) -> None:
        self.lines.state = LineState("body", indent=self.indent)
        self._body = read_body(self)
        self._end = max(self._end, *(assertion.span.end for assertion in self.assertions), 0)

    def _skip_comments(self) -> bool:
        """Skip comments if the request continues below them, and return whether it does."""
        below = None
        for at in range(self.lines.at, len(self.lines.all)):
            text = self.lines.all[at].text.lstrip(" \t")
            if text.startswith("###") or (text.startswith("#") and below is not None):
                return False
            if text.startswith("#"):
                continue
            below = at if below is None else below
            if text:
                if is_assertion(text) or any(p.fullmatch(text) for p in (REQUEST, DEFINITION)):
                    return False
                self._refuse_assertions(self.lines.all[self.lines.at : below])
                self.lines.at = below
                return True
        first = self.lines.next.text.lstrip(" \t")
        self.lines.state = LineState(head_after=below is None and first != "#")
        return False

    def _refuse_assertions(self, lines: list[Line]) -> None:
        for line in lines:
            if is_assertion(line.text.lstrip(" \t")):
                reason = (
                    "assertions must follow the whole request: in Emacs, this line ends the request"
                )
                self.problem(line.start + line.indent, reason, "bad-assertion")

    def _hook(self, hook: re.Match[str], start: int) -> None:
        if hook[1] == "jq-set-var" and (match := SET_VAR.fullmatch(hook[2] or "")):
            at = start + hook.start(2)
            span = Span(at, at + len(hook[2]))
            self._captures.append(Capture(match[1], match[2], self.source, span))
        elif hook[1] == "jq-set-var":
            reason = "captures must be written as -> jq-set-var :name EXPRESSION"
            self.problem(start, reason, "bad-hook")
        elif hook[1] == "run-hook":
            reason = "Emacs Lisp is not run: to set a variable, use -> jq-set-var :name EXPRESSION"
            self.problem(start, reason, "lisp")
            lines = self.lines
            while lines.at + 1 < len(lines.all) and lines.all[lines.at + 1].indent:
                lines.at += 1
        else:
            reason = f"unknown hook {hook[1]}: only jq-set-var is supported"
            self.problem(start, reason, "bad-hook")


def _header_error(text: str) -> tuple[str, str]:
    if is_request_line(text):
        return (
            "unexpected second request: separate requests with a line that starts with #"
        ), "no-separator"
    if DEFINITION.fullmatch(text):
        return (
            "variables must be defined before the request, not among its headers",
            "bad-definition",
        )
    return "expected a header (Name: value): insert an empty line before the body", "bad-header"
