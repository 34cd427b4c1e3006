"""What can be put in at a place of a document, and what stands there: completion and its context.

`complete` gives the candidates for a place in an Org document or a request file, `context` says
what is written there. Both work on text that is being typed: the lines above say what a line is, by
the patterns of `orgrest.requests`; the line itself need not be finished.

Strategy: nothing is parsed. In Org the block around the place is cut out. The lines above the place
are gone over once, by a regular expression that stops only at lines that begin something; the rest
of the document is searched for what the place needs, if it needs any: URLs, names, header
arguments. That takes a few milliseconds in a file of 20,000 lines.

Offsets are those of the text that was given, whatever its line ends are. What comes from the
environment or netrc, or is computed from it, is shown as `***`.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

import attrs

from orgrest import arguments, org, regions, registry, requests, variables
from orgrest.lisp import ArgumentError, Number
from orgrest.model import Span
from orgrest.syntax import TCHARS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

Kind: TypeAlias = Literal[
    "method",
    "url",
    "query",  # the name of a parameter in a URL
    "version",
    "header",
    "value",  # of a header
    "parameter",  # of such a value, after a semicolon
    "variable",
    "function",
    "environment",  # the name of an environment variable
    "file",
    "hook",
    "language",  # of an Org block
    "property",  # of an Org document
    "argument",  # header argument of an Org block
    "argument value",
    "reference",  # the name of a block, table or list
]

MASK = "***"
"""What is shown in place of a secret."""


@attrs.frozen
class Context:
    """What is written at a place: `prefix` is its text up to the place.

    `span` is where that stands, with what belongs to it behind the place (but for a URL).
    `subject` is what it belongs to: the header of a value or parameter, the header argument of a
    value, the folder of a file, the opening (``:`` or ``{{``) of a variable.
    """

    kind: Kind
    span: Span
    prefix: str
    subject: str = ""


@attrs.frozen
class Candidate:
    """A text to put in: `insert` in place of what stands in `span`; `label` is its name.

    `documentation` is a short plain text: what it is, and the specification or line that says so.
    """

    label: str
    kind: Kind
    span: Span
    insert: str
    documentation: str


def complete(
    text: str,
    offset: int,
    *,
    document: regions.Kind = "org",
    files: Callable[[str], Iterable[str]] | None = None,
    environ: Iterable[str] = (),
) -> list[Candidate]:
    """Return what can be put in at `offset` of `text`, the likeliest first.

    `files` lists the names in a folder, which it is given as the document writes it; names of
    folders end in a slash. `environ` are the names of environment variables. Raises ValueError for
    an offset outside of the text.
    """
    place = _Place(text, offset, document)
    found: list[Candidate] = []
    offers: Iterable[_Offer]
    for here in place.contexts():
        if found and found[0].kind == "variable" and here.kind not in ("url", "query"):
            break
        if here.kind == "file":
            offers = _files(here, files)
        elif here.kind == "environment":
            offers = (_Offer(name, "Environment variable.") for name in environ)
        else:
            offers = _OFFERS[here.kind](place, here)
        chosen = [offer for offer in offers if _fits(offer.text, here.prefix)]
        chosen.sort(
            key=lambda offer: (
                not offer.text.startswith(here.prefix),
                offer.rank,
                offer.text.lower(),
                offer.text,
            )
        )
        found += [place.candidate(here, offer) for offer in chosen]
    return found


def context(text: str, offset: int, *, document: regions.Kind = "org") -> Context | None:
    """Return what is written at `offset` of `text`, None in comments, prose and the like.

    After a colon that is a ``variable``, whether one of that name is defined or not. Raises
    ValueError for an offset outside of the text.
    """
    return next(_Place(text, offset, document).contexts(), None)


def _fits(text: str, prefix: str) -> bool:
    return text[: len(prefix)].lower() == prefix.lower()


# -------------------------------------------------------------------------------- the lines above

_BLANKS = " \t\r"

# What these search has a line end put before it: a line is found where it starts in the original.
_LINES = re.compile(
    r"\n(?P<indent>[ \t]*+)(?:(?P<comment>#.*)"
    rf"|{requests.DEFINITION.pattern}|{requests.REQUEST.pattern}|{requests.HOOK.pattern}"
    rf"|{requests.BODY_HERE.pattern}(?=[ \t\r]*(?:\n|\Z)))"
)
_HEAD_END = re.compile(r"\n[ \t\r]*(?=\n)|(?=\n[ \t]*(?:[\[<]|\{(?!\{)))")
_COMMENTS = re.compile(r"(?:\n[ \t]*#(?!##).*)+(?P<gap>(?:\n[ \t\r]*(?=\n))*)\n[ \t]*(?P<below>.*)")
_MORE_THAN_URL = re.compile(r"\n[ \t]*[^?&#\s]")


@attrs.frozen
class _Definition:
    """A variable that is set: to `value`, or to what `note` says.

    `offset` is where in the request text, or else `where` says it. `computed` tells that the value
    is an expression.
    """

    name: str
    offset: int
    value: str = ""
    note: str = ""
    where: str = ""
    computed: bool = False


def _picked(expression: str) -> str:
    return f"what jq {expression.rstrip(_BLANKS)} picks from the response"


class _Above:
    """What the lines of a request text above one of its lines say about that line.

    `state` is what the line belongs to: ``start`` (no request yet), ``head`` (below a request
    line), ``body``, or ``here`` (a here-document). `also_head` tells that the comment right above
    may stand among headers. `definitions` are the variables set so far.
    """

    def __init__(self, text: str, line: int) -> None:
        """Go over the lines of `text` above the one that starts at `line`."""
        self.state = "start"
        self.also_head = False
        self.definitions: list[_Definition] = []
        self._text = "\n" + text
        self._line = line
        self._indent = 0  # of the open request
        self._request = -1  # where its line ends
        self._body = -1  # where its body starts, if that is known
        self._searched = 0  # how far that was looked for
        self._passed = 0  # how far comments are known to end no request
        at = 0
        while match := _LINES.search(self._text, at, line):
            at = self._read(match)
            if at > line:
                self.state = "here"
                return
        if self._request >= 0:
            self.state = "body" if self._in_body(line) else "head"

    @property
    def headers(self) -> bool:
        """Whether there is more than the URL above the line."""
        return _MORE_THAN_URL.search(self._text, self._request, self._line) is not None

    def comments(self, line: str) -> bool:
        """Whether `line` would be a comment: further to the right, a body may hold a `#`."""
        text = line.lstrip(" \t")
        indented = self.state == "body" and len(line) - len(text) > self._indent
        return text.startswith("#") and not indented and self.state != "here"

    def _read(self, match: re.Match[str]) -> int:
        """Take in a line; return where what it begins ends, if that is further down."""
        if match["comment"] is not None:
            if self._request >= 0 and self._ends(match):
                self._request = -1
        elif match["method"] is not None:
            if self._request < 0:
                self._request = self._searched = match.end()
                self._body = -1
                self._indent = len(match["indent"])
        elif match["name"] is not None:
            if self._request < 0:
                return self._define(match)
        elif match["hook"] is not None:
            self._capture(match)
        elif self._request >= 0 and (
            not self._in_body(match.start()) or self._body == match.start()
        ):  # the first line of a body
            return self._here_end(match["word"], match) or match.end()
        return match.end()

    def _in_body(self, line: int) -> bool:
        """Whether the line that starts at `line` belongs to the body of the open request."""
        if self._body < 0:
            match = _HEAD_END.search(self._text, self._searched, line + 1)
            self._body = match.end() if match else -1
            self._searched = line
        return 0 <= self._body <= line

    def _ends(self, comment: re.Match[str]) -> bool:
        """Whether a comment ends the open request: not every one among the headers does."""
        if self._in_body(comment.start()):
            return len(comment["indent"]) <= self._indent
        if comment["comment"].startswith("###"):
            return True
        if comment.start() < self._passed:
            return False
        match = _COMMENTS.match(self._text, comment.start(), self._line + 1)
        if match is None:
            return True
        if match.start("below") > self._line:  # the line that is being typed
            self.also_head = not match["gap"] and comment["comment"].strip(_BLANKS) != "#"
            return True
        below = match["below"].rstrip(_BLANKS)
        if (
            below.startswith("#")
            or requests.is_request_line(below)
            or requests.DEFINITION.fullmatch(below) is not None
        ):
            return True
        self._passed = match.start("below")
        return False

    def _define(self, match: re.Match[str]) -> int:
        value, note, end = match["value"].rstrip(_BLANKS), "", match.end()
        if here := requests.HERE.fullmatch(value):
            value, note = "", "several lines"
            end = self._here_end(here[1], match) or len(self._text)
        computed = match["operator"] == ":="
        self.definitions.append(
            _Definition(match["name"], match.start(), value, note, computed=computed)
        )
        return end

    def _capture(self, match: re.Match[str]) -> None:
        if self._request < 0 or self._in_body(match.start()):
            return
        found = requests.SET_VAR.fullmatch((match["rest"] or "").rstrip(_BLANKS))
        if found and match["hook"] == "jq-set-var":
            one = _Definition(found[1], match.start(), note=_picked(found[2]))
            self.definitions.append(one)

    def _here_end(self, word: str | None, match: re.Match[str]) -> int | None:
        """Find the end of the here-document that a line opens."""
        end = rf"{word}[ \t\r]*(?=\n|\Z)" if word else "#.*"
        blanks = rf"[ \t]{{0,{len(match['indent'])}}}"
        found = re.compile(rf"\n{blanks}{end}").search(self._text, match.end())
        return found.end() if found else None


# ------------------------------------------------------------------------------------- the place

_TOKEN = re.compile(TCHARS)
_REQUEST_LINE = re.compile(rf"({TCHARS})[ \t]+(.*)")
_HEADER_LINE = re.compile(rf"({TCHARS}):[ \t]*(.*)")
_HOOK_LINE = re.compile(r"(?:->(?:[ \t]+|(?=\S))|(?=->?$))(\S*)")
_FILE_LINE = re.compile(r"<[ \t]+(.*)")
_VARIABLE = re.compile(r"(\{\{[ \t]*|:)([^\s:={}\"'(),/?#&<>\[\]]*)$")
_SCHEME = re.compile(r"(?i:\b(?:https?|wss?|ftp|file))$")
_BEHIND_WORD = re.compile(r"[\w\-\"'\])}]$")
_STRINGS = re.compile(r"(?:[^\"]++|\"(?:[^\"\\]++|\\.)*+\")*+")
_FUNCTION = re.compile(r"(?:^|[(,]|(?<![\w\")])[ \t])[ \t]*([A-Za-z_][A-Za-z0-9_]*|)$")
_ENV = re.compile(r"\benv[ \t]*\([ \t]*\"([^\"]*)$")
_BEGIN = re.compile(r"[ \t]*#\+begin_src[ \t]+(\S*)(?:(?<=\S)([ \t].*))?", re.IGNORECASE)
_HEADER_KEYWORD = re.compile(r"[ \t]*#\+headers?:([ \t].*)", re.IGNORECASE)
_BLOCK_BELOW = re.compile(
    r"[ \t\r]*(?:\n[ \t]*#\+(?!begin_).*)*\n[ \t]*#\+begin_src[ \t]+(\S+)", re.IGNORECASE
)
_PROPERTY = re.compile(
    r"[ \t]*(?:#\+property:[ \t]+header-args(?::([^\s:+]+))?\+?"
    r"|:header-args(?::([^\s:+]+))?\+?:)([ \t].*)",
    re.IGNORECASE,
)
_PROPERTY_NAME = re.compile(r"[ \t]*#\+property:[ \t]+(\S*)", re.IGNORECASE)
_ARGUMENT = re.compile(r"(?:^|[ \t])(:[^\s:=\"]*|)$")
_GIVEN = re.compile(r"(?:^|[ \t]):([\w-]+)[ \t]+")
_REFERENCE = re.compile(r"=[ \t]*([^\s=\"'()\[\]]*)$")

# What a candidate ends in, and how that may stand behind the place already.
_ENDS = [
    (": ", re.compile(r":[ \t]?")),
    ("}}", re.compile(r"[ \t]*\}\}")),
    ("()", re.compile(r"\(\)?")),
    ("(", re.compile(r"\(")),
    ("=", re.compile("=")),
    (" ", re.compile(r"[ \t]")),
]


class _Place:
    """An offset of a text, and what is around it.

    `code` is the text in the request language around the place, or else all text, with LF line
    ends; the place is in its line `before` + `after`.
    """

    def __init__(self, text: str, offset: int, document: regions.Kind) -> None:
        if not 0 <= offset <= len(text):
            raise ValueError(f"offset {offset} is outside a text of {len(text)} characters")
        self.given = offset
        self.within_crlf = text[offset - 1 : offset + 1] == "\r\n"
        if "\r\n" in text:
            offset -= text.count("\r\n", 0, offset)
            text = text.replace("\r\n", "\n")
        self.text, self.offset = text, offset
        self.document = document
        self.region: regions.Region | None = None
        self.code, at = text, offset
        self.indented = False
        if document == "org":
            self.region = regions.region_at(text, offset, "org")
            if self.region is not None:
                self.code = self.region.source.text
                at = self.region.from_file(offset)
                self.indented = self.region.to_file(at) > offset
        self.start = self.code.rfind("\n", 0, at) + 1
        end = self.code.find("\n", at)
        self.before = self.code[self.start : at]
        self.after = self.code[at : len(self.code) if end < 0 else end].rstrip(_BLANKS)

    @cached_property
    def above(self) -> _Above:
        """What the lines above say."""
        return _Above(self.code, self.start)

    def contexts(self) -> Iterator[Context]:
        """Yield what may be written here, the likeliest first."""
        if self.within_crlf or (self.indented and self.after):
            return
        if self.document == "org" and self.region is None:
            yield from self._org()
        elif not self.above.comments(self.before + self.after):
            text = self.before.lstrip(_BLANKS)
            if self.above.state in ("body", "here"):
                yield from self._body(text)
            elif self.above.state == "head":
                yield from self._head(text)
            else:
                yield from self._begin(text)
                if self.above.also_head:
                    yield from self._header(text)

    def candidate(self, here: Context, offer: _Offer) -> Candidate:
        """Fit an offer in: what it ends in is replaced, not doubled, where it stands already."""
        end = here.span.end
        rest = self.after[end - self.given :]
        for ending, pattern in _ENDS:
            if offer.inserted.endswith(ending):
                follows = pattern.match(rest)
                end += follows.end() if follows else 0
                break
        span = Span(here.span.start, end)
        return Candidate(offer.text, here.kind, span, offer.inserted, offer.documentation)

    def _here(self, kind: Kind, prefix: str, subject: str = "", rest: str = "") -> Context:
        """Make a context of the `prefix` before the place, and what fits the pattern `rest`."""
        follows = re.match(rest, self.after)
        end = self.given + (follows.end() if follows else 0)
        return Context(kind, Span(self.given - len(prefix), end), prefix, subject)

    # ----------------------------------------------------------------------------- requests

    def _begin(self, text: str) -> Iterator[Context]:
        """Where a request or a definition may begin."""
        if definition := requests.DEFINITION.fullmatch(text):
            if definition["operator"] == "=":
                yield from self._variable(definition["value"])
            else:
                yield from self._expression(definition["value"])
        elif line := _REQUEST_LINE.fullmatch(text):
            if line[1].upper() in registry.methods() or requests.is_request_line(text + self.after):
                yield from self._url(line[2])
        elif not text or _TOKEN.fullmatch(text):
            yield self._here("method", text, rest=TCHARS)

    def _url(self, text: str) -> Iterator[Context]:
        yield from self._variable(text)
        url, *more = re.split(r"[ \t]+", text, maxsplit=1)
        if more:
            yield self._here("version", more[0])
        elif re.search("[?#]", url):
            yield from self._query(url)
        else:
            yield self._here("url", url)

    def _query(self, url: str) -> Iterator[Context]:
        if name := re.search(r"[?&]([^\s?&=#]*)$", url):
            yield self._here("query", name[1], rest=r"[^\s?&=#]*")

    def _head(self, text: str) -> Iterator[Context]:
        line = (self.before + self.after).lstrip(_BLANKS)
        if text[:1] in ("?", "&") and not self.above.headers:
            yield from self._variable(text)
            yield from self._query(text)
        elif line[:1] in ("[", "<") or re.match(r"\{(?!\{)", line):
            yield from self._body(text)
        elif text.startswith("-") and (hook := _HOOK_LINE.fullmatch(text)):
            yield self._here("hook", hook[1])
        else:
            yield from self._header(text)

    def _header(self, text: str) -> Iterator[Context]:
        if line := _HEADER_LINE.fullmatch(text):
            yield from self._variable(line[2])
            yield from self._value(line[1], line[2])
            return
        yield from self._variable(text)
        if not text or _TOKEN.fullmatch(text):
            yield self._here("header", text, rest=TCHARS)

    def _value(self, name: str, text: str) -> Iterator[Context]:
        header = registry.header(name)
        if header is None:
            return
        if not header.single:
            text = text.rpartition(",")[2].lstrip(_BLANKS)
        kind: Kind = "value"
        if header.parameters and ";" in text:
            kind, text = "parameter", text.rpartition(";")[2].lstrip(_BLANKS)
        yield self._here(kind, text, header.name, rest=r"[^\s,;=]*")

    def _body(self, text: str) -> Iterator[Context]:
        if file := _FILE_LINE.fullmatch(text):
            yield from self._variable(text)
            folder, slash, name = file[1].rpartition("/")
            yield self._here("file", name, folder + slash, r"[^\s/]*")
            return
        variable = next(self._variable(text), None)
        if variable is None:
            return
        # A colon behind a word or a string is one of JSON's, or of a time of day, until a name is
        # begun behind it; behind a quote that opens a string it is not.
        left = text.removesuffix(":")
        opened = left.endswith('"') and len(re.findall(r'(?<!\\)"', left)) % 2
        if variable.prefix or variable.subject != ":" or opened or not _BEHIND_WORD.search(left):
            yield variable

    def _expression(self, text: str) -> Iterator[Context]:
        if text.startswith(("(", "'", "`")):
            return  # Lisp
        if not _STRINGS.fullmatch(text):  # a string that is being typed
            if name := _ENV.search(text):
                yield self._here("environment", name[1], rest=r"\w*")
            else:
                yield from self._variable(text)
            return
        yield from self._variable(text)
        if name := _FUNCTION.search(text):
            yield self._here("function", name[1], rest=r"[A-Za-z0-9_]*")

    def _variable(self, text: str) -> Iterator[Context]:
        """A reference to a variable that is being typed at the end of `text`."""
        match = _VARIABLE.search(text)
        if match is None:
            return
        opening, name = match[1].rstrip(_BLANKS), match[2]
        if opening == ":" and (
            self.after.startswith("//") or (not name and _SCHEME.search(text[: match.start()]))
        ):
            return
        yield self._here("variable", name, opening, r"[\w-]*")

    # ---------------------------------------------------------------------------------- Org

    def _org(self) -> Iterator[Context]:
        """The lines of an Org document that have to do with requests."""
        before = self.before
        if begin := _BEGIN.fullmatch(before):
            if begin[2] is None:
                yield self._here("language", begin[1], rest=r"\S*")
            elif begin[1] in org.REQUEST_LANGUAGES:
                yield from self._arguments(begin[2])
        elif keyword := _HEADER_KEYWORD.fullmatch(before):
            below = _BLOCK_BELOW.match(self.text, self.start + len(before + self.after))
            if below is None or below[1] in org.REQUEST_LANGUAGES:
                yield from self._arguments(keyword[1])
        elif given := _PROPERTY.fullmatch(before):
            language = given[1] or given[2]
            if language is None or language.lower() in org.REQUEST_LANGUAGES:
                yield from self._arguments(given[3])
        elif name := _PROPERTY_NAME.fullmatch(before):
            yield self._here("property", name[1], rest=r"\S*")

    def _arguments(self, text: str) -> Iterator[Context]:
        """The header argument that is being typed at the end of `text`."""
        if len(re.findall(r'(?<!\\)"', text)) % 2:
            return
        name = _ARGUMENT.search(text)
        if name and name[1]:
            yield self._here("argument", name[1], rest=r"[\w-]*")
            return
        *_, given = (None, *_GIVEN.finditer(text))
        value = text[given.end() :] if given else ""
        if given:
            yield from self._argument_value(given[1], value)
        last = value.rstrip(_BLANKS)[-1:]
        if name and (not given or last not in ("", "=")):
            yield self._here("argument", "")

    def _argument_value(self, name: str, text: str) -> Iterator[Context]:
        if name == "var":
            if reference := _REFERENCE.search(text):
                yield self._here("reference", reference[1], rest=r"[^\s()\[\]\"]*")
        elif name == "post":
            if re.fullmatch(r"[^\s()\[\]\"]*", text):
                yield self._here("reference", text, rest=r"[^\s()\[\]\"]*")
        else:
            prefix = re.split(r"[ \t]", text)[-1] if name == "results" else text
            yield self._here("argument value", prefix, name, r"\S*")

    # ------------------------------------------------------------------------- the document

    @cached_property
    def lined(self) -> str:
        """The whole text with a line end put before it."""
        return "\n" + self.text

    def others(self, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        """Yield the lines of the document that fit, but for the one of the place."""
        own = self.text.rfind("\n", 0, self.offset) + 1
        return (match for match in pattern.finditer(self.lined) if match.start() != own)

    def lines(self, offsets: Iterable[int]) -> Iterator[int]:
        """Yield the numbers of the lines at ascending offsets of `code`."""
        line, at = 1, 0
        for offset in offsets:
            if self.region is not None:
                yield self.region.source.position(offset).line
                continue
            line, at = line + self.code.count("\n", at, offset), offset
            yield line


# ------------------------------------------------------------------------------------ candidates

_REQUESTS = re.compile(rf"\n[ \t]*+{requests.REQUEST.pattern}")
_MORE_URL = re.compile(r"\n[ \t]*+(?P<target>[?&]\S.*)")
_QUERY_NAME = re.compile(r"[?&]([^\s?&=#]+)=")
_HOST = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*://)[^/?#\s]+|:[^\s:/?#]+|\{\{[^{}]+\}\}")
_LANGUAGES = re.compile(r"\n[ \t]*+#\+(?i:begin_src)[ \t]+(\S+)")
_NAMED = re.compile(
    rf"\n[ \t]*+#\+(?i:{'|'.join(sorted(org.NAME_KEYWORDS))}|results(?:\[.*\])?):"
    r"[ \t]*([^\s()\[\]]+)[ \t]*(?:\n[ \t]*#\+(?!(?i:begin_)).*)*(?:\n[ \t]*(.*))?"
)
_EARLIER_CAPTURE = re.compile(rf"\n[ \t]*+->[ \t]*jq-set-var[ \t]+{requests.SET_VAR.pattern}")
_HEADINGS = re.compile(
    r"\n(\*+) .*(?:\n[ \t]*(?:SCHEDULED|DEADLINE|CLOSED):.*)?"
    r"(?:\n[ \t]*(?i::properties:)[ \t]*(?:\n[ \t]*:\S+:(?:[ \t].*)?)*)?"
)
_FIRST_DRAWER = re.compile(
    r"(?:\n[ \t]*(?:#(?: .*)?)?(?=\n))*\n[ \t]*(?i::properties:)(?:\n[ \t]*:\S+:(?:[ \t].*)?)*"
)
_PROPERTY_LINES = re.compile(r"\n[ \t]*+#\+(?i:property):.*")
_KEYWORD_LINE = re.compile(r"\n[ \t]*#\+(?!(?i:begin_|end_))")
_SECRET = re.compile(
    rf"\b(?:{'|'.join(name for name, one in variables.FUNCTIONS.items() if one.secret)}|getenv)\b"
)
_NAME = re.compile(r"[^\s:={}]+")
_MAX_SHOWN = 60


@attrs.frozen
class _Offer:
    """A candidate before it is fitted in; the lower its rank, the likelier it is."""

    text: str
    documentation: str
    insert: str | None = None
    rank: int = 1

    @property
    def inserted(self) -> str:
        """What is put in: its own text, unless another was given."""
        return self.text if self.insert is None else self.insert


def _rank(entry: registry.Entry) -> int:
    return 2 if entry.obsolete else 0 if entry.common else 1


def _about(entry: registry.Entry) -> str:
    obsolete = "Obsolete. " if entry.obsolete else ""
    return f"{obsolete}{entry.description}\n\n{entry.source}"


def _methods(_: _Place, __: Context) -> Iterator[_Offer]:
    for name, method in registry.methods().items():
        yield _Offer(name, _about(method), f"{name} ", _rank(method))


def _headers(_: _Place, here: Context) -> Iterator[_Offer]:
    lower = here.prefix != "" and here.prefix == here.prefix.lower()
    for canonical, header in registry.headers().items():
        name = canonical.lower() if lower else canonical
        response = header.used == "response"
        about = ("For responses. " if response else "") + _about(header)
        yield _Offer(name, about, f"{name}: ", 3 if response else _rank(header))


def _values(_: _Place, here: Context) -> Iterator[_Offer]:
    header = registry.header(here.subject)
    if header is not None:
        for entry in header.values if here.kind == "value" else header.parameters:
            yield _Offer(entry.name.strip(), _about(entry), entry.name, _rank(entry))


def _urls(place: _Place, here: Context) -> Iterator[_Offer]:
    urls = Counter(match["target"].split()[0] for match in place.others(_REQUESTS))
    hosts = Counter[str]()
    for url, count in urls.items():
        if host := _HOST.match(url):
            hosts[host[0]] += count
    for url, count in (hosts | urls).items():
        if url != here.prefix:
            often = "once" if count == 1 else f"{count} times"
            yield _Offer(url, f"In this document {often}.")
    for scheme in ("https", "http"):
        yield _Offer(f"{scheme}://", f"An {scheme} URL.", rank=2)


def _query_names(place: _Place, _: Context) -> Iterator[_Offer]:
    names = Counter[str]()
    for pattern in (_REQUESTS, _MORE_URL):
        for match in place.others(pattern):
            names.update(_QUERY_NAME.findall(match["target"]))
    for name in names:
        yield _Offer(name, "A parameter in this document's URLs.", f"{name}=")


def _versions(_: _Place, __: Context) -> Iterator[_Offer]:
    yield _Offer("HTTP/1.1", "The version of HTTP; need not be written.\n\nRFC 9112, section 2.3")


def _functions(_: _Place, __: Context) -> Iterator[_Offer]:
    for name, function in variables.FUNCTIONS.items():
        insert = f"{name}(" if function.most else f"{name}()"
        yield _Offer(insert, f"{function.usage}: {function.description}")


def _files(here: Context, files: Callable[[str], Iterable[str]] | None) -> Iterator[_Offer]:
    for name in files(here.subject) if files else ():
        if not name.startswith(".") or here.prefix.startswith("."):
            yield _Offer(name, "A folder." if name.endswith("/") else "A file.")


def _hooks(_: _Place, here: Context) -> Iterator[_Offer]:
    about = "-> jq-set-var :NAME EXPRESSION: after the response, set a variable by jq."
    arrow = "-> " if here.prefix.startswith("-") else ""
    yield _Offer(f"{arrow}jq-set-var", about, f"{arrow}jq-set-var :")


def _languages(place: _Place, _: Context) -> Iterator[_Offer]:
    for name in sorted(org.REQUEST_LANGUAGES):
        yield _Offer(name, "Requests, evaluated by orgrest.", rank=0)
    for name in sorted({match[1] for match in place.others(_LANGUAGES)} - org.REQUEST_LANGUAGES):
        yield _Offer(name, "Used in this document.")


def _properties(_: _Place, __: Context) -> Iterator[_Offer]:
    yield _Offer("header-args", "Header arguments of all blocks.", "header-args ", 0)
    for name in sorted(org.REQUEST_LANGUAGES):
        about = f"Header arguments of all {name} blocks."
        yield _Offer(f"header-args:{name}", about, f"header-args:{name} ")


def _argument_names(_: _Place, __: Context) -> Iterator[_Offer]:
    for name, known in arguments.KNOWN.items():
        note = " Of Org; nothing changes here." if known.inert else ""
        rank = 2 if known.inert else 1
        yield _Offer(f":{name}", known.description + note, f":{name} ", rank)


def _argument_values(_: _Place, here: Context) -> Iterator[_Offer]:
    known = arguments.KNOWN.get(here.subject)
    for rank, (value, about) in enumerate(known.values.items() if known else ()):
        yield _Offer(value, about, rank=rank)


def _references(place: _Place, _: Context) -> Iterator[_Offer]:
    seen: set[str] = set()
    for match in place.others(_NAMED):
        name, below = match[1], match[2] or ""
        if name.lower() in seen:
            continue
        seen.add(name.lower())
        block = re.match(r"(?i:#\+begin_src)[ \t]+(\S+)", below)
        what = f"Block in {block[1]}" if block else "Table" if below.startswith("|") else "Element"
        yield _Offer(name, f"{what}, line {place.text.count(chr(10), 0, match.start()) + 1}.")


def _variables(place: _Place, here: Context) -> Iterator[_Offer]:
    known: dict[str, _Definition] = {}
    if place.region is not None:
        known = {one.name: one for one in _from_outside(place, place.region)}
    for one in place.above.definitions:
        known[one.name] = one
    secrets = _secrets(known)
    fitting = [one for one in known.values() if _fits(one.name, here.prefix)]
    fitting.sort(key=lambda one: one.offset)
    inside = [one for one in fitting if not one.where]
    lines = dict(zip(inside, place.lines(one.offset for one in inside), strict=True))
    for one in fitting:
        value = MASK if one.name in secrets else one.value or one.note
        if len(value) > _MAX_SHOWN:
            value = value[: _MAX_SHOWN - 3] + "..."
        where = one.where or f"line {lines[one]}"
        insert = f"{one.name}}}}}" if here.subject == "{{" else one.name
        yield _Offer(one.name, f"{value}\n\n{where}", insert)


def _secrets(known: Mapping[str, _Definition]) -> set[str]:
    """Return the names of variables that hold what comes from the environment or netrc."""
    lengths = sorted({len(name) for name in known})
    users: dict[str, list[str]] = {}  # of each variable: those whose values refer to it
    for one in known.values():
        for match in variables.REFERENCE.finditer(one.value):
            text = match[1] or _NAME.findall(one.value[match.end() : match.end() + lengths[-1]])[0]
            for name in (text[:length] for length in lengths if length <= len(text)):
                if name in known:
                    users.setdefault(name, []).append(one.name)
    todo = [one.name for one in known.values() if one.computed and _SECRET.search(one.value)]
    found: set[str] = set()
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += users.get(name, [])
    return found


def _from_outside(place: _Place, region: regions.Region) -> Iterator[_Definition]:
    """Yield the variables that blocks above and header arguments set, the weaker ones first."""
    line, at = 1, 0
    for match in _EARLIER_CAPTURE.finditer(place.lined, 0, region.span.start):
        line, at = line + place.text.count("\n", at, match.start()), match.start()
        yield _Definition(match[1], -1, note=_picked(match[2]), where=f"line {line}")
    try:
        given = _header_arguments(place, region).variables
        for name, assignment in given.items():
            value, note = _shown(arguments.value(assignment)[1])
            yield _Definition(name, -1, value, note, "header argument :var")
    except ArgumentError:
        return  # evaluation tells of it


def _shown(value: arguments.Value) -> tuple[str, str]:
    """Return the text of a ``:var``, and what is told of one that has none yet."""
    if isinstance(value, str | Number):
        return (value if isinstance(value, str) else value.text), ""
    if isinstance(value, arguments.Reference):
        return "", f"the result of {value.name}"
    return "", "a list" if isinstance(value, list) else "Emacs Lisp, which is not run"


def _header_arguments(place: _Place, region: regions.Region) -> arguments.Arguments:
    """Return the header arguments of a block, of a document with all that can set them."""
    if region.block is None or ":var" not in place.text:
        return arguments.Arguments()
    start = region.base + region.block.start
    lined = place.lined
    path: list[re.Match[str]] = []
    for heading in _HEADINGS.finditer(lined, 0, start):
        while path and len(path[-1][1]) >= len(heading[1]):
            path.pop()
        path.append(heading)
    top = _FIRST_DRAWER.match(lined)
    above = start
    while (line := lined.rfind("\n", 0, above)) >= 0 and _KEYWORD_LINE.match(lined, line, above):
        above = line
    parts = [
        top[0] if top else "",
        *(match[0] for match in _PROPERTY_LINES.finditer(lined)),
        *(match[0] for match in path),
        lined[above : lined.find("\n", start + 1)],
        "\n#+end_src",
    ]
    document = org.Document("".join(parts).removeprefix("\n"))
    return arguments.of_block(document.blocks[-1], arguments.Inherited(document))


_OFFERS: Mapping[Kind, Callable[[_Place, Context], Iterable[_Offer]]] = {
    "method": _methods,
    "url": _urls,
    "query": _query_names,
    "version": _versions,
    "header": _headers,
    "value": _values,
    "parameter": _values,
    "variable": _variables,
    "function": _functions,
    "hook": _hooks,
    "language": _languages,
    "property": _properties,
    "argument": _argument_names,
    "argument value": _argument_values,
    "reference": _references,
}
