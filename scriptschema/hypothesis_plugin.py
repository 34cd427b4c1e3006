"""Makes `st.from_type(messages.Expr)` and `st.builds` find our strategies, without any import.

Hypothesis calls `register` when it is imported (the entry point `hypothesis`). It only leaves a
callback for the time when the messages are there, so that whichever of the two comes second finds
the other, and a program that uses one of them never pays for the other.

Source: the Hypothesis manual, "Extension entry points".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import scriptschema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hypothesis.strategies import SearchStrategy

    from scriptschema.base import Message


def register() -> None:
    """Tell Hypothesis of the messages' strategies, now or when the messages are imported."""
    scriptschema.when_complete(_register_types)


def _register_types(messages: Mapping[str, type[Message]]) -> None:
    from hypothesis.strategies import integers, register_type_strategy

    from scriptschema.base import INT32_MAX, INT32_MIN, Int32

    for cls in messages.values():
        register_type_strategy(cls, _strategy)
    register_type_strategy(Int32, integers(INT32_MIN, INT32_MAX))


def _strategy(cls: type[Message]) -> SearchStrategy[Message]:
    from scriptschema.strategies import messages

    return messages(cls)
