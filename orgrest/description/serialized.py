"""Deserializes parameters and form fields in OpenAPI's styles, using the types in their schemas.

Source: the OpenAPI specification 3.1.1, sections 4.8.12.5 (style values) and 4.8.12.6 (examples),
appendices C to E; RFC 6570.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, unquote_plus

from orgrest import classes
from orgrest.description.shapes import composed, items, kinds, properties

if TYPE_CHECKING:
    from orgrest.description.model import Parameter
    from orgrest.description.nodes import Node

_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,300})(?:\.\d{1,300})?(?:[eE][+-]?\d{1,3})?")
_JSON = re.compile(r"application/(?:json|[\w.+-]+\+json)|text/json", re.IGNORECASE)
_SEPARATORS = {
    "form": re.compile(","),
    "spaceDelimited": re.compile(r"%20|\+| "),
    "pipeDelimited": re.compile(r"%7C|\|", re.IGNORECASE),
}
Pairs = Sequence[tuple[str, str]]
"""The (name, value) pairs of a query or a form. Only the names are percent-decoded."""


class UnreadError(Exception):
    """Raised if a value cannot be read and therefore cannot be checked. The message says why."""


class WrongError(Exception):
    """Raised if a value is not serialized as its parameter requires. The message says why."""


@classes.frozen
class Found:
    """The value of a parameter, and the names of the query or form pairs that it was read from."""

    value: Any
    names: frozenset[str] = frozenset()


def is_json(media: str) -> bool:
    """Return whether a media type, such as `application/problem+json`, denotes JSON."""
    return _JSON.fullmatch(media.partition(";")[0].strip()) is not None


def pairs(text: str) -> Pairs:
    """Return the (name, value) pairs of a query or a form. Only the names are percent-decoded."""
    separated = (pair_text.partition("=") for pair_text in text.split("&") if pair_text)
    return [(unquote_plus(name), value) for name, _, value in separated]


def typed(text: str, schema: Node) -> Any:
    """Return `text` as a number, boolean or null if its schema allows that type, else unchanged."""
    types = kinds(schema)
    if _NUMBER.fullmatch(text) and types & {"integer", "number"}:
        return json.loads(text)
    if text in ("true", "false") and "boolean" in types:
        return text == "true"
    if text in ("null", "") and "null" in types and "string" not in types:
        return None
    if not types:
        for inner_schema in composed([schema]):
            listed = inner_schema.object.get("enum")
            for value in listed if isinstance(listed, list) else ():
                if not isinstance(value, str) and json.dumps(value) == text:
                    return value
    return text


def as_text(text: str, media: str, schema: Node) -> Any:
    """Return the value that `text` represents in the format `media`.

    Raises WrongError if the text is malformed, and UnreadError if the format is not supported.
    """
    if is_json(media):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise WrongError("is not valid JSON") from None
    if media.lower().startswith("text/"):
        return typed(text, schema)
    raise UnreadError(f"content of type {media} is not checked")


def of_query(parameter: Parameter, query_pairs: Pairs, others: Iterable[str] = ()) -> Found | None:
    """Return the value of a parameter in a query, or None if the query does not contain it.

    `others` contains the names of other parameters, whose pairs cannot be properties of an object.
    Raises WrongError if the value is malformed, and UnreadError if it cannot be checked.
    """
    name, schema, style = parameter.name, parameter.schema, parameter.style
    types = kinds(schema)
    if parameter.media is not None:
        text = next((value for key, value in query_pairs if key == name), None)
        if text is None:
            return None
        return Found(as_text(unquote_plus(text), parameter.media, schema), frozenset({name}))
    if style == "deepObject":
        return _deep(name, schema, query_pairs)
    if style not in _SEPARATORS:
        raise UnreadError(f"the style {style} is not supported")
    if "object" in types and parameter.explode and "array" not in types:
        return _spread(schema, query_pairs, {name, *others})
    texts = [value for key, value in query_pairs if key == name]
    listed = [value for key, value in query_pairs if key == f"{name}[]"] if "array" in types else []
    if not texts and not listed:
        return None
    names = frozenset({name, f"{name}[]"})
    if "array" in types:
        parts = texts + listed
        if not parameter.explode and not listed:
            parts = _SEPARATORS[style].split(texts[0]) if texts[0] else []
        return Found([typed(unquote_plus(part), items(schema)) for part in parts], names)
    if "object" in types:
        parts = [unquote_plus(word) for word in _SEPARATORS[style].split(texts[0])]
        return Found(_alternating(parts, schema), names)
    return Found(typed(unquote_plus(texts[0]), schema), names)


def _deep(name: str, schema: Node, query_pairs: Pairs) -> Found | None:
    """Return an object written as ``name[property]=value`` pairs, or None if there are no pairs."""
    known, values, names = properties(schema), dict[str, Any](), set[str]()
    for key, value in query_pairs:
        if not key.startswith(f"{name}["):
            continue
        inner, bracket, rest = key[len(name) + 1 :].partition("]")
        if not bracket or (rest and rest != "[]"):
            raise UnreadError(f"{key}: nested brackets are not defined by OpenAPI")
        names.add(key)
        property_ = known.get(inner)
        text = unquote_plus(value)
        if property_ is not None and (rest or "array" in kinds(property_)):
            values.setdefault(inner, []).append(typed(text, items(property_)))
        else:
            values[inner] = text if property_ is None else typed(text, property_)
    if not names and any(key == name for key, _ in query_pairs):
        raise WrongError(f"must be written as {name}[...]")
    return Found(values, frozenset(names)) if names else None


def _spread(schema: Node, query_pairs: Pairs, others: set[str]) -> Found | None:
    """Return an object whose properties are separate pairs, or None if there are no such pairs."""
    known = properties(schema)
    closed = any(
        inner_schema.object.get("additionalProperties") is False
        for inner_schema in composed([schema])
    )
    values: dict[str, Any] = {}
    for key, value in query_pairs:
        property_ = known.get(key)
        text = unquote_plus(value)
        if property_ is None and (closed or key in others):
            continue
        if property_ is not None and "array" in kinds(property_):
            values.setdefault(key, []).append(typed(text, items(property_)))
        else:
            values[key] = text if property_ is None else typed(text, property_)
    return Found(values, frozenset(values)) if values else None


def of_text(parameter: Parameter, text: str) -> Any:
    """Return the value of a path, header or cookie parameter that is written as `text`.

    Raises WrongError if the value is malformed, and UnreadError if it cannot be checked.
    """
    decoded = unquote if parameter.where == "path" else str
    if parameter.media is not None:
        return as_text(decoded(text), parameter.media, parameter.schema)
    types, style = kinds(parameter.schema), parameter.style
    separator = ","
    if style == "label":
        if not text.startswith("."):
            raise WrongError("does not start with a dot")
        text = text[1:]
        separator = "." if parameter.explode else ","
    elif style == "matrix":
        return _matrix(parameter, text, types)
    elif style not in ("simple", "form", "cookie"):
        raise UnreadError(f"the style {style} is not supported")
    elif style != "simple" and parameter.explode and types & {"array", "object"}:
        raise UnreadError("its values are sent as separate cookies, which is not supported")
    return _split(parameter, text, separator, types)


def _split(parameter: Parameter, text: str, separator: str, types: set[str]) -> Any:
    decoded = unquote if parameter.where == "path" else str.strip
    schema = parameter.schema
    if "array" in types:
        return (
            [typed(decoded(word), items(schema)) for word in text.split(separator)] if text else []
        )
    if "object" not in types:
        return typed(decoded(text), schema)
    parts = text.split(separator)
    if not parameter.explode:
        return _alternating([decoded(part) for part in parts], schema)
    return _object(((part.partition("=")[::2]) for part in parts), schema, decoded)


def _matrix(parameter: Parameter, text: str, types: set[str]) -> Any:
    name = parameter.name
    if not text.startswith(";"):
        raise WrongError("does not start with a semicolon")
    parts = [pair_text.partition("=")[::2] for pair_text in text[1:].split(";")]
    if parameter.explode and "object" in types:
        return _object(parts, parameter.schema, unquote)
    if any(unquote(key) != name for key, _ in parts):
        raise WrongError(f"must be written as ;{name}=...")
    if parameter.explode and "array" in types:
        return [typed(unquote(value), items(parameter.schema)) for _, value in parts]
    return _split(parameter, parts[0][1], ",", types)


def _alternating(parts: list[str], schema: Node) -> dict[str, Any]:
    if len(parts) % 2:
        raise WrongError("is not a list of names and values")
    return _object(zip(parts[::2], parts[1::2], strict=True), schema, str)


def _object(
    pairs_of_object: Iterable[tuple[str, str]], schema: Node, decoded: Any
) -> dict[str, Any]:
    known = properties(schema)
    texts = {decoded(name): decoded(value) for name, value in pairs_of_object}
    return {key: typed(text, known[key]) if key in known else text for key, text in texts.items()}
