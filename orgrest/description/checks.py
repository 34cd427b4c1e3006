"""What a description says of an exchange: the parts to validate, and what is wrong without that.

Values are validated by JSON Schema in a process of their own: patterns of a description may take
exponential time. It gets the schemas that are needed, and what they refer to, in the dialect of
2020-12; those of OpenAPI 3.0 are translated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import parse_qsl, urlsplit

import attrs

from orgrest.description.model import escaped, steps
from orgrest.model import find_headers

if TYPE_CHECKING:
    from orgrest.description.model import Description, Operation, Parameter
    from orgrest.model import Headers, Request, Response

Direction = Literal["request", "response"]
_NOT_THEIRS = frozenset({"accept", "content-type", "authorization"})  # OpenAPI says so
_HIDDEN = {"request": "readOnly", "response": "writeOnly"}
_MOST_PARTS = 50_000  # of schemas
_JSON = re.compile(r"application/(?:json|[\w.+-]+\+json)|text/json", re.IGNORECASE)
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,300})(?:\.\d{1,300})?(?:[eE][+-]?\d{1,3})?")


@attrs.frozen
class Part:
    """A value to validate: what messages call it, the pointer of its schema, and the value."""

    name: str
    pointer: str
    value: Any
    direction: Direction


@attrs.define
class Findings:
    """What is wrong already, and what is still to be validated."""

    problems: list[str] = attrs.field(factory=list)
    parts: list[Part] = attrs.field(factory=list)


def of_exchange(
    description: Description,
    operation: Operation,
    path: Mapping[str, str],
    request: Request,
    response: Response,
) -> Findings:
    """Return the findings about a request and its response; `path` are its path's parameters."""
    found = of_request(description, operation, path, request)
    _response(description, operation, request.method, response, found)
    return found


def of_request(
    description: Description, operation: Operation, path: Mapping[str, str], request: Request
) -> Findings:
    """Return the findings about a request alone."""
    found = Findings()
    try:
        query = parse_qsl(urlsplit(request.url).query, keep_blank_values=True)
    except ValueError:
        query = []
    known: set[str] = set()
    free = False
    for one in description.parameters(operation):
        what = f"the request's {one.where} parameter {one.name}"
        if one.where == "query":
            known.add(one.name)
            given = [value for name, value in query if name in (one.name, f"{one.name}[]")]
            free |= one.schema.get("type") in (None, "object") or one.pointer is None
        elif one.where == "header" and one.name.lower() not in _NOT_THEIRS:
            given = list(find_headers(request.headers, one.name))
        elif one.where == "path" and one.name in path:
            given = [path[one.name]]
        else:
            continue  # cookies may come from the jar
        if not given and one.required:
            found.problems.append(f"{what} is missing")
        elif given and one.pointer is not None:
            value = _value(one, given)
            if value is not None:
                found.parts.append(Part(what, one.pointer, value, "request"))
    for name in dict.fromkeys(name for name, _ in query):
        if not free and name not in known and name.removesuffix("[]") not in known:
            found.problems.append(f"the request's query parameter {name} is not described")
    body, pointer = description.body(operation)
    if request.body is None:
        if body.get("required") is True:
            found.problems.append("the request's body is missing")
    elif not body and operation.method != "GET" and request.body:
        found.problems.append("the request's body is not described")
    elif body:
        _body(body, pointer, request.headers, request.body, found, "request")
    return found


def _value(parameter: Parameter, given: list[str]) -> Any:
    """Return a parameter's value as its schema's type; None for an object, which is not read."""
    schema = parameter.schema
    kind = schema.get("type")
    if kind == "object" or (kind is None and "properties" in schema):
        return None
    if kind == "array":
        values = given if parameter.explode and parameter.where == "query" else given[0].split(",")
        items = schema.get("items")
        inner = items.get("type") if isinstance(items, Mapping) else None
        return [_typed(one, inner) for one in values]
    return _typed(given[0], kind)


def _typed(text: str, kind: Any) -> Any:
    """Return a text as a number or a boolean, if that is its type, or one of its types."""
    kinds = kind if isinstance(kind, list) else [kind]
    if _NUMBER.fullmatch(text) and {"integer", "number"} & {str(one) for one in kinds}:
        return json.loads(text)
    if text in ("true", "false") and "boolean" in kinds:
        return text == "true"
    return text


def _response(
    description: Description,
    operation: Operation,
    method: str,
    response: Response,
    found: Findings,
) -> None:
    listed = operation.given.get("responses")
    responses = listed if isinstance(listed, Mapping) else {}
    names = {str(name).upper(): name for name in responses}
    status = str(response.status)
    key = next((one for one in (status, f"{status[0]}XX", "DEFAULT") if one in names), None)
    if key is None:
        described = ", ".join(map(str, responses)) or "none"
        found.problems.append(f"the status {status} is not described, but {described}")
        return
    at = f"{operation.pointer}/responses/{escaped(str(names[key]))}"
    given, pointer = description.object(responses[names[key]], at)
    headers = given.get("headers")
    for name, value in headers.items() if isinstance(headers, Mapping) else ():
        one, inner = description.object(value, f"{pointer}/headers/{escaped(str(name))}")
        if str(name).lower() == "content-type":
            continue
        values = list(find_headers(response.headers, str(name)))
        if not values and one.get("required") is True:
            found.problems.append(f"the header {name} is missing")
        elif values and isinstance(one.get("schema"), Mapping):
            schema = description.object(one["schema"], f"{inner}/schema")[0]
            kind = schema.get("type")
            if kind in ("integer", "number", "boolean", "string"):
                value = _typed(values[0], kind)
                found.parts.append(Part(f"the header {name}", f"{inner}/schema", value, "response"))
    if method == "HEAD" or response.status in (204, 304):
        return
    if response.truncated:
        found.problems.append("the body is too long to be checked")
    elif given.get("content"):
        _body(given, pointer, response.headers, response.body, found, "response")
    elif response.body:
        found.problems.append(f"the body of the status {status} is not described")


