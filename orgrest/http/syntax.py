"""The syntax tree of the request languages, which the parsers create.

Every node has its position in the source: a `Span` or, for text with variables, a `Template`, which
maps each character to the source. Comparisons of nodes ignore their positions.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Literal, TypeAlias

from orgrest import classes
from orgrest.model import Notice
from orgrest.regular import compiled

if TYPE_CHECKING:
    from orgrest.model import Capture, OrgrestError, Source, Span

# The characters of methods and header names: `tchar` of RFC 9110, section 5.6.2.
TCHARS = r"[!#$%&'*+.^_`|~0-9A-Za-z-]++"
_TOKEN = compiled(TCHARS)
_BREAK = compiled(r"[\r\n\0]")
LOOP = compiled(
    r"for\s+(?:(?P<count>\d+)|(?P<name>\w+)\s+of\s+(?P<list>.+))|while\s+(?P<condition>.+)"
)
"""The value of `# @loop`."""
_FIRST_WORD = compiled(r"(?P<name>[^ {}]+)(?: .*)?")
_SETTING = {
    "loop": LOOP,
    **dict.fromkeys(("prompt", "file-to-variable", "env-json-key"), _FIRST_WORD),
}


def is_token(text: str) -> bool:
    """Return whether a string is valid as a method or as the name of a header."""
    return _TOKEN.fullmatch(text) is not None


def has_break(text: str) -> bool:
    """Return whether a string has a line break or a NUL, which no header may contain."""
    return _BREAK.search(text) is not None


def version_notices(source: Source, version: str | None, offset: int) -> tuple[Notice, ...]:
    """Return a warning if the HTTP version in a request line is not supported."""
    if version in (None, "1.1"):
        return ()
    reason = f"HTTP/{version} is not supported: the request is sent as HTTP/1.1"
    return (Notice.at(source, offset, reason, "http-version"),)


@classes.frozen
class Template:
    """Text that may contain variables, and its position in the source.

    `anchors` contains a pair for each piece that is contiguous in the source: the index of its
    start in `text`, and its offset in the source. The first index is 0.
    """

    text: str
    anchors: tuple[tuple[int, int], ...] = classes.field(eq=False)

    def offset(self, index: int) -> int:
        """Return the source offset of the character at `index` of this text."""
        at = bisect_right(self.anchors, index, key=lambda anchor: anchor[0]) - 1
        start, offset = self.anchors[at]
        return offset + index - start


@classes.frozen
class Comment:
    """A comment line. `name` is the name in a line `### name`, or None for other comments."""

    text: str
    name: str | None
    span: Span = classes.field(eq=False)

    @property
    def is_assertion(self) -> bool:
        """Whether the comment is an assertion about the request above: `# ?? status == 200`."""
        return self.text.lstrip("#").lstrip().startswith("??")


@classes.frozen
class Text:
    """An unrecognized line above a request. It is skipped, as in restclient."""

    text: str
    span: Span = classes.field(eq=False)


@classes.frozen
class Definition:
    """A definition `:name = value` (restclient) or `@name = value` (request files).

    `mark` is `:` or `@`. `operator` is `:=` if the value is an expression (`:name := EXPRESSION`),
    and `=` in all other cases, even for `@name := value`.

    `when` says when a run computes the value: `before` the request of its section, or `after` the
    response. If `when` is empty, the value is expanded at each use.
    """

    name: str
    operator: str
    value: Template
    span: Span = classes.field(eq=False)
    name_span: Span = classes.field(eq=False)
    mark: str = ":"
    when: Literal["", "before", "after"] = ""


@classes.frozen
class HeaderLine:
    """A header line `Name: value` of a request."""

    name: Template
    value: Template
    span: Span = classes.field(eq=False)


@classes.frozen
class HeaderVariable:
    """A line `:name` or `{{name}}` among the headers: a variable that contains header lines.

    If `spread` is set, the line is httpyac's `...name`: an expression whose value is an object of
    headers.
    """

    name: str
    span: Span = classes.field(eq=False)
    spread: bool = False


@classes.frozen
class Inclusion:
    """A `< file` line in a body, which is replaced by the content of the file.

    - `start` and `end` are indexes in the body's text.
    - `encoding` is None for a plain `< file`, whose bytes are sent unchanged. For `<@ file` and
      `<@latin1 file`, it is the encoding of the text, in which variables are replaced (default:
      UTF-8).
    - `operation` is None, except for httpyac's `gql NAME < file`, which includes a GraphQL
      document. There, it is the name of the operation, or empty if the document determines the
      operation.
    """

    start: int
    end: int
    path: Template
    encoding: str | None
    operation: str | None = None


@classes.frozen
class Body:
    """The body of a request.

    `template` is its text. In restclient's language, `file` is the path if the whole body is a `<
    file` line, and `template` is then empty. `files` are the `< file` lines within the text. In
    restclient's language, these lines are replaced in multipart bodies, and are plain text in other
    bodies.
    """

    template: Template
    file: Template | None
    files: tuple[Inclusion, ...]
    span: Span = classes.field(eq=False)


@classes.frozen
class Directive:
    """A directive `# @name value` or `// @name value`: how to send, show or name a request.

    `name` is spelled as in the table of `directives`.
    """

    name: str
    value: Template
    span: Span = classes.field(eq=False)

    @property
    def sets(self) -> tuple[str, int] | None:
        """The name of the variable that the directive sets, with its offset, or None."""
        pattern = _SETTING.get(self.name)
        match = pattern.fullmatch(self.value.text) if pattern else None
        if match is None or match["name"] is None:
            return None
        return match["name"], self.value.offset(match.start("name"))


@classes.frozen
class Script:
    """JavaScript that runs before a request is sent or after its response has arrived.

    `when` is the moment at which the script runs:

    - `before`: before the variables of the request are replaced;
    - `request`: just before the request is sent;
    - `response`: when the response has arrived;
    - `after`: after the `response` scripts;
    - `end`: last.

    `host` is the tool whose API the script uses: `jetbrains` (`> {% %}`, `< {% %}`) or `httpyac`
    (`{{ }}`). `text` is None if the code is in a `file`. `runs` is `own` if the script runs for its
    own request, `every` if it runs for every request of the document, and `once` if it runs only
    before the first request.
    """

    when: Literal["before", "request", "response", "after", "end"]
    host: str
    text: Template | None
    file: Template | None
    runs: Literal["own", "every", "once"]
    span: Span = classes.field(eq=False)


@classes.frozen
class Assertion:
    """An assertion `?? status == 200` about the response.

    `text` is the part after `??`. `operator` may begin with `not `, and `path` can be empty.
    `within` is the number of seconds in which the assertion must become true, or None if it is
    checked only once. `title` is the comment on the line above, which names the assertion in
    reports.
    """

    text: Template
    subject: str
    path: str
    operator: str
    expected: Template
    span: Span = classes.field(eq=False)
    within: float | None = None
    title: str = ""


@classes.frozen
class Saving:
    """A line `>> file`, which saves the response's body. `>>!` overwrites an existing file."""

    path: Template
    overwrite: bool
    span: Span = classes.field(eq=False)


