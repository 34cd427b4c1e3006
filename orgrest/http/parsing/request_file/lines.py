"""Lines that may appear anywhere: separators, comments, directives, imports, definitions.

Steps of the reader: each gets a line and its stripped text, and returns whether it consumed it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from orgrest.http.parsing.directives import rule_of
from orgrest.http.parsing.lines import one_line
from orgrest.http.parsing.request_file.grammar import (
    ASSERTION_COMMENT,
    COLON_DEFINITION,
    DEFINITION,
    DIRECTIVE,
    GIVEN,
    IMPORT,
    MARKDOWN,
    RUN,
    SEPARATOR,
)
from orgrest.http.syntax import Comment, Definition, Directive, Import
from orgrest.model import Span

if TYPE_CHECKING:
    from orgrest.http.parsing.request_file.reader import Reader
    from orgrest.http.parsing.request_file.region import Line


def separator(reader: Reader, line: Line, text: str) -> bool:
    """Read `### name`."""
    match = SEPARATOR.fullmatch(text)
    if match is None:
        return False
    name = match["name"].strip() or None
    reader.close(line.offset, name)
    reader.items.append(Comment(text, name, line.span))
    return True


def comment(reader: Reader, line: Line, text: str) -> bool:
    """Read a comment, and the directive or assertion in it."""
    if text.startswith("/*") and not reader.region.in_body:
        return _long_comment(reader, line, text)
    if not text.startswith(("#", "//")):
        return False
    if reader.region.in_body and reader.region.is_of_type(MARKDOWN):
        return False
    reader.items.append(Comment(text, None, line.span))
    if match := DIRECTIVE.fullmatch(text):
        _directive(reader, line, match)
    elif match := ASSERTION_COMMENT.fullmatch(text):
        reader.assertion(line, line.template(match, "text"))
    return True


def _long_comment(reader: Reader, line: Line, text: str) -> bool:
    first = line
    while not text.endswith("*/") and reader.at < len(reader.lines):
        line = reader.lines[reader.at]
        text = line.text
        reader.at += 1
    if not text.endswith("*/"):
        reader.problem(first.start, "this comment never ends: */ is missing", "unclosed-comment")
        reader.quoted = True
    reader.items.append(Comment(first.text, None, Span(first.offset, line.span.end)))
    return True


def _directive(reader: Reader, line: Line, match: re.Match[str]) -> None:
    name, value = match["name"], line.template(match, "value")
    rule = rule_of(name)
    if rule is None:
        reader.notice(line.start, f"@{name} is not a known directive", "directive")
        return
    if rule.refused:
        reader.problem(line.start, f"@{name} is not supported: {rule.refused}", "directive")
    elif rule.name == "import":
        reader.items.append(Import(value, None, False, line.span))
    elif rule.names and not value.text:
        reader.problem(line.start, f"@{name} needs a name behind it", "directive")
    reader.region.directives.append(Directive(rule.name, value, line.span))


def import_line(reader: Reader, line: Line, text: str) -> bool:
    """Read `import file`, `run file` and `run #name`."""
    match = None if reader.region.begun else IMPORT.fullmatch(text)
    what = RUN.fullmatch(match["what"]) if match else None
    if match is None or what is None:
        return False
    values = _values(what["values"] or "")
    if values is None or (values and match["word"] == "import"):
        reason = "run gives values as in run other.http (@name=value, @other=value)"
        reader.problem(line.start, reason, "run")
    offset = line.start + match.start("what")
    path = one_line(what["path"], offset + what.start("path")) if what["path"] else None
    request = None
    if what["request"] is not None:
        request = one_line(what["request"], offset + what.start("request"))
    run = match["word"] == "run"
    reader.items.append(Import(path, request, run, line.span, values or ()))
    return True


def _values(text: str) -> tuple[tuple[str, str], ...] | None:
    """Read `(@name=value, @other=value)`; None if it is something else."""
    inside = text[1:-1].strip()
    if not text:
        return ()
    if not text.endswith(")") or "{{" in text:
        return None
    found = [GIVEN.fullmatch(one) for one in re.split(r",[ \t]*(?=@)", inside)]
    return tuple((one["name"], one["value"]) for one in found if one) if all(found) else None


def definition(reader: Reader, line: Line, text: str) -> bool:
    """Read `@name = value`, and restclient's `:name = value` above a request."""
    match = DEFINITION.fullmatch(text)
    mark = "@"
    if match is None and not reader.region.begun:
        match, mark = COLON_DEFINITION.fullmatch(text), ":"
    if match is None:
        return False
    start = line.start
    if mark == ":" and match["value"].startswith("<<"):
        reason = "a value of several lines is restclient's; a line like @name = value sets one"
        reader.problem(start, reason, "bad-definition")
    name_end = start + match.end("name")
    definition = Definition(
        name=match["name"],
        operator=match["operator"] if mark == ":" else "=",
        value=line.template(match, "value"),
        span=Span(line.offset, line.span.end),
        name_span=Span(start, name_end),
        mark=mark,
    )
    reader.known.add(definition)
    reader.items.append(definition)
    return True
