r"""restclient's request language: text to requests, with the place of every part.

The language is restclient.el's (https://github.com/pashky/restclient.el), read line by line:

    # comment                          ends the request above it
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

Rules: `parse` never raises and looks at each line once or twice; what is wrong with a request is in
its `problems`, so that an editor can show all of it and an evaluation refuse only that request. A
request may be indented; its lines then lose that much indentation. Trailing blanks of lines and
blank lines at the end of a body are dropped, as restclient's Org support does. A comment among the
headers is skipped; it ends the request where what follows it, blank lines aside, begins another one
(a request line, a definition, `###`) or is nothing.

`print_document` is the inverse: the canonical text of what was parsed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs

from orgrest.model import Capture, Notice, OrgrestError, RequestSyntaxError, Source, Span
from orgrest.syntax import (
    TCHARS,
    Body,
    Comment,
    Definition,
    Definitions,
    Document,
    HeaderLine,
    HeaderVariable,
    ParsedRequest,
    Template,
    Text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# The lines of the language, from the first character that is no blank to the last. Those that begin
# something carry names for their groups, so that they can be looked for together.
REQUEST = re.compile(
    rf"(?={TCHARS}[ \t])(?=(?i:GET|POST|DELETE|PUT|HEAD|OPTIONS|PATCH|TRACE|CONNECT)[ \t]|"
    rf"{TCHARS}[ \t]+(?:[A-Za-z][A-Za-z0-9+.-]*://|/|:[^\s:=/]|\{{\{{))"
    rf"(?P<method>{TCHARS})[ \t]+(?P<target>\S.*)"
)
DEFINITION = re.compile(r":(?P<name>[^\s:={}]+)[ \t]*(?P<operator>:?=)[ \t]*(?P<value>.*)")
HERE = re.compile(r"<<[ \t]*([A-Za-z_][A-Za-z0-9_]*)?")
BODY_HERE = re.compile(r"<<(?P<word>[A-Za-z_][A-Za-z0-9_]*)")
HOOK = re.compile(r"->[ \t]*(?P<hook>\S+)(?:[ \t]+(?P<rest>.*))?")
SET_VAR = re.compile(r":([^\s:=]+)[ \t]+(\S.*)")
_VERSION = re.compile(r"(?<![ \t])[ \t]+HTTP/(\d(?:\.\d)?)$")
_HEADER = re.compile(rf"((?:{TCHARS}|\{{\{{[^\s{{}}]+\}}\}})+|:[^\s:=]+(?=:[ \t])):[ \t]?(.*)")
_HEADER_VARIABLE = re.compile(r":([^\s:=]+)|\{\{[ \t]*([^\s{}]+)[ \t]*\}\}")
_FILE = re.compile(r"<(?:[ \t]++([^<>]++)|(?=[^<>\s=\"'./]*+[./])([^<>\s=\"']++))")
_PART_FILE = re.compile(r"<[ \t]++([^<>]++)")
# What other tools' request files have: a variable, a URL without a method.
_FOREIGN = re.compile(r"@([\w.-]+)[ \t]*=[ \t]*(.*)|(https?://\S+)")
_BLANKS = " \t\r"


@attrs.frozen
class _Line:
    """A line of the source: its text without trailing blanks, and where it starts."""

    text: str
    start: int
    raw: str

    @property
    def indent(self) -> int:
        return len(self.text) - len(self.text.lstrip(" \t"))

    def dedented(self, indent: int) -> tuple[str, int]:
        """Return the text without up to `indent` leading blanks, and where it then starts."""
        return _dedent(self.text, self.start, indent)


def _dedent(text: str, start: int, indent: int) -> tuple[str, int]:
    removed = min(indent, len(text) - len(text.lstrip(" \t")))
    return text[removed:], start + removed


def is_request_line(text: str) -> bool:
    """Whether a line begins a request: a method, blanks, and what can be a URL."""
    return REQUEST.fullmatch(text.lstrip(" \t")) is not None


def _one_line(text: str, offset: int) -> Template:
    return Template(text, ((0, offset),))


class _Parser:
    """One pass over the lines of a source; `_at` is the line that is read next."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.items: list[Comment | Text | Definition | ParsedRequest] = []
        self.problems: list[OrgrestError] = []
        self.notices: list[Notice] = []
        self.known = Definitions()
        self._lines = [_Line(raw.rstrip(_BLANKS), start, raw) for start, raw in _split(source.text)]
        self._at = 0
        self._name: str | None = None

    def document(self) -> Document:
        while self._at < len(self._lines):
            self._item()
        if not self.problems and not any(isinstance(i, ParsedRequest) for i in self.items):
            self.problems.append(
                self._problem(
                    0,
                    "no request here: a request is a line like GET https://example.org/",
                    "no-request",
                )
            )
        return Document(self.source, tuple(self.items), tuple(self.problems), tuple(self.notices))

    def _problem(self, offset: int, reason: str, code: str) -> OrgrestError:
        return RequestSyntaxError.at(self.source, offset, reason, code)

    def _notice(self, offset: int, reason: str, code: str) -> Notice:
        return Notice.at(self.source, offset, reason, code)

    def _span(self, line: _Line) -> Span:
        return Span(line.start, line.start + len(line.text))

    def _item(self) -> None:
        line = self._lines[self._at]
        text = line.text.lstrip(" \t")
        if not text:
            self._at += 1
        elif text.startswith("#"):
            self._at += 1
            self._comment(line, text)
        elif definition := DEFINITION.fullmatch(text):
            self._definition(line, definition)
        elif request := REQUEST.fullmatch(text):
            self._request(line, request)
        else:
            self._at += 1
            self.items.append(Text(text, self._span(line)))
            if match := _FOREIGN.fullmatch(text):
                instead = f":{match[1]} = {match[2]}" if match[1] else f"GET {match[3]}"
                reason = f"this line is skipped; restclient's language writes {instead}"
                start = line.start + line.indent
                self.notices.append(self._notice(start, reason, "skipped-line"))

    def _comment(self, line: _Line, text: str) -> None:
        name = None
        if text.startswith("###"):
            name = text.lstrip("#").strip() or None
            self._name = name
        self.items.append(Comment(text, name, self._span(line)))

    def _definition(self, line: _Line, match: re.Match[str]) -> None:
        self._at += 1
        indent = line.indent
        base = line.start + indent
        value = _one_line(match[3], base + match.start(3))
        end = line.start + len(line.text)
        if here := HERE.fullmatch(match[3]):
            found = self._here(here[1], indent)
            if found is None:
                what = f"a line that is {here[1]}" if here[1] else "a line that starts with #"
                self.problems.append(
                    self._problem(
                        base + match.start(3),
                        f"this << never ends: {what} is missing",
                        "unclosed-here",
                    )
                )
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

    def _here(self, word: str | None, indent: int) -> tuple[Template, int] | None:
        """Take the lines of a here-document and the line that ends it.

        Returns the text and where the whole ends, or None when nothing ends it: then everything
        is taken.
        """
        texts: list[str] = []
        anchors: list[tuple[int, int]] = []
        size = 0
        while self._at < len(self._lines):
            line = self._lines[self._at]
            self._at += 1
            text, start = line.dedented(indent)
            if text == word or (word is None and text.startswith("#")):
                empty = ((0, line.start),)
                template = Template("\n".join(texts), tuple(anchors) or empty)
                return template, line.start + len(line.text)
            if word is not None:
                text, start = _dedent(line.raw.rstrip("\r"), line.start, indent)
            texts.append(text)
            anchors.append((size, start))
            size += len(text) + 1
        return None

    def _request(self, line: _Line, match: re.Match[str]) -> None:
        self._at += 1
        indent = line.indent
        base = line.start + indent
        problems: list[OrgrestError] = []
        notices: list[Notice] = []
        url = [(match[2], base + match.start(2))]
        headers: list[HeaderLine | HeaderVariable] = []
        captures: list[Capture] = []
        body = None
        end = line.start + len(line.text)
        while self._at < len(self._lines):
            line = self._lines[self._at]
            text, start = line.text.lstrip(" \t"), line.start + line.indent
            if text.startswith("#"):
                if self._skip_comments():
                    continue
                break
            if not text:
                self._at += 1
                body = self._body(indent, problems, notices)
                break
            if text[0] in "?&" and not headers and not captures:
                url.append((text, start))
            elif hook := HOOK.fullmatch(text):
                self._hook(hook, start, captures, problems)
            elif variable := _HEADER_VARIABLE.fullmatch(text):
                headers.append(HeaderVariable(variable[1] or variable[2], self._span(line)))
            elif header := _HEADER.fullmatch(text):
                headers.append(
                    HeaderLine(
                        name=_one_line(header[1], start),
                        value=_one_line(header[2], start + header.start(2)),
                        span=self._span(line),
                    )
                )
            elif text[0] in "{[<":
                notices.append(
                    self._notice(
                        start, "taken for the body: put an empty line before it", "no-empty-line"
                    )
                )
                body = self._body(indent, problems, notices)
                break
            else:
                problems.append(self._problem(start, *_why_no_header(text)))
            end = line.start + len(line.text)
            self._at += 1
        target, version = _target(url)
        self.items.append(
            ParsedRequest(
                method=match[1],
                target=target,
                version=version,
                headers=tuple(headers),
                captures=tuple(captures),
                body=body,
                name=self._name,
                problems=tuple(problems),
                notices=tuple(notices),
                source=self.source,
                span=Span(base, max(end, body.span.end if body else 0)),
                method_span=Span(base, base + len(match[1])),
                known=self.known,
            )
        )
        self._name = None

    def _skip_comments(self) -> bool:
        """Skip the comments here, unless they end the request; return whether they do not."""
        below = None
        for at in range(self._at, len(self._lines)):
            text = self._lines[at].text.lstrip(" \t")
            if text.startswith("###") or (text.startswith("#") and below is not None):
                return False
            if text.startswith("#"):
                continue
            below = at if below is None else below
            if text:
                if is_request_line(text) or DEFINITION.fullmatch(text):
                    return False
                self._at = below
                return True
        return False

    def _hook(
        self,
        hook: re.Match[str],
        start: int,
        captures: list[Capture],
        problems: list[OrgrestError],
    ) -> None:
        if hook[1] == "jq-set-var" and (match := SET_VAR.fullmatch(hook[2] or "")):
            at = start + hook.start(2)
            captures.append(Capture(match[1], match[2], self.source, Span(at, at + len(hook[2]))))
        elif hook[1] == "jq-set-var":
            reason = "a capture reads -> jq-set-var :name EXPRESSION"
            problems.append(self._problem(start, reason, "bad-hook"))
        elif hook[1] == "run-hook":
            reason = "Emacs Lisp is not run: take -> jq-set-var :name EXPRESSION to set a variable"
            problems.append(self._problem(start, reason, "lisp"))
            while self._at + 1 < len(self._lines) and self._lines[self._at + 1].indent:
                self._at += 1
        else:
            reason = f"unknown hook {hook[1]}: only jq-set-var is understood"
            problems.append(self._problem(start, reason, "bad-hook"))

    def _body(
        self, indent: int, problems: list[OrgrestError], notices: list[Notice]
    ) -> Body | None:
        """Take the lines of a body, up to the `#` line that ends it, which stays."""
        first = self._at
        if first < len(self._lines):
            text, start = self._lines[first].dedented(indent)
            if here := BODY_HERE.fullmatch(text):
                return self._here_body(here[1], start, indent, problems)
        while self._at < len(self._lines):
            if self._lines[self._at].dedented(indent)[0].startswith("#"):
                break
            self._at += 1
        last = self._at
        while last > first and not self._lines[last - 1].text:
            last -= 1
        if last == first:
            return None
        lines = self._lines[first:last]
        span = Span(lines[0].start, lines[-1].start + len(lines[-1].text))
        texts = [line.dedented(indent) for line in lines]
        if match := _FILE.fullmatch(texts[0][0]):
            index = 1 if match[1] else 2
            path = _one_line(match[index].rstrip(), texts[0][1] + match.start(index))
            if last > first + 1:
                reason = "lines below a < file body are not sent"
                notices.append(self._notice(texts[1][1], reason, "lost-text"))
            return Body(_one_line("", span.start), path, (), span)
        for text, start in texts:
            if text[:1].isalpha() and "://" in text and is_request_line(text):
                notices.append(
                    self._notice(
                        start,
                        "this request line is part of the body above it: "
                        "separate requests with a line that starts with #",
                        "no-separator",
                    )
                )
        return _text_body(texts, span)

    def _here_body(
        self, word: str, start: int, indent: int, problems: list[OrgrestError]
    ) -> Body | None:
        opened = self._at
        self._at += 1
        found = self._here(word, indent)
        if found is None:
            reason = f"this << never ends: a line that is {word} is missing"
            problems.append(self._problem(start, reason, "unclosed-here"))
            self._at = opened + 1
            while self._at < len(self._lines) and not self._lines[self._at].text.startswith("#"):
                self._at += 1
            return None
        template, end = found
        while self._at < len(self._lines):
            text, start = self._lines[self._at].dedented(indent)
            if text.startswith("#"):
                break
            if text:
                reason = f"text below the {word} that ends the body"
                problems.append(self._problem(start, reason, "lost-text"))
            self._at += 1
        texts = _resplit(template)
        return attrs.evolve(
            _text_body(texts, Span(start, end)), span=Span(self._lines[opened].start, end)
        )


