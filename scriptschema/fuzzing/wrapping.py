"""What the operator `wrap` puts statements and expressions into; what they do stays the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from scriptschema.fuzzing.context import Context
from scriptschema.fuzzing.editing import copy
from scriptschema.generation.programs import nodes
from scriptschema.messages import (
    Expr,
    ExprCall,
    ExprConstantBool,
    ExprFunction,
    ExprGroup,
    ExprInterpString,
    ExprLocal,
    ExprPrefix,
    Local,
    Stat,
    StatBlock,
    StatCall,
    StatFor,
    StatIf,
    StatLocalFunction,
    StatReturn,
)


def _function(body: list[Stat]) -> ExprFunction:
    return ExprFunction(vararg=False, body=StatBlock(body=body))


def _in_pcall(node: Stat, _: Context) -> Stat:
    pcall = ExprPrefix(global_=nodes.builtin("pcall"))
    function = Expr(function=_function([node]))
    return Stat(call=StatCall(expr=ExprCall(func=pcall, self_=False, args=[function])))


def _in_loop(node: Stat, context: Context) -> Stat:
    return Stat(
        for_=StatFor(
            var=Local(name=_free(context)),
            from_=nodes.number(1),
            to=nodes.number(2),
            body=StatBlock(body=[node]),
        )
    )


def _in_branch(node: Stat, _: Context) -> Stat:
    return Stat(if_=StatIf(cond=Expr(bool=ExprConstantBool(val=True)), then=StatBlock(body=[node])))


def _in_function(node: Stat, context: Context) -> Stat:
    name = Local(name=_free(context))
    call = ExprCall(func=ExprPrefix(local=ExprLocal(var=copy(name))), self_=False)
    declared = Stat(local_function=StatLocalFunction(var=name, func=_function([node])))
    return Stat(block=StatBlock(body=[declared, Stat(call=StatCall(expr=call))]))


def _free(context: Context) -> int:
    return next((n for n in range(64) if n not in context.variables), 63)


WRAPPED_STATEMENTS: Final[Sequence[Callable[[Stat, Context], Stat]]] = (
    _in_branch,
    _in_loop,
    _in_pcall,
    _in_function,
)


def _called(node: Expr) -> Expr:
    function = Expr(function=_function([Stat(return_=StatReturn(list=[node]))]))
    group = ExprPrefix(group=ExprGroup(expr=function))
    return Expr(call=ExprCall(func=group, self_=False))


WRAPPED_EXPRESSIONS: Final[Sequence[Callable[[Expr], Expr]]] = (
    lambda node: Expr(group=ExprGroup(expr=node)),
    _called,
    lambda node: Expr(interpstring=ExprInterpString(parts=[node])),
)
