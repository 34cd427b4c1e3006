"""The shape of the values that a schema describes: their types, properties and items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orgrest.description.nodes import Node

COMPOSED = ("allOf", "anyOf", "oneOf")
_MOST_SCHEMAS = 300  # that one schema is composed of


def composed(schemas: list[Node]) -> list[Node]:
    """Return the schemas and all schemas that they are composed of, parents first."""
    waiting, found = list(schemas), []
    for _ in range(_MOST_SCHEMAS):
        if not waiting:
            break
        schema = waiting.pop(0)
        if schema.object:
            found.append(schema)
        for name in COMPOSED:
            if name in schema.object:
                waiting += (part for _, part in schema.child(name).children())
    return found


def kinds(schema: Node) -> set[str]:
    """Return the types that a schema and its parts name or imply. An empty set means any type."""
    found: set[str] = set()
    for inner_schema in composed([schema]):
        given = inner_schema.object.get("type")
        found.update(map(str, given) if isinstance(given, list) else [str(given)] if given else [])
        found.update({"object"} if inner_schema.object.get("properties") else ())
        found.update({"array"} if inner_schema.object.get("items") else ())
    return found


def properties(schema: Node) -> dict[str, Node]:
    """Return the properties of a schema and of the schemas that it is composed of."""
    found: dict[str, Node] = {}
    for inner_schema in composed([schema]):
        for name, node in inner_schema.child("properties").children():
            found.setdefault(name, node)
    return found


def items(schema: Node) -> Node:
    """Return the schema of a list's items, or a node without a value if it is not described."""
    every = (inner_schema.child("items") for inner_schema in composed([schema]))
    return next((schema for schema in every if schema.object), schema.child("items"))


def values(schema: Node) -> list[Any]:
    """Return the values that a schema lists: strings, numbers, booleans and null."""
    given = schema.object.get("enum")
    if isinstance(given, list):
        return [value for value in given if isinstance(value, str | int | float) or value is None]
    if "const" in schema.object:
        return [schema.object["const"]]
    return [True, False] if schema.object.get("type") == "boolean" else []
