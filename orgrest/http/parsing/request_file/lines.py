"""Steps for lines that may appear anywhere: separators, comments, directives, imports, definitions.

Each step gets the reader, a line and its stripped text, and returns whether it consumed the line.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from orgrest.http.parsing.directives import rule_of, substitute_for, suggestion_for
from orgrest.http.parsing.grammar import DEFINITION as COLON_DEFINITION
from orgrest.http.parsing.lines import mismarked, one_line
from orgrest.http.parsing.request_file.grammar import (
    ASSERTION_COMMENT,
    COMPUTED,
    DEFINITION,
    DIRECTIVE,
    IMPORT,
    MARKDOWN,
    RULE,
    RUN,
    RUN_VALUE,
    SEPARATOR,
    is_jetbrains,
)
from orgrest.http.syntax import Comment, Definition, Directive, Import
from orgrest.model import Span
from orgrest.regular import compiled

if TYPE_CHECKING:
    from orgrest.http.parsing.request_file.reader import Reader
    from orgrest.http.parsing.request_file.region import Line

_BELOW_ONE_SECOND = compiled(r"(?![0.]+$)\d{1,3}(?:\.\d+)?")


def separator(reader: Reader, line: Line, text: str) -> bool:
    """Read a separator `### name`, which ends a request and names the next one.

    A line such as `### -----` or `### =====` names nothing.
    """
    match = SEPARATOR.fullmatch(text)
    if match is None:
        return False
    name = match["name"].strip()
    name = None if RULE.fullmatch(name) else name
    reader.close(line.offset, name)
    reader.items.append(Comment(text, name, line.span))
    return True


def comment(reader: Reader, line: Line, text: str) -> bool:
    """Read a comment, including any directive or assertion in it."""
    if text.startswith("/*") and not reader.region.in_body:
        return _long_comment(reader, line, text)
    namespace = text.startswith("@xpath_ns") and not reader.region.begun
    if not text.startswith(("#", "//")) and not namespace:
        return False
    if reader.region.in_body and reader.region.is_of_type(MARKDOWN):
        return False
    reader.items.append(Comment(text, None, line.span))
    if match := DIRECTIVE.fullmatch(text):
        _directive(reader, line, match)
    elif match := ASSERTION_COMMENT.fullmatch(text):
        reader.assertion(line, line.template(match, "text"))
    elif reason := mismarked(text):
        reader.problem(line.start, reason, "bad-assertion")
    return True


def _long_comment(reader: Reader, line: Line, text: str) -> bool:
    first = line
    while not text.endswith("*/") and reader.at < len(reader.lines):
        line = reader.lines[reader.at]
        text = line.text
        reader.at += 1
    if not text.endswith("*/"):
        reader.problem(first.start, "this comment is never closed: missing */", "unclosed-comment")
        reader.quoted = True
    reader.items.append(Comment(first.text, None, Span(first.offset, line.end)))
    return True


def _directive(reader: Reader, line: Line, match: re.Match[str]) -> None:
    name, value = match["name"], line.template(match, "value")
    rule = rule_of(name)
    if rule is None:
        reason = f"unknown directive @{name}"
        if suggestion := suggestion_for(name):
            reader.problem(line.start, f"{reason}; did you mean {suggestion}?", "directive")
        elif "=" not in (match["separator"] or ""):  # else a variable that was commented out
            substitute = substitute_for(name)
            reader.notice(
                line.start, f"{reason}; {substitute}" if substitute else reason, "directive"
            )
        return
    if rule.refused:
        reader.problem(line.start, f"@{name} is not supported: {rule.refused}", "directive")
    elif rule.name == "import" and not reader.in_org:
        reader.items.append(Import(value, None, False, line.span))
    elif rule.names and not value.text:
        reader.problem(line.start, f"@{name} requires a name", "directive")
    elif rule.name == "timeout" and (reason := _read_as_milliseconds(value.text.strip(), reader)):
        reader.notice(line.start, reason, "unit")
    reader.region.directives.append(Directive(rule.name, value, line.span))


def _read_as_milliseconds(time: str, reader: Reader) -> str:
    """Return a warning if a time limit could also be meant in seconds, otherwise ""."""
    if _BELOW_ONE_SECOND.fullmatch(time) is None or is_jetbrains(reader.source.text):
        return ""
    return (
        f"@timeout {time} is read as {time} ms, as in httpyac; JetBrains' HTTP Client reads it as "
        f"{time} s: write {time} ms or {float(time) * 1000:.15g} ms, which mean the same in both"
    )


def import_line(reader: Reader, line: Line, text: str) -> bool:
    """Read an `import file`, `run file` or `run #name` line."""
    match = None if reader.region.begun else IMPORT.fullmatch(text)
    operands = RUN.fullmatch(match["what"]) if match else None
    if match is None or operands is None:
        return False
    if reader.in_org:
        reason = f"{match['word']} has an effect only in request files: remove this line"
        reader.problem(line.start, reason, "run")
        return True
    values = _values(operands["values"] or "")
    if values is None or (values and match["word"] == "import"):
        reason = (
            "values for run must be written like this: run other.http (@name=value, @other=value)"
        )
        reader.problem(line.start, reason, "run")
    offset = line.start + match.start("what")
    path = one_line(operands["path"], offset + operands.start("path")) if operands["path"] else None
    request = None
    if operands["request"] is not None:
        request = one_line(operands["request"], offset + operands.start("request"))
    run = match["word"] == "run"
    reader.items.append(Import(path, request, run, line.span, values or ()))
    return True


def _values(text: str) -> tuple[tuple[str, str], ...] | None:
    """Return the names and values in `(@name=value, @other=value)`, or None if malformed."""
    content = text[1:-1].strip()
    if not text:
        return ()
    if not text.endswith(")") or "{{" in text:
        return None
    matches = [RUN_VALUE.fullmatch(assignment) for assignment in re.split(r",[ \t]*(?=@)", content)]
    return (
        tuple((assignment["name"], assignment["value"]) for assignment in matches if assignment)
        if all(matches)
        else None
    )


def definition(reader: Reader, line: Line, text: str) -> bool:
    """Read a definition `@name = value`, or restclient's `:name = value` above a request."""
    match = DEFINITION.fullmatch(text)
    mark = "@"
    if match is None and not reader.region.begun:
        match, mark = COLON_DEFINITION.fullmatch(text), ":"
    if match is None:
        return False
    start = line.start
    if mark == ":" and match["value"].startswith("<<"):
        reason = (
            "multi-line values are only supported in restclient's language; here, set variables "
            "with lines like @name = value"
        )
        reader.problem(start, reason, "bad-definition")
    name_end = start + match.end("name")
    when: Literal["", "before", "after"] = ""
    if mark == "@" and match["operator"] == "=" and COMPUTED.search(match["value"]):
        when = "after" if reader.region.begun else "before"
    definition = Definition(
        name=match["name"],
        operator=match["operator"] if mark == ":" else "=",
        value=line.template(match, "value"),
        span=line.span,
        name_span=Span(start, name_end),
        mark=mark,
        when=when,
    )
    reader.known.add(definition)
    reader.items.append(definition)
    if reader.region.in_body and not reader.region.closed:
        reader.region.definitions.append(definition)
    return True
