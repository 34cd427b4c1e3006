"""The possible contexts at an offset, the likeliest first.

In a request text they depend on what the line belongs to: `STATES` has a function for each part
that the language's parser distinguishes; it gets the line up to the offset, which may be
incomplete. The lines of the Org document around it are those of `org_lines`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from orgrest.editor.completion import assertions, org_lines, request_files
from orgrest.editor.completion.above import BLANKS
from orgrest.http import grammar, registry
from orgrest.http.requestfile.marks import METHODS, begins_request
from orgrest.http.syntax import TCHARS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from orgrest.editor.completion.model import Context, Kind
    from orgrest.editor.completion.place import Place

_TOKEN = re.compile(TCHARS)
_REQUEST_LINE = re.compile(rf"({TCHARS})[ \t]+(.*)")
_METHOD = re.compile(rf"(?:{METHODS})[ \t]")
_HEADER_LINE = re.compile(rf"({TCHARS}):[ \t]*(.*)")
_HOOK_LINE = re.compile(r"(?:->(?:[ \t]+|(?=\S))|(?=->?$))(\S*)")
_FILE_LINE = re.compile(r"<[ \t]+(.*)")
_VARIABLE = re.compile(r"(\{\{[ \t]*|:)([^\s:={}\"'(),/?#&<>\[\]]*)$")
_SCHEME = re.compile(r"(?i:\b(?:https?|wss?|ftp|file))$")
_BEHIND_WORD = re.compile(r"[\w\-\"'\])}]$")
_STRING = re.compile(r"\"(?:[^\"\\]++|\\.?)*+(\"?)")
_FUNCTION = re.compile(r"(?:^|[(,]|(?<![\w\")])[ \t])[ \t]*([A-Za-z_][A-Za-z0-9_]*|)$")
_ENV = re.compile(r"\benv[ \t]*\([ \t]*\"([^\"]*)$")


def contexts(place: Place) -> Iterator[Context]:
    """Yield the possible contexts at an offset; nothing in comments, prose and the like."""
    if place.within_crlf or (place.indented and place.after):
        return
    if place.document == "org" and place.region is None:
        yield from org_lines.contexts(place)
    elif assertions.is_assertion(place):
        variable = next(_variable(place, place.before), None)
        in_braces = variable is not None and variable.subject == "{{"
        yield from (variable,) if variable and in_braces else assertions.contexts(place)
    elif place.is_common and (found := request_files.context(place)) is not None:
        yield found
    elif not place.above.comments(place.before + place.after):
        text, part = place.before.lstrip(BLANKS), place.above.state.part
        if place.is_common and part in ("head", "body"):
            # Such a line begins a request wherever it stands.
            begins = _METHOD.match(text) or begins_request(place.before + place.after)
            part = "start" if begins else part
        yield from STATES[part](place, text)


def _begin(place: Place, text: str) -> Iterator[Context]:
    """Where a request or a definition may begin."""
    if place.is_common and request_files.DEFINITION.match(text):
        yield from _variable(place, text)
    elif definition := grammar.DEFINITION.fullmatch(text):
        if definition["operator"] == "=":
            yield from _variable(place, definition["value"])
        else:
            yield from _expression(place, definition["value"])
    elif line := _REQUEST_LINE.fullmatch(text):
        if line[1].upper() in registry.methods() or grammar.is_request_line(text + place.after):
            yield from _url(place, line[2])
    elif not text or _TOKEN.fullmatch(text):
        yield place.here("method", text, rest=TCHARS)
    if place.above.state.head_after:
        yield from _header(place, text)


def _url(place: Place, text: str) -> Iterator[Context]:
    yield from _variable(place, text)
    url, *more = re.split(r"[ \t]+", text, maxsplit=1)
    if more:
        yield place.here("version", more[0])
    elif re.search("[?#]", url):
        yield from _query(place, url)
    else:
        yield place.here("url", url)


def _query(place: Place, url: str) -> Iterator[Context]:
    if name := re.search(r"[?&]([^\s?&=#]*)$", url):
        yield place.here("query", name[1], rest=r"[^\s?&=#]*")


def _head(place: Place, text: str) -> Iterator[Context]:
    line = (place.before + place.after).lstrip(BLANKS)
    if text[:1] in ("?", "&") and place.above.state.url:
        yield from _variable(place, text)
        yield from _query(place, text)
    elif line[:1] in ("[", "<") or re.match(r"\{(?!\{)", line):
        yield from _body(place, text)
    elif text.startswith("-") and (hook := _HOOK_LINE.fullmatch(text)):
        yield place.here("hook", hook[1])
    else:
        yield from _header(place, text)


def _header(place: Place, text: str) -> Iterator[Context]:
    if line := _HEADER_LINE.fullmatch(text):
        yield from _variable(place, line[2])
        yield from _value(place, line[1], line[2])
        return
    yield from _variable(place, text)
    if not text or _TOKEN.fullmatch(text):
        yield place.here("header", text, rest=TCHARS)


def _value(place: Place, name: str, text: str) -> Iterator[Context]:
    header = registry.header(name)
    if header is None:
        return
    if not header.single:
        text = text.rpartition(",")[2].lstrip(BLANKS)
    kind: Kind = "value"
    if header.parameters and ";" in text:
        kind, text = "parameter", text.rpartition(";")[2].lstrip(BLANKS)
    yield place.here(kind, text, header.name, rest=r"[^\s,;=]*")


def _body(place: Place, text: str) -> Iterator[Context]:
    if file := _FILE_LINE.fullmatch(text):
        yield from _variable(place, text)
        folder, slash, name = file[1].rpartition("/")
        yield place.here("file", name, folder + slash, r"[^\s/]*")
        return
    variable = next(_variable(place, text), None)
    if variable is None:
        return
    # A colon behind a word or a string belongs to JSON or a time of day until a name is begun
    # behind it; a colon behind an opening quote does not.
    left = text.removesuffix(":")
    opened = left.endswith('"') and len(re.findall(r'(?<!\\)"', left)) % 2
    if variable.prefix or variable.subject != ":" or opened or not _BEHIND_WORD.search(left):
        yield variable


def _quoted(place: Place, text: str) -> Iterator[Context]:
    return iter(()) if place.is_common else _body(place, text)


def _expression(place: Place, text: str) -> Iterator[Context]:
    if text.startswith(("(", "'", "`")):
        return  # Lisp
    if any(not one[1] for one in _STRING.finditer(text)):  # a string that is being typed
        if name := _ENV.search(text):
            yield place.here("environment", name[1], rest=r"\w*")
        else:
            yield from _variable(place, text)
        return
    yield from _variable(place, text)
    if name := _FUNCTION.search(text):
        yield place.here("function", name[1], rest=r"[A-Za-z0-9_]*")


def _variable(place: Place, text: str) -> Iterator[Context]:
    """A reference to a variable that is being typed at the end of `text`."""
    match = _VARIABLE.search(text)
    if match is None:
        return
    opening, name = match[1].rstrip(BLANKS), match[2]
    if opening == ":" and (
        place.after.startswith("//") or (not name and _SCHEME.search(text[: match.start()]))
    ):
        return
    yield place.here("variable", name, opening, r"[\w-]*")


State: TypeAlias = "Callable[[Place, str], Iterator[Context]]"

STATES: Mapping[str, State] = {
    "start": _begin,
    "head": _head,
    "body": _body,
    "quoted": _quoted,
}