@classes.frozen
class Import:
    """A line that refers to another file's requests: `# @import file`, `import file`, `run file`.

    `request` is the name in `run #name`, or None. If `run` is set, the named request, or each
    request of the file, is sent at this line, with the variables in `values`.
    """

    path: Template | None
    request: Template | None
    run: bool
    span: Span = classes.field(eq=False)
    values: tuple[tuple[str, str], ...] = ()


@classes.frozen
class ParsedRequest:
    """A request as written in a document.

    `source` is the text that contains the request. `above` contains the requests of a verb
    request's parent headings, outermost first. It is None for all other requests. A verb request
    can have an empty method and a partial URL. If `graphql` is set, the body looks like GraphQL and
    is therefore sent as GraphQL, as in httpyac.
    """

    method: str
    target: Template
    version: str | None
    headers: tuple[HeaderLine | HeaderVariable, ...]
    captures: tuple[Capture, ...]
    body: Body | None
    name: str | None
    problems: tuple[OrgrestError, ...] = classes.field(eq=False)
    notices: tuple[Notice, ...] = classes.field(eq=False)
    source: Source = classes.field(eq=False, repr=False)
    span: Span = classes.field(eq=False)
    method_span: Span = classes.field(eq=False)
    known: Definitions = classes.field(eq=False, repr=False)
    directives: tuple[Directive, ...] = ()
    scripts: tuple[Script, ...] = ()
    assertions: tuple[Assertion, ...] = ()
    savings: tuple[Saving, ...] = ()
    region: Span | None = classes.field(default=None, eq=False)
    shared_scripts: list[Script] = classes.field(factory=list, eq=False, repr=False)
    above: tuple[ParsedRequest, ...] | None = None
    graphql: bool = False

    @property
    def title(self) -> str:
        """The method and URL as written, by which reports identify an unnamed request."""
        return " ".join(f"{self.method} {self.target.text}".split())

    @property
    def restclient(self) -> bool:
        """Whether the rules of restclient apply instead of the rules of request files."""
        return self.region is None

    @property
    def expanded_after(self) -> tuple[Template, ...]:
        """The templates that are expanded only when the response has arrived."""
        return (
            *(directive.value for directive in self.directives if directive.name == "xpath_ns"),
            *(assertion.expected for assertion in self.assertions),
            *(saving.path for saving in self.savings),
        )

    @property
    def header_lines(self) -> tuple[HeaderLine, ...]:
        """The headers, without the variables that contain header lines."""
        return tuple(item for item in self.headers if isinstance(item, HeaderLine))

    def header(self, name: str) -> HeaderLine | None:
        """Return the first header line with this name (in lower case), or None."""
        return next((line for line in self.header_lines if line.name.text.lower() == name), None)

    def directive(self, name: str) -> Directive | None:
        """Return the last directive with this name, or None."""
        for directive in reversed(self.directives):
            if directive.name == name:
                return directive
        return None

    def definition(self, name: str) -> Definition | None:
        """Return the definition of a variable that applies to this request, or None.

        In restclient's language, this is the last definition above the request. In a request file,
        it is the last definition above the request's end, or else the first definition below.
        """
        if self.region is None:
            return self.known.before(name, self.span.start)
        return self.known.before(name, self.region.end) or self.known.first(name)

    @property
    def definitions(self) -> tuple[Definition, ...]:
        """All definitions in scope for this request, in order."""
        if self.region is not None:
            return tuple(self.known.all)
        return tuple(d for d in self.known.all if d.span.start < self.span.start)


