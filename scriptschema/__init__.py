"""Luau programs as protobuf trees: schema, codec, random trees, exchange formats.

`messages` has the 57 messages, `wire` encodes and decodes them, `generation` and `strategies` make
random ones, `interop` exchanges them with protobuf's other formats, and `walk` yields a tree's
messages with their paths.

Names are loaded when they are first used, so that `import scriptschema` costs nothing.

Modules that the messages do not import, but that must be loaded whenever a message is used,
register a callback here (`when_complete`): so `bytes(message)` works without an import of `wire`,
and no module imports one from a higher layer.
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
    """Call `callback` with all messages by name as soon as they are complete (now, if they are)."""
    if _complete is None:
        _waiting.append(callback)
    else:
        callback(_complete)


def announce(messages: Mapping[str, type[Message]]) -> None:
    """Call the waiting callbacks with the complete `messages`; `messages.py` does so at its end."""
    global _complete
    _complete = messages
    for callback in _waiting:
        callback(messages)
    _waiting.clear()
