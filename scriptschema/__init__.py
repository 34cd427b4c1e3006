"""Luau programs as protobuf trees: schema, codec, random trees, exchange formats.

`messages` defines the 57 messages, and `wire` encodes and decodes them. `generation` and
`strategies` make random trees. `interop` converts trees to and from protobuf's other formats.
`walk` yields the messages of a tree with their paths.

Each module is imported when it is first used, so `import scriptschema` takes almost no time.

A module in a layer above `messages` registers for `when_complete`, which calls it as soon as all
messages exist.
"""

from __future__ import annotations

import gc
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
_waiting: list[Callable[[Mapping[str, type[Message]]], object]] = []


def when_complete(callback: Callable[[Mapping[str, type[Message]]], object]) -> None:
    """Call `callback` with all message classes by name, as soon as all of them are defined.

    If they are defined already, `callback` is called immediately.
    """
    if _complete is None:
        _waiting.append(callback)
    else:
        callback(_complete)


def announce(messages: Mapping[str, type[Message]]) -> None:
    """Pass the complete `messages` to the waiting callbacks. Called at the end of `messages.py`."""
    global _complete
    _complete = messages
    for callback in _waiting:
        callback(messages)
    _waiting.clear()


def collect_rarely() -> None:
    """Make Python look for reference cycles rarely, for processes that mostly handle trees.

    Trees contain no reference cycles, but looking for some in the many trees of a fuzzing campaign
    takes a quarter of the time.
    """
    gc.set_threshold(100_000, 20, 50)
