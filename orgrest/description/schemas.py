"""Translates the schemas of an OpenAPI description into JSON Schema 2020-12.

Another process validates values against the translated schemas. Each referenced schema becomes a
definition, so that process needs no files. Keywords of OpenAPI 3.0 are converted if JSON Schema
lacks them or defines them differently. Source: the OpenAPI specification 3.0.4, section 4.7.24;
3.1.1, section 4.8.24.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from orgrest import classes
from orgrest.description.shapes import COMPOSED, properties

if TYPE_CHECKING:
    from orgrest.description.checks import Direction, Part
    from orgrest.description.model import Description
    from orgrest.description.nodes import Node

_HIDDEN = {"request": "readOnly", "response": "writeOnly"}
_MOST_PARTS = 200_000  # of the schemas for one value
_DEEPEST = 200
_IGNORED = frozenset(
    {"example", "examples", "default", "xml", "externalDocs", "description", "discriminator"}
) | {"$id", "$schema", "$anchor", "$comment", "title"}
_UNCHANGED = frozenset({"enum", "const", "required", "type", "dependentRequired"})
_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})


@classes.frozen
class _Definition:
    """A translated schema, and the names of the definitions that it refers to."""

    schema: Any
    size: int  # in subschemas and so on; exceeds _MOST_PARTS if the nesting is too deep
    references: frozenset[str]


class Schemas:
    """The schemas of a description, each translated on first use.

    A schema is translated separately for requests and responses.
    """

    def __init__(self, description: Description) -> None:
        self.is_old = description.version == "3.0"
        """Whether these are OpenAPI 3.0 schemas."""
        self._lock = threading.Lock()
        self._names: dict[tuple[Any, ...], str] = {}
        self._waiting: dict[str, tuple[Node, Direction]] = {}
        self._known: dict[str, _Definition] = {}
        self._missing: dict[str, str] = {}

    def job(self, parts: Iterable[Part]) -> tuple[dict[str, Any], list[str]]:
        """Return a job that validates `parts` in the sandbox, and a list of problems.

        A part whose schema is too large is not in the job, but in the list of problems.
        """
        needed: dict[str, Any] = {}
        listed, wrong = [], []
        with self._lock:
            for part in parts:
                name = self._name(part.schema, part.direction)
                every = self._closure(name)
                if every is None:
                    wrong.append(f"{part.name} cannot be checked: its schema is too large")
                    continue
                needed.update(every)
                listed.append([part.name, name, part.value])
            missing = {name: self._missing[name] for name in needed if name in self._missing}
        definitions = {name: schema for name, schema in needed.items() if name not in missing}
        job = {"definitions": {"$defs": definitions}, "missing": missing, "parts": listed}
        return job, wrong

    def _name(self, node: Node, direction: Direction) -> str:
        """Return the name of a schema's definition."""
        key = *node.place, direction
        name = self._names.get(key)
        if name is None:
            name = self._names[key] = f"s{len(self._names)}"
            self._waiting[name] = node, direction
        return name

    def _closure(self, name: str) -> dict[str, Any] | None:
        """Return a definition with those that it needs, or None if they are too large."""
        closure: dict[str, Any] = {}
        waiting, size = [name], 0
        while waiting:
            current = waiting.pop()
            if current in closure:
                continue
            if current in self._waiting:
                self._known[current] = self._translated(*self._waiting.pop(current))
            definition = self._known.get(current)
            if definition is None:  # an unresolved reference
                closure[current] = {}
                continue
            closure[current] = definition.schema
            size += definition.size
            if size > _MOST_PARTS:
                return None
            waiting += definition.references
        return closure

    def _translated(self, node: Node, direction: Direction) -> _Definition:
        translation = _Translation(self, direction)
        schema = translation.of(node, 0)
        return _Definition(schema, translation.size, frozenset(translation.refers))

    def reference(self, node: Node, reference: str, direction: Direction) -> str:
        """Return the name of the definition for the schema that `reference` refers to."""
        target = node.documents.target(node, reference)
        if target.value is not None:
            return self._name(target, direction)
        name = f"m{len(self._missing)}"
        self._missing[name] = target.why or f"{reference} does not exist"
        return name


class _Translation:
    """Translates one schema to JSON Schema."""

    def __init__(self, schemas: Schemas, direction: Direction) -> None:
        self.size = 0
        self.refers: set[str] = set()
        self._schemas = schemas
        self._direction = direction
        self._concealing = _HIDDEN[direction]

    def of(self, node: Node, depth: int, hidden: frozenset[str] = frozenset()) -> Any:
        """Return a schema translated to JSON Schema.

        In a request, read-only properties become optional. In a response, write-only properties are
        forbidden. `hidden` contains the names of such properties in the enclosing schemas.
        """
        self.size += 1
        value = node.value
        if self.size > _MOST_PARTS or depth > _DEEPEST:
            self.size += _MOST_PARTS
            return {}
        if isinstance(value, list):
            return [self.of(node.plain_child(str(n)), depth + 1) for n in range(len(value))]
        if not isinstance(value, Mapping):
            return value
        hidden |= self._hidden_in(node)
        schemas: dict[str, Any] = {}
        if (reference := node.reference) is not None:
            name = self._schemas.reference(node, reference, self._direction)
            self.refers.add(name)
            schemas["$ref"] = f"#/$defs/{name}"
            if self._schemas.is_old:
                return schemas
        for key in value:
            name = str(key)
            if name in _IGNORED or name == "$ref":
                continue
            inner = node.plain_child(name)
            if name in _UNCHANGED:
                schemas[name] = inner.value
            elif name in _NAMED:
                schemas[name] = {
                    str(key): self.of(inner.plain_child(str(key)), depth + 2)
                    for key in inner.object
                }
            elif name in COMPOSED and inner.is_list:
                every = (inner.plain_child(str(index)) for index in range(len(inner.value)))
                schemas[name] = [self.of(part, depth + 2, hidden) for part in every]
            elif not name.startswith("x-"):
                schemas[name] = self.of(inner, depth + 1)
        self._without_hidden(node, hidden, schemas)
        return _modern(schemas) if self._schemas.is_old else schemas

    def _hidden_in(self, node: Node) -> frozenset[str]:
        """Return the names of read-only (in a request) or write-only (in a response) properties."""
        if not node.object.keys() & {"properties", *COMPOSED}:
            return frozenset()
        return frozenset(
            name
            for name, schema in properties(node).items()
            if schema.object.get(self._concealing) is True
        )

    def _without_hidden(
        self, node: Node, hidden: frozenset[str], properties: dict[str, Any]
    ) -> None:
        """Make the `hidden` properties optional. In a response, forbid them."""
        required = node.object.get("required")
        if isinstance(required, list) and hidden:
            properties["required"] = [name for name in required if name not in hidden]
        if self._concealing == "writeOnly" and hidden and "properties" in properties:
            own = hidden & properties["properties"].keys()
            properties["properties"].update((name, {"not": {}}) for name in own)


def _modern(schema: dict[str, Any]) -> dict[str, Any]:
    """Convert the keywords of OpenAPI 3.0 in place, and return the schema."""
    for limit, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        flag = schema.get(exclusive)
        if isinstance(flag, bool):
            del schema[exclusive]
            if flag and limit in schema:
                schema[exclusive] = schema.pop(limit)
    if schema.pop("nullable", False) is True and isinstance(schema.get("type"), str):
        schema["type"] = [schema["type"], "null"]  # an enumeration may still forbid null
    return schema
