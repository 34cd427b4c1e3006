"""The mutation operators that replace parts of a tree, for example with generated parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from scriptschema import messages as m
from scriptschema.base import Message
from scriptschema.codec.copying import copy
from scriptschema.fuzzing import rewriting
from scriptschema.fuzzing.context import NUMBERS, Context, context_of, kind_of
from scriptschema.fuzzing.index import Index
from scriptschema.fuzzing.operators.lists import insertion
from scriptschema.fuzzing.operators.mutation import CLOSED, Mutation
from scriptschema.fuzzing.operators.running import jumps, removable, replaceable
from scriptschema.fuzzing.rewriting import Wrap, unwrapped
from scriptschema.generation.programs import nodes

_TRIES: Final = 8
_EDGES: Final = 3
"""A generated number has the kind `edge`, a possible boundary value, with a probability of 1 /
`_EDGES`."""


def replace(mut: Mutation, number: int) -> bool:
    """Replace a part with a generated part."""
    node = mut.index.nodes[number]
    if mut.index.size(number) > 80:
        return False
    new: Any = None
    if isinstance(node, m.Type):
        new = mut.type(number)
        return new is not None and mut.put(number, new, safe=True)
    if mut.blind():
        new = mut.generated(node.__class__, number)
        return new is not None and mut.put(number, new)
    context = mut.context(number)
    if isinstance(node, m.Stat):
        if removable(mut, number, context):
            new = mut.statement(context, mut.index.size(number), mut.levels(number))
    elif (kind := replaceable(mut, number, context)) is not None:
        if kind == "number" and mut.below(_EDGES) == _EDGES - 1:
            kind = "edge"
        new = mut.expression(kind, number, context)
    return new is not None and mut.put(number, new, safe=True)


def move(mut: Mutation, number: int) -> bool:
    """Replace a part with a copy of another part of the same tree."""
    return _transplant(mut, number, mut.index)


def cross(mut: Mutation, number: int) -> bool:
    """Replace a part with a copy of a part from a donor tree."""
    return bool(mut.donors) and _transplant(mut, number, mut.donors[mut.below(len(mut.donors))])


def _transplant(mut: Mutation, number: int, donor: Index[Any]) -> bool:
    node: Any = mut.index.nodes[number]
    others = donor.of(node.__class__)
    if not others:
        return False
    blind = mut.blind()
    context = mut.context(number)
    kind = None
    if not blind:
        if isinstance(node, m.Stat):
            if not removable(mut, number, context):
                return False
        elif isinstance(node, m.Expr):
            kind = replaceable(mut, number, context)
            if kind is None:
                return False
    for _ in range(_TRIES):
        other = others[mut.below(len(others))]
        if donor.sizes[other] > mut.index.size(number) + max(mut.room, 0) + 2:
            continue
        if not blind and not _suits(mut, node, donor, other, kind, context):
            continue
        return mut.put(number, copy(donor.nodes[other]), safe=not blind)
    return False


def _suits(
    mut: Mutation, node: Message, donor: Index[Any], other: int, kind: str | None, context: Context
) -> bool:
    """Return whether a program probably still runs with a donor's part in place of `node`."""
    part: Any = donor.nodes[other]
    if isinstance(node, m.Type):  # only a variable's type may be omitted
        return part.which != "omitted" and mut.fits(donor, other, context)
    if isinstance(node, m.Stat):
        return part.which in CLOSED and not jumps(donor, other) and mut.fits(donor, other, context)
    there = context_of(donor, other)
    kinds = NUMBERS if kind == "number" else {kind}
    return kind_of(part, there.variables) in kinds and mut.fits(donor, other, context)


def hoist(mut: Mutation, number: int) -> bool:
    """Replace a part with a smaller part that it contains."""
    node: Any = mut.index.nodes[number]
    if isinstance(node, m.Stat) and not mut.blind():
        inner = node.alternative
        _, position = mut.index.step(number)
        if position is None or node.which not in ("if_", "block") or jumps(mut.index, number):
            return False
        body = (inner.then if node.which == "if_" else inner).body
        if not all(s.which in CLOSED for s in body):
            return False
        return mut.change_body(mut.index.parents[number], _splicing(position, body), safe=True)
    inside = [n for n in mut.index.inside(number) if mut.index.nodes[n].__class__ is node.__class__]
    if not inside:
        return False
    chosen = inside[mut.below(len(inside))]
    blind = mut.blind() if isinstance(node, m.Expr | m.Stat) else True
    if not blind:
        if isinstance(node, m.Stat):
            return False
        context = mut.context(number)
        kind = replaceable(mut, number, context)
        if (
            kind is None
            or not mut.fits(mut.index, chosen, context)
            or mut.kind(chosen, context) != kind
        ):
            return False
    return mut.put(number, copy(mut.index.nodes[chosen]), safe=not blind)


def _splicing(position: int, body: Sequence[m.Stat]) -> Callable[[list[m.Stat]], None]:
    def edit(found: list[m.Stat]) -> None:
        found[position : position + 1] = map(copy, body)

    return edit


