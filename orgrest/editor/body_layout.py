"""Formats a JSON, XML or GraphQL body, which may contain variables.

Formatting changes the bytes that are sent, but keeps all tokens: numbers, strings, escapes and
repeated keys stay as written.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, TypeAlias

from orgrest import classes
from orgrest.http import syntax
from orgrest.http.parsing import request_file, restclient
from orgrest.http.values.shorthand import is_graphql
from orgrest.org.text import Edit
from orgrest.rendering.pretty import STRING, VARIABLE, json_template, xml_text

if TYPE_CHECKING:
    from orgrest.editor.analysis import Analysis

TITLE = "Format the body (changes the bytes that are sent)"

_LONGEST = 2**18  # characters: the body is examined each time the cursor moves
_DEEPEST = 200
_GRAPHQL = re.compile(
    rf'''(?P<comma>[\s,]*+)(?:
        (?P<word>"""(?>(?:\\"""|(?!""").)*)"""|{STRING}|{VARIABLE}|-?\d[\w.]*(?:(?<=[eE])[-+]\d+)?|\w+)
      | (?P<mark>\.\.\.|[!$&():=@\[\]{{|}}])
      )''',
    re.VERBOSE | re.DOTALL,
)
_VARIABLES = re.compile(r"\n[ \t]*\n(?=\s*\{)")
# Text next to an element: a line break there would be part of the text.
_MIXED = re.compile(r"(?:</[^<>]*|/)>[^<]*[^\s<][^<]*<|>[^<]*[^\s<][^<]*<[^/]")

Kind: TypeAlias = Literal["json", "xml", "graphql"]


def find(analysis: Analysis, offset: int) -> Edit | None:
    """Return the edit that formats the body of the request at an offset, or None."""
    part = analysis.part_at(offset)
    if part is None or not part.region.span.reaches(offset):
        return None
    request = part.request_at(part.region.from_file(offset))
    if request is None or request.problems or request.body is None or request.above is not None:
        return None
    text, template = part.region.text, request.body.template
    if not template.text or len(template.text) > _LONGEST:
        return None
    new = formatted_body(template.text, _kind(request))
    if new is None or new == template.text:
        return None
    start, end = template.offset(0), template.offset(len(template.text) - 1) + 1
    begin = request.region.start if request.region is not None else request.span.start
    begin = text.rfind("\n", 0, begin) + 1
    to_file = part.region.to_file
    first, last = to_file(start), to_file(end - 1) + 1
    margin = analysis.text[analysis.text.rfind("\n", 0, first) + 1 : first]
    inner = text[text.rfind("\n", 0, start) + 1 : start]
    if margin.strip() or not _changes_only_body(request, text[begin:start], inner, new):
        return None
    return Edit(first, last, new.replace("\n", f"\n{margin}"))


def _changes_only_body(request: syntax.ParsedRequest, above: str, indent: str, new: str) -> bool:
    body = request.body
    if body is None or body.files or body.file is not None:
        return False
    after = body.span.end - body.template.offset(len(body.template.text) - 1) - 1
    source = request.source.text
    close = source[body.span.end - after : body.span.end]  # the end of a here-document
    lines = source[body.template.offset(0) : body.span.end - after].split("\n")
    if [line.strip() for line in lines] != [x.strip() for x in body.template.text.split("\n")]:
        return False  # there are comments between its lines
    parse = restclient.parse if request.restclient else request_file.parse
    requests = parse(above + new.replace("\n", f"\n{indent}") + close).requests
    if len(requests) != 1 or requests[0].body is None or requests[0].problems:
        return False
    (only,) = requests
    head = (only.method, only.target, only.headers, only.directives)
    same = head == (request.method, request.target, request.headers, request.directives)
    return same and only.body == classes.evolve(
        body, template=classes.evolve(body.template, text=new)
    )


def _kind(request: syntax.ParsedRequest) -> Kind | None:
    headers = {
        header.name.text.lower(): header.value.text.lower() for header in request.header_lines
    }
    kind = headers.get("content-type", "")
    body = request.body.template.text.lstrip() if request.body else ""
    if request.method == "GRAPHQL" or "graphql" in kind or "x-request-type" in headers:
        return "graphql" if is_graphql(body) else None
    if "json" in kind or (not kind and body[:1] in ("{", "[")):
        return "json"
    return "xml" if "xml" in kind or (not kind and body[:1] == "<") else None


def formatted_body(text: str, kind: Kind | None) -> str | None:
    """Return a body formatted with one item per line, or None if it is not well-formed."""
    if kind == "json":
        return json_template(text)
    if kind == "xml":
        formatted = None if _MIXED.search(text) else xml_text(text).strip()
        return formatted if formatted is not None and _packed(formatted) == _packed(text) else None
    if kind != "graphql":
        return None
    for match in _VARIABLES.finditer(text):
        query = _graphql(text[: match.start()])
        if query is not None:
            variables = json_template(text[match.end() :])
            return None if variables is None else f"{query}\n\n{variables}"
    return _graphql(text)


def _packed(text: str) -> str:
    return re.sub(r"\s+", "", text)


def _graphql(text: str) -> str | None:
    out: list[str] = []
    opened: list[str] = []
    before = ""  # the last token
    at, end = 0, len(text.rstrip(" \t\r\n,"))
    while at < end:
        token = _GRAPHQL.match(text, at)
        if token is None:
            return None
        at = token.end()
        this = token["word"] or token["mark"]
        if token["mark"] and this in ")]}":
            if not opened or "([{".index(opened.pop()) != ")]}".index(this):
                return None
            inline = this != "}" or any(bracket != "{" for bracket in opened)
            out.append(this if inline else "\n" + "  " * len(opened) + this)
        else:
            inline = any(bracket != "{" for bracket in opened)
            out.append(
                _gap(before, this, opened, inline=inline, comma="," in token["comma"]) + this
            )
        if token["mark"] and this in "([{":
            opened.append(this)
        before = this
        if len(opened) > _DEEPEST:
            return None
    return None if opened or not out else "".join(out)


def _gap(before: str, this: str, opened: list[str], *, inline: bool, comma: bool) -> str:
    """Return the whitespace before the GraphQL token `this`, which is not a closing bracket."""
    if not before or before in ("$", "@") or (before == "..." and this not in ("on", "@", "{")):
        return ""
    if this in ("(", ":", "!"):
        return ""
    if inline:
        return "" if before in ("(", "[", "{") else ", " if comma else " "
    line = "\n" + "  " * len(opened)
    if not opened:
        return ("\n\n" if this != "{" else "\n") if before == "}" else " "
    if before == "{" or this == "..." or before == "}":
        return line
    follows = this in ("{", "@", "=", "|", "&") or before in (":", "...", "on")
    return " " if follows else line
