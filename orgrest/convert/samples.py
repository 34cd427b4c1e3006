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
        if isinstance(schema.get("allOf"), list):
            return self._merged(schema, depth)
        for name in ("oneOf", "anyOf"):
            if isinstance(schema.get(name), list) and schema[name]:
                return self._value(schema[name][0], depth + 1)
        return self._of_type(schema, depth)

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
            return {
                str(name): self._value(property_, depth + 1)
                for name, property_ in as_object(schema.get("properties")).items()
                if not as_object(self._resolve(property_)).get("readOnly")
            }
        if kind == "array" or "items" in schema:
            item = self._value(schema.get("items"), depth + 1)
            return [] if item is None else [item]
        if kind == "string":
            return _TEXTS.get(str(schema.get("format")), "text")
        if kind in ("integer", "number"):
            least = schema.get("minimum")
            return least if isinstance(least, int | float) else 1
        return True if kind == "boolean" else None
