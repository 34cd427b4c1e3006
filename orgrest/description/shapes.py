"""The shape of the values that a schema allows: their types, properties and items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orgrest.description.nodes import Node

COMPOSED = ("allOf", "anyOf", "oneOf")
_MOST_SCHEMAS = 300  # that one schema is composed of


def composed(schemas: list[Node]) -> list[Node]:
    """Return the given schemas and all schemas that they are composed of, outermost first."""
    waiting, reached = list(schemas), []
    for _ in range(_MOST_SCHEMAS):
        if not waiting:
            break
        schema = waiting.pop(0)
        if schema.object:
            reached.append(schema)
        for name in COMPOSED:
            if name in schema.object:
                waiting += (part for _, part in schema.child(name).children())
    return reached


def kinds(schema: Node) -> set[str]:
    """Return the types that a schema, or any schema that it is composed of, names or implies.

    An empty set means any type.
    """
    names: set[str] = set()
    for inner_schema in composed([schema]):
        type_ = inner_schema.object.get("type")
        names.update(map(str, type_) if isinstance(type_, list) else [str(type_)] if type_ else [])
        names.update({"object"} if inner_schema.object.get("properties") else ())
        names.update({"array"} if inner_schema.object.get("items") else ())
    return names


def properties(schema: Node) -> dict[str, Node]:
    """Return the properties of a schema and of the schemas that it is composed of."""
    nodes: dict[str, Node] = {}
    for inner_schema in composed([schema]):
        for name, node in inner_schema.child("properties").children():
            nodes.setdefault(name, node)
    return nodes


def items(schema: Node) -> Node:
    """Return the schema of a list's items. If it is not defined, the value of the node is None."""
    every = (inner_schema.child("items") for inner_schema in composed([schema]))
    return next((schema for schema in every if schema.object), schema.child("items"))


def values(schema: Node) -> list[Any]:
    """Return the scalar values that a schema lists: strings, numbers, booleans or null."""
    listed = schema.object.get("enum")
    if isinstance(listed, list):
        return [value for value in listed if isinstance(value, str | int | float) or value is None]
    if "const" in schema.object:
        return [schema.object["const"]]
    return [True, False] if schema.object.get("type") == "boolean" else []