def _resplit(template: Template) -> list[tuple[str, int]]:
    return [
        (text, offset)
        for text, (_, offset) in zip(template.text.split("\n"), template.anchors, strict=True)
    ]


def _text_body(texts: Sequence[tuple[str, int]], span: Span) -> Body:
    anchors: list[tuple[int, int]] = []
    parts: list[tuple[int, int, Template]] = []
    size = 0
    for text, start in texts:
        anchors.append((size, start))
        if match := _PART_FILE.fullmatch(text):
            path = _one_line(match[1].rstrip(), start + match.start(1))
            parts.append((size, size + len(text), path))
        size += len(text) + 1
    template = Template("\n".join(text for text, _ in texts), tuple(anchors))
    return Body(template, None, tuple(parts), span)


def _split(text: str) -> Iterator[tuple[int, str]]:
    """Return the lines of `text` and where they start: LF ends a line, nothing else does."""
    start = 0
    for line in text.split("\n"):
        yield start, line
        start += len(line) + 1


def _target(url: list[tuple[str, int]]) -> tuple[Template, str | None]:
    """Return the URL out of its lines, and the HTTP version that stood after it."""
    text, offset = url[-1]
    version = None
    if match := _VERSION.search(text):
        version = match[1]
        url[-1] = (text[: match.start()], offset)
    elif len(url) > 1 and (match := _VERSION.search(url[0][0])):
        version = match[1]
        url[0] = (url[0][0][: match.start()], url[0][1])
    anchors = []
    size = 0
    for text, offset in url:
        anchors.append((size, offset))
        size += len(text)
    return Template("".join(text for text, _ in url), tuple(anchors)), version


