"""The reducer's passes that replace a part of the tree with something smaller."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from scriptschema import messages as m
from scriptschema.base import INT32_MIN, Message
from scriptschema.codec.copying import copy
from scriptschema.fuzzing.editing import at
from scriptschema.fuzzing.index import Index
from scriptschema.fuzzing.passes.edits import AnyIndex, Edit, changing, changing_tree, putting
from scriptschema.fuzzing.passes.inlining import SMALL


def hoist(index: AnyIndex) -> Iterator[Edit]:
    """Yield edits that replace an expression, prefix or type with a smaller one inside it."""
    for number, inner in _nearest(index, (m.Expr, m.ExprPrefix), (m.Expr, m.ExprPrefix)):
        outer, node = index.nodes[number], index.nodes[inner]
        if node.which in outer.ALL_FIELDS:  # not every expression can be called
            content = partial(_as, outer.__class__, node)
            yield _gain(index, number, inner), putting(index, number, content)
    for number, inner in _nearest(index, (m.Type,), (m.Type,)):
        content = partial(copy, index.nodes[inner])
        yield _gain(index, number, inner), putting(index, number, content)


def hoist_alike(index: AnyIndex) -> Iterator[Edit]:
    """Yield edits that remove all operations with the same operator and constant.

    `f(a * 4, b * 4)` becomes `f(a, b)`.
    """
    alike: dict[tuple[Any, ...], list[int]] = {}
    for number in index.of(m.ExprBinary):
        operation: Any = index.nodes[number]
        if operation.right.which == "number":
            key = operation.op, _value(operation.right.alternative)
            alike.setdefault(key, []).append(index.parents[number])
    for numbers in alike.values():
        if len(numbers) > 1:
            # The last first: others may contain it.
            yield -3 * len(numbers), changing_tree(index, partial(_hoist_all, index, numbers[::-1]))


def _hoist_all(index: AnyIndex, numbers: Sequence[int], edited: Message) -> None:
    for number in numbers:
        node: Any = at(edited, index.path(number))
        left = node.alternative.left
        setattr(node, left.which, left.alternative)


def call_arguments(index: AnyIndex) -> Iterator[Edit]:
    """Yield edits that replace a call with a call to its first argument.

    `pcall(f, x)` becomes `f(x)`.
    """
    for number in index.of(m.ExprCall):
        call: Any = index.nodes[number]
        first = call.args[0].which if call.args else None
        if first in m.ExprPrefix.ALL_FIELDS or first == "function":
            gain = (2 if first == "function" else 0) - len(Index(call.func))
            if gain < 0:
                yield gain, changing(index, number, _call_first)


def _call_first(call: Any) -> None:
    first = call.args.pop(0)
    if first.which not in m.ExprPrefix.ALL_FIELDS:
        first = m.Expr(group=m.ExprGroup(expr=first))
    call.func = m.ExprPrefix(**{first.which: first.alternative})
    call.self_ = False


def _as(cls: type[Message], node: Message) -> Message:
    return cls(**{node.which or "": copy(node.alternative)})


def _gain(index: AnyIndex, number: int, inner: int, new: int = 0) -> int:
    return index.sizes[inner] + new - index.sizes[number]


def _nearest(
    index: AnyIndex, outer: tuple[type, ...], inner: tuple[type, ...]
) -> Iterator[tuple[int, int]]:
    """Yield (outer, inner) message numbers with no message of these classes in between."""
    for number, node in enumerate(index.nodes):
        if node.__class__ not in inner:
            continue
        above = index.parents[number]
        while above >= 0:
            cls = index.nodes[above].__class__
            if cls in outer:
                yield above, number
            if cls in inner or cls in outer:
                break
            above = index.parents[above]


def splice_bodies(index: AnyIndex) -> Iterator[Edit]:
    """Yield edits that replace a statement with the statements of a block inside it."""
    for number, block in _nearest(index, (m.Stat,), (m.StatBlock,)):
        position = index.step(number)[1]
        if position is not None:
            splice = partial(_splice, index.nodes[block], position)
            yield _gain(index, number, block), changing(index, index.parents[number], splice)


def _splice(inner: Any, position: int, block: Any) -> None:
    block.body[position : position + 1] = copy(inner).body


def run_once(index: AnyIndex) -> Iterator[Edit]:
    """Yield edits that replace a `for` loop with its body.

    Before the body, the loop variables are declared with their value in the first iteration.
    """
    for number in (*index.of(m.StatFor), *index.of(m.StatForIn)):
        stat = index.parents[number]
        position = index.step(stat)[1]
        loop: Any = index.nodes[number]
        first = _first_value(loop)
        if position is not None and first is not None:
            variables = [loop.var] if isinstance(loop, m.StatFor) else [*reversed(loop.vars[:2])]
            run = partial(_run_once, position, variables, first)
            yield -3, changing(index, index.parents[stat], run)


def simplify_loops(index: AnyIndex) -> Iterator[Edit]:
    """Yield edits that replace a `for` loop with a `while` or `repeat` loop.

    The `while` loop never runs, and the `repeat` loop runs once. A bug of `continue` is then shown
    by the same program, whichever loop it was found in.
    """
    nil, true = m.Expr(nil=m.ExprConstantNil()), m.Expr(bool=m.ExprConstantBool(val=True))
    for number in (*index.of(m.StatFor), *index.of(m.StatForIn)):
        loop: Any = index.nodes[number]
        gain = 3 + len(Index(loop.body)) - index.sizes[number]
        for simple in (
            m.Stat(while_=m.StatWhile(cond=nil, body=loop.body)),
            m.Stat(repeat=m.StatRepeat(body=loop.body, cond=true)),
        ):
            yield gain, putting(index, index.parents[number], partial(copy, simple))


def _first_value(loop: Any) -> m.Expr | None:
    """Return a loop variable's value in the first iteration, or None if it is not obvious."""
    if isinstance(loop, m.StatFor):
        return loop.from_
    is_table = bool(loop.values) and loop.values[0].which == "table"
    table: Any = loop.values[0].alternative if is_table else None
    return table.items[0].value if table is not None and table.items else None


