"""Completion from an OpenAPI description: paths, parameters, headers, and the fields of bodies.

In assertions, it completes paths into a response, and the expected values.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from orgrest import classes
from orgrest.description.files import AUTO, NONE
from orgrest.description.shapes import composed, items, kinds, values
from orgrest.editor.completion.model import Context, Offer
from orgrest.http.syntax import TCHARS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from orgrest.description.model import Description, Operation, Parameter
    from orgrest.description.nodes import Node
    from orgrest.editor.completion.cursor import Cursor

_ARGUMENT = re.compile(r"[ \t]:openapi[ \t]+(\S+)")
_REQUEST = re.compile(rf"^[ \t]*({TCHARS})[ \t]+(\S+)", re.MULTILINE)
_VARIABLE = re.compile(r"\{\{[^{}]*\}\}|:[A-Za-z_][\w-]*")
_BASE = re.compile(r"(?:[A-Za-z][\w+.-]*://[^/?#\s]*|\{\{[^{}\s]*\}\}|:[A-Za-z_][\w-]*)?")
_BODY = re.compile(r"^[ \t]*(?=\[|\{(?!\{))", re.MULTILINE)
_TOKEN = re.compile(
    r'\s+|(?P<string>"(?:[^"\\\n]|\\.)*")|(?P<open>"(?:[^"\\\n]|\\.)*)|(?P<mark>[{}\[\],:])'
    r"|(?P<word>[^\s{}\[\],:\"]+)"
)
_STEP = re.compile(r"\.?([A-Za-z_]\w*)|\[(?:\d+|\*)\]|\[['\"]([^'\"\]]+)['\"]\]")
_NAME = re.compile(r"[A-Za-z_]\w*")
_IN_BODY = ("body", "jsonpath")
_UNKNOWN = "http://unknown.invalid"
_METHODS = frozenset({"GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE", "QUERY"})


def descriptions(cursor: Cursor) -> tuple[Iterable[Description], bool]:
    """Return the OpenAPI descriptions to use at the offset, and whether a search found them.

    If the document names a description, only that description is used. Otherwise, the descriptions
    near the document are used.
    """
    name = _named(cursor) if "openapi" in cursor.text else ""
    if name == NONE:
        return (), False
    if not name or name == AUTO:
        return cursor.beside(), True
    description = cursor.described(name)
    return (() if description is None else (description,)), False


def _named(cursor: Cursor) -> str:
    from orgrest.description.model import named_above

    end = cursor.start + len(cursor.before)
    above = named_above(cursor.code, end)
    if above is not None:
        return above[0]
    if cursor.document == "org":
        arguments = _ARGUMENT.findall(cursor.text, 0, cursor.offset)
        if arguments:
            return str(arguments[-1])
    return ""


def _request_line(cursor: Cursor) -> tuple[str, str] | None:
    """Return the method and URL, as written, of the request around the offset, or None."""
    end = cursor.start + len(cursor.before + cursor.after)
    for match in reversed(list(_REQUEST.finditer(cursor.code, 0, end))):
        if match[1] in _METHODS:
            return match[1], match[2]
    return None


def operation(cursor: Cursor) -> Operation | None:
    """Return the operation that describes the request around the offset, or None."""
    written = _request_line(cursor)
    if written is None:
        return None
    method, url = written[0], _plain(written[1])
    every, is_beside = descriptions(cursor)
    for description in every:
        known = description.operation(method, url)
        if known and (not is_beside or _may_apply(description, url)):
            return known[0]
    return None


def _may_apply(description: Description, url: str) -> bool:
    """Return whether a description near the document may apply to `url`, a result of `_plain`."""
    return url.startswith(f"{_UNKNOWN}/") or description.matches_server_or_localhost(url)


def _plain(url: str) -> str:
    """Replace a URL's missing or unknown server with `_UNKNOWN`, and variables with `x`."""
    base = _BASE.match(url)
    rest = url[base.end() :] if base else url
    text = base[0] if base else ""
    return (text if "://" in text and "{" not in text else _UNKNOWN) + _VARIABLE.sub("x", rest)


# ------------------------------------------------------------------------- URLs, headers


