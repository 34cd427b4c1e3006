"""Completion from an OpenAPI description: paths, parameters, headers, and the fields of bodies."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import attrs

from orgrest.editor.completion.model import Context, Offer
from orgrest.http.syntax import TCHARS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from orgrest.description.model import Description, Operation, Parameter
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
_MOST_SCHEMAS = 300
_METHODS = frozenset({"GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE", "QUERY"})


def description(cursor: Cursor) -> Description | None:
    """Return the description that the document names above the offset, or None."""
    if "openapi" not in cursor.text:
        return None
    from orgrest.description.model import named_above

    end = cursor.start + len(cursor.before)
    above = named_above(cursor.code, end)
    if above is not None:
        return cursor.described(above[0])
    if cursor.document == "org":
        arguments = _ARGUMENT.findall(cursor.text, 0, cursor.offset)
        if arguments:
            return cursor.described(arguments[-1])
    return None


def operation(cursor: Cursor) -> tuple[Description, Operation] | None:
    """Return the operation of the request around the offset, or None."""
    found = description(cursor)
    if found is None:
        return None
    end = cursor.start + len(cursor.before + cursor.after)
    for match in reversed(list(_REQUEST.finditer(cursor.code, 0, end))):
        if match[1] in _METHODS:
            known = found.operation(match[1], _plain(match[2]))
            return None if known is None else (found, known[0])
    return None


def _plain(url: str) -> str:
    """Return a URL in which variables are replaced, so that it can be taken apart."""
    base = _BASE.match(url)
    rest = url[base.end() :] if base else url
    text = base[0] if base else ""
    return (text if "://" in text and "{" not in text else "http://h") + _VARIABLE.sub("x", rest)


# ------------------------------------------------------------------------- URLs, headers


def urls(cursor: Cursor, here: Context) -> Iterator[Offer]:
    """Offer the paths of the method on this line, behind what is typed of the server."""
    found = description(cursor)
    if found is None:
        return
    method = cursor.before.split()[0].upper() if cursor.before.split() else ""
    servers = [one.rstrip("/") for one in found.servers if here.prefix.startswith(one.rstrip("/"))]
    typed = _BASE.match(here.prefix)
    known = [one for one in found.servers if _is_harmless(one, blanks=False)]
    bases = servers[:1] or [typed[0]] if typed and typed[0] else known[:1]
    opened, closed = ("{{", "}}") if cursor.is_common else (":", "")
    for one in found.operations:
        if method in ("", one.method) and _is_harmless(one.path, blanks=False):
            path = one.path.replace("{", opened).replace("}", closed)
            for base in bases or [""]:
                yield Offer(base.rstrip("/") + path, _about(one), rank=0)


def _about(one: Operation) -> str:
    return "\n\n".join(filter(None, (one.name, one.summary)))


def _parameters(cursor: Cursor, where: str) -> Iterator[Parameter]:
    found = operation(cursor)
    for one in found[0].parameters(found[1]) if found is not None else ():
        if one.where == where and _is_harmless(one.name, blanks=False):
            yield one


def _is_harmless(text: str, *, blanks: bool = True) -> bool:
    """Tell whether a text of a description may be put into a document: no lines, no variables."""
    return text.isprintable() and "{{" not in text and (blanks or not re.search(r"\s", text))


def query_names(cursor: Cursor, _: Context) -> Iterator[Offer]:
    """Offer the parameters of the query, those that are required first."""
    for one in _parameters(cursor, "query"):
        yield Offer(one.name, _told(one), f"{one.name}=", 0 if one.required else 1)


def query_values(cursor: Cursor, here: Context) -> Iterator[Offer]:
    """Offer the values of a parameter of the query."""
    for one in _parameters(cursor, "query"):
        if one.name == here.subject:
            yield from _plain_values(one)


def headers(cursor: Cursor, _: Context) -> Iterator[Offer]:
    """Offer the headers that the operation takes."""
    for one in _parameters(cursor, "header"):
        yield Offer(one.name, _told(one), f"{one.name}: ", -1)


def header_values(cursor: Cursor, here: Context) -> Iterator[Offer]:
    """Offer the values of a header, and the types of the body."""
    for one in _parameters(cursor, "header"):
        if one.name.lower() == here.subject.lower():
            yield from _plain_values(one)
    found = operation(cursor)
    if found is not None and here.subject.lower() == "content-type":
        content = found[0].body(found[1])[0].get("content")
        for kind in content if isinstance(content, dict) else ():
            if not _is_harmless(str(kind)):
                continue
            yield Offer(str(kind), f"A body of {found[1].name}.", rank=-1)


def _plain_values(one: Parameter) -> Iterator[Offer]:
    items = one.schema.get("items") if one.schema.get("type") == "array" else one.schema
    for value in _values(items if isinstance(items, dict) else {}):
        text = value if isinstance(value, str) else json.dumps(value)
        yield Offer(text, _told(one), rank=0)


def _told(one: Parameter) -> str:
    return _documentation(one.schema, one.description, required=one.required)


def _documentation(schema: Mapping[str, Any], text: str, *, required: bool) -> str:
    kind = schema.get("type")
    words = " or ".join(map(str, kind)) if isinstance(kind, list) else str(kind or "")
    words += ", required" if required else ""
    return "\n\n".join(filter(None, (text, words.strip(", "))))


def _values(schema: Mapping[str, Any]) -> list[Any]:
    enum = schema.get("enum")
    if isinstance(enum, list):
        plain = (one for one in enum if isinstance(one, str | int | float | bool) or one is None)
        return [one for one in plain if _is_harmless(str(one))]
    return [True, False] if schema.get("type") == "boolean" else []


# ----------------------------------------------------------------------------------- bodies


@attrs.frozen
class _Place:
    """A place in JSON: the steps to it (None: into a list), and what is typed there.

    `key` tells that the name of a field is, `quoted` that its quote is open.
    """

    steps: tuple[str | None, ...]
    key: bool
    prefix: str
    quoted: bool


def _place(text: str) -> _Place | None:
    """Return the place at the end of the beginning of a JSON text; None behind a value."""
    frames: list[list[Any]] = []  # of each object or list: its present key, what comes next
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
    steps = tuple(one[0] if one[2] == "{" else None for one in frames)
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
    """Offer the fields of an object in a body."""
    found, place = operation(cursor), _typed(cursor)
    if found is None or place is None:
        return
    seen: set[str] = set()
    for schema in _schemas(*found, place.steps):
        properties, required = schema.get("properties"), schema.get("required")
        for name, value in properties.items() if isinstance(properties, dict) else ():
            one = found[0].object(value, "")[0]
            if name not in seen and _is_harmless(str(name)) and one.get("readOnly") is not True:
                seen.add(name)
                needed = isinstance(required, list) and name in required
                text = str(one.get("description") or "").strip().split("\n")[0][:200]
                about = _documentation(one, text, required=needed)
                written = json.dumps(str(name), ensure_ascii=False)
                insert = written[1:-1] if place.quoted else f"{written}: "
                yield Offer(str(name), about, insert, 0 if needed else 1)


def field_values(cursor: Cursor, _: Context) -> Iterator[Offer]:
    """Offer the values of a field in a body."""
    found, place = operation(cursor), _typed(cursor)
    if found is None or place is None:
        return
    for schema in _schemas(*found, place.steps):
        for value in _values(schema):
            if not place.quoted:
                text = json.dumps(value, ensure_ascii=False)
                yield Offer(
                    text.strip('"'), f"A value of {place.steps[-1] or 'the list'}.", text, 0
                )
            elif isinstance(value, str):
                text = json.dumps(value, ensure_ascii=False)[1:-1]
                yield Offer(value, f"A value of {place.steps[-1] or 'the list'}.", text, 0)


def _schemas(
    found: Description, one: Operation, steps: tuple[str | None, ...]
) -> list[Mapping[str, Any]]:
    """Return the schemas that what the steps lead to in a body may have."""
    content = found.body(one)[0].get("content")
    kinds = content if isinstance(content, dict) else {}
    media = next((value for name, value in kinds.items() if "json" in str(name)), None)
    level = _alternatives(found, [media.get("schema")] if isinstance(media, dict) else [])
    for step in steps:
        inner: list[Any] = []
        for schema in level:
            if step is None:
                inner.append(schema.get("items"))
            else:
                properties = schema.get("properties")
                if isinstance(properties, dict) and step in properties:
                    inner.append(properties[step])
                else:
                    inner.append(schema.get("additionalProperties"))
        level = _alternatives(found, inner)
    return level


def _alternatives(found: Description, given: list[Any]) -> list[Mapping[str, Any]]:
    """Return schemas, with all that they are composed of."""
    waiting, level = list(given), []
    for _ in range(_MOST_SCHEMAS):
        if not waiting:
            break
        schema, _at = found.object(waiting.pop(0), "")
        if schema:
            level.append(schema)
        for name in ("allOf", "anyOf", "oneOf"):
            if isinstance(schema.get(name), list):
                waiting += schema[name]
    return level
