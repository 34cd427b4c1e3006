"""The value of a variable that a script set."""

from __future__ import annotations

from typing import Any

import attrs


@attrs.frozen
class ScriptValue:
    """A variable's value as a script set it.

    `text` is the text to send, None if it has no text, such as a function. `json` is the value as
    JSON. `number` identifies the value that the engine keeps, None if it does not keep it.
    """

    text: str | None
    json: Any
    number: int | None = None
