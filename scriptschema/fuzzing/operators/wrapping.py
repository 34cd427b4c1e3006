"""Wrappers for the operator `wrap`: code around unchanged statements and expressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from scriptschema import messages as m
from scriptschema.fuzzing import rewriting
from scriptschema.fuzzing.context import Context
from scriptschema.fuzzing.rewriting import Wrap
from scriptschema.generation.programs import nodes


def free(context: Context) -> int:
    """Return the name index of a local that is not in scope, for `WRAPPED_STATEMENTS`."""
    return next((n for n in range(64) if n not in context.variables), 63)


def _in_branch(stat: m.Stat, _: int) -> m.Stat:
    return nodes.stat("if_", m.StatIf(cond=nodes.boolean(True), then=nodes.block([stat])))


def _in_pcall(stat: m.Stat, _: int) -> m.Stat:
    return nodes.call_statement(nodes.call_builtin("pcall", rewriting.function(stat)))


def _in_function(stat: m.Stat, name: int) -> m.Stat:
    declared = nodes.local_function(name, nodes.function([], [stat]))
    call = nodes.call_statement(nodes.call_local(name, []))
    return nodes.stat("block", nodes.block([declared, call]))


WRAPPED_STATEMENTS: Final[Sequence[Wrap]] = (
    _in_branch,
    partial(rewriting.in_loop, times=2),
    _in_pcall,
    _in_function,
    rewriting.in_function,
    rewriting.in_coroutine,
    rewriting.in_loop,
)


def _called(node: m.Expr) -> m.Expr:
    return nodes.call(nodes.as_prefix(rewriting.function(nodes.return_([node]))), [])


WRAPPED_EXPRESSIONS: Final[Sequence[Callable[[m.Expr], m.Expr]]] = (
    nodes.group,
    _called,
    lambda node: m.Expr(interpstring=m.ExprInterpString(parts=[node])),
)
