"""Luau programs as protobuf trees: schema, codec, random trees, exchange formats.

`messages` has the 57 messages, `wire` encodes and decodes them, `generate` and `strategies` make
random ones, `interop` exchanges them with protobuf's other formats, and `walk` visits a tree's
messages and tells their paths.

Names are loaded when they are first used, so that `import scriptschema` costs nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scriptschema import interop, messages, strategies, wire
    from scriptschema.base import FieldInfo, Message, Path, ValidationError, walk

__all__ = [
    "FieldInfo",
    "Message",
    "Path",
    "ValidationError",
    "interop",
    "messages",
    "strategies",
    "walk",
    "wire",
]

_IN_BASE = {"FieldInfo", "Message", "Path", "ValidationError", "walk"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _IN_BASE:
        return getattr(importlib.import_module(f"{__name__}.base"), name)
    return importlib.import_module(f"{__name__}.{name}")
