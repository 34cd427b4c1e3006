"""Statements and functions in templates: what declares variables, loops, and the holes for more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from scriptschema import messages as m
from scriptschema.base import walk
from scriptschema.generation.programs import boundaries, calls, nodes
from scriptschema.generation.programs.maker import LEAF, LOOP, Frame, Maker
from scriptschema.generation.programs.nodes import MAKE
from scriptschema.generation.programs.scope import Variable
from scriptschema.generation.programs.templates.base import (
    Build,
    Compiler,
    Part,
    TypeOf,
    handles,
    said,
)
from scriptschema.generation.programs.templates.types import alias, declare_generics

_BLOCK_WEIGHT: Final = 6
"""How many times an expression's share a block gets."""

_LEVELS: Final = {"LIBRARY": 14, "BOUNDARY": boundaries.LEVELS}
"""How many levels there are to the arguments' simplest expressions, at most."""

_HEAVY: Final = {"LIBRARY": 16, "BOUNDARY": boundaries.LEAST, "ALIAS": 6}
"""The nodes that these take at least."""

_NOTHING: Final[Part] = (lambda maker, frame: [], 0, 0)

_STATEMENT_HOLES: Final[dict[str, Callable[[Maker, int, int], list[m.Stat]]]] = {
    "BLOCK": lambda maker, size, room: maker.statements(size, room) if room > LEAF + 4 else [],
    "ALIAS": lambda maker, size, room: maker.annotations.alias(maker, size, room),
    "LIBRARY": lambda maker, size, room: calls.any_statement(maker, size, room),
    "BOUNDARY": lambda maker, size, room: boundaries.statement(maker, size, room),
}


@handles(m.ExprFunction)
def function_of(compiler: Compiler, node: m.ExprFunction, level: int) -> Build:
    """Compile a function; what is made in it must suit it, not the enclosing function."""
    template = compiler.template
    template.fixed += 1
    template.repeats = True
    vararg, guarded = node.vararg, id(node) in compiler.guarded
    types = compiler.types_of(node.args, node.types, level + 1)
    rest: list[TypeOf | None] = [None] if vararg else []
    if len(node.types) > len(types):
        rest = [compiler.type_of(node.types[-1], level + 1)]
    returned = [compiler.type_of(type_, level + 1) for type_ in node.rettypes]
    results = result_kinds(compiler, node)
    of_parameters, of_rest, of_results = said(types), said(rest), said(returned)
    outside = template.vararg, template.loop, template.returns
    loops, compiler.loops = compiler.loops, 0
    declare = compiler.declare(node.args, types)
    body = stats(compiler, node.body.body, level + 2)
    template.fixed += 1
    compiler.loops = loops
    template.vararg, template.loop, template.returns = outside
    make, block = MAKE[m.ExprFunction], nodes.block

    def build(maker: Maker, frame: Frame) -> Any:
        def inside() -> m.ExprFunction:
            generics, packs = declare_generics(node, maker, frame)
            more, more_packs, parameters, results = maker.annotations.function(
                maker,
                of_parameters(maker, frame),
                of_rest(maker, frame),
                of_results(maker, frame),
                frame.room - level - 1,
            )
            variables = declare(maker, frame)
            made: m.ExprFunction = make(
                generics + more,
                packs + more_packs,
                variables,
                vararg,
                block(body(maker, frame)),
                parameters,
                results,
            )
            return made

        made, cost = maker.function(inside, vararg=vararg, results=results or None, guarded=guarded)
        frame.cost += cost
        return made

    return build


def result_kinds(compiler: Compiler, node: m.ExprFunction) -> tuple[str, ...]:
    """The kinds of a function's results; none if there are none, or one has another type."""
    kinds = tuple(compiler.kind_of(type_) for type_ in node.rettypes)
    return kinds if all(kinds) else ()


@handles(m.StatLocalFunction)
def local_function(compiler: Compiler, node: m.StatLocalFunction, level: int) -> Build:
    """A local function. What is put into its body does not call it, which might never end."""
    compiler.template.fixed += 1
    results = result_kinds(compiler, node.func)
    parameters = tuple(compiler.kind_of(type_) for type_ in node.func.types)
    all_known = len(parameters) == len(node.func.args) and all(parameters)
    # What a recursive function costs is not known.
    is_recursive = any(
        isinstance(one, m.Local) and one.name == node.var.name for one, _ in walk(node.func.body)
    )
    is_public = bool(results) and all_known and not node.func.vararg and not is_recursive
    declare = compiler.declare([node.var], [None])
    function = function_of(compiler, node.func, level + 1)
    make = MAKE[m.StatLocalFunction]

    def build(maker: Maker, frame: Frame) -> Any:
        [variable] = declare(maker, frame)
        outer, frame.cost = frame.cost, 0
        made = make(variable, function(maker, frame))
        if is_public:
            for kind in ("function", f"-> {results[0]}"):
                maker.scope.publish(
                    Variable(variable.name, kind, False, parameters, results, frame.cost)
                )
        frame.cost += outer
        return made

    return build


@handles(m.StatFunction)
def function_statement(compiler: Compiler, node: m.StatFunction, level: int) -> Build:
    """A function that is a global or a field, or a method."""
    compiler.template.fixed += 1
    target = compiler.compile(node.var, level + 1)
    function = function_of(compiler, node.func, level + 1)
    make, method = MAKE[m.StatFunction], node.self_
    return lambda maker, frame: make(target(maker, frame), function(maker, frame), method)