def _body(
    given: Mapping[str, Any],
    pointer: str,
    headers: Headers,
    body: bytes,
    found: Findings,
    direction: Direction,
) -> None:
    """Find the type of a body among those described, and have JSON validated."""
    whose = "the request's" if direction == "request" else "the"
    content = given.get("content")
    if not isinstance(content, Mapping) or not content:
        return
    kind = next(find_headers(headers, "Content-Type"), "").partition(";")[0].strip().lower()
    if not kind:
        if body:
            found.problems.append(f"{whose} body has no Content-Type")
        return
    named = {str(name).partition(";")[0].strip().lower(): name for name in content}
    main = kind.partition("/")[0]
    key = next((one for one in (kind, f"{main}/*", "*/*") if one in named), None)
    if key is None:
        described = ", ".join(map(str, content))
        found.problems.append(f"{whose} Content-Type {kind} is not described, but {described}")
        return
    media = content[named[key]]
    if not (isinstance(media, Mapping) and isinstance(media.get("schema"), Mapping | bool)):
        return
    if not _JSON.fullmatch(kind):
        return  # the schema of a form or of a text is not that of its bytes
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        found.problems.append(f"{whose} body is not JSON")
        return
    at = f"{pointer}/content/{escaped(str(named[key]))}/schema"
    found.parts.append(Part(f"{whose} body", at, value, direction))


# -------------------------------------------------------------------------------------- schemas


def job(description: Description, parts: list[Part]) -> dict[str, Any]:
    """Return the work of validating parts: their schemas, with all that these refer to."""
    documents = {one.direction: _Excerpt(description, one.direction) for one in parts}
    for one in parts:
        documents[one.direction].add(one.pointer)
    return {
        "descriptions": {name: one.content for name, one in documents.items()},
        "parts": [[one.name, f"{one.direction}#{one.pointer}", one.value] for one in parts],
    }


class _Excerpt:
    """The parts of a description that schemas need, as JSON Schemas of 2020-12, in their places."""

    def __init__(self, description: Description, direction: Direction) -> None:
        self.content: dict[str, Any] = {}
        self._description = description
        self._old = description.version == "3.0"
        self._hidden = _HIDDEN[direction]
        self._left = _MOST_PARTS

    def add(self, pointer: str) -> None:
        """Add what a pointer leads to, and all that this refers to."""
        waiting, seen = [pointer], set[str]()
        while waiting:
            at = waiting.pop()
            if at in seen:
                continue
            seen.add(at)
            found = self._description.at(at)
            if found is not None:
                self._put(at, self._schema(found, waiting))

    def _put(self, pointer: str, value: Any) -> None:
        place = self.content
        *parents, last = steps(pointer)
        for step in parents:
            inner = place.get(step)
            if not isinstance(inner, dict):
                inner = place[step] = {}
            place = inner
        if isinstance(value, dict) and isinstance(place.get(last), dict):
            value = {**place[last], **value}  # a part of it came before
        place[last] = value

    def _schema(self, given: Any, waiting: list[str]) -> Any:
        """Return a schema without what is none of JSON Schema's; note what it refers to."""
        self._left -= 1
        if self._left < 0:
            return {}
        if isinstance(given, list):
            return [self._schema(one, waiting) for one in given]
        if not isinstance(given, Mapping):
            return given
        reference = given.get("$ref")
        if isinstance(reference, str):
            if reference.startswith("#/"):
                waiting.append(reference[1:])
            if self._old:
                return {"$ref": reference}
        found: dict[str, Any] = {}
        for key, value in given.items():
            name = str(key)
            if name in ("example", "examples", "default", "xml", "externalDocs", "description"):
                continue
            if name in ("enum", "const", "required", "type"):
                found[name] = value
            elif name in ("properties", "patternProperties", "$defs", "dependentSchemas"):
                inner = value.items() if isinstance(value, Mapping) else ()
                found[name] = {str(one): self._schema(each, waiting) for one, each in inner}
            elif name != "discriminator":
                found[name] = self._schema(value, waiting)
        self._without_hidden(given, found)
        return _modern(found) if self._old else found

    def _without_hidden(self, given: Mapping[str, Any], found: dict[str, Any]) -> None:
        """Do not require what the other direction alone has; a response must not have it at all."""
        properties, required = given.get("properties"), given.get("required")
        if not isinstance(properties, Mapping):
            return
        hidden = {
            str(name)
            for name, one in properties.items()
            if self._description.object(one, "")[0].get(self._hidden) is True
        }
        if isinstance(required, list):
            found["required"] = [name for name in required if name not in hidden]
        if self._hidden == "writeOnly":
            found["properties"].update((name, {"not": {}}) for name in hidden)


def _modern(schema: dict[str, Any]) -> dict[str, Any]:
    """Translate a schema of OpenAPI 3.0 to JSON Schema 2020-12."""
    for limit, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        flag = schema.get(exclusive)
        if isinstance(flag, bool):
            del schema[exclusive]
            if flag and limit in schema:
                schema[exclusive] = schema.pop(limit)
    if schema.pop("nullable", False) is True and isinstance(schema.get("type"), str):
        schema["type"] = [schema["type"], "null"]  # an enumeration may forbid that all the same
    return schema