def _run_once(position: int, variables: Sequence[m.Local], value: m.Expr, block: Any) -> None:
    declared = m.StatLocal(vars=[copy(each) for each in variables], values=[copy(value)])
    body = block.body[position].alternative.body.body
    block.body[position : position + 1] = [m.Stat(local=declared), *body]


def extract(index: AnyIndex) -> Iterator[Edit]:
    """Yield edits that replace a statement with an expression inside it.

    The expression becomes `local v0 = expr`, a call, or a local function.
    """
    for number, inner in _nearest(index, (m.Stat,), (m.ExprFunction,)):
        gain = _gain(index, number, inner, 3)
        if gain < 0:
            yield gain, putting(index, number, partial(_function_of, index.nodes[inner]))
    for number, inner in _nearest(index, (m.Stat,), (m.Expr, m.ExprPrefix)):
        node = index.nodes[inner]
        # `x += 1` is smaller than `print(1)`, which other passes try.
        is_wanted = index.sizes[inner] > 2 or index.nodes[number].which == "compound_assign"
        for size, content in ((1, _call_of), (3, _local_of)):
            gain = _gain(index, number, inner, size)
            if gain < 0 and (node.which == "call" or (size == 3 and is_wanted)):
                yield gain, putting(index, number, partial(content, node))


def print_at_once(index: AnyIndex) -> Iterator[Edit]:
    """Yield edits that replace a statement with `print(e)`, where `e` is an expression in it.

    The rest of the block is removed. If the tree is small, a second edit also removes the rest of
    every enclosing block. Printing a value where it is computed shows a bug closer to its origin.
    """
    for number, inner in _nearest(index, (m.Stat,), (m.Expr,)):
        name, position = index.step(number)
        block: Any = index.nodes[index.parents[number]]
        if not isinstance(block, m.StatBlock) or position is None or name != "body":
            continue
        around = _blocks_around(index, number)
        gain = _PRINT + index.size(inner) - index.size(number)
        for blocks in {1, len(around)} if len(index) <= SMALL else {1}:
            dropped = around[:blocks]
            less = gain - sum(size for _, _, size in dropped)
            if less < 0:
                print_node = partial(_print, index, index.nodes[inner], dropped)
                yield less, changing_tree(index, print_node)


_PRINT: Final = 6
"""The number of messages in `print(e)`, not counting those in `e`."""


def _blocks_around(index: AnyIndex, number: int) -> list[tuple[int, int, int]]:
    """Return (block, position, rest) for each block around a statement, the innermost first.

    `block` is the index of the block's message, `position` is the position of the statement in it,
    and `rest` is the number of messages that follow the statement.
    """
    blocks = []
    while number > 0:
        parent = index.parents[number]
        position = index.step(number)[1]
        if position is not None and index.nodes[parent].__class__ is m.StatBlock:
            rest = index.inside(parent).stop - index.inside(number).stop
            blocks.append((parent, position, rest))
        number = parent
    return blocks


def _print(
    index: AnyIndex, node: Any, dropped: Sequence[tuple[int, int, int]], edited: Message
) -> None:
    blocks: list[Any] = [at(edited, index.path(number)) for number, _, _ in dropped]
    for block, (_, position, _) in zip(blocks, dropped, strict=True):
        del block.body[position + 1 :]
    function = m.ExprPrefix(global_=m.ExprGlobal(name=m.Name(builtin=0)))
    call = m.ExprCall(func=function, self_=False, args=[copy(node)])
    blocks[0].body[-1] = m.Stat(call=m.StatCall(expr=call))


def _call_of(node: Message) -> m.Stat:
    return m.Stat(call=m.StatCall(expr=copy(node.alternative)))


def _function_of(node: Any) -> m.Stat:
    return m.Stat(local_function=m.StatLocalFunction(var=m.Local(name=0), func=copy(node)))


def _local_of(node: Message) -> m.Stat:
    value: Any = _as(m.Expr, node)
    return m.Stat(local=m.StatLocal(vars=[m.Local(name=0)], values=[value]))


