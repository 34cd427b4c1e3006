"""Makes `st.from_type(messages.Expr)` and `st.builds` find our strategies, without any import.

Hypothesis runs `register` when it is imported (the entry point `hypothesis`), and so does
`messages.py`: whichever comes second finds the other there. So a program that uses only one of the
two never pays for the other, and this module imports nothing before.
"""

import sys


def register() -> None:
    """Tell Hypothesis of the messages' strategies, if both are there."""
    strategies = sys.modules.get("hypothesis.strategies")
    messages = sys.modules.get("scriptschema.messages")
    if strategies is None or messages is None or not hasattr(messages, "MESSAGES"):
        return
    for cls in messages.MESSAGES.values():
        strategies.register_type_strategy(cls, _strategy)
    from scriptschema.base import INT32_MAX, INT32_MIN, Int32

    strategies.register_type_strategy(Int32, strategies.integers(INT32_MIN, INT32_MAX))


def _strategy(cls):  # type: ignore[no-untyped-def]  # typing it would import hypothesis
    from scriptschema.strategies import messages

    return messages(cls)
