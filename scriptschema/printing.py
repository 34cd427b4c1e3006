"""Writes the `repr` of a message, which is the expression that creates it."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final

from pure_protobuf.message import BaseMessage


def one_line(message: BaseMessage) -> str:
    """Return the message's `repr` on one line. Of a large message, it is only the beginning."""
    printer = _PlainPrinter()
    _Writer(printer, messages=100, items=20).write(message, 0)
    return "".join(printer.parts)


def write(message: BaseMessage, printer: Any) -> None:
    """Write the message's `repr` to IPython's or Hypothesis's printer, on several lines."""
    _Writer(printer, messages=1000, items=1000).write(message, 0)


class _PlainPrinter:
    """IPython's pretty printer without line breaks."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.text = self.parts.append

    def begin_group(self, _indent: int, opening: str) -> None:
        self.text(opening)

    def breakable(self, separator: str = " ") -> None:
        self.text(separator)

    def end_group(self, _dedent: int, closing: str) -> None:
        self.text(closing)


class _Writer:
    """Writes a message as the expression that creates it.

    Parts beyond the limits become `...`, so that the text is not an expression any more. `messages`
    is the maximum number of messages, and `items` that of a list.
    """

    depth: Final = 40
    characters: Final = 150

    def __init__(self, printer: Any, *, messages: int, items: int) -> None:
        self.printer = printer
        self.left = messages
        self.items = items

    def write(self, value: object, depth: int) -> None:
        text = self.printer.text
        if isinstance(value, BaseMessage):
            name = type(value).__name__
            self.left -= 1
            if self.left < 0 or depth >= self.depth:
                text(f"{name}(...)")
                return
            self.printer.begin_group(4, f"{name}(")
            position = 0
            fields = value.ALL_FIELDS  # type: ignore[attr-defined]  # it is a `base.Message`
            for name, field in fields.items():
                part = getattr(value, name, None)
                if field.rule != "required" and (part is None or part == []):
                    continue
                self._separate(position)
                position += 1
                text(f"{name}=")
                self.write(part, depth + 1)
            self.printer.end_group(4, ")")
        elif isinstance(value, list):
            self.printer.begin_group(4, "[")
            for position, item in enumerate(value):
                self._separate(position)
                if position == self.items or self.left <= 0:
                    text(f"... {len(value) - position} more")
                    break
                self.write(item, depth)
            self.printer.end_group(4, "]")
        elif isinstance(value, IntEnum):
            text(f"{type(value).__qualname__}.{value.name}")
        else:
            short = repr(value)
            more = len(short) - self.characters
            shown = f"{short[: self.characters]}{short[0]}... {more} more characters"
            text(short if more <= 50 else shown)

    def _separate(self, position: int) -> None:
        if position:
            self.printer.text(",")
        self.printer.breakable(" " if position else "")