def simplify(index: AnyIndex) -> Iterator[Edit]:
    """Yield edits that simplify an expression, an assignment target or a type.

    The replacement is `nil`, `0`, `{}`, a global, or one of the types `any` and `{}`.
    """
    for cls, (size, contents) in _SIMPLEST.items():
        for number in index.of(cls):
            gain = size - index.sizes[number]
            node: Any = index.nodes[number]
            # `0` and the type `{}` are shorter than others with the same number of messages.
            is_longer = node.which == "table" if cls is m.Expr else cls is m.Type
            for content in contents if gain < 0 or (gain == 0 and is_longer) else ():
                yield gain, putting(index, number, content)


_SIMPLEST: Final[dict[type[Message], tuple[int, Sequence[Callable[[], Message]]]]] = {
    m.Expr: (
        2,
        (
            lambda: m.Expr(nil=m.ExprConstantNil()),
            lambda: m.Expr(number=m.ExprConstantNumber(val=0)),
            lambda: m.Expr(table=m.ExprTable()),
        ),
    ),
    m.ExprPrefix: (3, (lambda: m.ExprPrefix(global_=m.ExprGlobal(name=m.Name(custom=0))),)),
    m.LValue: (3, (lambda: m.LValue(global_=m.ExprGlobal(name=m.Name(custom=0))),)),
    m.Type: (
        2,
        (
            lambda: m.Type(primitive=m.TypePrimitive(kind=0)),
            lambda: m.Type(table=m.TypeTable()),
        ),
    ),
}
"""For each class, the number of messages in each replacement, and functions that create the
replacements."""


def use_constants(index: AnyIndex) -> Iterator[Edit]:
    """Yield edits that replace an expression with a constant, such as one found in the tree.

    Some bugs need a particular constant. `#{}` is included because compilers do not know its value,
    0.
    """
    if len(index) > SMALL:
        return
    constants: dict[tuple[type, Any], Message] = {
        (m.ExprConstantString, ""): m.Expr(string=m.ExprConstantString(val="")),
        (m.ExprConstantNumber, -1): _number(-1),
        (m.ExprConstantBool, True): m.Expr(bool=m.ExprConstantBool(val=True)),
        (m.ExprUnary, 0): m.Expr(
            unary=m.ExprUnary(op=m.ExprUnary.Op.Len, expr=m.Expr(table=m.ExprTable()))
        ),
    }
    for cls in (m.ExprConstantNumber, m.ExprConstantInteger, m.ExprConstantString):
        for number in index.of(cls):
            node: Any = index.nodes[number]
            value = _value(node) if cls is m.ExprConstantNumber else node.val
            constants.setdefault((cls, value), index.nodes[index.parents[number]])
    sizes = {key: len(Index(constant)) for key, constant in constants.items()}
    for number in index.of(m.Expr):
        for key, constant in constants.items():
            gain = sizes[key] - index.sizes[number]
            if gain < 0:
                yield gain, putting(index, number, partial(copy, constant))


def calculate(index: AnyIndex) -> Iterator[Edit]:
    """Yield edits that replace a calculation with -0.5, or an operation on numbers with its result.

    Some bugs need a negative number or a fraction. `3 * 87` becomes `261`. In the original schema,
    all numbers are integers, so a fraction needs a division: `-1 / 2`.
    """
    for number in index.of(m.ExprBinary):
        operation: Any = index.nodes[number]
        if operation.op not in _ARITHMETIC:
            continue
        gain = 1 - index.sizes[number]
        yield gain, putting(index, index.parents[number], partial(_number, -0.5))
        if gain < -_FRACTION:
            yield gain + _FRACTION, putting(index, number, _fraction)
        left, right = operation.left.number, operation.right.number
        if left is not None and right is not None:
            result = _ARITHMETIC[operation.op](_value(left), _value(right))
            if math.isfinite(result) and (result or math.copysign(1, result) > 0):
                constant = partial(_number, result)
                yield -4, putting(index, index.parents[number], constant)


def _value(node: m.ExprConstantNumber) -> float:
    return float(node.val) if node.double is None else node.double


def _number(value: float) -> m.Expr:
    nearest = round(max(INT32_MIN, min(value, -1 - INT32_MIN)))
    double = None if nearest == value else value
    return m.Expr(number=m.ExprConstantNumber(val=nearest, double=double))


_FRACTION: Final = 4
"""The number of messages in `-1 / 2`, in addition to those in -0.5."""


def _fraction() -> Message:
    return m.ExprBinary(op=m.ExprBinary.Op.Div, left=_number(-1), right=_number(2))


def _quotient(left: float, right: float) -> float:
    return left / right if right else math.inf


_ARITHMETIC: Final[Mapping[Any, Callable[[float, float], float]]] = {
    m.ExprBinary.Op.Add: operator.add,
    m.ExprBinary.Op.Sub: operator.sub,
    m.ExprBinary.Op.Mul: operator.mul,
    m.ExprBinary.Op.Div: _quotient,
}
