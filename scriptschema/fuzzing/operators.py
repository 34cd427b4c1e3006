"""The mutation operators, one small function each, and the table of them.

An operator gets the mutation (`mutation.py`) and the number of a message of one of its classes, and
returns whether it changed something. In a program that should still run it regards the kinds of
values and what is in scope, and leaves alone what ends loops; otherwise any tree that the schema
allows will do.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs

from scriptschema.base import INT32_MAX, INT32_MIN, Message
from scriptschema.fuzzing.context import Context, kind_of
from scriptschema.fuzzing.editing import copy
from scriptschema.fuzzing.index import Index
from scriptschema.fuzzing.mutation import CLOSED, Mutation
from scriptschema.fuzzing.running import (
    FAMILIES,
    LAST,
    NUMBERS,
    ORDERLESS,
    is_delicate,
    is_operand,
    jumps,
    removable,
    replaceable,
)
from scriptschema.fuzzing.wrapping import WRAPPED_EXPRESSIONS, WRAPPED_STATEMENTS
from scriptschema.generation.choices import INTEGERS
from scriptschema.generation.programs import nodes
from scriptschema.luau.operators import BINARY
from scriptschema.messages import (
    MESSAGES,
    Expr,
    ExprBinary,
    ExprConstantBool,
    ExprConstantNumber,
    ExprConstantString,
    ExprFunction,
    ExprLocal,
    ExprUnary,
    Local,
    Name,
    Stat,
    StatBlock,
    StatCompoundAssign,
    StatFor,
    StatIf,
    StatLocal,
    Type,
    Typename,
)

Edit = Callable[[Mutation, int], bool]

_TRIES: Final = 8
_EDGES: Final = 3
"""One of so many numbers that are put in is one at which something may change."""


@attrs.frozen
class Operator:
    """An operator: its name and weight, what it does in words, what it may be applied to.

    `grows` is 1 if mutants tend to be larger than their parents, -1 if smaller, 0 if neither.
    """

    name: str
    weight: float
    classes: Sequence[type[Message]]
    edit: Edit
    what: str
    grows: int = 0


def replace(m: Mutation, number: int) -> bool:
    """Put a generated part in place of another."""
    node = m.index.nodes[number]
    if m.index.size(number) > 80:
        return False
    new: Any = None
    if isinstance(node, Type):
        new = m.type(number)
        return new is not None and m.put(number, new, safe=True)
    if m.blind():
        new = m.generated(node.__class__, number)
        return new is not None and m.put(number, new)
    context = m.context(number)
    if isinstance(node, Stat):
        if removable(m, number, context):
            new = m.statement(context, m.index.size(number), m.levels(number))
    elif (kind := replaceable(m, number, context)) is not None:
        if kind == "number" and m.below(_EDGES) == _EDGES - 1:
            kind = "edge"
        new = m.expression(kind, number, context)
    return new is not None and m.put(number, new, safe=True)


def move(m: Mutation, number: int) -> bool:
    """Put a copy of a part of the same tree in place of another."""
    return _transplant(m, number, m.index)


def cross(m: Mutation, number: int) -> bool:
    """Put a copy of a part of a donor in place of another."""
    return bool(m.donors) and _transplant(m, number, m.donors[m.below(len(m.donors))])


def _transplant(m: Mutation, number: int, donor: Index[Any]) -> bool:
    node: Any = m.index.nodes[number]
    others = donor.of(node.__class__)
    if not others:
        return False
    blind = m.blind()
    context = m.context(number)
    kind = None
    if not blind:
        if isinstance(node, Stat):
            if not removable(m, number, context):
                return False
        elif isinstance(node, Expr):
            kind = replaceable(m, number, context)
            if kind is None:
                return False
    for _ in range(_TRIES):
        other = others[m.below(len(others))]
        if donor.sizes[other] > m.index.size(number) + max(m.room, 0) + 2:
            continue
        if not blind and not _suits(m, node, donor, other, kind, context):
            continue
        return m.put(number, copy(donor.nodes[other]), safe=not blind)
    return False


def _suits(
    m: Mutation, node: Message, donor: Index[Any], other: int, kind: str | None, context: Context
) -> bool:
    """Whether the program should still run with a donor's part in place of `node`."""
    if isinstance(node, Type):
        return m.fits(donor, other, context)
    found: Any = donor.nodes[other]
    if isinstance(node, Stat):
        return found.which in CLOSED and not jumps(donor, other) and m.fits(donor, other, context)
    there = Mutation.context(_at(m, donor), other)
    kinds = NUMBERS if kind == "number" else {kind}
    return Mutation.kind(_at(m, donor), other, there) in kinds and m.fits(donor, other, context)


