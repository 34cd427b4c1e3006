"""Parses form bodies into values, using the schema and encoding of each field.

Source: the OpenAPI specification 3.1.1, sections 4.8.14 and 4.8.15 (encoding); RFC 7578.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_plus

from orgrest import classes
from orgrest.description.model import Parameter
from orgrest.description.serialized import (
    UnreadError,
    WrongError,
    as_text,
    is_json,
    of_query,
    pairs,
    typed,
)
from orgrest.description.shapes import items, kinds, properties

if TYPE_CHECKING:
    from orgrest.description.nodes import Node

URLENCODED = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
_BOUNDARY = re.compile(r';\s*boundary=(?:"([^"]*)"|([^;\s]+))', re.IGNORECASE)
_NAME = re.compile(r';\s*name="((?:[^"\\]|\\.)*)"', re.IGNORECASE)
_MOST_FIELDS = 10_000


@classes.frozen
class _Part:
    name: str
    kind: str
    content: bytes


def urlencoded(text: str, media: Node) -> dict[str, Any]:
    """Return the fields of a URL-encoded form.

    Raises WrongError if a field is malformed, and UnreadError if it cannot be checked.
    """
    form_pairs, schema = pairs(text), media.child("schema")
    if len(form_pairs) > _MOST_FIELDS:
        raise UnreadError(f"it has more than {_MOST_FIELDS} fields")
    values: dict[str, Any] = {}
    used: set[str] = set()
    known = properties(schema)
    for name, inner in known.items():
        try:
            field_value = of_query(
                _field(name, inner, media.child("encoding", name), form_pairs), form_pairs, known
            )
        except WrongError as error:
            raise WrongError(f"{name} {error}") from None
        if field_value is not None:
            values[name] = field_value.value
            used |= field_value.names
    values.update((name, unquote_plus(value)) for name, value in form_pairs if name not in used)
    return values


def _field(name: str, schema: Node, encoding: Node, given: Any) -> Parameter:
    """Return a query parameter that is serialized in the same way as a form field."""
    whole = encoding.object
    style, media = str(whole.get("style") or "form"), None
    explode = bool(whole.get("explode", style == "form"))
    if kinds(schema) & {"object"} and not {"style", "explode"} & whole.keys():
        texts = [unquote_plus(value) for key, value in given if key == name]
        media = str(whole.get("contentType") or "application/json") if texts else None
        style = "form" if texts else "deepObject"
    elif is_json(str(whole.get("contentType") or "")):
        media = "application/json"
    return Parameter(name, "query", False, "", schema, style, explode, media)


def multipart(body: bytes, kind: str, media: Node) -> dict[str, Any]:
    """Return the fields of a multipart form.

    Raises WrongError if the form is malformed, and UnreadError if it cannot be checked.
    """
    schema = media.child("schema")
    known = properties(schema)
    values: dict[str, Any] = {}
    for part in _parts(body, kind):
        inner = known.get(part.name)
        listed = inner is not None and "array" in kinds(inner)
        item_schema = items(inner) if inner is not None and listed else inner
        value = _content(part, item_schema, media.child("encoding", part.name))
        if not listed or (isinstance(value, list) and is_json(part.kind)):
            values[part.name] = value
        else:
            values.setdefault(part.name, []).append(value)
    return values


def _content(part: _Part, schema: Node | None, encoding: Node) -> Any:
    expected = str(encoding.object.get("contentType") or "")
    kind = part.kind.partition(";")[0].strip().lower()
    if (
        expected
        and kind
        and not any(_is_of(kind, media_range) for media_range in expected.split(","))
    ):
        raise WrongError(f"{part.name} has the Content-Type {kind} (expected {expected})")
    text = part.content.decode("utf-8", "replace")
    types = set() if schema is None else kinds(schema)
    if is_json(kind) or (not kind and types & {"object", "array"}):
        try:
            return as_text(text, "application/json", encoding)
        except WrongError:
            raise WrongError(f"{part.name} is not valid JSON") from None
    if kind and not kind.startswith("text/"):
        return part.content.decode("latin-1")
    return text if schema is None else typed(text, schema)


def _is_of(kind: str, expected: str) -> bool:
    expected = expected.partition(";")[0].strip().lower()
    return expected in (kind, "*/*", kind.partition("/")[0] + "/*")


def _parts(body: bytes, kind: str) -> list[_Part]:
    match = _BOUNDARY.search(kind)
    if match is None:
        raise WrongError("has no boundary in its Content-Type")
    mark = b"--" + (match[1] or match[2]).encode()
    pieces = re.split(rb"(?:\A|\r?\n)" + re.escape(mark), body, maxsplit=_MOST_FIELDS + 1)
    if len(pieces) > _MOST_FIELDS:
        raise UnreadError(f"it has more than {_MOST_FIELDS} fields")
    if len(pieces) < 2 or not pieces[-1].startswith(b"--"):
        raise WrongError("does not end with the boundary")
    return [_part(piece) for piece in pieces[1:-1]]


def _part(piece: bytes) -> _Part:
    head, *rest = re.split(rb"\r?\n\r?\n", piece, maxsplit=1)
    kind = name = ""
    for line in head.decode("utf-8", "replace").splitlines():
        key, _, value = line.partition(":")
        if key.strip().lower() == "content-type":
            kind = value.strip()
        elif key.strip().lower() == "content-disposition":
            match = _NAME.search(value)
            name = re.sub(r"\\(.)", r"\1", match[1]) if match else ""
    return _Part(name, kind, rest[0] if rest else b"")
