"""The syntax tree of the request languages, which the parsers produce.

Every part has its position: a `Span` of offsets in the source's text, or, where variables are
replaced, a `Template`, which maps each of its characters back to the source. Parts compare by
content, not by position.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Literal, TypeAlias

import attrs

from orgrest.model import Notice

if TYPE_CHECKING:
    from orgrest.model import Capture, OrgrestError, Source, Span

# The characters of methods and header names: `tchar` of RFC 9110, section 5.6.2.
TCHARS = r"[!#$%&'*+.^_`|~0-9A-Za-z-]++"
_TOKEN = re.compile(TCHARS)


def is_token(text: str) -> bool:
    """Return whether a text can be a method or the name of a header."""
    return _TOKEN.fullmatch(text) is not None


def version_notices(source: Source, version: str | None, offset: int) -> tuple[Notice, ...]:
    """Return a warning about the HTTP version that a request line names."""
    if version in (None, "1.1"):
        return ()
    reason = f"HTTP/{version} is not spoken here: the request is sent as HTTP/1.1"
    return (Notice.at(source, offset, reason, "http-version"),)


@attrs.frozen
class Template:
    """Text in which variables are replaced, and the source positions of its characters.

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

    @property
    def is_assertion(self) -> bool:
        """Whether it is an assertion of the request above: `# ?? status == 200`."""
        return self.text.lstrip("#").lstrip().startswith("??")


@attrs.frozen
class Text:
    """A line above a request that is not part of the language: skipped, as restclient does."""

    text: str
    span: Span = attrs.field(eq=False)


@attrs.frozen
class Definition:
    """`:name = value` (restclient) or `@name = value` (request files); `mark` is `:` or `@`.

    `operator` is `=` or `:=`. `:name := ` is followed by an expression; `@name := ` is a value that
    is evaluated when it is used, as every value is here.
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
    """`:name` alone on a line among the headers: a variable that holds header lines.

    With `spread`, it is httpyac's `...name`, an expression that gives an object of headers.
    """

    name: str
    span: Span = attrs.field(eq=False)
    spread: bool = False


@attrs.frozen
class Inclusion:
    """A `< file` line in a body: the file's content is sent in its place.

    `start` and `end` are indexes in the body's text. With `<@ file` and `<@latin1 file`, variables
    are replaced in the file's content, which is text in `encoding` (UTF-8 by default); with a plain
    `< file` the bytes are sent, and `encoding` is None. With httpyac's `gql NAME < file` the file
    is a GraphQL document, and `operation` the name of the operation, empty if the document
    determines it; otherwise None.
    """

    start: int
    end: int
    path: Template
    encoding: str | None
    operation: str | None = None


@attrs.frozen
class Body:
    """The body of a request.

    `template` is the text; `file` the path of a `< file` body (`template` is then empty). `files`
    are the `< file` lines within the text: in restclient's language they are files in a multipart
    body and plain text in others, in request files they are always files.
    """

    template: Template
    file: Template | None
    files: tuple[Inclusion, ...]
    span: Span = attrs.field(eq=False)


@attrs.frozen
class Directive:
    """`# @name value` or `// @name value`: how to send, show or name a request.

    `name` is spelled as in the table of `directives` if it is known, else as written.
    """

    name: str
    value: Template
    span: Span = attrs.field(eq=False)


@attrs.frozen
class Script:
    """JavaScript that runs before a request is sent or after its response has arrived.

    `when` is its moment: `before` the request is completed, with the `request` that is about to be
    sent, with its `response`, `after` that, or at the `end`. `host` is the tool whose API it uses:
    `jetbrains` (`> {% %}`, `< {% %}`) or `httpyac` (`{{ }}`). `text` is None if the code is in a
    `file`. It belongs to its `own` request, or runs for `every` request of the document, or `once`
    before the first request.
    """

    when: Literal["before", "request", "response", "after", "end"]
    host: str
    text: Template | None
    file: Template | None
    runs: Literal["own", "every", "once"]
    span: Span = attrs.field(eq=False)


@attrs.frozen
class Assertion:
    """`?? status == 200`: an assertion about the response; `text` is what follows the `??`.

    `subject`, `path` (or empty) and `operator` are as in `assertions.Found`. `within` is the number
    of seconds in which it may become true, None if it is checked only once. `title` is the comment
    in the line above, its name in reports.
    """

    text: Template
    subject: str
    path: str
    operator: str
    expected: Template
    span: Span = attrs.field(eq=False)
    within: float | None = None
    title: str = ""


@attrs.frozen
class Saving:
    """`>> file`: the response's body is saved; `>>!` overwrites an existing file."""

    path: Template
    overwrite: bool
    span: Span = attrs.field(eq=False)


