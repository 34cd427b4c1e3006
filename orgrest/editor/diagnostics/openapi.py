"""What an OpenAPI description forbids of a request, as far as that is known before it is sent.

Bodies and patterns are left to runs, which check them in a process of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from orgrest.description.checks import of_request
from orgrest.description.model import named_above
from orgrest.editor.diagnostics.model import Problem
from orgrest.http import syntax, values
from orgrest.model import OrgrestError, Request

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from orgrest.description.checks import Part
    from orgrest.description.model import Description
    from orgrest.editor.described import Described

CODE = "openapi"
_TYPES: dict[str, type | tuple[type, ...]] = {
    "integer": int,
    "number": (int, float),
    "boolean": bool,
}


def of_description(
    text: str,
    request: syntax.ParsedRequest,
    scope: values.Scope,
    described: Described,
    default: str,
) -> Iterator[Problem]:
    """Yield what is wrong with a request in `text`, whose header argument is `default`."""
    above = named_above(text, request.span.end)
    name = above[0] if above else default
    if not name:
        return
    start = request.target.offset(0)
    end = text.find("\n", start)
    place = start, len(text) if end < 0 else end
    description = described.read(name, scope)
    if isinstance(description, OrgrestError):
        at = above[1] if above else place
        yield Problem(*at, "warning", CODE, str(description))
        return
    for message in _wrong(description, request, scope):
        yield Problem(*place, "warning", CODE, message)


def _wrong(
    description: Description, request: syntax.ParsedRequest, scope: values.Scope
) -> Iterator[str]:
    checked = values.check(request, scope)
    if checked.problems:
        return
    url = checked.url if "://" in checked.url else f"http://{checked.url}"
    found = description.operation(request.method, url)
    if found is None:
        host = url.partition("://")[2].partition("/")[0]
        if values.UNKNOWN not in host and description.is_of_server(url):
            yield f"{description.name} describes no {request.method} here"
        return
    operation, path = found
    body = b"".join(text.encode("utf-8", "replace") for text, _ in checked.body)
    sent = Request(request.method, checked.url, checked.headers, body if request.body else None)
    findings = of_request(description, operation, path, sent)
    yield from (one for one in findings.problems if "body is not JSON" not in one)
    for part in findings.parts:
        schema = description.object(description.at(part.pointer), part.pointer)[0]
        if (why := _plainly_wrong(schema, part)) is not None:
            yield why


def _plainly_wrong(schema: Mapping[str, Any], part: Part) -> str | None:
    """Return what is wrong with a plain value, by its type and its enumeration alone."""
    value, kind, enum = part.value, schema.get("type"), schema.get("enum")
    if isinstance(value, dict | list) or values.UNKNOWN in str(value):
        return None
    if isinstance(kind, str) and kind in _TYPES:
        wrong = not isinstance(value, _TYPES[kind]) or (
            isinstance(value, bool) and kind != "boolean"
        )
        if wrong:
            return f"{part.name}: {value!r} is not of type {kind!r}"
    if isinstance(enum, list) and value not in enum:
        return f"{part.name}: {value!r} is not one of {enum!r}"
    return None
