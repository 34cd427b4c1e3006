"""Copies trees with compiled functions, one for each message."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

from scriptschema import pickling
from scriptschema.base import Message, require_message
from scriptschema.codec.compiling import compile_each
from scriptschema.messages import schema
from scriptschema.versions import TODAY

MessageT = TypeVar("MessageT", bound=Message)


def copy(tree: MessageT) -> MessageT:
    """Return a copy of `tree` that shares no message and no list with it.

    Time and memory are linear in the number of messages, at any depth.
    """
    require_message(tree)
    try:
        copied: MessageT = _copiers()[tree.__class__](tree)
    except (RecursionError, AttributeError):  # a deep tree, or a list with invalid items
        return pickling.unshared(tree)
    return copied


def shallow_copy(message: MessageT) -> MessageT:
    """Return a copy of the message with new lists, but with the same messages in its fields."""
    copied: MessageT = _shallow_copiers()[message.__class__](message)
    return copied


@cache
def _shallow_copiers() -> dict[type[Message], Callable[[Any], Any]]:
    return compile_each("shallow_copy", "old", _lines_of_shallow_copy, {}, schema(TODAY))


def _lines_of_shallow_copy(cls: type[Message]) -> list[str]:
    lists = {slot for slot, repeated in cls._child_slots if repeated}
    slots = [f"new.{slot} = old.{slot}{'.copy()' * (slot in lists)}" for slot in cls._slots]
    return [f"new = make_{cls.__name__}()", *slots, f"new.__class__ = {cls.__name__}", "return new"]


@cache
def _copiers() -> dict[type[Message], Callable[[Any], Any]]:
    scope: dict[str, Any] = {}
    functions = scope["of"] = compile_each("copy", "old", _lines, scope, schema(TODAY))
    return functions


def _lines(cls: type[Message]) -> list[str]:
    name = cls.__name__
    lines = [f"new = make_{name}()"]
    children = dict(cls._child_slots)
    for slot in cls._slots:
        value = f"old.{slot}"
        if slot == "alternative" and slot in children:
            lines.append("value = old.alternative")
            value = "None if value is None else of[value.__class__](value)"
        elif slot in children:
            copy = f"copy_{cls.ALL_FIELDS[slot].type.__name__}"
            if children[slot]:
                value = f"[{copy}(item) for item in old.{slot}]"
            else:
                value = f"None if old.{slot} is None else {copy}({value})"
        lines.append(f"new.{slot} = {value}")
    return [*lines, f"new.__class__ = {name}", "return new"]
