"""Compiles statements and functions in templates: declarations, loops and statement holes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from scriptschema import messages as m
from scriptschema.base import walk
from scriptschema.codec.compiling import indented
from scriptschema.generation.programs import anything, calls, combinations
from scriptschema.generation.programs.maker import LEAF, LOOP, Maker
from scriptschema.generation.programs.templates.base import (
    Compiler,
    Part,
    TypeOf,
    handles,
)
from scriptschema.generation.programs.templates.source import Build
from scriptschema.generation.programs.templates.types import alias, declare_generics, type_function

_BLOCK_WEIGHT: Final = 6
"""The weight of a block, if an expression has weight 1."""

_LEVELS: Final = {"LIBRARY": 14, "COMBINATION": combinations.LEVELS, "ANYTHING": anything.LEVELS}
"""The maximum number of levels that certain statement holes need, by name."""

_HEAVY: Final = {
    "LIBRARY": 16,
    "COMBINATION": combinations.LEAST,
    "ANYTHING": anything.LEAST,
    "ALIAS": 6,
}
"""The minimum number of nodes of certain statement holes, by name."""

_INSIDE: Final = frozenset(["body", "var", "vars"])
"""The fields of a loop that are in the scope of the loop."""

_CONSTANT: Final = "maker.constant_here()"
_ATTRIBUTES: Final = "maker.attributes()"

_NOTHING: Final[Part] = (lambda maker, frame: [], 0, 0, 0)

_STATEMENT_HOLES: Final[dict[str, Callable[[Maker, int, int], list[m.Stat]]]] = {
    "BLOCK": lambda maker, size, room: maker.statements(size, room) if room > LEAF + 4 else [],
    "ALIAS": lambda maker, size, room: maker.annotations.alias(maker, size, room),
    "TYPE_FUNCTION": lambda maker, size, room: type_function(maker),
    "LIBRARY": calls.any_statement,
    "COMBINATION": combinations.statement,
    "ANYTHING": lambda maker, size, room: anything.statements(maker, room),
}


@handles(m.ExprFunction)
def function_of(compiler: Compiler, node: m.ExprFunction, level: int) -> Build:
    """Compile a function.

    `...`, jumps and RESULT in its body do not become requirements of the template.
    """
    template = compiler.template
    template.fixed += 1
    template.repeats = True
    vararg = node.vararg
    types = compiler.types_of(node.args, node.types, level + 1)
    rest: list[TypeOf] = [None] if vararg else []
    if len(node.types) > len(types):
        rest = [compiler.type_of(node.types[-1], level + 1)]
    returned = [compiler.type_of(type_, level + 1) for type_ in node.rettypes]
    results = result_kinds(compiler, node)
    outside = template.vararg, template.loop, template.returns
    loops, compiler.loops = compiler.loops, 0
    write = compiler.write
    declare = compiler.declare(node.args, types)
    body = stats(compiler, node.body.body, level + 2)
    template.fixed += 1
    compiler.loops = loops
    template.vararg, template.loop, template.returns = outside
    annotated, inside, function_name, cost = (write.name() for _ in range(4))
    generics, packs = f"{annotated}[0]", f"{annotated}[1]"
    lines: list[str] = []
    if node.generics or node.genericpacks:
        own = write.kept(partial(declare_generics, node), lines)
        generics, packs = f"{own}[0] + {generics}", f"{own}[1] + {packs}"
    declarations = ", ".join(compiler.said(each) for each in (types, rest, returned))
    called = f"maker.annotations.function(maker, {declarations}, frame.room - {level + 1})"
    lines.append(f"{annotated} = {called}")
    values: list[Build | str] = [generics, packs, declare, repr(vararg)]
    values += [write.node(m.StatBlock, [body]), f"{annotated}[2]", f"{annotated}[3]"]
    values.append(compiler.many(node.attributes, level + 1) if node.attributes else _ATTRIBUTES)
    function = write.node(m.ExprFunction, values, lines)
    options = f"vararg={vararg}, results={results or None}, guarded={id(node) in compiler.guarded}"
    return write.source(
        [
            f"def {inside}():",
            *indented([*function.lines, f"return {function.result}"]),
            f"{function_name}, {cost} = maker.function({inside}, {options})",
            f"frame.cost += {cost}",
        ],
        function_name,
    )


def result_kinds(compiler: Compiler, node: m.ExprFunction) -> tuple[str, ...]:
    """Return the kinds of a function's results, or () if it has none or a kind is unknown."""
    kinds = tuple(compiler.kind_of(type_) for type_ in node.rettypes)
    return kinds if all(kinds) else ()


