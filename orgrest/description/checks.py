"""Compares an exchange with its OpenAPI description: finds problems, and collects values.

Another process then validates the values with JSON Schema (see `schemas`), because matching the
patterns of a description can take exponential time. Values that cannot be checked are reported.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from orgrest import classes
from orgrest.description import forms
from orgrest.description.model import Parameter
from orgrest.description.serialized import (
    UnreadError,
    WrongError,
    is_json,
    of_query,
    of_text,
    pairs,
    typed,
)
from orgrest.description.shapes import kinds, properties
from orgrest.model import find_header, find_headers

if TYPE_CHECKING:
    from orgrest.description.model import Operation
    from orgrest.description.nodes import Node
    from orgrest.description.serialized import Pairs
    from orgrest.model import Headers, Request, Response

Direction = Literal["request", "response"]
_IGNORED_HEADERS = frozenset({"accept", "content-type", "authorization"})  # as in OpenAPI
_LARGEST = 4 * 2**20
"""The maximum size of a form or text in bytes. A larger one is reported as unchecked."""
_OPAQUE = frozenset(
    {"type", "format", "description", "title", "example", "examples", "contentMediaType"}
)


@classes.frozen
class Part:
    """A value to validate against a schema. `name` is the value's name in messages."""

    name: str
    schema: Node
    value: Any
    direction: Direction


@classes.define
class Findings:
    """The problems so far, the values to validate, and reasons why other values are unchecked."""

    problems: list[str] = classes.field(factory=list)
    parts: list[Part] = classes.field(factory=list)
    unchecked: list[str] = classes.field(factory=list)

    def found(self, node: Node, what: str) -> bool:
        """Return whether `node` has a value. Add a problem if a reference cannot be resolved."""
        if node.why:
            self.problems.append(f"{what} cannot be checked: {node.why}")
        return node.value is not None

    @contextmanager
    def reading(self, what: str) -> Iterator[None]:
        """Return a context manager that adds the errors raised while reading a value."""
        try:
            yield
        except WrongError as error:
            self.problems.append(f"{what} {error}")
        except UnreadError as error:
            self.unchecked.append(f"{what} is not checked: {error}")


def of_exchange(
    operation: Operation, path: Mapping[str, str], request: Request, response: Response
) -> Findings:
    """Return the findings about a request and its response.

    `path` contains the path parameters of the request.
    """
    findings = of_request(operation, path, request)
    _response(operation, request.method, response, findings)
    return findings


def of_request(
    operation: Operation, path: Mapping[str, str], request: Request, *, complete: bool = True
) -> Findings:
    """Return the findings about a request. Its body's content is checked only if `complete`."""
    findings = Findings()
    findings.problems += (f"parameters cannot be checked: {why}" for why in operation.unreadable())
    _parameters(operation, path, request, findings)
    body = operation.body
    if not findings.found(body, "the request's body"):
        if body.why:
            return findings
        if operation.method not in ("GET", "HEAD") and request.body:
            findings.problems.append("the request's body is not in the description")
    elif request.body is None:
        if body.object.get("required") is True:
            findings.problems.append("the request's body is missing")
    else:
        _body(body, request.headers, request.body if complete else None, findings, "request")
    return findings


# ----------------------------------------------------------------------------------- parameters


def _parameters(
    operation: Operation, path: Mapping[str, str], request: Request, findings: Findings
) -> None:
    try:
        query = urlsplit(request.url).query
    except ValueError:
        query = ""
    query_pairs = pairs(query)
    every = [item for item in operation.parameters() if not _is_ignored(item)]
    known = operation.query_keys()
    names = known | {item.name for item in every if item.where == "query"}
    free = any(map(_is_any, every))
    for parameter in every:
        what = f"the request's {parameter.where} parameter {parameter.name}"
        findings.found(parameter.schema, what)
        known.update({parameter.name} if parameter.where == "query" else ())
        with findings.reading(what):
            if parameter.where == "query":
                value, used = _of_query(parameter, query_pairs, names - {parameter.name})
                known |= used
            elif parameter.where == "querystring":
                value = _of_querystring(parameter, query)
                known.update(name for name, _ in query_pairs)
            else:
                value = _of_place(parameter, path, request)
            _judge(parameter, what, value, findings)
    for name in dict.fromkeys(name for name, _ in query_pairs):
        if not free and name not in known and not _is_within(name, known):
            findings.problems.append(
                f"the request's query parameter {name} is not in the description"
            )


def _is_ignored(parameter: Parameter) -> bool:
    """Return whether OpenAPI says that a parameter's definition is ignored."""
    return parameter.where == "header" and parameter.name.lower() in _IGNORED_HEADERS


def _is_any(parameter: Parameter) -> bool:
    """Return whether any pair in the query may be a property of the parameter's value."""
    return parameter.where == "query" and _is_spread(parameter) and not kinds(parameter.schema)


def _is_spread(parameter: Parameter) -> bool:
    """Return whether an object's properties are separate pairs in the query."""
    return parameter.style == "form" and parameter.explode and parameter.media is None


def _is_within(name: str, known: set[str]) -> bool:
    # A pair such as `filter[id]` belongs to the parameter `filter`.
    return "[" in name and name.partition("[")[0] in known


def _judge(parameter: Parameter, what: str, value: list[Any], findings: Findings) -> None:
    """Record the value in the list `value`, or a problem if a required value is missing."""
    if not value:
        if parameter.required and parameter.where != "cookie":  # it may come from the cookie jar
            findings.problems.append(f"{what} is missing")
    elif parameter.schema.object and not (parameter.may_be_empty and value == [""]):
        findings.parts.append(Part(what, parameter.schema, value[0], "request"))


