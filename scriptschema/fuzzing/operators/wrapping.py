"""Wrappers for the operator `wrap`: code around unchanged statements and expressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from scriptschema import messages as m
from scriptschema.fuzzing import rewriting
from scriptschema.fuzzing.context import Context
from scriptschema.fuzzing.editing import copy
from scriptschema.generation.programs import nodes


def _function(body: list[m.Stat]) -> m.ExprFunction:
    return m.ExprFunction(vararg=False, body=m.StatBlock(body=body))


def _in_pcall(node: m.Stat, _: Context) -> m.Stat:
    pcall = m.ExprPrefix(global_=nodes.builtin("pcall"))
    function = m.Expr(function=_function([node]))
    return m.Stat(call=m.StatCall(expr=m.ExprCall(func=pcall, self_=False, args=[function])))


def _in_loop(node: m.Stat, context: Context) -> m.Stat:
    return m.Stat(
        for_=m.StatFor(
            var=m.Local(name=_free(context)),
            from_=nodes.number(1),
            to=nodes.number(2),
            body=m.StatBlock(body=[node]),
        )
    )


def _in_branch(node: m.Stat, _: Context) -> m.Stat:
    return m.Stat(
        if_=m.StatIf(cond=m.Expr(bool=m.ExprConstantBool(val=True)), then=m.StatBlock(body=[node]))
    )


def _in_function(node: m.Stat, context: Context) -> m.Stat:
    name = m.Local(name=_free(context))
    call = m.ExprCall(func=m.ExprPrefix(local=m.ExprLocal(var=copy(name))), self_=False)
    declared = m.Stat(local_function=m.StatLocalFunction(var=name, func=_function([node])))
    return m.Stat(block=m.StatBlock(body=[declared, m.Stat(call=m.StatCall(expr=call))]))


def _free(context: Context) -> int:
    return next((n for n in range(64) if n not in context.variables), 63)


WRAPPED_STATEMENTS: Final[Sequence[Callable[[m.Stat, Context], m.Stat]]] = (
    _in_branch,
    _in_loop,
    _in_pcall,
    _in_function,
    lambda node, _: rewriting.in_function(node),
    lambda node, _: rewriting.in_coroutine(node),
    lambda node, context: rewriting.in_loop(node, _free(context)),
)


def _called(node: m.Expr) -> m.Expr:
    function = m.Expr(function=_function([m.Stat(return_=m.StatReturn(list=[node]))]))
    group = m.ExprPrefix(group=m.ExprGroup(expr=function))
    return m.Expr(call=m.ExprCall(func=group, self_=False))


WRAPPED_EXPRESSIONS: Final[Sequence[Callable[[m.Expr], m.Expr]]] = (
    lambda node: m.Expr(group=m.ExprGroup(expr=node)),
    _called,
    lambda node: m.Expr(interpstring=m.ExprInterpString(parts=[node])),
)
