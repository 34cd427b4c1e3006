"""Compiles expressions in templates: holes, and special cases of operands, strings and calls."""

from __future__ import annotations

from functools import partial
from typing import Any, Final, cast

from scriptschema import messages as m
from scriptschema.base import Message
from scriptschema.generation.programs import nodes
from scriptschema.generation.programs.maker import Frame, Maker
from scriptschema.generation.programs.nodes import MAKE
from scriptschema.generation.programs.scope import Variable
from scriptschema.generation.programs.templates.base import Compiler, handles
from scriptschema.generation.programs.templates.source import Build
from scriptschema.luau.library import KINDS

HOLES: Final = {kind.upper(): kind for kind in KINDS}

_FRESH: Final = 1 << 20
"""The first number for FRESH. Smaller numbers need no entry in a function's constant table."""

_CATCHING: Final = frozenset(["pcall", "xpcall", "coroutine.create"])
"""Members that catch the errors of the functions passed to them. For `coroutine.create`, it is
`coroutine.resume` that catches them."""

_NOT_RISKY: Final = frozenset(
    [m.ExprBinary.Op.And, m.ExprBinary.Op.Or, m.ExprBinary.Op.CompareEq, m.ExprBinary.Op.CompareNe]
)


@handles(m.Expr, m.ExprPrefix, m.LValue)
def holder(compiler: Compiler, node: Any, level: int) -> Build | None:
    """Compile an Expr, ExprPrefix or LValue, which can be a hole."""
    if node.which == "call" and node.alternative.func.which == "global_":
        return call_hole(compiler, node, level)
    if node.which == "varargs":
        compiler.template.vararg = True
    text = compiler.custom_global(node)
    cls = node.__class__
    if text == "FRESH":
        compiler.template.heavy += nodes.CONSTANT  # it is counted when it is made
        return lambda maker, frame: maker.constant(nodes.number(_FRESH + maker.made))
    if text.startswith("some_"):
        return some(compiler, text, cls)
    if text == "RESULT":
        compiler.hole(level, 1)
        compiler.template.returns = True
        return lambda maker, frame: maker.expression(
            (maker.scope.function.results or ("any",))[0],
            frame.take(maker, 1),
            frame.room - level,
        )
    kind = HOLES.get(text)
    return kind_hole(compiler, kind, level, cls) if kind else None


def kind_hole(
    compiler: Compiler, kind: str, level: int, cls: type[Message] = m.Expr, risky: bool = False
) -> Build:
    """Compile a hole for an expression of the given kind."""
    if cls is m.ExprPrefix:
        compiler.template.fixed += 2
        level += 2
    compiler.hole(level, 1)
    code = f"maker.expression({kind!r}, frame.take(maker, 1), frame.room - {level}, risky={risky})"
    if cls is m.ExprPrefix:
        code = f"{compiler.write.name(nodes.as_prefix)}({code})"
    return compiler.write.source([], code)


def some(compiler: Compiler, text: str, cls: type[Message]) -> Build:
    """Compile a hole for a variable that is already in scope."""
    kind = text.split("_")[1]
    if kind not in compiler.given:
        compiler.template.needs.add(kind)
    compiler.template.fixed += 3
    make = MAKE[cls]

    def build(maker: Maker, frame: Frame) -> Any:
        variable = frame.names.get(text)
        if variable is None:
            # `Template.fits` has checked that there is one.
            variable = frame.names[text] = cast(Variable, maker.some(kind))
        return make("local", nodes.variable(variable.name))

    return build


def call_hole(compiler: Compiler, node: Any, level: int) -> Build | None:
    """Compile a hole that is written as a call."""
    call: m.ExprCall = node.alternative
    text = compiler.custom_global(call.func)
    if text == "RANGE":
        low, high = (cast(Any, argument.alternative).val for argument in call.args)
        compiler.template.fixed += 2
        return lambda maker, frame: nodes.number(maker.between(low, high))
    if text == "ONE_OF":
        chosen = compiler.wanted(call.args)
        build = compiler.one_of(
            [compiler.part(partial(compiler.compile, a, level)) for a in chosen]
        )
        if isinstance(node, m.ExprPrefix):
            return lambda maker, frame: nodes.as_prefix(build(maker, frame))
        return build
    if text == "UNTYPED":
        return compiler.compile(call.args[0], level)
    return None


@handles(m.ExprBinary)
def binary(compiler: Compiler, node: m.ExprBinary, level: int) -> Build | None:
    """Compile a binary operation.

    Operands may deliberately be of the wrong kind, except those of `and`, `or`, `==` and `~=`.
    """
    if node.op in _NOT_RISKY:
        return None
    compiler.template.fixed += 1
    sides = [operand(compiler, side, level + 1) for side in (node.left, node.right)]
    return compiler.write.node(m.ExprBinary, [compiler.write.literal(node.op), *sides])


def operand(compiler: Compiler, node: m.Expr, level: int) -> Build:
    """Compile an operand, which may deliberately be of the wrong kind."""
    kind = HOLES.get(compiler.custom_global(node))
    if kind is not None:
        return kind_hole(compiler, kind, level, risky=True)
    return compiler.compile(node, level)


@handles(m.ExprUnary)
def unary(compiler: Compiler, node: m.ExprUnary, level: int) -> Build | None:
    """Compile a unary operation. After a minus, positive integer constants become negative."""
    make, op = MAKE[m.ExprUnary], node.op
    compiler.template.fixed += 1
    inner = operand(compiler, node.expr, level + 1)

    def build(maker: Maker, frame: Frame) -> Any:
        value = inner(maker, frame)
        if op == m.ExprUnary.Op.Minus and value.which == "number":
            constant = value.alternative
            if constant.double is not None:
                value = nodes.group(value)
            elif constant.val > 0:
                value = nodes.number(-constant.val)
        return make(op, value)

    return build


@handles(m.ExprCast)
def type_cast(compiler: Compiler, node: m.ExprCast, level: int) -> Build | None:
    """Compile a type cast. If it casts another cast, the printer adds the parentheses."""
    compiler.template.fixed += 1
    inner = compiler.compile(node.expr, level + 1)

    def without_parentheses(maker: Maker, frame: Frame) -> Any:
        value = inner(maker, frame)
        is_cast = value.which == "group" and value.alternative.expr.which == "cast"
        return value.alternative.expr if is_cast else value

    return compiler.write.node(
        m.ExprCast, [without_parentheses, compiler.compile(node.type, level + 1)]
    )


@handles(m.ExprInterpString)
def interpolation(compiler: Compiler, node: m.ExprInterpString, level: int) -> Build | None:
    """Compile an interpolated string. A string constant in braces is put in parentheses."""
    make, parts = MAKE[m.ExprInterpString], node.parts
    compiler.template.fixed += 1
    builds = [(part.which == "string", compiler.compile(part, level + 1)) for part in parts]

    def build(maker: Maker, frame: Frame) -> Any:
        content = []
        for is_text, part in builds:
            value = part(maker, frame)
            grouped = not is_text and value.which == "string"
            content.append(nodes.group(value) if grouped else value)
        return make(content)

    return build


@handles(m.ExprCall)
def call(compiler: Compiler, node: m.ExprCall, level: int) -> Build | None:
    """Compile a call. If it catches errors, mark the functions in its arguments as guarded."""
    if compiler.names.member(node.func.alternative) in _CATCHING:
        for argument in node.args:
            if argument.which == "function":
                compiler.guarded.add(id(argument.alternative))
    return None
