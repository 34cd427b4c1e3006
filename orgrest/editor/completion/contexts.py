"""The possible contexts at an offset, the most likely first.

`STATES` maps each state of the parser to a function. The function is passed the line up to the
offset. `org_lines` handles the lines of an Org document that are outside blocks.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from orgrest.editor.completion import assertions, openapi, org_lines, request_files
from orgrest.http import registry
from orgrest.http.parsing import grammar
from orgrest.http.parsing.lines import BLANKS
from orgrest.http.parsing.request_file.grammar import METHODS, begins_request
from orgrest.http.syntax import TCHARS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from orgrest.editor.completion.cursor import Cursor
    from orgrest.editor.completion.model import Context, Kind

_TOKEN = re.compile(TCHARS)
_REQUEST_LINE = re.compile(rf"({TCHARS})[ \t]+(.*)")
_METHOD = re.compile(rf"(?:{METHODS})[ \t]")
_HEADER_LINE = re.compile(rf"({TCHARS}):[ \t]*(.*)")
_HOOK_LINE = re.compile(r"(?:->(?:[ \t]+|(?=\S))|(?=->?$))(\S*)")
_FILE_LINE = re.compile(r"<[ \t]+(.*)")
_VARIABLE = re.compile(
    r"(\{\{[ \t]*|:)([^\s:={}\"'(),/?#&<>\[\]]*(?:(?<=[\w\]])\[\d*\]?[^\s:={}\"'(),/?#&<>\[\]]*)*)$"
)
_SCHEME = re.compile(r"(?i:\b(?:https?|wss?|ftp|file))$")
_BEHIND_WORD = re.compile(r"[\w\-\"'\])}]$")
_STRING = re.compile(r"\"(?:[^\"\\]++|\\.?)*+(\"?)")
_FUNCTION = re.compile(r"(?:^|[(,]|(?<![\w\")])[ \t])[ \t]*([A-Za-z_][A-Za-z0-9_]*|)$")
_ENV = re.compile(r"\benv[ \t]*\([ \t]*\"([^\"]*)$")


def contexts(cursor: Cursor) -> Iterator[Context]:
    """Yield the possible contexts at an offset (none in comments or prose, for example)."""
    if cursor.within_crlf or (cursor.indented and cursor.after):
        return
    if cursor.document == "org" and cursor.region is None:
        yield from org_lines.contexts(cursor)
    elif assertions.is_assertion(cursor):
        variable = next(_variable(cursor, cursor.before), None)
        in_braces = variable is not None and variable.subject == "{{"
        yield from (variable,) if variable and in_braces else assertions.contexts(cursor)
    elif cursor.is_common and (context := request_files.context(cursor)) is not None:
        yield context
    elif not cursor.is_comment(cursor.before + cursor.after):
        text, part = cursor.before.lstrip(BLANKS), cursor.state.part
        if cursor.is_common and part in ("head", "body"):
            # Such a line always begins a request, regardless of its position.
            begins = _METHOD.match(text) or begins_request(cursor.before + cursor.after)
            part = "start" if begins else part
        yield from STATES[part](cursor, text)


def _begin(cursor: Cursor, text: str) -> Iterator[Context]:
    """Yield the contexts in a line that may start a request or a definition."""
    if cursor.is_common and request_files.DEFINITION.match(text):
        yield from _variable(cursor, text)
    elif definition := grammar.DEFINITION.fullmatch(text):
        if definition["operator"] == "=":
            yield from _variable(cursor, definition["value"])
        else:
            yield from _expression(cursor, definition["value"])
    elif line := _REQUEST_LINE.fullmatch(text):
        if line[1].upper() in registry.methods() or grammar.is_request_line(text + cursor.after):
            yield from _url(cursor, line[2])
    elif not text or _TOKEN.fullmatch(text):
        yield cursor.here("method", text, rest=TCHARS)
    if cursor.state.head_after:
        yield from _header(cursor, text)


def _url(cursor: Cursor, text: str) -> Iterator[Context]:
    yield from _variable(cursor, text)
    url, *more = re.split(r"[ \t]+", text, maxsplit=1)
    if more:
        yield cursor.here("version", more[0])
    elif re.search("[?#]", url):
        yield from _query(cursor, url)
    else:
        yield cursor.here("url", url)


def _query(cursor: Cursor, url: str) -> Iterator[Context]:
    if name := re.search(r"[?&]([^\s?&=#]*)$", url):
        yield cursor.here("query", name[1], rest=r"[^\s?&=#]*")
    elif value := re.search(r"[?&]([^\s?&=#]+)=([^\s?&=#]*)$", url):
        yield cursor.here("query value", value[2], value[1], r"[^\s?&=#]*")


def _head(cursor: Cursor, text: str) -> Iterator[Context]:
    line = (cursor.before + cursor.after).lstrip(BLANKS)
    if text[:1] in ("?", "&") and cursor.state.url:
        yield from _variable(cursor, text)
        yield from _query(cursor, text)
    elif line[:1] in ("[", "<") or re.match(r"\{(?!\{)", line):
        yield from _body(cursor, text)
    elif text.startswith("-") and (hook := _HOOK_LINE.fullmatch(text)):
        yield cursor.here("hook", hook[1])
    else:
        yield from _header(cursor, text)


def _header(cursor: Cursor, text: str) -> Iterator[Context]:
    if line := _HEADER_LINE.fullmatch(text):
        yield from _variable(cursor, line[2])
        yield from _value(cursor, line[1], line[2])
        return
    yield from _variable(cursor, text)
    if not text or _TOKEN.fullmatch(text):
        yield cursor.here("header", text, rest=TCHARS)


def _value(cursor: Cursor, name: str, text: str) -> Iterator[Context]:
    header = registry.header(name)
    if header is None:
        if openapi.operation(cursor) is not None:
            yield cursor.here("value", text, name, rest=r"[^\s,;=]*")
        return
    if not header.single:
        text = text.rpartition(",")[2].lstrip(BLANKS)
    kind: Kind = "value"
    if header.parameters and ";" in text:
        kind, text = "parameter", text.rpartition(";")[2].lstrip(BLANKS)
    yield cursor.here(kind, text, header.name, rest=r"[^\s,;=]*")


def _body(cursor: Cursor, text: str) -> Iterator[Context]:
    if file := _FILE_LINE.fullmatch(text):
        yield from _variable(cursor, text)
        folder, slash, name = file[1].rpartition("/")
        yield cursor.here("file", name, folder + slash, r"[^\s/]*")
        return
    variable = next(_variable(cursor, text), None)
    if variable is None or (variable.subject == ":" and not variable.prefix):
        yield from openapi.body(cursor)
    if variable is None:
        return
    # A colon after a word or a string belongs to JSON or a time of day until a name begins after
    # it; a colon after an opening quote does not.
    left = text.removesuffix(":")
    opened = left.endswith('"') and len(re.findall(r'(?<!\\)"', left)) % 2
    if variable.prefix or variable.subject != ":" or opened or not _BEHIND_WORD.search(left):
        yield variable


def _quoted(cursor: Cursor, text: str) -> Iterator[Context]:
    return iter(()) if cursor.is_common else _body(cursor, text)


def _expression(cursor: Cursor, text: str) -> Iterator[Context]:
    if text.startswith(("(", "'", "`")):
        return  # Lisp
    if any(not string[1] for string in _STRING.finditer(text)):  # a string that is being typed
        if name := _ENV.search(text):
            yield cursor.here("environment", name[1], rest=r"\w*")
        else:
            yield from _variable(cursor, text)
        return
    yield from _variable(cursor, text)
    if name := _FUNCTION.search(text):
        yield cursor.here("function", name[1], rest=r"[A-Za-z0-9_]*")


def _variable(cursor: Cursor, text: str) -> Iterator[Context]:
    """Yield the context of the variable reference at the end of `text`, if any."""
    match = _VARIABLE.search(text)
    if match is None:
        return
    opening, name = match[1].rstrip(BLANKS), match[2]
    if opening == ":" and (
        cursor.after.startswith("//") or (not name and _SCHEME.search(text[: match.start()]))
    ):
        return
    yield cursor.here("variable", name, opening, r"[\w-]*")


State: TypeAlias = "Callable[[Cursor, str], Iterator[Context]]"

STATES: Mapping[str, State] = {
    "start": _begin,
    "head": _head,
    "body": _body,
    "quoted": _quoted,
}