def _at(m: Mutation, donor: Index[Any]) -> Mutation:
    if donor is m.index:
        return m
    return Mutation(donor, m.choices, donors=(), programs=True, room=0, max_depth=m.max_depth)


def insert(m: Mutation, number: int) -> bool:
    """Put a generated statement, or item, into a list."""
    block: Any = m.index.nodes[number]
    if isinstance(block, StatBlock) and not m.blind():
        body = block.body
        end = len(body) - bool(body and body[-1].which in LAST)
        position = m.below(end + 1)
        context = m.context(number)
        context.enter(block, "body", position)
        new = m.statement(context, 10, m.levels(number) - 1)
        if new is None:
            return False
        return m.change_body(number, _insertion(position, new), safe=True)
    lists = [(f.name, f.type) for f in block.FIELDS.values() if f.rule == "repeated"]
    if not lists or not m.blind():
        return False
    name, cls = lists[m.below(len(lists))]
    new = m.generated(cls, number)
    if new is None:
        return False
    position = m.below(len(getattr(block, name)) + 1)
    return m.change(number, lambda node: getattr(node, name).insert(position, new))


def _insertion(position: int, new: Stat) -> Callable[[list[Stat]], None]:
    return lambda found: found.insert(position, new)


def delete(m: Mutation, number: int) -> bool:
    """Leave out a statement, or an item of a list."""
    node = m.index.nodes[number]
    name, position = m.index.step(number)
    if position is None:
        return False
    blind = m.blind()
    if not blind:
        if isinstance(node, Stat):
            if not removable(m, number, m.context(number)):
                return False
        elif not isinstance(node, Type):
            return False
    return m.change(m.index.parents[number], _deletion(name, position), safe=not blind)


def _deletion(name: str, position: int) -> Callable[[Any], None]:
    def edit(node: Any) -> None:
        del getattr(node, name)[position]

    return edit


def duplicate(m: Mutation, number: int) -> bool:
    """Put a copy of an item behind it."""
    node: Any = m.index.nodes[number]
    name, position = m.index.step(number)
    if position is None or m.index.size(number) > max(m.room, 12):
        return False
    blind = m.blind()
    if not blind and not (isinstance(node, Stat) and removable(m, number, m.context(number))):
        return False
    item = copy(node)
    return m.change(
        m.index.parents[number],
        lambda parent: getattr(parent, name).insert(position, item),
        safe=not blind,
    )


def swap(m: Mutation, number: int) -> bool:
    """Exchange an item with the next one."""
    name, position = m.index.step(number)
    items = getattr(m.index.nodes[m.index.parents[number]], name) if position is not None else []
    if position is None or position + 1 >= len(items) or items[position] == items[position + 1]:
        return False
    pair = items[position : position + 2]
    orderless = all(isinstance(item, Stat) and item.which in ORDERLESS for item in pair)
    if not orderless and not m.blind():
        return False

    def edit(parent: Any) -> None:
        found = getattr(parent, name)
        found[position : position + 2] = [found[position + 1], found[position]]

    return m.change(m.index.parents[number], edit, safe=orderless)