def _why_no_header(text: str) -> tuple[str, str]:
    """Return what to tell about a line among the headers that is none, and a word for it."""
    if is_request_line(text):
        return "a second request: separate requests with a line that starts with #", "no-separator"
    if DEFINITION.fullmatch(text):
        return "a variable is defined above its request, not among its headers", "bad-definition"
    return "this is no header (Name: value): put an empty line before the body", "bad-header"


def parse(source: Source | str) -> Document:
    """Read a block's text or a request file.

    Never raises: what is wrong is in the document's and its requests' `problems`.
    """
    return _Parser(source if isinstance(source, Source) else Source(source)).document()


# --------------------------------------------------------------------------------------- printing


def _needs_quoting(text: str) -> bool:
    lines = text.split("\n")
    return (
        any(line.startswith("#") or line != line.rstrip(_BLANKS) for line in lines)
        or not lines[-1]
        or _FILE.fullmatch(lines[0]) is not None
        or BODY_HERE.fullmatch(lines[0]) is not None
        or "\r" in text
    )


def _quote(text: str) -> str:
    word = "END"
    lines = frozenset(line.rstrip(_BLANKS) for line in text.split("\n"))
    number = 1
    while word in lines:
        number += 1
        word = f"END{number}"
    return f"<<{word}\n{text}\n{word}"