@classes.frozen
class LineState:
    """The parser's state at the end of some text, which determines the meaning of the next line.

    - `part` is `start` where a request or a definition may begin, `head` below a request line,
      `body` in a body, and `quoted` in a here-document, a script or a multi-line comment.
    - `url` is set if the head consists only of the URL so far.
    - `indent` is the number of leading blanks to remove from the lines of a body.
    - `head_after` is set if a comment follows the head. The comment ends the head unless a header
      comes next.
    - `directives` are the directives so far of the current request (only in request files).
    """

    part: Literal["start", "head", "body", "quoted"] = "start"
    url: bool = False
    indent: int = 0
    head_after: bool = False
    directives: tuple[Directive, ...] = ()


class Definitions:
    """The definitions of a document, indexed by name and position."""

    def __init__(self) -> None:
        self.all: list[Definition] = []
        self.computed: list[Definition] = []  # those that a run computes (see `Definition.when`)
        self.scripts: list[Script] = []  # the scripts of all requests
        self.set_by_scripts: frozenset[str] | None = None  # computed on first use
        self.lengths: set[int] = set()
        self._by_name: dict[str, list[Definition]] = {}

    def add(self, definition: Definition) -> None:
        """Add a definition. Definitions must be added in document order."""
        self.all.append(definition)
        if definition.when:
            self.computed.append(definition)
        self.lengths.add(len(definition.name))
        self._by_name.setdefault(definition.name, []).append(definition)

    def before(self, name: str, offset: int) -> Definition | None:
        """Return the last definition of `name` that starts before `offset`, or None."""
        named = self._by_name.get(name, [])
        at = bisect_left(named, offset, key=lambda d: d.span.start)
        return named[at - 1] if at else None

    def at(self, name: str, offset: int | None) -> Definition | None:
        """Return the definition of `name` that starts at `offset`, or None."""
        definition = None if offset is None else self.before(name, offset + 1)
        return definition if definition and definition.span.start == offset else None

    def computed_within(self, span: Span) -> list[Definition]:
        """Return the definitions in `span` that a run computes, in order."""
        start, end = (
            bisect_left(self.computed, offset, key=lambda d: d.span.start)
            for offset in (span.start, span.end)
        )
        return self.computed[start:end]

    def first(self, name: str) -> Definition | None:
        """Return the first definition of `name`, or None."""
        named = self._by_name.get(name)
        return named[0] if named else None


Item: TypeAlias = Comment | Text | Definition | Import | ParsedRequest
"""A part of a block or request file: a request, or a line outside of requests."""


@classes.frozen
class Document:
    """A parsed block or request file.

    `problems` are errors outside requests, such as an unclosed `<<` or the absence of any request.
    `notices` are warnings about lines outside requests. `scripts` are the scripts outside requests,
    and those that begin with `{{+`.
    """

    source: Source = classes.field(eq=False, repr=False)
    items: tuple[Item, ...]
    problems: tuple[OrgrestError, ...] = classes.field(eq=False)
    notices: tuple[Notice, ...] = classes.field(eq=False)
    scripts: tuple[Script, ...] = ()

    @property
    def requests(self) -> tuple[ParsedRequest, ...]:
        """The requests, in order."""
        return tuple(item for item in self.items if isinstance(item, ParsedRequest))

    def request_at(self, offset: int) -> ParsedRequest | None:
        """Return the request that a cursor at `offset` selects, or None if there is no request.

        A request extends to the next separator. Between a separator and a request, the cursor
        selects that request. Below the last separator, it selects the last request.
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