def shuffle(m: Mutation, number: int) -> bool:
    """Put the statements of a block into another order."""
    block: Any = m.index.nodes[number]
    body = block.body
    blind = m.blind()
    start = m.below(len(body) or 1)
    run = itertools.takewhile(lambda s: blind or s.which in ORDERLESS, body[start:])
    movable = [start + i for i, _ in enumerate(run)]
    if len(movable) < 2:
        return False
    order = movable[:]
    for last in range(len(order) - 1, 0, -1):
        other = m.below(last + 1)
        order[last], order[other] = order[other], order[last]
    if all(body[at] == body[source] for at, source in zip(movable, order, strict=True)):
        return False

    def edit(found: list[Stat]) -> None:
        moved = [found[source] for source in order]
        found[start : start + len(moved)] = moved

    return m.change_body(number, edit, safe=not blind)


def hoist(m: Mutation, number: int) -> bool:
    """Put a part in place of one around it."""
    node: Any = m.index.nodes[number]
    if isinstance(node, Stat) and not m.blind():
        inner = node.alternative
        _, position = m.index.step(number)
        if position is None or node.which not in ("if_", "block") or jumps(m.index, number):
            return False
        body = (inner.then if node.which == "if_" else inner).body
        if not all(s.which in CLOSED for s in body):
            return False
        return m.change_body(m.index.parents[number], _splicing(position, body), safe=True)
    inside = [n for n in m.index.inside(number) if m.index.nodes[n].__class__ is node.__class__]
    if not inside:
        return False
    found = inside[m.below(len(inside))]
    blind = m.blind() if isinstance(node, Expr | Stat) else True
    if not blind:
        if isinstance(node, Stat):
            return False
        context = m.context(number)
        kind = replaceable(m, number, context)
        if kind is None or not m.fits(m.index, found, context) or m.kind(found, context) != kind:
            return False
    return m.put(number, copy(m.index.nodes[found]), safe=not blind)


def _splicing(position: int, body: Sequence[Stat]) -> Callable[[list[Stat]], None]:
    def edit(found: list[Stat]) -> None:
        found[position : position + 1] = map(copy, body)

    return edit


def wrap(m: Mutation, number: int) -> bool:
    """Put a part into a call, a loop, a branch, a function, a group or an interpolated string."""
    node: Any = m.index.nodes[number]
    if isinstance(node, Expr):
        context = m.context(number)
        kind = m.kind(number, context)
        if m.programs and (kind is None or number == 0):
            return False
        ways = WRAPPED_EXPRESSIONS if kind == "string" else WRAPPED_EXPRESSIONS[:2]
        new: Any = ways[m.below(len(ways))](copy(node))
        text = node.which == "string" and new.which == "interpstring"
        safe = m.programs and not (text or jumps(m.index, number))
        return m.put(number, new, safe=safe)
    if m.programs and (node.which not in CLOSED or jumps(m.index, number)):
        return False
    new = WRAPPED_STATEMENTS[m.below(len(WRAPPED_STATEMENTS))](copy(node), m.context(number))
    return m.put(number, new, safe=m.programs)


def recurse(m: Mutation, number: int) -> bool:
    """Repeat what is around a part: the outer in the inner one's place, 2, 4, 8 times."""
    inner: Any = m.index.nodes[number]
    if m.programs and not isinstance(inner, Expr):
        return False
    context = m.context(number)
    around = []
    above = m.index.parents[number]
    while above >= 0 and (not m.programs or not isinstance(m.index.nodes[above], Stat)):
        if m.index.nodes[above].__class__ is inner.__class__:
            around.append(above)
        above = m.index.parents[above]
    if m.programs:
        kind = m.kind(number, context)
        kinds = {kind} - {None}
        if kind in NUMBERS and isinstance(m.index.nodes[m.index.parents[number]], ExprBinary):
            kinds |= NUMBERS  # an operand may be any number
        around = [n for n in around if m.kind(n, context) in kinds]
    if not around:
        return False
    outer = around[m.below(len(around))]
    added = m.index.sizes[outer] - m.index.size(number)
    times = 2 ** (1 + m.below(3))
    while times > 1 and times * added > m.room + 20:
        times //= 2
    way = []
    at = number
    while at != outer:
        way.append(m.index.step(at))
        at = m.index.parents[at]
    new = copy(m.index.nodes[outer])
    for _ in range(times - 1):
        repeated: Any = copy(m.index.nodes[outer])
        _follow(repeated, way[1:][::-1], way[0], new)
        new = repeated
    return m.put(outer, new)


