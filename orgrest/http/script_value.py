"""The value of a variable that a script has set."""

from __future__ import annotations

from typing import Any

from orgrest import classes


@classes.frozen
class ScriptValue:
    """The value of a variable that a script has set.

    `text` is the string to send, or None if the value cannot be sent (for example, a function).
    `json` is the value as JSON. `number` is the key under which the engine keeps the value, or None
    if the engine discards the value.
    """

    text: str | None
    json: Any
    number: int | None = None
