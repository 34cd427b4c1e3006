"""Luau programs as protobuf trees: schema, codec, random trees, exchange formats.

`messages` defines the 57 messages, and `wire` encodes and decodes them. `generation` and
`strategies` make random trees. `interop` converts trees to and from protobuf's other formats.
`walk` yields the messages of a tree with their paths.

Each name is loaded when it is first used, so `import scriptschema` takes almost no time.

Some modules must be loaded whenever a message is used, although `messages` does not import them.
These modules register a callback here (`when_complete`). So `bytes(message)` works without an
import of `wire`, and no module imports another from a higher layer.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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

__version__ = "0.1.0"

_IN_BASE = {"FieldInfo", "Message", "Path", "ValidationError", "walk"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _IN_BASE:
        return getattr(importlib.import_module(f"{__name__}.base"), name)
    return importlib.import_module(f"{__name__}.{name}")


_complete: Mapping[str, type[Message]] | None = None
_waiting: list[Callable[[Mapping[str, type[Message]]], object]] = [
    lambda _messages: importlib.import_module(f"{__name__}.wire")
]


def when_complete(callback: Callable[[Mapping[str, type[Message]]], object]) -> None:
    """Call `callback` with a mapping of all messages by name, now or once they are complete."""
    if _complete is None:
        _waiting.append(callback)
    else:
        callback(_complete)


def announce(messages: Mapping[str, type[Message]]) -> None:
    """Call the waiting callbacks with the complete `messages`. `messages.py` calls this last."""
    global _complete
    _complete = messages
    for callback in _waiting:
        callback(messages)
    _waiting.clear()