def _follow(
    node: Any, way: Sequence[tuple[str, int | None]], last: tuple[str, int | None], new: Any
) -> None:
    for name, position in way:
        node = getattr(node, name) if position is None else getattr(node, name)[position]
    name, position = last
    if position is None:
        setattr(node, name, new)
    else:
        getattr(node, name)[position] = new


def change_operator(m: Mutation, number: int) -> bool:
    """Another operator that takes the same kinds."""
    node: Any = m.index.nodes[number]
    members = [op for op in type(node.op) if op != node.op]
    blind = m.blind()
    if not blind:
        context = m.context(number)
        operands = [node.left, node.right] if isinstance(node, ExprBinary) else []
        known = operands and all(kind_of(o, context.variables) in NUMBERS for o in operands)
        if context.condition or context.repeats or not known:
            return False
        members = [op for f in FAMILIES if node.op in f for op in f if op != node.op]
    if not members:
        return False
    op = members[m.below(len(members))]
    safe = not blind and BINARY[op][1:] == BINARY[node.op][1:]  # needs the same parentheses
    return m.change(number, _setting("op", op), safe=safe)


def change_number(m: Mutation, number: int) -> bool:
    """Another number: one near it, or one at which something may change."""
    node: Any = m.index.nodes[number]
    old = node.val
    if m.programs:
        if is_delicate(m, number):
            return False
        new = old + 1 + m.below(3) if m.below(2) else max(old - 1 - m.below(3), 0)
        if abs(old) > 100 or (is_operand(m, number) and m.below(4) == 0):
            new = m.choices.int32()
    else:
        new = (old + 1, old - 1, -old, INTEGERS[m.below(len(INTEGERS))])[m.below(4)]
    new = min(max(new, INT32_MIN), INT32_MAX)
    safe = m.is_free(m.index.parents[number])
    return new != old and m.change(number, _setting("val", new), safe=safe)


def change_string(m: Mutation, number: int) -> bool:
    """Another string, or a part of it more or less."""
    node: Any = m.index.nodes[number]
    if m.programs and is_delicate(m, number):
        return False
    old = node.val
    new = m.choices.string()
    cut = m.below(len(old) + 1)
    new = (new, old[:cut] + new + old[cut:], old[:cut], old[cut:] + old[:cut])[m.below(4)]
    safe = new.isascii() and m.is_free(m.index.parents[number])
    return new != old and m.change(number, _setting("val", new[:4000]), safe=safe)


def change_flag(m: Mutation, number: int) -> bool:
    """`true` for `false`, and the reverse."""
    node: Any = m.index.nodes[number]
    if m.programs and m.context(number).condition:
        return False
    return m.change(number, _setting("val", not node.val), safe=True)


def change_name(m: Mutation, number: int) -> bool:
    """Another variable that is in scope, of the same kind."""
    node: Any = m.index.nodes[number]
    if isinstance(node, ExprLocal):
        context = m.context(number)
        old = node.var.name
        kind = context.variables.get(old)
        names = [n for n, k in context.variables.items() if n != old and (k == kind or m.blind())]
        if not names or (m.programs and (kind is None or context.condition or context.repeats)):
            return False
        new = names[m.below(len(names))]
        return m.change(number, lambda found: setattr(found.var, "name", new), safe=True)
    if m.programs and not m.blind():
        return False
    field = node.which if isinstance(node, Name) else next(iter(node.FIELDS))
    index = m.choices.int32()
    if field is None or getattr(node, field) == index:
        return False
    return m.change(number, _setting(field, index))


