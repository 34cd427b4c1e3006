"""Hover information in Markdown, with secrets masked.

It describes variables, the URLs of requests, assertions, header arguments of blocks, and the
methods, header fields, media types and status codes of HTTP.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from orgrest.editor import assertions, request_files
from orgrest.editor.arguments import names_in, texts_of
from orgrest.http import registry, syntax
from orgrest.http.values.expansion import check, value_of
from orgrest.http.values.references import UNKNOWN
from orgrest.model import OrgrestError, Span, end_of_line
from orgrest.org.known import KNOWN
from orgrest.rendering import masking, sanitize

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orgrest.editor.analysis import Analysis
    from orgrest.editor.names import Names, Occurrence
    from orgrest.editor.parsed_regions import ParsedRegion
    from orgrest.http.values.environment import Environment

_STATUS = re.compile(r"\bHTTP/[\d.]+[ \t]+(\d{3})\b")
_MEDIA_TYPE = re.compile(r"[\w.+*-]+/[\w.+*-]+")
# A block of code (see `_code`), bold text or inline code.
_MARKUP = re.compile(
    r"^(`{3,})\n(?P<code>.*?)\n\1$|\*\*(?P<bold>[^\n]+?)\*\*|`(?P<inline>[^`\n]+)`",
    re.MULTILINE | re.DOTALL,
)
_MOST = 2000


def hover(analysis: Analysis, names: Names, offset: int) -> tuple[str, Span] | None:
    """Return the hover text for `offset` and the span that it describes, or None."""
    occurrence = names.at(offset)
    where = names.part(occurrence) if occurrence is not None else None
    if occurrence is not None and where is not None:
        return _variable(analysis, names, where, occurrence), occurrence.span
    for text, start, _ in analysis.property_texts:
        if start <= offset <= start + len(text):
            return _argument(text, start, offset)
    part = analysis.part_at(offset)
    if part is not None and (near := _near(analysis, part, offset)) is not None:
        return near
    return _status(analysis.text, offset)


def as_plain_text(markdown: str) -> str:
    """Return a hover text without its Markdown syntax, for clients that only show plain text."""
    return _MARKUP.sub(r"\g<code>\g<bold>\g<inline>", markdown)


def _near(analysis: Analysis, part: ParsedRegion, offset: int) -> tuple[str, Span] | None:
    """Return (hover text, span) for an offset in a part or in its block's header arguments."""
    for text, start in texts_of(analysis.document, part.region.block):
        argument = _argument(text, start, offset)
        if argument is not None:
            return argument
    if not part.region.span.reaches(offset):
        return None
    about = _in_part(analysis, part, offset)
    return (about[0], part.region.to_file_span(about[1])) if about is not None else None


def _argument(text: str, start: int, offset: int) -> tuple[str, Span] | None:
    """Return (hover text, span) for the header argument at `offset`, or None.

    `text` contains the header arguments, and `start` is its offset in the document.
    """
    for name, at in names_in(text):
        span = Span(start + at, start + at + len(name))
        known = KNOWN.get(name[1:])
        if known is not None and span.reaches(offset):
            values = "\n".join(
                f"- `{value}`: {description}" for value, description in known.values.items()
            )
            return f"**{name}**\n\n{known.description}\n\n{values}".rstrip(), span
    return None


def _status(text: str, offset: int) -> tuple[str, Span] | None:
    start = text.rfind("\n", 0, offset) + 1
    for match in _STATUS.finditer(text, start, end_of_line(text, offset)):
        if match.start() <= offset <= match.end() and (entry := registry.status(int(match[1]))):
            return f"**{entry.code} {entry.name}**\n\n{_about(entry)}", Span(*match.span())
    return None


def _about(entry: registry.Entry) -> str:
    return f"{entry.description}\n\n{entry.source}"


def _code(text: str) -> str:
    shown = sanitize.visible(text if len(text) <= _MOST else f"{text[:_MOST]}...")
    # The fence must be longer than any run of backquotes in the text.
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall(r"`+", shown)), 3)
    return f"{fence}\n{shown}\n{fence}"


def _known(text: str) -> str:
    return text.replace(UNKNOWN, "...")


# ------------------------------------------------------------------------------------- variables


