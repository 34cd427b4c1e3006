r"""The parser of restclient's request language, which keeps the position of every part.

The language is restclient.el's (https://github.com/pashky/restclient.el), read line by line:

    # comment                          ends the request above it
    # ?? status == 200                 the same, and is an assertion about the response; without the
                                       # (which Emacs would send) it is below the request
    ### name                           the same, and names the request below it
    :name = value                      a variable; `<<` takes the lines up to the next `#` line,
    :name = <<                         `<<WORD` those up to a line that is WORD
    several lines
    #
    POST https://example.org/:id       method and URL, perhaps `HTTP/1.1`; lines that start with
      ?page=2                          `?` or `&` right below continue the URL
      &size=10
    Content-Type: application/json     headers
    :name                              a variable that holds header lines
    -> jq-set-var :id .id              after the response, set a variable from it
                                       an empty line, then the body, up to a `#` line
    {"a": ":name", "b": "{{name}}"}

A body is text, or `< file`, or, where it must hold lines that start with `#` or blanks at the ends
of lines, a here-document:

    <<END
    # a Markdown heading
    END

Rules: `parse` never raises and reads each line once or twice; a request's errors are in its
`problems`, so that an editor can show all of them and an evaluation refuses only that request. A
request may be indented; that much indentation is removed from its lines. Trailing blanks of lines
and blank lines at the end of a body are dropped, as restclient's Org support does. A comment among
the headers is skipped; it ends the request if the next non-blank line begins another item (a
request line, a definition, `###`), or if there is no such line.

"""

from __future__ import annotations

import re

import attrs

