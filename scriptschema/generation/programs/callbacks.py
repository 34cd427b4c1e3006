"""Callbacks: functions that Luau's C++ code calls, such as metamethods and error handlers.

Virtual machines handle errors, yielding and the stack differently in these functions.
"""

from __future__ import annotations

from typing import Final

from scriptschema import messages as m
from scriptschema.generation.programs import border_values, nodes
from scriptschema.generation.programs.nodes import MAKE


def grow() -> m.Stat:
    """Return a statement that makes Luau reallocate the stack.

    C++ code that called the enclosing function then has invalid pointers into the old stack.
    """
    return nodes.call_statement(border_values.of_text("table.pack(table.unpack({}, 1, 250))"))


def _error_handler(body: list[m.Stat]) -> m.Expr:
    error = nodes.expr("global_", nodes.builtin("error"))
    return nodes.group(nodes.call_builtin("xpcall", error, _function(body)))


def _index(body: list[m.Stat]) -> m.Expr:
    value = nodes.as_prefix(_object("__index", body))
    return nodes.expr("index_name", MAKE[m.ExprIndexName](value, nodes.custom(0)))


def _tostring(body: list[m.Stat]) -> m.Expr:
    body = [*body, nodes.return_([nodes.string("a")])]
    return nodes.call_builtin("tostring", _object("__tostring", body))


def _object(event: str, body: list[m.Stat]) -> m.Expr:
    handlers = nodes.table((), {event: _function(body)})
    return nodes.call_builtin("setmetatable", nodes.table(), handlers)


def _function(body: list[m.Stat]) -> m.Expr:
    return nodes.expr("function", nodes.function([], body))


USED_TO_GROW: Final = frozenset(["table", "table.pack", "table.unpack"])
"""The library and the members that `grow` uses."""

GROW_NODES: Final = 20
"""The approximate number of nodes in the statement that `grow` returns."""

CALLBACKS: Final = (
    (_error_handler, frozenset(["xpcall", "error"])),
    (_index, frozenset(["setmetatable"])),
    (_tostring, frozenset(["setmetatable", "tostring"])),
)
"""Functions that put statements into a callback, each with the globals that it uses."""