def change_type(m: Mutation, number: int) -> bool:
    """Another type annotation: one more, one less, or another one."""
    node: Any = m.index.nodes[number]
    if isinstance(node, Type):
        return replace(m, number)
    room = (
        len(node.args) + node.vararg if isinstance(node, ExprFunction) else len(node.vars)
    ) - len(node.types)
    if node.types and (room <= 0 or m.below(2)):
        return m.change(number, lambda found: found.types.pop(), safe=True)
    new = m.type(number) if room > 0 else None
    if new is None:
        return False
    return m.change(number, lambda found: found.types.append(new), safe=True)


def change_optional(m: Mutation, number: int) -> bool:
    """Set what is optional, or one of several, or unset it."""
    node: Any = m.index.nodes[number]
    fields = [f for f in node.FIELDS.values() if f.rule == "optional"]
    field = fields[m.below(len(fields))]
    name = field.name
    is_set = getattr(node, name) is not None
    new: Any = None
    blind = m.blind()
    if not blind:
        if not is_set and name == "else_":
            new = m.statement(m.context(number), 10, m.levels(number) - 3)
            new = new and StatBlock(body=[new])
        elif not is_set and name == "step":
            new = nodes.number(1 + m.below(3))
        elif name not in ("else_", "elseif"):
            return False
    elif not is_set:
        new = m.generated(field.type, number) if field.is_message else m.choices.int32()
    if not is_set and new is None:
        return False
    return m.change(number, _setting(name, new), safe=not blind)


def _setting(name: str, value: Any) -> Callable[[Any], None]:
    return lambda node: setattr(node, name, value)


# The table

_PARTS: Final = (Expr, Stat, Type)
_ITEMS: Final = tuple(  # not from a set, whose order is another in each process
    dict.fromkeys(
        f.type for cls in MESSAGES.values() for f in cls.FIELDS.values() if f.rule == "repeated"
    )
)
_LISTS: Final = tuple(
    cls for cls in MESSAGES.values() if any(f.rule == "repeated" for f in cls.FIELDS.values())
)
_OPTIONAL: Final[Sequence[type[Message]]] = (
    StatIf,
    StatFor,
    *(MESSAGES[n] for n in ("TypeTable", "ModuleSet", "TableItem")),
)

OPERATORS: Final[Sequence[Operator]] = (
    Operator("replace", 10, _PARTS, replace, "a generated part in place of another"),
    Operator("move", 5, _PARTS, move, "a copy of another part of the tree"),
    Operator("cross", 8, _PARTS, cross, "a copy of a donor's part"),
    Operator("insert", 8, (StatBlock, StatBlock, *_LISTS), insert, "a new item in a list", 1),
    Operator("delete", 6, (Stat, Stat, *_ITEMS), delete, "an item of a list less", -1),
    Operator("duplicate", 3, (Stat, Stat, *_ITEMS), duplicate, "an item twice", 1),
    Operator("swap", 2, (Stat, Stat, *_ITEMS), swap, "two items the other way round"),
    Operator("shuffle", 1, (StatBlock,), shuffle, "a block's statements in another order"),
    Operator("hoist", 4, _PARTS, hoist, "a part in place of one around it", -1),
    Operator("wrap", 4, (Stat, Expr), wrap, "a part in a call, loop, branch, function, group", 1),
    Operator("recurse", 2, _PARTS, recurse, "what is around a part, several times", 1),
    Operator(
        "operator", 4, (ExprBinary, ExprUnary, StatCompoundAssign), change_operator,
        "another operator",
    ),
    Operator("number", 6, (ExprConstantNumber,), change_number, "another number"),
    Operator("string", 4, (ExprConstantString,), change_string, "another string"),
    Operator("flag", 1, (ExprConstantBool,), change_flag, "true for false"),
    Operator("name", 5, (ExprLocal, Name, Typename, Local), change_name, "another name"),
    Operator("type", 3, (Type, StatLocal, ExprFunction), change_type, "another type annotation"),
    Operator("optional", 3, _OPTIONAL, change_optional, "something optional set or unset"),
)  # fmt: skip
"""The operators; the weights are where a `Mutator` starts."""
