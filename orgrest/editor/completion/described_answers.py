"""Completion of assertions from an OpenAPI description: paths into a response, and their values."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from orgrest.description.shapes import composed, items, kinds
from orgrest.editor.completion.model import Context, Offer
from orgrest.editor.completion.openapi import (
    documentation,
    is_harmless,
    json_of,
    operation,
    values_of,
    within,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orgrest.description.nodes import Node
    from orgrest.editor.completion.cursor import Cursor

_STEP = re.compile(r"\.?([A-Za-z_]\w*)|\[(?:\d+|\*)\]|\[['\"]([^'\"\]]+)['\"]\]")
_PLAIN = re.compile(r"[A-Za-z_]\w*")
_IN_BODY = ("body", "jsonpath")


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
                if _PLAIN.fullmatch(name) and inner.object.get("writeOnly") is not True:
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
                yield from _listed([names[path.lower()].child("schema")], path)
        elif subject in _IN_BODY and (steps := _steps(path)) is not None:
            yield from _listed(within(json_of(response), steps), path)


def _listed(schemas: list[Node], path: str) -> Iterator[Offer]:
    for schema in schemas:
        for value in values_of(schema):
            text = value if isinstance(value, str) else json.dumps(value)
            yield Offer(text, f"A value of {path}.", rank=0)
