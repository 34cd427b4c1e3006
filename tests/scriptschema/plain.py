"""The messages again, as a user of plain pure-protobuf would write them.

Ordinary dataclasses, encoded and decoded by pure-protobuf itself: an independent reference for what
`scriptschema.wire` writes, and the peer in the benchmarks.
"""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any

from pure_protobuf.annotations import Field
from pure_protobuf.message import BaseMessage
from pure_protobuf.one_of import OneOf

from scriptschema import Message
from scriptschema.messages import MESSAGES


class _Postponed(BaseMessage):
    """Postpones reading annotations until all classes exist: they refer to each other."""

    def __init_subclass__(cls) -> None:
        pass


def _make() -> dict[str, Any]:
    made: dict[str, Any] = {
        name: type(name, (_Postponed,), {"__annotations__": {}}) for name in MESSAGES
    }
    classes = {}
    for name, cls in MESSAGES.items():
        plain = made[name]
        oneof: OneOf[Any] = OneOf()
        for field in cls.FIELDS.values():
            type_: Any = made[field.type_name] if field.is_message else field.type
            annotation = Field(field.tag, one_of=oneof if field.oneof else None)
            if field.rule == "repeated":
                plain.__annotations__[field.name] = Annotated[list[type_], annotation]
                setattr(plain, field.name, dataclasses.field(default_factory=list))
            elif field.rule == "optional":
                plain.__annotations__[field.name] = Annotated[type_ | None, annotation]
                setattr(plain, field.name, None)
            else:
                plain.__annotations__[field.name] = Annotated[type_, annotation]
        classes[name] = dataclasses.dataclass(kw_only=True)(plain)
    for plain in classes.values():
        BaseMessage.__init_subclass__.__func__(plain)  # type: ignore[attr-defined]
    return classes


CLASSES = _make()
"""The plain classes by the messages' names."""


def from_message(message: Message) -> Any:
    """Return the plain counterpart of a message."""
    values = {}
    for name, field in type(message).FIELDS.items():
        value = getattr(message, name)
        if isinstance(value, Message):
            value = from_message(value)
        elif field.rule == "repeated":
            value = [from_message(item) for item in value]
        values[name] = value
    return CLASSES[type(message).__name__](**values)