def wrap(mut: Mutation, number: int) -> bool:
    """Wrap a part in a call, a loop, a branch, a function, a group or an interpolated string."""
    node: Any = mut.index.nodes[number]
    if isinstance(node, m.Expr):
        context = mut.context(number)
        kind = mut.kind(number, context)
        if mut.programs and (kind is None or number == 0):
            return False
        ways = _WRAPPED_EXPRESSIONS if kind == "string" else _WRAPPED_EXPRESSIONS[:2]
        new: Any = ways[mut.below(len(ways))](copy(node))
        text = node.which == "string" and new.which == "interpstring"
        safe = mut.programs and not (text or jumps(mut.index, number))
        return mut.put(number, new, safe=safe)
    if mut.programs and (node.which not in CLOSED or jumps(mut.index, number)):
        return False
    around = _WRAPPED_STATEMENTS[mut.below(len(_WRAPPED_STATEMENTS))]
    variables = mut.context(number).variables
    new = around(copy(node), next((n for n in range(64) if n not in variables), 63))
    return mut.put(number, new, safe=mut.programs)


def _in_branch(stat: m.Stat, _: int) -> m.Stat:
    return nodes.stat("if_", m.StatIf(cond=nodes.boolean(True), then=nodes.block([stat])))


def _in_pcall(stat: m.Stat, _: int) -> m.Stat:
    return nodes.call_statement(nodes.call_builtin("pcall", rewriting.function(stat)))


def _in_function(stat: m.Stat, name: int) -> m.Stat:
    declared = nodes.local_function(name, nodes.function([], [stat]))
    call = nodes.call_statement(nodes.call_local(name, []))
    return nodes.stat("block", nodes.block([declared, call]))


_WRAPPED_STATEMENTS: Final[Sequence[Wrap]] = (
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


_WRAPPED_EXPRESSIONS: Final[Sequence[Callable[[m.Expr], m.Expr]]] = (
    nodes.group,
    _called,
    lambda node: m.Expr(interpstring=m.ExprInterpString(parts=[node])),
)


def unwrap(mut: Mutation, number: int) -> bool:
    """Unwrap a statement: remove the function, coroutine or loop that runs it once."""
    node: Any = mut.index.nodes[number]
    statement = unwrapped(node)
    return statement is not None and mut.put(number, copy(statement))


def use_variable(mut: Mutation, number: int) -> bool:
    """Replace a value with a variable of the same kind that is in scope."""
    node: Any = mut.index.nodes[number]
    if node.which in ("local", "function"):
        return False
    context = mut.context(number)
    kind = replaceable(mut, number, context)
    kinds = NUMBERS if kind == "number" else {kind}
    names = [name for name, known in context.variables.items() if known and known in kinds]
    if kind is None or not names:
        return False
    return mut.put(number, nodes.read(names[mut.below(len(names))]), safe=True)


def show(mut: Mutation, number: int) -> bool:
    """Make a statement print the value that it computes.

    A `print` of the local variables follows an assignment or declaration. A call `f(x)` becomes
    `print(f(x))`.
    """
    node: Any = mut.index.nodes[number]
    inner = node.alternative
    name, position = mut.index.step(number)
    if name != "body" or position is None:
        return False
    context = mut.context(number)
    if node.which == "call":
        if kind_of(m.Expr(call=inner.expr), context.variables) is None:
            return False
        called = m.Expr(call=copy(inner.expr))
        return mut.put(number, nodes.print_([called]), safe=True)
    if node.which == "local":
        variables = [variable.name for variable in inner.vars]
    elif node.which == "assign":
        targets = [v.alternative for v in inner.vars if v.which == "local"]
        variables = [target.var.name for target in targets]
    else:
        return False
    context.enter(mut.index.nodes[mut.index.parents[number]], name, position + 1)
    shown: list[m.Expr] = []
    for variable in variables:
        value = nodes.read(variable)
        is_printed = context.variables.get(variable) is not None
        shown.append(value if is_printed else nodes.call_builtin("type", value))
    printed = nodes.print_(shown)
    if not shown or Index(printed).heights[0] > mut.levels(number):
        return False
    inserted = insertion(position + 1, printed)
    return mut.change_body(mut.index.parents[number], inserted, safe=True)


def recurse(mut: Mutation, number: int) -> bool:
    """Nest copies of a part inside one another, 2, 4 or 8 levels deep.

    The part contains message `number`. In each copy, that message is replaced with the next copy.
    """
    inner: Any = mut.index.nodes[number]
    if mut.programs and not isinstance(inner, m.Expr):
        return False
    context = mut.context(number)
    around = []
    above = mut.index.parents[number]
    while above >= 0 and (not mut.programs or not isinstance(mut.index.nodes[above], m.Stat)):
        if mut.index.nodes[above].__class__ is inner.__class__:
            around.append(above)
        above = mut.index.parents[above]
    if mut.programs:
        kind = mut.kind(number, context)
        kinds = {kind} - {None}
        if kind in NUMBERS and isinstance(mut.index.nodes[mut.index.parents[number]], m.ExprBinary):
            kinds |= NUMBERS  # an operand may be any number
        around = [n for n in around if mut.kind(n, context) in kinds]
    if not around:
        return False
    outer = around[mut.below(len(around))]
    added = mut.index.sizes[outer] - mut.index.size(number)
    times = 2 ** (1 + mut.below(3))
    while times > 1 and times * added > mut.room + 20:
        times //= 2
    new: Any = copy(mut.index.nodes[outer])
    for _ in range(times - 1):
        repeated = copy(mut.index.nodes[outer])
        setattr(Index(repeated).nodes[number - outer], new.which, new.alternative)
        new = repeated
    return mut.put(outer, new)
