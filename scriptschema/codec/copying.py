"""Copies of trees, made by functions that are compiled, one for each message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from scriptschema.base import Message
from scriptschema.declaration import compile_source
from scriptschema.messages import MESSAGES

MessageT = TypeVar("MessageT", bound=Message)


def copy(tree: MessageT) -> MessageT:
    """Return a tree that equals `tree` and shares no message and no list with it.

    Time and memory are linear in the number of messages, whatever the depth.
    """
    try:
        copied: MessageT = _COPIERS[tree.__class__](tree)
    except (RecursionError, AttributeError):  # a deep tree, or a list with something else in it
        return _copy_deep(tree)
    return copied


def _copy_deep(tree: MessageT) -> MessageT:
    put = object.__setattr__
    root = object.__new__(tree.__class__)
    pairs: list[tuple[Any, Any]] = [(tree, root)]
    while pairs:
        old, new = pairs.pop()
        for slot in old._slots:
            value = getattr(old, slot)
            if isinstance(value, Message):
                child = object.__new__(value.__class__)
                pairs.append((value, child))
                value = child
            elif value.__class__ is list:
                items = [object.__new__(item.__class__) for item in value]
                pairs.extend(zip(value, items, strict=True))
                value = items
            put(new, slot, value)
    return root


def _copiers() -> dict[type[Message], Callable[[Any], Any]]:
    """Compile a function for each message that copies one, and calls those of what it holds."""
    scope: dict[str, Any] = {}
    lines = []
    for name, cls in MESSAGES.items():
        scope |= {f"cls_{name}": cls, f"new_{name}": cls._unchecked}
        lines += [f"def copy_{name}(old):", f"    new = new_{name}()"]
        fields = cls.FIELDS
        children = dict(cls._child_slots)
        for slot in cls._slots:
            value = f"old.{slot}"
            if slot == "alternative" and slot in children:
                lines.append("    value = old.alternative")
                value = f"None if value is None else of_{name}[old.which](value)"
            elif children.get(slot):
                value = f"[copy_{fields[slot].type.__name__}(item) for item in old.{slot}]"
            elif slot in children:
                value = (
                    f"None if old.{slot} is None else copy_{fields[slot].type.__name__}({value})"
                )
            lines.append(f"    new.{slot} = {value}")
        lines += [f"    new.__class__ = cls_{name}", "    return new"]
    compile_source("\n".join(lines), scope, "copy")
    for name, cls in MESSAGES.items():
        alternatives = (field for field in cls.FIELDS.values() if field.oneof and field.is_message)
        scope[f"of_{name}"] = {f.name: scope[f"copy_{f.type.__name__}"] for f in alternatives}
    return {cls: scope[f"copy_{name}"] for name, cls in MESSAGES.items()}


_COPIERS: Final = _copiers()
