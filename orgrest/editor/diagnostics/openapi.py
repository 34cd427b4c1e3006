"""Checks a request against OpenAPI descriptions before it is sent.

Bodies and patterns are not checked until a run sends the request, because checking them needs a
separate process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from orgrest import classes
from orgrest.description.checks import of_request
from orgrest.description.files import AUTO, NONE
from orgrest.description.model import Description, named_above
from orgrest.editor.diagnostics.model import Diagnostic
from orgrest.http import syntax, values
from orgrest.http.values.expansion import check
from orgrest.http.values.references import UNKNOWN
from orgrest.model import OrgrestError, Request, Span, end_of_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orgrest.description.checks import Part
    from orgrest.editor.used_files import Described

CODE = "openapi"
_TYPES: dict[str, type | tuple[type, ...]] = {
    "integer": int,
    "number": (int, float),
    "boolean": bool,
}


@classes.frozen
class About:
    """The OpenAPI descriptions that may apply to a request.

    If the document names no description, `is_named` is False, and `descriptions` were found near
    the document. Such a description applies only if the request matches one of its operations. If
    the host is known, the request must also go to one of the description's servers or to this
    machine. `broken` is the problem to report if the named description cannot be read.
    """

    descriptions: tuple[Description, ...] = ()
    is_named: bool = True
    broken: Diagnostic | None = None


def chosen(
    text: str,
    request: syntax.ParsedRequest,
    context: values.Context,
    described: Described,
    default: str,
) -> About:
    """Return the OpenAPI descriptions that may apply to a request in `text`.

    `default` is the value of the header argument ``:openapi``, or empty.
    """
    above = named_above(text, request.span.end)
    name = above[0] if above else default
    if name == NONE:
        return About()
    if not name or name == AUTO:
        return About(tuple(described.beside(context)), is_named=False)
    description = described.read(name, context)
    if isinstance(description, OrgrestError):
        at = Span(*above[1]) if above else _place(text, request)
        return About(broken=Diagnostic(at, "warning", CODE, str(description)))
    return About((description,))


def of_descriptions(
    text: str, request: syntax.ParsedRequest, context: values.Context, about: About
) -> Iterator[Diagnostic]:
    """Check a request against the descriptions in `about`, and yield a problem per violation.

    The check stops after the first description that the request violates.
    """
    for description in about.descriptions:
        reasons = list(_wrong(description, request, context, is_named=about.is_named))
        behind = "" if about.is_named else f" ({description.name})"
        for why in reasons:
            yield Diagnostic(_place(text, request), "warning", CODE, why + behind)
        if reasons:
            return


def _place(text: str, request: syntax.ParsedRequest) -> Span:
    start = request.target.offset(0)
    return Span(start, end_of_line(text, start))


def _wrong(
    description: Description,
    request: syntax.ParsedRequest,
    context: values.Context,
    *,
    is_named: bool,
) -> Iterator[str]:
    checked = check(request, context)
    if checked.problems:
        return
    url = checked.url if "://" in checked.url else f"http://{checked.url}"
    described = description.operation(request.method, url)
    host = url.partition("://")[2].partition("/")[0]
    is_known = UNKNOWN not in host
    if described is None:
        if is_known and description.is_of_server(url) and is_named:
            yield f"{description.name} does not describe this {request.method} request"
        return
    if not is_named and is_known and not description.matches_server_or_localhost(url):
        return
    operation, path = described
    body = b"".join(text.encode("utf-8", "replace") for text, _ in checked.body)
    sent = Request(request.method, checked.url, checked.headers, body if request.body else None)
    findings = of_request(operation, path, sent, complete=False)
    yield from findings.problems
    for part in findings.parts:
        if (why := _plainly_wrong(part)) is not None:
            yield why


def _plainly_wrong(part: Part) -> str | None:
    """Return the problem with the type or `enum` of a scalar value, if any.

    Values with unknown variables are not checked.
    """
    schema = part.schema.object
    value, kind, enum = part.value, schema.get("type"), schema.get("enum")
    if isinstance(value, dict | list) or UNKNOWN in str(value):
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
