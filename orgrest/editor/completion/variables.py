"""The variables in scope at an offset and their values, from the lines above and from Org.

Values from the environment or netrc, and values computed from them, are shown as `***`.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from orgrest import classes
from orgrest.editor.completion import request_files
from orgrest.editor.completion.model import fits
from orgrest.http import syntax
from orgrest.http.parsing import grammar, restclient
from orgrest.http.parsing.lines import BLANKS
from orgrest.http.values.expressions import FUNCTIONS
from orgrest.http.values.references import REFERENCE
from orgrest.org import argument_syntax, arguments, blocks
from orgrest.org import document as org
from orgrest.org.blocks import ArgumentError
from orgrest.org.lisp import Number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from orgrest.editor import regions
    from orgrest.editor.completion.cursor import Cursor
    from orgrest.editor.completion.model import Context, Offer

MASK = "***"
"""The text shown instead of a secret."""


_EARLIER_CAPTURE = re.compile(rf"\n[ \t]*+->[ \t]*jq-set-var[ \t]+{grammar.SET_VAR.pattern}")
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
    rf"\b(?:{'|'.join(name for name, function in FUNCTIONS.items() if function.secret)}|getenv)\b"
)
_NAME = re.compile(r"[^\s:={}]+")
_SETS = re.compile(r"^[ \t]*(?::|->)", re.MULTILINE)
_COLON_DEFINITIONS = re.compile(rf"^[ \t]*{grammar.DEFINITION.pattern}", re.MULTILINE)


@classes.frozen
class Definition:
    """A variable with its `value`, or with a `note` that describes an unknown value.

    `offset` is the definition's offset in the request text. `where` describes a definition
    elsewhere. `computed` is True if the value is an expression.
    """

    name: str
    offset: int
    value: str = ""
    note: str = ""
    where: str = ""
    computed: bool = False


def _picked(expression: str) -> str:
    """Return a description of the value that a capture's `expression` selects from a response."""
    return f"the values that jq {expression.rstrip(BLANKS)} selects from the response"


def offers(cursor: Cursor, here: Context) -> Iterator[Offer]:
    """Yield the variables in scope at an offset."""
    known: dict[str, Definition] = {}
    if cursor.region is not None:
        known = {variable.name: variable for variable in _from_outside(cursor, cursor.region)}
    for definition in (_common if cursor.is_common else _restclient)(cursor.above):
        known[definition.name] = definition
    secrets, is_braced = _secrets(known), here.subject == "{{"
    fitting = [variable for variable in known.values() if fits(variable.name, here.prefix)]
    fitting.sort(key=lambda variable: variable.offset)
    inside = [variable for variable in fitting if not variable.where]
    lines = dict(zip(inside, cursor.lines(variable.offset for variable in inside), strict=True))
    for definition in fitting:
        value = MASK if definition.name in secrets else definition.value or definition.note
        where = definition.where or f"line {lines[definition]}"
        yield request_files.variable(definition.name, value, where, is_braced=is_braced)
    if cursor.is_common and is_braced:
        yield from request_files.in_braces(cursor, frozenset(known))


def _common(text: str) -> Iterator[Definition]:
    for match in _COLON_DEFINITIONS.finditer(text):
        yield Definition(match["name"], match.start(), match["value"].rstrip(BLANKS))


def _restclient(text: str) -> Iterator[Definition]:
    for start, end in pairwise([*restclient.parts(text), len(text)]):
        if not _SETS.search(text, start, end):
            continue
        part = text[start:end]
        for item in restclient.parse(part).items:
            if isinstance(item, syntax.Definition):
                several = "\n" in part[item.span.start : item.span.end]
                value, note = ("", "several lines") if several else (item.value.text, "")
                at, computed = start + item.span.start, item.operator == ":="
                yield Definition(item.name, at, value, note, computed=computed)
            elif isinstance(item, syntax.ParsedRequest):
                for capture in item.captures:
                    note = _picked(capture.expression)
                    yield Definition(capture.name, start + capture.span.start, note=note)


def _secrets(known: Mapping[str, Definition]) -> set[str]:
    """Return the names of variables computed from the environment or netrc, even indirectly."""
    lengths = sorted({len(name) for name in known})
    users: dict[str, list[str]] = {}  # for each variable: the variables whose values refer to it
    for variable in known.values():
        for match in REFERENCE.finditer(variable.value):
            text = (
                match[1]
                or _NAME.findall(variable.value[match.end() : match.end() + lengths[-1]])[0]
            )
            for name in (text[:length] for length in lengths if length <= len(text)):
                if name in known:
                    users.setdefault(name, []).append(variable.name)
    todo = [
        variable.name
        for variable in known.values()
        if variable.computed and _SECRET.search(variable.value)
    ]
    secrets: set[str] = set()
    while todo:
        name = todo.pop()
        if name not in secrets:
            secrets.add(name)
            todo += users.get(name, [])
    return secrets


def _from_outside(cursor: Cursor, region: regions.Region) -> Iterator[Definition]:
    """Yield variables captured above or set by header arguments, lowest precedence first."""
    line, at = 1, 0
    for match in _EARLIER_CAPTURE.finditer(cursor.lined, 0, region.span.start):
        line, at = line + cursor.text.count("\n", at, match.start()), match.start()
        yield Definition(match[1], -1, note=_picked(match[2]), where=f"line {line}")
    try:
        variables = _header_arguments(cursor, region).variables
        for name, assignment in variables.items():
            value, note = _shown(argument_syntax.value(assignment)[1])
            yield Definition(name, -1, value, note, "header argument :var")
    except ArgumentError:
        return  # evaluation reports it


def _shown(value: argument_syntax.Value) -> tuple[str, str]:
    """Return (text, "") for a ``:var`` value, or ("", description) for an unknown value."""
    if isinstance(value, str | Number):
        return (value if isinstance(value, str) else value.text), ""
    if isinstance(value, argument_syntax.ValueReference):
        return "", f"the result of {value.name}"
    return "", "a list" if isinstance(value, list) else "Emacs Lisp (not evaluated)"


def _header_arguments(cursor: Cursor, region: regions.Region) -> blocks.Arguments:
    """Return the header arguments of the block at the offset, including inherited arguments."""
    if region.block is None or ":var" not in cursor.text:
        return blocks.Arguments()
    start = region.base + region.block.start
    lined = cursor.lined
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
    document = org.OrgDocument("".join(parts).removeprefix("\n"))
    return arguments.of_block(document, document.blocks[-1])