@attrs.frozen
class Import:
    """`# @import file`, `import file`, or `run file` and `run #name`: another file's requests.

    `request` is the request to run (`run #name`), else None; `run` means that it, or all of
    the file's, are sent here, with these `values` of variables.
    """

    path: Template | None
    request: Template | None
    run: bool
    span: Span = attrs.field(eq=False)
    values: tuple[tuple[str, str], ...] = ()


@attrs.frozen
class ParsedRequest:
    """One request as it is written; `source` is the text that contains it.

    For a verb request, `above` are those of the parent headings, from the top; its method may be
    missing (empty) and its URL partial. In the other languages, `above` is None. `graphql` means
    that the body is sent as GraphQL, which httpyac detects from its text.
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
    graphql: bool = False

    @property
    def title(self) -> str:
        """The method and URL as they are written, which reports show for a request without name."""
        return " ".join(f"{self.method} {self.target.text}".split())

    @property
    def restclient(self) -> bool:
        """Whether restclient's rules apply rather than those of request files."""
        return self.region is None

    def directive(self, name: str) -> Directive | None:
        """Return the last directive called `name`, or None."""
        return next((one for one in reversed(self.directives) if one.name == name), None)

    def definition(self, name: str) -> Definition | None:
        """Return the definition of `name` that applies to this request, or None.

        In restclient's language that is the last definition above the request. In a request file it
        is the last definition above the end of the request, else the first below it: there, the
        position of a variable's only definition does not matter.
        """
        if self.region is None:
            return self.known.before(name, self.span.start)
        return self.known.before(name, self.region.end) or self.known.first(name)

    @property
    def definitions(self) -> tuple[Definition, ...]:
        """All definitions in scope of this request, in order."""
        if self.region is not None:
            return tuple(self.known.all)
        return tuple(d for d in self.known.all if d.span.start < self.span.start)


@attrs.frozen
class LineState:
    """The parser's state at the end of a text, which decides the meaning of the next line.

    `part` is ``start`` where a request or a definition may begin, ``head`` below a request line,
    ``body``, or ``quoted`` in a here-document, a script or a long comment. `url` means that the
    head above consists of the URL only; `indent` is the number of leading blanks to remove from a
    body's lines. With `head_after`, a comment ended the head above unless a header follows.
    """

    part: Literal["start", "head", "body", "quoted"] = "start"
    url: bool = False
    indent: int = 0
    head_after: bool = False


class Definitions:
    """The definitions of a document, indexed by name and position."""

    def __init__(self) -> None:
        self.all: list[Definition] = []
        self.scripts: list[Script] = []  # of all requests: captures are indexed by name
        self.set_by_scripts: frozenset[str] | None = None  # names, on first use
        self.lengths: set[int] = set()
        self._by_name: dict[str, list[Definition]] = {}

    def add(self, definition: Definition) -> None:
        """Add a definition, which must be below all others."""
        self.all.append(definition)
        self.lengths.add(len(definition.name))
        self._by_name.setdefault(definition.name, []).append(definition)

    def before(self, name: str, offset: int) -> Definition | None:
        """Return the last definition of `name` that starts before `offset`, or None."""
        named = self._by_name.get(name, [])
        at = bisect_left(named, offset, key=lambda d: d.span.start)
        return named[at - 1] if at else None

    def first(self, name: str) -> Definition | None:
        """Return the first definition of `name`, or None."""
        named = self._by_name.get(name)
        return named[0] if named else None


Item: TypeAlias = Comment | Text | Definition | Import | ParsedRequest
"""An item of a block or request file."""


@attrs.frozen
class Document:
    """A parsed block or request file.

    `problems` are those that belong to no request: a `<<` that never ends, no request at all.
    `notices` warn of skipped lines that look like more than comments. `scripts` are the scripts
    outside of requests, and `{{+`: they run for each request, or once.
    """

    source: Source = attrs.field(eq=False, repr=False)
    items: tuple[Item, ...]
    problems: tuple[OrgrestError, ...] = attrs.field(eq=False)
    notices: tuple[Notice, ...] = attrs.field(eq=False)
    scripts: tuple[Script, ...] = ()

    @property
    def requests(self) -> tuple[ParsedRequest, ...]:
        """The requests, in order."""
        return tuple(item for item in self.items if isinstance(item, ParsedRequest))

    def request_at(self, offset: int) -> ParsedRequest | None:
        """Return the request that a cursor at `offset` selects, None if there is no request.

        A request reaches down to the next separator. A position between a separator and a request
        selects that request, one below the last separator the last request.
        """
        above = last = None
        for item in self.items:
            if isinstance(item, ParsedRequest):
                if offset <= item.span.end:
                    return above if above is not None and offset < item.span.start else item
                above = last = item
            elif (
                above is not None
                and above.span.end < item.span.start <= offset
                and not (isinstance(item, Comment) and item.is_assertion)
            ):
                above = None
        return last
