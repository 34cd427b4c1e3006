"""Sample values for JSON schemas, used in the bodies of requests.

Sources: OpenAPI 3.1.1, "Schema Object"; JSON Schema 2020-12, "Validation".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from orgrest.convert.shared.fields import as_object

_DEEPEST: Final = 8
_MOST: Final = 2_000  # the maximum number of values in a sample
_TEXTS: Final = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "time": "12:00:00Z",
    "email": "me@example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.com/",
    "url": "https://example.com/",
    "uuid": "123e4567-e89b-42d3-a456-426614174000",
    "byte": "",
    "binary": "",
    "password": "password",
}


class Sampler:
    """Creates sample values for schemas.

    `resolve` returns the schema that it is given or, if that schema has a `$ref`, the target.
    """

    def __init__(self, resolve: Callable[[Any], Any]) -> None:
        self._resolve = resolve
        self._left = _MOST
        self._open: list[object] = []  # the schemas around the current one

    def sample(self, schema: object) -> Any:
        """Return a value that matches a schema: its example, its default, or a generated value."""
        self._left = _MOST
        return self._value(schema, 0)

    def _value(self, given: object, depth: int) -> Any:
        schema = self._resolve(given)
        self._left -= 1
        if not isinstance(schema, Mapping) or depth > _DEEPEST or self._left < 0:
            return None
        for name in ("example", "const", "default"):
            if name in schema:
                return schema[name]
        for name in ("examples", "enum"):
            if isinstance(schema.get(name), list) and schema[name]:
                return schema[name][0]
        self._open.append(schema)
        value = self._composed(schema, depth)
        self._open.pop()
        return value

    def _composed(self, schema: Mapping[str, Any], depth: int) -> Any:
        if isinstance(schema.get("allOf"), list):
            return self._merged(schema, depth)
        for name in ("oneOf", "anyOf"):
            if isinstance(schema.get(name), list) and schema[name]:
                first = schema[name][0]
                return _discriminated(self._value(first, depth + 1), schema, first)
        return self._of_type(schema, depth)

    def _contains_itself(self, given: object) -> bool:
        schema = self._resolve(given)
        return any(schema is around for around in self._open)

    def _merged(self, schema: Mapping[str, Any], depth: int) -> Any:
        rest = {key: value for key, value in schema.items() if key != "allOf"}
        values = [self._value(part, depth + 1) for part in [*schema["allOf"], rest]]
        objects = [value for value in values if isinstance(value, dict)]
        if objects:
            return {key: value for object_ in objects for key, value in object_.items()}
        return next((value for value in values if value is not None), None)

    def _of_type(self, schema: Mapping[str, Any], depth: int) -> Any:
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = next((type_ for type_ in kind if type_ != "null"), None)
        if kind == "object" or "properties" in schema:
            required = schema.get("required")
            required = required if isinstance(required, list) else []
            return {
                str(name): self._value(property_, depth + 1)
                for name, property_ in as_object(schema.get("properties")).items()
                if not as_object(self._resolve(property_)).get("readOnly")
                and (name in required or not self._contains_itself(property_))
            }
        if kind == "array" or "items" in schema:
            items = schema.get("items")
            item = None if self._contains_itself(items) else self._value(items, depth + 1)
            return [] if item is None else [item]
        if kind == "string":
            return _TEXTS.get(str(schema.get("format")), "text")
        if kind in ("integer", "number"):
            least = schema.get("minimum")
            return least if isinstance(least, int | float) else 1
        return True if kind == "boolean" else None


def _discriminated(value: Any, schema: Mapping[str, Any], chosen: object) -> Any:
    """Return a value in which the schema's discriminator, if any, names the chosen alternative."""
    discriminator = as_object(schema.get("discriminator"))
    name, reference = discriminator.get("propertyName"), as_object(chosen).get("$ref")
    if not (isinstance(value, dict) and isinstance(name, str) and isinstance(reference, str)):
        return value
    short = reference.rpartition("/")[2]
    mapping = as_object(discriminator.get("mapping")).items()
    keys = [key for key, target in mapping if target in (reference, short)]
    return {**value, name: keys[0] if keys else short}