def quote_body(text: str) -> str:
    """Return the text of a body as it is written in a request: itself, or a here-document."""
    return _quote(text) if _needs_quoting(text) else text


def print_definition(name: str, value: str, operator: str = "=") -> str:
    """Return the lines of `:name = value`, as a here-document where the value needs one."""
    plain = "\n" not in value and value == value.strip(_BLANKS) and not HERE.fullmatch(value)
    return f":{name} {operator} {value}\n" if plain else f":{name} {operator} {_quote(value)}\n"


def print_request(request: ParsedRequest) -> str:
    """Return the canonical text of one request, without the definitions that it sees."""
    version = f" HTTP/{request.version}" if request.version else ""
    lines = [f"{request.method} {request.target.text}{version}"]
    for header in request.headers:
        if isinstance(header, HeaderVariable):
            lines.append(f":{header.name}")
        else:
            lines.append(f"{header.name.text}: {header.value.text}".rstrip(_BLANKS))
    lines += [f"-> jq-set-var :{c.name} {c.expression}" for c in request.captures]
    if request.body is not None:
        lines.append("")
        if request.body.file is not None:
            lines.append(f"< {request.body.file.text}")
        else:
            lines.append(quote_body(request.body.template.text))
    return "\n".join(lines) + "\n"


def print_document(document: Document) -> str:
    """Return the canonical text of a document: parsed again, it means the same.

    Comments among headers are not kept, nor is indentation.
    """
    out: list[str] = []
    for item in document.items:
        if isinstance(item, ParsedRequest):
            out.append(print_request(item) + "\n")
        elif isinstance(item, Definition):
            out.append(print_definition(item.name, item.value.text, item.operator))
        else:
            out.append(f"{item.text}\n")
    return "".join(out)