def urls(cursor: Cursor, here: Context) -> Iterator[Offer]:
    """Yield URLs that complete the typed URL, from the operations with this line's method."""
    every, is_beside = descriptions(cursor)
    for description in every:
        if not is_beside or _fits(description, here.prefix):
            yield from _urls(description, cursor, here)
            return


def _fits(description: Description, typed: str) -> bool:
    """Return whether a description near the document may apply to an incomplete URL."""
    base = _BASE.match(typed)
    if base is None or "://" not in base[0] or "{" in base[0]:
        return bool(base and base[0]) or any(
            server.startswith(typed) for server in description.servers
        )
    return any(
        server.startswith(base[0]) for server in description.servers
    ) or description.matches_server_or_localhost(base[0])


def _urls(description: Description, cursor: Cursor, here: Context) -> Iterator[Offer]:
    method = cursor.before.split()[0].upper() if cursor.before.split() else ""
    servers = [
        server.rstrip("/")
        for server in description.servers
        if here.prefix.startswith(server.rstrip("/"))
    ]
    typed = _BASE.match(here.prefix)
    known = [server for server in description.servers if is_harmless(server, blanks=False)]
    begun = [url for url in known if url.startswith(here.prefix)]
    bases = servers[:1] or begun[:1] or [typed[0]] if typed and typed[0] else known[:1]
    opened, closed = ("{{", "}}") if cursor.is_common else (":", "")
    for described in description.operations:
        if method in ("", described.method) and is_harmless(described.path, blanks=False):
            path = described.path.replace("{", opened).replace("}", closed)
            for base in bases or [""]:
                yield Offer(base.rstrip("/") + path, _about(described), rank=0)


def _about(described: Operation) -> str:
    return "\n\n".join(filter(None, (described.name, described.summary)))


def _parameters(cursor: Cursor, where: str) -> Iterator[Parameter]:
    described = operation(cursor)
    for parameter in described.parameters() if described is not None else ():
        if parameter.where == where and is_harmless(parameter.name, blanks=False):
            yield parameter


def is_harmless(text: str, *, blanks: bool = True) -> bool:
    """Return whether text from a description is safe to insert: one line without variables.

    If `blanks` is False, the text must not contain whitespace either.
    """
    return text.isprintable() and "{{" not in text and (blanks or not re.search(r"\s", text))


def query_names(cursor: Cursor, _: Context) -> Iterator[Offer]:
    """Yield the query parameters of the operation, required parameters first."""
    for parameter in _parameters(cursor, "query"):
        yield Offer(
            parameter.name, _told(parameter), f"{parameter.name}=", 0 if parameter.required else 1
        )


def query_values(cursor: Cursor, here: Context) -> Iterator[Offer]:
    """Yield the values that are described for a query parameter."""
    for parameter in _parameters(cursor, "query"):
        if parameter.name == here.subject:
            yield from _plain_values(parameter)


def headers(cursor: Cursor, _: Context) -> Iterator[Offer]:
    """Yield the header parameters of the operation."""
    for parameter in _parameters(cursor, "header"):
        yield Offer(parameter.name, _told(parameter), f"{parameter.name}: ", -1)


def header_values(cursor: Cursor, here: Context) -> Iterator[Offer]:
    """Yield the values that are described for a header. For Content-Type, these are media types."""
    for parameter in _parameters(cursor, "header"):
        if parameter.name.lower() == here.subject.lower():
            yield from _plain_values(parameter)
    described = operation(cursor)
    if described is not None and here.subject.lower() == "content-type":
        for kind, _ in described.body.child("content").children():
            if is_harmless(kind):
                yield Offer(kind, f"A media type for the body of {described.name}.", rank=-1)


def _plain_values(parameter: Parameter) -> Iterator[Offer]:
    listed = "array" in kinds(parameter.schema)
    schema = items(parameter.schema) if listed else parameter.schema
    yield from _listed([schema], _told(parameter))


def _told(parameter: Parameter) -> str:
    return documentation(parameter.schema, parameter.description, required=parameter.required)


def documentation(schema: Node, text: str, *, required: bool) -> str:
    """Return the documentation of a value: `text`, its types, and whether it is required."""
    kind = schema.object.get("type")
    words = " or ".join(map(str, kind)) if isinstance(kind, list) else str(kind or "")
    words += ", required" if required else ""
    return "\n\n".join(filter(None, (text, words.strip(", "))))