@handles(m.StatLocalFunction)
def local_function(compiler: Compiler, node: m.StatLocalFunction, level: int) -> Build:
    """Compile a local function.

    To avoid infinite recursion, the holes in its body are never filled with calls to it.
    """
    compiler.template.fixed += 1
    results = result_kinds(compiler, node.func)
    parameters = tuple(compiler.kind_of(type_) for type_ in node.func.types)
    all_known = len(parameters) == len(node.func.args) and all(parameters)
    # The cost of a recursive function is unknown.
    is_recursive = any(
        isinstance(use, m.Local) and use.name == node.var.name for use, _ in walk(node.func.body)
    )
    is_public = bool(results) and all_known and not node.func.vararg and not is_recursive
    write = compiler.write
    lines: list[str] = []
    variable = write.kept(compiler.declare([node.var], [None]), lines)
    function = function_of(compiler, node.func, level + 1)
    outer = write.name()
    lines += [f"{outer} = frame.cost", "frame.cost = 0"]
    flags = [repr(node.is_const), repr(node.is_exported)]
    if not node.is_const and not node.is_exported and node.var.name not in compiler.assigned:
        flags[0] = _CONSTANT
    built = write.kept(write.node(m.StatLocalFunction, [f"{variable}[0]", function, *flags]), lines)
    if is_public:
        for kind in ("function", f"-> {results[0]}"):
            arguments = f"{variable}[0].name, {kind!r}, {parameters}, {results}, frame.cost"
            lines.append(f"maker.scope.publish(Variable({arguments}))")
    return write.source([*lines, f"frame.cost += {outer}"], built)


@handles(m.StatFunction)
def function_statement(compiler: Compiler, node: m.StatFunction, level: int) -> Build:
    """Compile a function statement, which defines a global, a field or a method."""
    compiler.template.fixed += 1
    target = compiler.compile(node.var, level + 1)
    function = function_of(compiler, node.func, level + 1)
    return compiler.write.node(m.StatFunction, [target, function, repr(node.self_)])


def stats(compiler: Compiler, body: Sequence[m.Stat], level: int) -> Build:
    """Return a function that builds statements in the current scope."""
    return compiler.write.items([stat(compiler, statement, level) for statement in body])


def stat(compiler: Compiler, node: m.Stat, level: int) -> tuple[bool, Build]:
    """Return (builds_list, build) for a statement, which can become several statements."""
    inner: Any = node.alternative
    if node.which in ("break_", "continue_") and not compiler.loops:
        compiler.template.loop = True
    if node.which == "call" and inner.expr.func.which == "global_":
        text = compiler.custom_global(inner.expr.func)
        if text in _STATEMENT_HOLES:
            return True, statement_hole(compiler, text, level)
        if text == "ONE_OF":
            return False, one_of_calls(compiler, inner.expr, level)
    if node.which == "type_alias":
        return True, alias(compiler, inner, level + 1)
    if node.which == "if_":
        text = compiler.custom_global(inner.cond)
        if text == "MAYBE":
            return True, compiler.one_of([_NOTHING, *branches(compiler, inner, level)])
        if text == "ONE_OF":
            return True, compiler.one_of(branches(compiler, inner, level))
        if text in ("TYPED", "UNTYPED"):
            wanted = inner.then.body if compiler.typed == (text == "TYPED") else ()
            return True, stats(compiler, wanted, level)
        repetition = compiler.repetition(inner.cond)
        if repetition is not None:
            body = inner.then.body
            for local in (each.alternative for each in body if each.which == "local"):
                compiler.given |= {kind for each in local.types if (kind := compiler.kind_of(each))}
            return True, compiler.repeated(lambda: stats(compiler, body, level), repetition[1])
    return False, compiler.compile(node, level)


def one_of_calls(compiler: Compiler, node: m.ExprCall, level: int) -> Build:
    """Compile a statement that becomes one of the calls in an ONE_OF."""
    statements = [
        m.Stat(call=m.StatCall(expr=each.alternative)) for each in compiler.wanted(node.args)
    ]
    return compiler.one_of(
        [compiler.part(partial(compiler.compile, each, level)) for each in statements]
    )


