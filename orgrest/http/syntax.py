"""The syntax tree of the request language: what `requests.parse` gives and others read.

Every part knows its place: a `Span` of offsets in the source's text, or, where variables are to be
replaced, a `Template`, which leads each of its characters back to the source. Parts compare by what
they say, not by where they stand.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Literal

import attrs

from orgrest.model import Notice

if TYPE_CHECKING:
    from orgrest.model import Capture, OrgrestError, Source, Span

# What methods and header names are made of (RFC 9110, section 5.6.2).
TCHARS = r"[!#$%&'*+.^_`|~0-9A-Za-z-]++"
_TOKEN = re.compile(TCHARS)


def is_token(text: str) -> bool:
    """Tell whether a text can be a method or the name of a header."""
    return _TOKEN.fullmatch(text) is not None


def version_notices(source: Source, version: str | None, offset: int) -> tuple[Notice, ...]:
    """Return what the user should know of the version of HTTP that a request line names."""
    if version in (None, "1.1"):
        return ()
    reason = f"HTTP/{version} is not spoken here: the request is sent as HTTP/1.1"
    return (Notice.at(source, offset, reason, "http-version"),)


@attrs.frozen
class Template:
    """Text in which variables are to be replaced, and where its characters stand in the source.

    `anchors` are pairs (index in `text`, offset in the source's text), the first at index 0.
    """

    text: str
    anchors: tuple[tuple[int, int], ...] = attrs.field(eq=False)

    def offset(self, index: int) -> int:
        """Return the offset in the source's text of the character at `index` of this text."""
        at = bisect_right(self.anchors, index, key=lambda anchor: anchor[0]) - 1
        start, offset = self.anchors[at]
        return offset + index - start


@attrs.frozen
class Comment:
    """A line that starts with `#`. `name` is the text of a `### name` line, else None."""

    text: str
    name: str | None
    span: Span = attrs.field(eq=False)


@attrs.frozen
class Text:
    """A line above a request that is none of the language's: skipped, as restclient does."""

    text: str
    span: Span = attrs.field(eq=False)


@attrs.frozen
class Definition:
    """`:name = value` (restclient) or `@name = value` (request files); `mark` is `:` or `@`.

    `operator` is `=` or `:=`. Behind `:name := ` stands an expression; `@name := ` is a value that
    is looked at when it is used, as every value is here.
    """

    name: str
    operator: str
    value: Template
    span: Span = attrs.field(eq=False)
    name_span: Span = attrs.field(eq=False)
    mark: str = ":"


@attrs.frozen
class HeaderLine:
    """`Name: value` of a request."""

    name: Template
    value: Template
    span: Span = attrs.field(eq=False)


@attrs.frozen
class HeaderVariable:
    """`:name` alone on a line among the headers: the variable holds header lines."""

    name: str
    span: Span = attrs.field(eq=False)


@attrs.frozen
class Inclusion:
    """A `< file` line in a body: the file's content is sent in its place.

    `start` and `end` are indexes in the body's text. In `<@ file` and `<@latin1 file` variables are
    replaced in what the file holds, which is text in `encoding` (UTF-8 where none is named); of a
    plain `< file` the bytes are sent, and `encoding` is None. Of httpyac's `gql NAME < file` the
    file is a document of GraphQL, and `operation` the name of what is asked for, empty where the
    document says it; else None.
    """

    start: int
    end: int
    path: Template
    encoding: str | None
    operation: str | None = None


@attrs.frozen
class Body:
    """What follows the empty line.

    `template` is the text; `file` the path of a `< file` body (`template` is then empty). `files`
    are the `< file` lines among the text: in restclient's language they are files in a multipart
    body and text in another, in request files they are files wherever they stand.
    """

    template: Template
    file: Template | None
    files: tuple[Inclusion, ...]
    span: Span = attrs.field(eq=False)


@attrs.frozen
class Directive:
    """`# @name value` or `// @name value`: how a request is to be sent, shown or found.

    `name` is as in the table of `directives` where it stands there, else as it is written.
    """

    name: str
    value: Template
    span: Span = attrs.field(eq=False)


@attrs.frozen
class Script:
    """JavaScript that runs before a request is sent or after its response came.

    `when` is `before` or `after`. `host` says whose names it sees: `jetbrains` (`> {% %}`,
    `< {% %}`) or `httpyac` (`{{ }}`). `text` is None where the code stands in a `file`. With
    `every` it runs for each request of the document.
    """

    when: str
    host: str
    text: Template | None
    file: Template | None
    every: bool
    span: Span = attrs.field(eq=False)


@attrs.frozen
class Assertion:
    """`?? status == 200`: what is to hold of the response; `text` is what follows the marks.

    `subject`, `path` (or empty) and `operator` are as `assertions.Found` has them. `within` is how
    many seconds there are for it to come true, None where it holds at once or never.
    """

    text: Template
    subject: str
    path: str
    operator: str
    expected: Template
    span: Span = attrs.field(eq=False)
    within: float | None = None


@attrs.frozen
class Saving:
    """`>> file`: the response's body is saved; with `>>!` over a file that is there."""

    path: Template
    overwrite: bool
    span: Span = attrs.field(eq=False)


@attrs.frozen
class Import:
    """`# @import file`, `import file`, or `run file` and `run #name`: another file's requests.

    `request` is the one that is to run (`run #name`), else None; `run` says that it, or all of
    the file's, are sent here, with these `values` of variables.
    """

    path: Template | None
    request: Template | None
    run: bool
    span: Span = attrs.field(eq=False)
    values: tuple[tuple[str, str], ...] = ()


@attrs.frozen
class ParsedRequest:
    """One request as it is written; `source` leads back to its surroundings.

    Of a request of verb's, `above` are those of the headings above, from the top; it may lack a
    method (it is empty) and parts of the URL. In the other languages, `above` is None.
    """

    method: str
    target: Template
    version: str | None
    headers: tuple[HeaderLine | HeaderVariable, ...]
    captures: tuple[Capture, ...]
    body: Body | None
    name: str | None
    problems: tuple[OrgrestError, ...] = attrs.field(eq=False)
    notices: tuple[Notice, ...] = attrs.field(eq=False)
    source: Source = attrs.field(eq=False, repr=False)
    span: Span = attrs.field(eq=False)
    method_span: Span = attrs.field(eq=False)
    known: Definitions = attrs.field(eq=False, repr=False)
    directives: tuple[Directive, ...] = ()
    scripts: tuple[Script, ...] = ()
    assertions: tuple[Assertion, ...] = ()
    savings: tuple[Saving, ...] = ()
    region: Span | None = attrs.field(default=None, eq=False)
    shared_scripts: list[Script] = attrs.field(factory=list, eq=False, repr=False)
    above: tuple[ParsedRequest, ...] | None = None

    @property
    def restclient(self) -> bool:
        """Whether restclient's rules hold; in a request file, the common dialect's do."""
        return self.region is None

    def directive(self, name: str) -> Directive | None:
        """Return the last directive called `name`, or None."""
        return next((one for one in reversed(self.directives) if one.name == name), None)

    def definition(self, name: str) -> Definition | None:
        """Return what defines `name` for this request, or None.

        In restclient's language that is the last definition above the request. In a request file
        it is the last one above the end of the request, else the first one below: there, the place
        of a variable does not matter where it has only one.
        """
        if self.region is None:
            return self.known.before(name, self.span.start)
        return self.known.before(name, self.region.end) or self.known.first(name)

    @property
    def definitions(self) -> tuple[Definition, ...]:
        """All definitions that this request sees, in order."""
        if self.region is not None:
            return tuple(self.known.all)
        return tuple(d for d in self.known.all if d.span.start < self.span.start)


@attrs.frozen
class LineState:
    """What a line below a text would belong to: what its reader makes of it.

    `part` is ``start`` where a request or a definition may begin, ``head`` below a request line,
    ``body``, or ``quoted`` in a here-document, a script or a long comment. `url` tells that only
    the URL stands above in a head, `indent` how many blanks a body's lines lose. With `head_after`
    a comment ended the head above unless a header follows.
    """

    part: Literal["start", "head", "body", "quoted"] = "start"
    url: bool = False
    indent: int = 0
    head_after: bool = False


class Definitions:
    """The definitions of a document, found by name and by place."""

    def __init__(self) -> None:
        self.all: list[Definition] = []
        self.scripts: list[Script] = []  # of all requests: what they set is known by name
        self.lengths: set[int] = set()
        self._by_name: dict[str, list[Definition]] = {}

    def add(self, definition: Definition) -> None:
        """Add one that stands below all others."""
        self.all.append(definition)
        self.lengths.add(len(definition.name))
        self._by_name.setdefault(definition.name, []).append(definition)

    def between(self, start: int, end: int) -> list[Definition]:
        """Return those that start in this range of offsets."""
        first = bisect_right(self.all, start - 1, key=lambda d: d.span.start)
        last = bisect_right(self.all, end - 1, key=lambda d: d.span.start)
        return self.all[first:last]

    def before(self, name: str, offset: int) -> Definition | None:
        """Return the last definition of `name` that starts before `offset`, or None."""
        named = self._by_name.get(name, [])
        at = bisect_left(named, offset, key=lambda d: d.span.start)
        return named[at - 1] if at else None

    def first(self, name: str) -> Definition | None:
        """Return the first definition of `name`, or None."""
        named = self._by_name.get(name)
        return named[0] if named else None


@attrs.frozen
class Document:
    """A parsed block or request file.

    `problems` are those that belong to no request: a `<<` that never ends, no request at all.
    `notices` tell of lines that are skipped and were meant to be more. `scripts` run for each of
    the requests: those that stand where no request is, and `{{+`.
    """

    source: Source = attrs.field(eq=False, repr=False)
    items: tuple[Comment | Text | Definition | Import | ParsedRequest, ...]
    problems: tuple[OrgrestError, ...] = attrs.field(eq=False)
    notices: tuple[Notice, ...] = attrs.field(eq=False)
    scripts: tuple[Script, ...] = ()

    @property
    def requests(self) -> tuple[ParsedRequest, ...]:
        """The requests, in order."""
        return tuple(item for item in self.items if isinstance(item, ParsedRequest))

    def request_at(self, offset: int) -> ParsedRequest | None:
        """Return the request around `offset`, else the next below it, else the last one."""
        requests = self.requests
        below = (request for request in requests if offset <= request.span.end)
        return next(below, requests[-1] if requests else None)
