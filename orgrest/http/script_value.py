"""A variable's value as a script made it."""

from __future__ import annotations

from typing import Any

import attrs


@attrs.frozen
class ScriptValue:
    """A variable's value as a script made it.

    `text` is what is sent of it, None if it has no text, as a function. `json` is it as JSON.
    `number` is the one by which the engine has the value itself, None if it does not.
    """

    text: str | None
    json: Any
    number: int | None = None