def branches(compiler: Compiler, node: m.StatIf, level: int) -> list[Part]:
    """Return the branches of an `if ONE_OF`. Each use of the template gets one of them."""
    parts = []
    if not (compiler.typed and compiler.custom_global(node.cond) == "UNTYPED"):
        parts.append(compiler.part(lambda: stats(compiler, node.then.body, level)))
    if node.which == "elseif":
        parts += branches(compiler, node.alternative, level)
    elif node.which:
        other: Any = node.alternative
        parts.append(compiler.part(lambda: stats(compiler, other.body, level)))
    return parts


def statement_hole(compiler: Compiler, text: str, level: int) -> Build:
    """Compile a hole for statements."""
    weight = _BLOCK_WEIGHT if text == "BLOCK" else 2
    compiler.hole(level + _LEVELS.get(text, 0), weight)
    compiler.template.heavy += _HEAVY.get(text, 0)
    make = compiler.write.name(_STATEMENT_HOLES[text])
    source = f"{make}(maker, frame.take(maker, {weight}), frame.room - {level - 1})"
    return compiler.write.source([], source)


@handles(m.StatBlock)
def block(compiler: Compiler, node: m.StatBlock, level: int) -> Build:
    """Compile a block in a new scope."""
    compiler.template.fixed += 1
    write = compiler.write
    mark = write.name()
    lines = [f"{mark} = maker.scope.open()"]
    result = write.kept(write.node(m.StatBlock, [stats(compiler, node.body, level + 1)]), lines)
    return write.source([*lines, f"maker.scope.close({mark})"], result)


@handles(m.StatLocal)
def local_statement(compiler: Compiler, node: m.StatLocal, level: int) -> Build:
    """Compile a declaration of local variables. They are not in scope in their own initializers."""
    compiler.template.fixed += 1
    write = compiler.write
    lines: list[str] = []
    values = write.kept(compiler.many(node.values, level + 1), lines)
    types = compiler.types_of(node.vars, node.types, level + 1)
    declarations = f"{compiler.said(types)}, frame.room - {level + 1}"
    annotated = write.kept(f"maker.annotations.local(maker, {declarations})", lines)
    flags = [repr(node.is_const), repr(node.is_exported)]
    own = not any(isinstance(each, str) for each in types)
    alike = len(node.vars) == len(node.values) and not any(map(compiler.repetition, node.values))
    if own and alike and compiler.assigned.isdisjoint(variable.name for variable in node.vars):
        flags[0] = flags[0] if node.is_const else _CONSTANT
    variables = compiler.declare(node.vars, types)
    return write.node(m.StatLocal, [variables, values, annotated, *flags], lines)


@handles(m.StatFor, m.StatForIn, m.StatWhile, m.StatRepeat)
def loop(compiler: Compiler, node: Any, level: int) -> Build:
    """Compile any loop. Its body runs several times, in a scope with the loop variables."""
    template = compiler.template
    template.fixed += 2
    template.repeats = True
    cls, slots, write = node.__class__, node._slots, compiler.write
    # A repeat's condition sees what its body declares.
    first = [] if cls is m.StatRepeat else [slot for slot in slots if slot not in _INSIDE]
    scope, function, mark, times = (write.name() for _ in range(4))
    lines = [f"{scope} = maker.scope", f"{function} = {scope}.function", f"{mark} = {scope}.open()"]
    values: dict[str, Build | str] = {}
    for slot in first:
        values[slot] = write.kept(head(compiler, getattr(node, slot), level + 1), lines)
    variables = getattr(node, "vars", None) or ([node.var] if cls is m.StatFor else [])
    declare = compiler.declare(variables, compiler.types_of(variables, (), level))
    declared = write.kept(declare, lines)
    values["vars"], values["var"] = declared, f"{declared}[0]"
    lines += [f"{times} = {function}.times", f"{function}.loops += 1"]
    lines.append(f"{function}.times = {times} * {LOOP}")
    compiler.loops += 1
    body = stats(compiler, node.body.body, level + 2)
    compiler.loops -= 1
    values["body"] = write.kept(write.node(m.StatBlock, [body]), lines)
    lines += [f"{function}.loops -= 1", f"{function}.times = {times}"]
    if cls is m.StatRepeat:
        values["cond"] = write.kept(head(compiler, node.cond, level + 1), lines)
    lines.append(f"{scope}.close({mark})")
    return write.node(cls, [values[slot] for slot in slots], lines)


def head(compiler: Compiler, value: Any, level: int) -> Build | str:
    """Compile a field in the header of a loop: one expression, a list of expressions, or None."""
    if value is None:
        return "None"
    return (
        compiler.many(value, level) if isinstance(value, list) else compiler.compile(value, level)
    )