def values_of(schema: Node) -> list[Any]:
    """Return the values that a schema lists, except for those that are not safe to insert."""
    listed = (value for part in composed([schema]) for value in values(part))
    return [value for value in listed if is_harmless(str(value))]


# ----------------------------------------------------------------------------------- bodies


@classes.frozen
class _Place:
    """The end of incomplete JSON text: the steps that lead there, and the typed `prefix`.

    A step is the name of a field, or None for an item of a list. `key` is True if the name of a
    field is being typed. `quoted` is True after an opening quote.
    """

    steps: tuple[str | None, ...]
    key: bool
    prefix: str
    quoted: bool


def _place(text: str) -> _Place | None:
    """Return the place at the end of incomplete JSON, or None if nothing can be completed there."""
    frames: list[list[Any]] = []  # for each open bracket: key, what comes next, bracket
    at = 0
    for token in _TOKEN.finditer(text):
        at = token.end()
        last = at == len(text)
        mark, top = token["mark"], frames[-1] if frames else None
        if token["open"] or (last and token["word"]):
            if top is None or top[1] not in ("key", "value"):
                return None
            prefix = token["open"][1:] if token["open"] else token["word"]
            return _at(frames, prefix, quoted=bool(token["open"]))
        if mark in ("{", "["):
            frames.append([None, "key" if mark == "{" else "value", mark])
        elif mark in ("}", "]"):
            if top is None:
                return None
            frames.pop()
            if frames:
                frames[-1][1] = "end"
        elif top is None:
            return None
        elif mark == ":":
            top[1] = "value"
        elif mark == ",":
            top[1] = "key" if top[2] == "{" else "value"
        elif token["string"] and top[1] == "key":
            top[0], top[1] = token["string"][1:-1], "colon"
        elif not token[0].isspace():
            top[1] = "end"
    if not frames or at != len(text) or frames[-1][1] not in ("key", "value"):
        return None
    return _at(frames, "", quoted=False)


def _at(frames: list[list[Any]], prefix: str, *, quoted: bool) -> _Place:
    key = frames[-1][1] == "key"
    steps = tuple(frame[0] if frame[2] == "{" else None for frame in frames)
    return _Place(steps[:-1] if key else steps, key, prefix, quoted)


def body(cursor: Cursor) -> Iterator[Context]:
    """Yield the context in a JSON body: the name of a field, or its value."""
    if operation(cursor) is None:
        return
    place = _typed(cursor)
    if place is not None:
        yield cursor.here("field" if place.key else "field value", place.prefix, rest=r"[\w-]*")


def _typed(cursor: Cursor) -> _Place | None:
    end = cursor.start + len(cursor.before)
    requests = [m for m in _REQUEST.finditer(cursor.code, 0, cursor.start) if m[1] in _METHODS]
    begin = _BODY.search(cursor.code, requests[-1].end(), end) if requests else None
    return None if begin is None else _place(cursor.code[begin.end() : end])


def fields(cursor: Cursor, _: Context) -> Iterator[Offer]:
    """Yield the described fields of the JSON object at the offset, required fields first."""
    described, place = operation(cursor), _typed(cursor)
    if described is None or place is None:
        return
    seen: set[str] = set()
    for schema in within(json_of(described.body), place.steps):
        required = schema.object.get("required")
        for name, property_ in schema.child("properties").children():
            if (
                name not in seen
                and is_harmless(name)
                and property_.object.get("readOnly") is not True
            ):
                seen.add(name)
                needed = isinstance(required, list) and name in required
                about = documentation(
                    property_, property_.first_line("description"), required=needed
                )
                written = json.dumps(name, ensure_ascii=False)
                insert = written[1:-1] if place.quoted else f"{written}: "
                yield Offer(name, about, insert, 0 if needed else 1)


def field_values(cursor: Cursor, _: Context) -> Iterator[Offer]:
    """Yield the described values of the field or list item at the offset in a JSON body."""
    described, place = operation(cursor), _typed(cursor)
    if described is None or place is None:
        return
    about = f"A value of {place.steps[-1] or 'the list'}."
    for schema in within(json_of(described.body), place.steps):
        for value in values_of(schema):
            text = json.dumps(value, ensure_ascii=False)
            if not place.quoted:
                yield Offer(text.strip('"'), about, text, 0)
            elif isinstance(value, str):
                yield Offer(value, about, text[1:-1], 0)


