"""Lets `st.from_type(messages.Expr)` and `st.builds` use our strategies without an import.

When Hypothesis is imported, it calls `register` (entry point `hypothesis`). `register` only
registers a callback, which is called once all message classes are defined. So Hypothesis and the
messages can be imported in any order, and a program that uses only one of them does not load the
other.

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
    """Register the messages' strategies with Hypothesis, now or when the messages are imported."""
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