from orgrest.http.parsing.bodies import BodyReader
from orgrest.http.parsing.grammar import (
    ASSERTION,
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
from orgrest.http.parsing.lines import Line, Lines, assertion_in, one_line, target_of
from orgrest.http.syntax import (
    Assertion,
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


def parse(
    source: Source | str, part: Span | None = None, known: Definitions | None = None
) -> Document:
    """Parse a block's text or a request file, or an independent `part` of one.

    `known` are the definitions of the whole file. Never raises: errors are in the document's and
    its requests' `problems`.
    """
    source = source if isinstance(source, Source) else Source(source)
    return _DocumentReader(source, part, known).document()


# Matches adjacent comments together, which keeps this linear; `ends`: they end the request above.
_COMMENTS = re.compile(
    r"^#.*+(?:\n[ \t\r]*+(?:#.*+)?$)*+"
    rf"(?P<ends>(?=\n[ \t]*+(?:{REQUEST.pattern}|{DEFINITION.pattern})))?",
    re.MULTILINE,
)
_START = LineState()
_URL = LineState("head", url=True)
_HEAD = LineState("head")
_SEPARATOR = re.compile(r"^[ \t]*###", re.MULTILINE)
_HERE = re.compile(r"<<[ \t]*\w*[ \t\r]*$", re.MULTILINE)  # it may have comments in it


def parts(text: str) -> list[int]:
    """Return the offsets of the parts of a text that can be parsed separately, the first 0."""
    if _HERE.search(text):
        return [0]
    starts = (
        found.start()
        for found in _COMMENTS.finditer(text)
        if found["ends"] is not None or _SEPARATOR.search(found[0])
    )
    return sorted({0, *starts})


def read_above(text: str) -> LineState:
    """Return the parser's state after a text; only the last region is parsed."""
    reader = _DocumentReader(Source(text[parts(text)[-1] :]))
    reader.document()
    return reader.state


class _DocumentReader:
    """A single pass over the lines of a source: the parts outside of requests."""

    def __init__(
        self, source: Source, part: Span | None = None, known: Definitions | None = None
    ) -> None:
        self.source = source
        self._part = part
        self.items: list[Comment | Text | Definition | ParsedRequest] = []
        self.problems: list[OrgrestError] = []
        self.notices: list[Notice] = []
        self.known = Definitions() if known is None else known
        self._lines = Lines(source.text, part)
        self._name: str | None = None

    def document(self) -> Document:
        while self._lines.left:
            self._item()
        nothing = not any(isinstance(item, ParsedRequest) for item in self.items)
        if nothing and not self.problems and self._part is None:
            reason = "no request here: a request is a line like GET https://example.org/"
            self._problem(0, reason, "no-request")
        return Document(self.source, tuple(self.items), tuple(self.problems), tuple(self.notices))

    @property
    def state(self) -> LineState:
        """The parser's state, which determines what the next line would belong to."""
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
        elif ASSERTION.fullmatch(text):
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
        elif ASSERTION.fullmatch(text):
            self._assertion(line, text)
        self.items.append(Comment(text, name, line.span))

    def _assertion(self, line: Line, text: str) -> None:
        """Add an assertion to the request above."""
        start = line.start + line.indent
        found = assertion_in(text, start, line.end)
        for at in reversed(range(len(self.items))):
            request = self.items[at]
            if not isinstance(request, ParsedRequest):
                continue
            if isinstance(found, str):
                error = RequestSyntaxError.at(self.source, start, found, "bad-assertion")
                self.items[at] = attrs.evolve(request, problems=(*request.problems, error))
            elif found is not None:
                self.items[at] = attrs.evolve(request, assertions=(*request.assertions, found))
            return
        reason = "an assertion stands below the request of whose response it is to hold"
        self._problem(start, reason, "bad-assertion")

    def _text(self, line: Line, text: str) -> None:
        self.items.append(Text(text, line.span))
        if match := FOREIGN.fullmatch(text):
            instead = f":{match[1]} = {match[2]}" if match[1] else f"GET {match[3]}"
            reason = f"this line is skipped; restclient's language writes {instead}"
            start = line.start + line.indent
            self.notices.append(Notice.at(self.source, start, reason, "skipped-line"))

    def _definition(self, line: Line, match: re.Match[str]) -> None:
        base = line.start + line.indent
        value = one_line(match[3], base + match.start(3))
        end = line.end
        if here := HERE.fullmatch(match[3]):
            found = self._lines.here_document(here[1], line.indent)
            if found is None:
                what = f"a line that is {here[1]}" if here[1] else "a line that starts with #"
                reason = f"this << never ends: {what} is missing"
                self._problem(base + match.start(3), reason, "unclosed-here")
                return
            value, end = found
        definition = Definition(
            name=match[1],
            operator=match[2],
            value=value,
            span=Span(line.start, end),
            name_span=Span(base, base + 1 + len(match[1])),
        )
        self.known.add(definition)
        self.items.append(definition)


class _RequestReader:
    """The parser of one request: request line, continued URL, headers, body."""

    def __init__(self, source: Source, lines: Lines, first: re.Match[str]) -> None:
        self.source = source
        self._lines = lines
        self._first = first
        line = lines.next
        self._indent = line.indent
        self._start = line.start + line.indent
        self._end = line.end
        self._url = [(first[2], self._start + first.start(2))]
        self._headers: list[HeaderLine | HeaderVariable] = []
        self._captures: list[Capture] = []
        self._body: Body | None = None
        self._problems: list[OrgrestError] = []
        self._notices: list[Notice] = []
        self._assertions: list[Assertion] = []

    def read(self, name: str | None, known: Definitions) -> ParsedRequest:
        """Consume the lines of the request; `name` and `known` come from the text above it."""
        self._lines.at += 1
        while self._lines.left:
            self._lines.state = self._in_head()
            line = self._lines.next
            text = line.text.lstrip(" \t")
            if text.startswith("#"):
                if self._skip_comments():
                    continue
                break
            if not text:
                self._lines.at += 1
                self._read_body()
                break
            if not self._header(line, text):
                break
            self._end = line.end
            self._lines.at += 1
        else:
            self._lines.state = self._in_head()
        target, version = target_of(self._url, VERSION)
        return ParsedRequest(
            method=self._first[1],
            target=target,
            version=version,
            headers=tuple(self._headers),
            captures=tuple(self._captures),
            body=self._body,
            name=name,
            problems=tuple(self._problems),
            notices=(*version_notices(self.source, version, self._start), *self._notices),
            source=self.source,
            assertions=tuple(self._assertions),
            span=Span(self._start, max(self._end, self._body.span.end if self._body else 0)),
            method_span=Span(self._start, self._start + len(self._first[1])),
            known=known,
        )

    def _header(self, line: Line, text: str) -> bool:
        """Parse a line below the first; False if the body has begun."""
        start = line.start + line.indent
        found = assertion_in(text, start, line.end)
        if isinstance(found, str):
            self._problem(start, found, "bad-assertion")
        elif found is not None:
            self._assertions.append(found)
        elif text[0] in "?&" and not self._headers and not self._captures:
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
            reason = "taken for the body: put an empty line before it"
            self._notices.append(Notice.at(self.source, start, reason, "no-empty-line"))
            self._read_body()
            return False
        else:
            self._problem(start, *_why_no_header(text))
        return True

    def _in_head(self) -> LineState:
        return _HEAD if self._headers or self._captures or self._problems else _URL

    def _read_body(self) -> None:
        self._lines.state = LineState("body", indent=self._indent)
        reader = BodyReader(
            *(self.source, self._lines, self._indent),
            *(self._problems, self._notices, self._assertions),
        )
        self._body = reader.read()
        self._end = max(self._end, *(one.span.end for one in self._assertions), 0)

    def _problem(self, offset: int, reason: str, code: str) -> None:
        self._problems.append(RequestSyntaxError.at(self.source, offset, reason, code))

    def _skip_comments(self) -> bool:
        """Skip comments unless they end the request; return whether the request continues."""
        below = None
        for at in range(self._lines.at, len(self._lines.all)):
            text = self._lines.all[at].text.lstrip(" \t")
            if text.startswith("###") or (text.startswith("#") and below is not None):
                return False
            if text.startswith("#"):
                continue
            below = at if below is None else below
            if text:
                if any(p.fullmatch(text) for p in (REQUEST, DEFINITION, ASSERTION)):
                    return False
                self._refuse_assertions(self._lines.all[self._lines.at : below])
                self._lines.at = below
                return True
        first = self._lines.next.text.lstrip(" \t")
        self._lines.state = LineState(head_after=below is None and first != "#")
        return False

    def _refuse_assertions(self, lines: list[Line]) -> None:
        """Warn of assertions among the headers, where Emacs would end the request."""
        for line in lines:
            if ASSERTION.fullmatch(line.text.lstrip(" \t")):
                reason = "an assertion stands below the whole request: this ends it in Emacs"
                self._problem(line.start + line.indent, reason, "bad-assertion")

    def _hook(self, hook: re.Match[str], start: int) -> None:
        if hook[1] == "jq-set-var" and (match := SET_VAR.fullmatch(hook[2] or "")):
            at = start + hook.start(2)
            span = Span(at, at + len(hook[2]))
            self._captures.append(Capture(match[1], match[2], self.source, span))
        elif hook[1] == "jq-set-var":
            reason = "a capture reads -> jq-set-var :name EXPRESSION"
            self._problem(start, reason, "bad-hook")
        elif hook[1] == "run-hook":
            reason = "Emacs Lisp is not run: take -> jq-set-var :name EXPRESSION to set a variable"
            self._problem(start, reason, "lisp")
            lines = self._lines
            while lines.at + 1 < len(lines.all) and lines.all[lines.at + 1].indent:
                lines.at += 1
        else:
            reason = f"unknown hook {hook[1]}: only jq-set-var is understood"
            self._problem(start, reason, "bad-hook")


def _why_no_header(text: str) -> tuple[str, str]:
    """Return the error for a line among the headers that is not one, and its code."""
    if is_request_line(text):
        return "a second request: separate requests with a line that starts with #", "no-separator"
    if DEFINITION.fullmatch(text):
        return "a variable is defined above its request, not among its headers", "bad-definition"
    return "this is not a header (Name: value): put an empty line before the body", "bad-header"