def json_of(node: Node) -> list[Node]:
    """Return a list of at most one schema: that of a request's or response's JSON body."""
    content = node.child("content").children()
    return [media_type.child("schema") for name, media_type in content if "json" in name][:1]


def within(schemas: list[Node], steps: tuple[str | None, ...]) -> list[Node]:
    """Return the schemas that may describe the JSON value at a path.

    Each of the `steps` is the name of a field, or None for an item of a list.
    """
    level = composed(schemas)
    for step in steps:
        inner: list[Node] = []
        for schema in level:
            if step is None:
                inner.append(schema.child("items"))
            else:
                known = schema.child("properties").child(step)
                given = known if known.value is not None else schema.child("additionalProperties")
                inner.append(given)
        level = composed(inner)
    return level


# --------------------------------------------------------------------------------- responses


def _responses(cursor: Cursor) -> list[tuple[str, Node]]:
    described = operation(cursor)
    every = list(described.node.child("responses").children()) if described is not None else []
    return sorted(every, key=lambda response: not response[0].startswith("2"))


def paths(cursor: Cursor, here: Context) -> Iterator[Offer]:
    """Yield the names of a response's headers, or the paths to the fields of its body."""
    for status, response in _responses(cursor):
        if here.subject == "header":
            for name, header in response.child("headers").children():
                if is_harmless(name, blanks=False):
                    about = (
                        header.first_line("description") or f"A header of the {status} response."
                    )
                    yield Offer(name, about, f"{name} ", 0)
        elif here.subject in _IN_BODY:
            yield from _fields(response, here.prefix)


def _fields(response: Node, typed: str) -> Iterator[Offer]:
    """Yield the fields that can follow an incomplete JSONPath."""
    before, dot, _ = typed.rpartition(".")
    steps = _steps(before) if dot else ()
    if steps is None:
        return
    start = f"{before}." if dot else "$." if not typed or typed.startswith("$") else ""
    for schema in within(json_of(response), steps):
        level, into = [schema], start
        if kinds(schema) == {"array"}:
            level, into = composed([items(schema)]), f"{start.removesuffix('.')}[0]."
        for field in level:
            for name, inner in field.child("properties").children():
                if _NAME.fullmatch(name) and inner.object.get("writeOnly") is not True:
                    about = documentation(inner, inner.first_line("description"), required=False)
                    yield Offer(f"{into}{name}", about, rank=0)


def _steps(path: str) -> tuple[str | None, ...] | None:
    """Return the field names in a JSONPath, with None for each list item.

    Return None if the path has other steps.
    """
    rest = path.removeprefix("$")
    steps: list[str | None] = []
    while rest:
        match = _STEP.match(rest)
        if match is None:
            return None
        steps.append(match[1] or match[2])
        rest = rest[match.end() :]
    return tuple(steps)


def expected(cursor: Cursor, here: Context) -> Iterator[Offer]:
    """Yield the expected values for an assertion's subject.

    These are statuses, media types, or values that a schema lists.
    """
    subject, _, path = here.subject.partition(" ")
    for status, response in _responses(cursor):
        if subject == "status":
            if status.isdigit():
                yield Offer(status, response.first_line("description"), rank=0)
        elif subject == "header" and path.lower() == "content-type":
            for kind, _node in response.child("content").children():
                if is_harmless(kind):
                    yield Offer(kind, f"A media type of the {status} response.", rank=0)
        elif subject == "header":
            names = {name.lower(): header for name, header in response.child("headers").children()}
            if path.lower() in names:
                yield from _listed([names[path.lower()].child("schema")], f"A value of {path}.")
        elif subject in _IN_BODY and (steps := _steps(path)) is not None:
            yield from _listed(within(json_of(response), steps), f"A value of {path}.")


def _listed(schemas: list[Node], about: str) -> Iterator[Offer]:
    for schema in schemas:
        for value in values_of(schema):
            text = value if isinstance(value, str) else json.dumps(value)
            yield Offer(text, about, rank=0)
