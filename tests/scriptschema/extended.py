"""Random trees of a schema with extension fields, for tests: any value that the schema allows."""

from __future__ import annotations

import random
import struct
from enum import IntEnum
from typing import Any

from scriptschema.base import INTEGERS, FieldInfo, Message
from scriptschema.messages import Schema

STRINGS = ("", "a", "end", "a b", 'é"\\', "\n\0", "x" * 200)


def extended_tree(schema: Schema, cls: type[Message], seed: int, depth: int = 12) -> Any:
    """Return a random tree of class `cls`, about `depth` levels deep."""
    rng = random.Random(seed)

    def scalar(field: FieldInfo) -> Any:
        if field.type in INTEGERS:
            least, most = INTEGERS[field.type]
            return rng.choice([0, 1, 127, 128, -1, least, most, rng.randint(least, most)])
        if field.type is float:
            bits = struct.unpack("<d", rng.randbytes(8))[0]
            values = [0.0, -0.5, 1e100, float("inf"), 5e-324, bits if bits == bits else 0.1]
            return rng.choice(values)
        if field.type is bool:
            return rng.random() < 0.5
        if issubclass(field.type, IntEnum):
            return rng.choice(list(field.type))
        return rng.choice(STRINGS)

    def value(field: FieldInfo, left: int) -> Any:
        return build(field.type, left - 1) if field.is_message else scalar(field)

    def build(cls: type[Message], left: int) -> Message:
        fields = schema.fields[cls].values()
        arguments: dict[str, Any] = {}
        alternatives = [field for field in fields if field.oneof]
        if left <= 0:
            leaves = [field for field in alternatives if field.tag in (2, 3, 6)]
            alternatives = leaves or alternatives
        if alternatives and (left > 0 or rng.random() < 0.2):
            chosen = rng.choice(alternatives)
            arguments[chosen.name] = value(chosen, left)
        for field in fields:
            if field.oneof:
                continue
            if field.rule == "repeated":
                count = rng.choice([0, 1, 2]) if left > 0 else 0
                arguments[field.name] = [value(field, left) for _ in range(count)]
            elif field.rule == "required" or (left > 0 and rng.random() < 0.4):
                arguments[field.name] = value(field, left)
        return cls(**arguments)

    return build(cls, depth)