def stats(compiler: Compiler, body: Sequence[m.Stat], level: int) -> Build:
    """Build statements in the scope that is open."""
    parts = [stat(compiler, statement, level) for statement in body]

    def build(maker: Maker, frame: Frame) -> list[m.Stat]:
        made: list[m.Stat] = []
        for many, part in parts:
            if many:
                made += part(maker, frame)
            else:
                made.append(part(maker, frame))
        return made

    return build


def stat(compiler: Compiler, node: m.Stat, level: int) -> tuple[bool, Build]:
    """Compile a statement; also say whether it becomes a list of statements."""
    inner: Any = node.alternative
    if node.which in ("break_", "continue_") and not compiler.loops:
        compiler.template.loop = True
    if node.which == "call" and inner.expr.func.which == "global_":
        text = compiler.custom_global(inner.expr.func)
        if text in _STATEMENT_HOLES:
            return True, statement_hole(compiler, text, level)
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
        found = compiler.repetition(inner.cond)
        if found is not None:
            body = inner.then.body
            for local in (each.alternative for each in body if each.which == "local"):
                compiler.given |= {kind for each in local.types if (kind := compiler.kind_of(each))}
            return True, compiler.repeated(lambda: stats(compiler, body, level), found[1])
    return False, compiler.compile(node, level)


def branches(compiler: Compiler, node: m.StatIf, level: int) -> list[Part]:
    """Compile the branches of an `if`, to take the statements of one."""
    found = []
    if not (compiler.typed and compiler.custom_global(node.cond) == "UNTYPED"):
        found.append(compiler.part(lambda: stats(compiler, node.then.body, level)))
    if node.which == "elseif":
        found += branches(compiler, node.alternative, level)
    elif node.which:
        other: Any = node.alternative
        found.append(compiler.part(lambda: stats(compiler, other.body, level)))
    return found


def statement_hole(compiler: Compiler, text: str, level: int) -> Build:
    """A hole that becomes statements."""
    weight = _BLOCK_WEIGHT if text == "BLOCK" else 2
    compiler.hole(level + _LEVELS.get(text, 0), weight)
    compiler.template.heavy += _HEAVY.get(text, 0)
    make = _STATEMENT_HOLES[text]
    return lambda maker, frame: make(maker, frame.take(maker, weight), frame.room - level + 1)


@handles(m.StatBlock)
def block(compiler: Compiler, node: m.StatBlock, level: int) -> Build:
    """A block, with a scope of its own."""
    compiler.template.fixed += 1
    body = stats(compiler, node.body, level + 1)
    make = nodes.block

    def build(maker: Maker, frame: Frame) -> Any:
        mark = maker.scope.open()
        made = make(body(maker, frame))
        maker.scope.close(mark)
        return made

    return build


@handles(m.StatLocal)
def local_statement(compiler: Compiler, node: m.StatLocal, level: int) -> Build:
    """Local variables; their values do not see them."""
    compiler.template.fixed += 1
    values = compiler.many(node.values, level + 1)
    types = compiler.types_of(node.vars, node.types, level + 1)
    say, declare = said(types), compiler.declare(node.vars, types)
    make = MAKE[m.StatLocal]

    def build(maker: Maker, frame: Frame) -> Any:
        made = values(maker, frame)
        room = frame.room - level - 1
        annotated = maker.annotations.local(maker, say(maker, frame), room)
        return make(declare(maker, frame), made, annotated)

    return build


@handles(m.StatFor, m.StatForIn, m.StatWhile, m.StatRepeat)
def loop(compiler: Compiler, node: Any, level: int) -> Build:
    """A loop of any kind: its body runs several times, in a scope with its variables."""
    template = compiler.template
    template.fixed += 2
    template.repeats = True
    cls = node.__class__
    make = MAKE[cls]
    heads = [slot for slot in node._slots if slot not in ("body", "var", "vars")]
    before = [(slot, head(compiler, getattr(node, slot), level + 1)) for slot in heads]
    variables = getattr(node, "vars", None) or ([node.var] if cls is m.StatFor else [])
    declare = compiler.declare(variables, compiler.types_of(variables, (), level))
    compiler.loops += 1
    body = stats(compiler, node.body.body, level + 2)
    compiler.loops -= 1
    slots, until = node._slots, cls is m.StatRepeat

    def build(maker: Maker, frame: Frame) -> Any:
        scope = maker.scope
        function, mark = scope.function, scope.open()
        made = {} if until else {slot: part(maker, frame) for slot, part in before}
        declared = declare(maker, frame)
        times = function.times
        function.loops += 1
        function.times = times * LOOP
        made["body"] = nodes.block(body(maker, frame))
        function.loops -= 1
        function.times = times
        if until:
            made["cond"] = before[0][1](maker, frame)
        if declared:
            made["vars" if "vars" in slots else "var"] = (
                declared if "vars" in slots else declared[0]
            )
        scope.close(mark)
        return make(*[made[slot] for slot in slots])

    return build


def head(compiler: Compiler, value: Any, level: int) -> Build:
    """What a loop evaluates: an expression, several, or nothing."""
    if value is None:
        return lambda maker, frame: None
    return (
        compiler.many(value, level) if isinstance(value, list) else compiler.compile(value, level)
    )