def _of_query(
    parameter: Parameter, query_pairs: Pairs, others: set[str]
) -> tuple[list[Any], set[str]]:
    """Return a list with a query parameter's value, if any, and the names of its pairs."""
    value = of_query(parameter, query_pairs, others)
    names = {parameter.name}
    if value is not None:
        names |= value.names
    elif _is_spread(parameter) and kinds(parameter.schema) == {"object"}:
        names |= properties(parameter.schema).keys()
    return [] if value is None else [value.value], names


def _of_querystring(parameter: Parameter, query: str) -> list[Any]:
    if not query:
        return []
    if parameter.media != forms.URLENCODED:
        raise UnreadError(f"content of type {parameter.media} is not checked")
    return [] if parameter.content is None else [forms.urlencoded(query, parameter.content)]


def _of_place(parameter: Parameter, path: Mapping[str, str], request: Request) -> list[Any]:
    """Return a list with the value of a path, header or cookie parameter, if any."""
    if parameter.where == "path":
        return [of_text(parameter, path[parameter.name])] if parameter.name in path else []
    if parameter.where == "header":
        texts = list(find_headers(request.headers, parameter.name))
        return [of_text(parameter, ",".join(texts))] if texts else []
    if parameter.where == "cookie":
        cookies = "; ".join(find_headers(request.headers, "Cookie")).split(";")
        texts = [
            value
            for key, _, value in (c.strip().partition("=") for c in cookies)
            if key == parameter.name
        ]
        return [of_text(parameter, texts[0])] if texts else []
    raise UnreadError(f"unknown parameter location {parameter.where!r}")


# ------------------------------------------------------------------------------------ responses


def _response(operation: Operation, method: str, response: Response, findings: Findings) -> None:
    node = operation.response(response.status)
    if node is None:
        described = ", ".join(operation.statuses) or "none"
        findings.problems.append(
            f"the status {response.status} is not in the description (expected {described})"
        )
        return
    if not findings.found(node, f"the status {response.status}"):
        return
    for name, described_header in node.child("headers").children():
        what = f"the header {name}"
        if name.lower() == "content-type" or not findings.found(described_header, what):
            continue
        values = list(find_headers(response.headers, name))
        if not values:
            if described_header.object.get("required") is True:
                findings.problems.append(f"{what} is missing")
            continue
        header = Parameter.of(described_header, name, "header")
        if findings.found(header.schema, what) and header.schema.object:
            with findings.reading(what):
                value = of_text(header, ",".join(values))
                findings.parts.append(Part(what, header.schema, value, "response"))
    if method == "HEAD" or response.status in (204, 304):
        return
    if response.truncated:
        findings.problems.append("the body is too long to check")
    elif node.object.get("content"):
        _body(node, response.headers, response.body, findings, "response")
    elif response.body:
        findings.problems.append(
            f"the response has a body, but none is described for the status {response.status}"
        )


# --------------------------------------------------------------------------------------- bodies


def _body(
    node: Node, headers: Headers, body: bytes | None, findings: Findings, direction: Direction
) -> None:
    """Record the body for validation against the schema for its media type."""
    what = "the request's body" if direction == "request" else "the body"
    content = node.child("content")
    if not findings.found(content, what) or not content.object:
        return
    content_type = find_header(headers, "Content-Type") or ""
    kind = content_type.partition(";")[0].strip().lower()
    if not kind:
        if body:
            findings.problems.append(f"{what} has no Content-Type")
        return
    described_types = {
        name.partition(";")[0].strip().lower(): child for name, child in content.children()
    }
    media = next((described_types[key] for key in _ranges(kind) if key in described_types), None)
    if media is None:
        described = ", ".join(map(str, content.object))
        whose = "the request's" if direction == "request" else "the"
        findings.problems.append(
            f"{whose} Content-Type {kind} is not in the description (expected {described})"
        )
        return
    schema = media.child("schema")
    if "itemSchema" in media.object:
        findings.unchecked.append(f"{what} is not checked: sequences of {kind} are not supported")
    if body is None or not findings.found(schema, what) or _accepts_anything(schema):
        return
    with findings.reading(what):
        value = _content(body, content_type, kind, media, schema)
        findings.parts.append(Part(what, schema, value, direction))


def _ranges(kind: str) -> Iterator[str]:
    """Yield a media type and the ranges that include it, most specific first."""
    main, _, sub = kind.partition("/")
    yield kind
    if "+" in sub:
        yield f"{main}/*+{sub.rpartition('+')[2]}"
    yield f"{main}/*"
    yield "*/*"


def _accepts_anything(schema: Node) -> bool:
    """Return whether a schema is empty or describes a file."""
    object_ = schema.object
    if not object_:
        return schema.value is not False
    plain = object_.get("type") in (None, "string") and object_.get("format") in (None, "binary")
    return plain and object_.keys() <= _OPAQUE and ("format" in object_ or "type" not in object_)


def _content(body: bytes, content_type: str, kind: str, media: Node, schema: Node) -> Any:
    """Return the parsed content of a body."""
    if is_json(kind):
        try:
            return json.loads(body)
        except (ValueError, RecursionError):
            raise WrongError("is not valid JSON") from None
    if len(body) > _LARGEST:
        raise UnreadError(f"it is larger than {_LARGEST // 2**20} MiB")
    if kind == forms.MULTIPART:
        return forms.multipart(body, content_type, media)
    if kind == forms.URLENCODED:
        try:
            return forms.urlencoded(body.decode(), media)
        except UnicodeDecodeError:
            raise WrongError("is not UTF-8") from None
    types = kinds(schema)
    if (
        kind.startswith("text/")
        and kind != "text/xml"
        and types
        and not types & {"object", "array"}
    ):
        return typed(body.decode("utf-8", "replace"), schema)
    raise UnreadError(f"content of type {kind} is not checked")