def _variable(analysis: Analysis, names: Names, part: ParsedRegion, occurrence: Occurrence) -> str:
    inside = part.region.from_file(occurrence.span.start)
    request = analysis.checked.request_at(part, inside)
    value = None
    secrets = analysis.inputs.secrets
    if request is not None:
        context = analysis.context_of(part, request)
        value = value_of(occurrence.name, request, context)
        secrets = context.secrets.texts
    if occurrence.role == "capture":
        value = analysis.inputs.remembered.get(occurrence.name, UNKNOWN)
    lines = [f"**{occurrence.name}**"]
    if occurrence.request:
        return "\n\n".join([*lines, *_of_request(analysis, occurrence)])
    if value is None and occurrence.role == "use":
        lines.append("not defined here")
    elif (
        value == UNKNOWN and occurrence.name in part.given.wrong and not part.sets(occurrence.name)
    ):
        lines.append(part.given.wrong[occurrence.name])
    elif value == UNKNOWN:
        lines.append("set when requests are sent")
    elif value is not None:
        lines.append(_code(_known(masking.mask_value(value, secrets))))
    if request is not None and occurrence.name in analysis.inputs.overrides:
        lines.append("set by the editor setting `variables`, which takes precedence")
    places = names.definitions(occurrence)
    numbers = [analysis.text.count("\n", 0, place.span.start) + 1 for place in places]
    how = {"definition": "set", "capture": "captured from a response", "argument": "set by :var"}
    lines += (
        f"{how[place.role]} on line {number}" for place, number in zip(places, numbers, strict=True)
    )
    if not places and (place := analysis.variable_imported(occurrence.name)) is not None:
        lines.append(f"set in {place}")
    elif not places and request is not None and not part.restclient:
        lines += _of_environment(analysis.context_of(part, request).environment, occurrence.name)
    return "\n\n".join(lines)


def _of_request(analysis: Analysis, occurrence: Occurrence) -> Iterator[str]:
    named = analysis.request_named(occurrence.name, occurrence.span.start)
    if named is None:
        return
    request, place = named
    yield _code(f"{request.method} {request.target.text}")
    yield f"request name, defined {'on' if place.own else 'in'} {place}"


def _of_environment(environment: Environment, name: str) -> Iterator[str]:
    try:
        setting = environment.setting(name)
        if setting is not None:
            chosen = ", ".join(environment.chosen) or "all environments"
            yield f"from {chosen}, in {setting.file.name}"
        elif names := environment.others_with(name):
            yield f"defined in the environment{'s' if names[1:] else ''} {', '.join(names)}"
    except OrgrestError as error:
        yield str(error)


# ------------------------------------------------------------------------------------- requests


def _in_part(analysis: Analysis, part: ParsedRegion, offset: int) -> tuple[str, Span] | None:
    """Return (hover text, span in the region) for an offset in a request."""
    inside = part.region.from_file(offset)
    if (about := assertions.about(part, inside)) is not None:
        return about
    if not part.restclient and (about := request_files.about(part, inside, analysis)) is not None:
        return about
    request = part.request_at(inside)
    if request is None:
        return None
    span = request.method_span
    if span.reaches(inside):
        method = registry.method(request.method)
        return (f"**{method.name}**\n\n{_about(method)}", span) if method else None
    target = request.target
    start, end = target.offset(0), target.offset(len(target.text))
    if start <= inside <= end:
        checked = analysis.checked.request_at(part, inside) or request
        context = analysis.context_of(part, checked)
        url = masking.mask(check(checked, context).url, context.secrets.texts)
        return f"{request.method}\n\n{_code(_known(url))}", Span(start, end)
    line = next((line for line in request.header_lines if line.span.reaches(inside)), None)
    return None if line is None else _header(line, inside)


def _header(line: syntax.HeaderLine, inside: int) -> tuple[str, Span] | None:
    name = line.name.text
    start = line.name.offset(0)
    if inside <= start + len(name):
        field = registry.header(name)
        span = Span(start, start + len(name))
        return (f"**{field.name}**\n\n{_about(field)}", span) if field else None
    at = line.value.offset(0)
    for match in _MEDIA_TYPE.finditer(line.value.text):
        if match.start() <= inside - at <= match.end() and (entry := registry.media_type(match[0])):
            text = f"**{entry.name}**\n\n{_about(entry)}"
            return text, Span(at + match.start(), at + match.end())
    for value in registry.values(name):
        word = value.name.rstrip("= ")
        word_match = re.search(
            rf"(?<![\w-]){re.escape(word)}(?![\w-])", line.value.text, re.IGNORECASE
        )
        if word_match and word_match.start() <= inside - at <= word_match.end():
            text = f"**{value.name}**\n\n{_about(value)}"
            return text, Span(at + word_match.start(), at + word_match.end())
    return None
