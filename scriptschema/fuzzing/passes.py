"""The reducer's passes: each says which edits of a tree may make it smaller, and knows no test.

A pass gets the index of a tree and yields edits: a rank and a function that makes the edited tree.
Edits are tried by rank, the least first, and the passes of a phase are tried together; in the first
phase the rank is minus the number of messages that go. `PHASES` is the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum
from functools import partial
from typing import Any, Final

import attrs

from scriptschema import messages as m
from scriptschema.base import INT32_MIN, Message
from scriptschema.fuzzing.editing import at, copy
from scriptschema.fuzzing.edits import AnyIndex, Edit, changing, putting
from scriptschema.fuzzing.index import Index
from scriptschema.fuzzing.inlining import inline, inline_calls, inline_functions


@attrs.frozen
class Pass:
    """A pass: its name, what it does in words, and the edits that it offers for a tree."""

    name: str
    what: str
    edits: Callable[[AnyIndex], Iterable[Edit]]


# The first phase: structure


def shorten_lists(index: AnyIndex) -> Iterator[Edit]:
    """Delta debugging: a list's items in pieces, all of it, its halves, quarters, down to one."""
    sizes = index.sizes
    first_child = _children(index)
    for number, node in enumerate(index.nodes):
        for slot, repeated in node._child_slots:
            items = getattr(node, slot)
            if not repeated or not items:
                continue
            children = first_child[number, slot]
            piece = len(items)
            while True:
                for start in range(0, len(items), piece):
                    gone = children[start : start + piece]
                    weight = sum(sizes[child] for child in gone)
                    yield -weight, changing(index, number, _deletion(slot, start, start + piece))
                if piece == 1:
                    break
                piece = (piece + 1) // 2


def _children(index: AnyIndex) -> dict[tuple[int, str], list[int]]:
    """The numbers of the items of each list, by the number of the message that has it."""
    found: dict[tuple[int, str], list[int]] = {}
    for number in range(1, len(index)):
        slot, position = index.step(number)
        if position is not None:
            found.setdefault((index.parents[number], slot), []).append(number)
    return found


def _deletion(slot: str, start: int, stop: int) -> Callable[[Any], None]:
    def delete(node: Any) -> None:
        del getattr(node, slot)[start:stop]

    return delete


def drop_optionals(index: AnyIndex) -> Iterator[Edit]:
    """Optional fields, and what stands behind an else."""
    for number in range(1, len(index)):
        parent = index.parents[number]
        node = index.nodes[parent]
        name, position = index.step(number)
        field = node.ALL_FIELDS[name]
        if position is None and (field.rule == "optional") and name in _DROPPED:
            yield -index.sizes[number], changing(index, parent, _unsetting(name))


_DROPPED: Final = frozenset(
    name
    for cls in m.MESSAGES.values()
    for name, field in cls.FIELDS.items()
    if field.rule == "optional" and (not field.oneof or name in ("else_", "elseif"))
)


def _unsetting(name: str) -> Callable[[Any], None]:
    return lambda node: setattr(node, name, None)


def drop_extensions(index: AnyIndex) -> Iterator[Edit]:
    """What the seed's schema lacks: each field that says it, and both of a cast and the like."""
    for number, node in enumerate(index.nodes):
        for name, _ in node._newer_slots:
            if getattr(node, name) not in (None, []):
                yield -1, changing(index, number, _clearing(name))


def _clearing(name: str) -> Callable[[Any], None]:
    return lambda node: setattr(
        node, name, [] if node.ALL_FIELDS[name].rule == "repeated" else None
    )


def drop_types(index: AnyIndex) -> Iterator[Edit]:
    """All type annotations at once, and all type aliases."""
    weight = sum(
        index.sizes[child]
        for (number, slot), children in _children(index).items()
        if _is_type(index.nodes[number].__class__, slot)
        for child in children
    ) + sum(index.sizes[index.parents[number]] for number in index.of(m.StatTypeAlias))

    def make() -> Message:
        edited: Message = copy(index.tree)
        nodes = Index(edited)
        for number in nodes.of(m.StatBlock):
            block: Any = nodes.nodes[number]
            block.body = [stat for stat in block.body if stat.which != "type_alias"]
        for cls in (m.ExprFunction, m.StatLocal):
            for number in nodes.of(cls):
                for name, field in cls.FIELDS.items():
                    if field.rule == "repeated" and _is_type(cls, name):
                        setattr(nodes.nodes[number], name, [])
        return edited

    if weight:
        yield -weight, make


def _is_type(cls: type[Message], name: str) -> bool:
    return cls in (m.ExprFunction, m.StatLocal) and cls.ALL_FIELDS[name].type in (
        m.Type,
        m.Typename,
    )


def keep_module(index: AnyIndex) -> Iterator[Edit]:
    """The module's statements in place of the program's."""
    root: Any = index.tree
    if isinstance(root, m.ModuleSet) and root.module is not None:
        [program] = (n for n in range(len(index)) if index.nodes[n] is root.program)
        module: m.StatBlock = root.module
        yield -index.sizes[program], lambda: m.ModuleSet(program=copy(module))


def hoist(index: AnyIndex) -> Iterator[Edit]:
    """A descendant in place of the one around it: expressions, prefixes and types."""
    for number, inner in _nearest(index, (m.Expr, m.ExprPrefix), (m.Expr, m.ExprPrefix)):
        outer, node = index.nodes[number], index.nodes[inner]
        if node.which in outer.ALL_FIELDS:  # not every expression is one that may be called
            yield _gain(index, number, inner), putting(index, number, _as(outer, node))
    for number, inner in _nearest(index, (m.Type,), (m.Type,)):
        node = index.nodes[inner]
        yield _gain(index, number, inner), putting(index, number, _as(node, node))


def call_arguments(index: AnyIndex) -> Iterator[Edit]:
    """A call's first argument called with the others: `f(x)` in place of `pcall(f, x)`."""
    for number in index.of(m.ExprCall):
        call: Any = index.nodes[number]
        if call.args and call.args[0].which in m.ExprPrefix.ALL_FIELDS:
            gain = -len(Index(call.func))
            yield gain, changing(index, number, _call_first)


def _call_first(call: Any) -> None:
    first = call.args.pop(0)
    call.func = m.ExprPrefix(**{first.which: first.alternative})
    call.self_ = False


def _as(outer: Message, node: Message) -> Callable[[], Message]:
    """Return the function that makes a message like `outer` with the content of `node`."""
    return lambda: outer.__class__(**{node.which or "": copy(node.alternative)})


def _gain(index: AnyIndex, number: int, inner: int, new: int = 0) -> int:
    return index.sizes[inner] + new - index.sizes[number]


def _nearest(
    index: AnyIndex, outer: tuple[type, ...], inner: tuple[type, ...]
) -> Iterator[tuple[int, int]]:
    """Messages of the classes `outer` with those `inner` below them, none of either between."""
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
    """A block's statements in place of the statement around it."""
    for number, block in _nearest(index, (m.Stat,), (m.StatBlock,)):
        position = index.step(number)[1]
        if position is not None:
            yield _gain(index, number, block), _splicing(index, number, position, block)


def _splicing(index: AnyIndex, number: int, position: int, block: int) -> Callable[[], Message]:
    def splice(node: Any) -> None:
        inner: Any = copy(index.nodes[block])
        node.body[position : position + 1] = inner.body

    return changing(index, index.parents[number], splice)


def extract(index: AnyIndex) -> Iterator[Edit]:
    """A statement becomes one of its expressions: `local v0 = expr`, a call, a local function."""
    for number, inner in _nearest(index, (m.Stat,), (m.ExprFunction,)):
        gain = _gain(index, number, inner, 3)
        if gain < 0:
            yield gain, putting(index, number, _function_of(index.nodes[inner]))
    for number, inner in _nearest(index, (m.Stat,), (m.Expr, m.ExprPrefix)):
        node = index.nodes[inner]
        for size, content in ((1, _call_of), (3, _local_of)):
            gain = _gain(index, number, inner, size)
            if gain < 0 and (node.which == "call" or (size == 3 and index.sizes[inner] > 2)):
                yield gain, putting(index, number, content(node))


def print_at_once(index: AnyIndex) -> Iterator[Edit]:
    """A statement's expression is printed where it stands, and what follows there is dropped.

    What a bug makes wrong is printed somewhere; where it is made is nearer to the bug. In a small
    tree it is also tried with all dropped that follows the statements around, loops and functions.
    """
    for number, inner in _nearest(index, (m.Stat,), (m.Expr,)):
        name, position = index.step(number)
        block: Any = index.nodes[index.parents[number]]
        if not isinstance(block, m.StatBlock) or position is None or name != "body":
            continue
        around = _what_follows(index, number)
        gain = _PRINT + index.size(inner) - index.size(number)
        for blocks in {1, len(around)} if len(index) <= _SMALL else {1}:
            dropped = around[:blocks]
            less = gain - sum(size for _, _, size in dropped)
            if less < 0:
                yield less, _printing(index, index.nodes[inner], dropped)


_PRINT: Final = 6
"""The messages of `print(e)` beside those of `e`."""


def _what_follows(index: AnyIndex, number: int) -> list[tuple[int, int, int]]:
    """Return the blocks around a statement, the innermost first.

    With the number of each stand the position there, and the messages of what follows it.
    """
    found = []
    while number > 0:
        parent = index.parents[number]
        position = index.step(number)[1]
        if position is not None and index.nodes[parent].__class__ is m.StatBlock:
            rest = index.inside(parent).stop - index.inside(number).stop
            found.append((parent, position, rest))
        number = parent
    return found


def _printing(
    index: AnyIndex, node: Any, dropped: Sequence[tuple[int, int, int]]
) -> Callable[[], Message]:
    def make() -> Message:
        edited: Message = copy(index.tree)
        blocks: list[Any] = [at(edited, index.path(number)) for number, _, _ in dropped]
        for block, (_, position, _) in zip(blocks, dropped, strict=True):
            del block.body[position + 1 :]
        function = m.ExprPrefix(global_=m.ExprGlobal(name=m.Name(builtin=0)))
        call = m.ExprCall(func=function, self_=False, args=[copy(node)])
        blocks[0].body[-1] = m.Stat(call=m.StatCall(expr=call))
        return edited

    return make


def _call_of(node: Message) -> Callable[[], Message]:
    return lambda: m.Stat(call=m.StatCall(expr=copy(node.alternative)))


def _function_of(node: Any) -> Callable[[], Message]:
    return lambda: m.Stat(local_function=m.StatLocalFunction(var=m.Local(name=0), func=copy(node)))


def _local_of(node: Message) -> Callable[[], Message]:
    def make() -> Message:
        value = m.Expr(**{node.which or "": copy(node.alternative)})
        return m.Stat(local=m.StatLocal(vars=[m.Local(name=0)], values=[value]))

    return make


def simplify(index: AnyIndex) -> Iterator[Edit]:
    """The simplest valid thing of the same kind: `nil`, `0`, `{}`, a global, `any`."""
    for cls, (size, contents) in _SIMPLEST.items():
        for number in index.of(cls):
            gain = size - index.sizes[number]
            node: Any = index.nodes[number]
            is_table = node.__class__ is m.Expr and node.which == "table"
            for content in contents if gain < 0 or (gain == 0 and is_table) else ():
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
    m.Type: (2, (lambda: m.Type(primitive=m.TypePrimitive(kind=0)),)),
}
"""By class: how many messages the simplest have, and the functions that make them."""


def use_constants(index: AnyIndex) -> Iterator[Edit]:
    """A constant in place of another expression, also one of the tree: some show a difference."""
    if len(index) > _SMALL:
        return
    constants: dict[tuple[type, Any], Message] = {
        (m.ExprConstantString, ""): m.Expr(string=m.ExprConstantString(val="")),
        (m.ExprConstantNumber, -1): m.Expr(number=m.ExprConstantNumber(val=-1)),
        (m.ExprConstantBool, True): m.Expr(bool=m.ExprConstantBool(val=True)),
    }
    for cls in (m.ExprConstantNumber, m.ExprConstantString):
        for number in index.of(cls):
            node: Any = index.nodes[number]
            constants.setdefault((cls, node.val), index.nodes[index.parents[number]])
    for number in index.of(m.Expr):
        gain = 2 - index.sizes[number]
        for constant in constants.values() if gain < 0 else ():
            yield gain, putting(index, number, partial(copy, constant))


_SMALL: Final = 60
"""Trees with more messages are made smaller by other passes first."""


def make_fractions(index: AnyIndex) -> Iterator[Edit]:
    """`-1 / 2` for a longer calculation: constants are integers, and 0 is neither."""
    for number in index.of(m.ExprBinary):
        node: Any = index.nodes[number]
        gain = _FRACTION - index.sizes[number]
        if gain < 0 and node.op in _ARITHMETIC:
            yield gain, putting(index, number, _fraction)


_ARITHMETIC: Final = frozenset(
    [m.ExprBinary.Op.Add, m.ExprBinary.Op.Sub, m.ExprBinary.Op.Mul, m.ExprBinary.Op.Div]
)
_FRACTION: Final = 5


def _fraction() -> Message:
    one, two = (m.Expr(number=m.ExprConstantNumber(val=value)) for value in (-1, 2))
    return m.ExprBinary(op=m.ExprBinary.Op.Div, left=one, right=two)


# The second phase: what messages hold besides messages


def simplify_all(index: AnyIndex) -> Iterator[Edit]:
    """Every number 0, every string empty, and so on: all of it at once, all of a kind at once."""

    def make(kinds: Sequence[type], names: bool) -> Callable[[], Message]:
        def change() -> Message:
            edited: Message = copy(index.tree)
            for node in Index(edited).nodes:
                if names and node.__class__ is m.Name:
                    node.custom = 0
                for name, field in node.FIELDS.items():
                    if field.type in kinds and (node.__class__, name) not in _INDEXES:
                        setattr(node, name, _zero(field.type))
            return edited

        return change

    yield 0, make((int, str, bool, *_ENUMS), names=True)
    yield 1, make((int, str, bool, *_ENUMS), names=False)


def _zero(kind: type) -> Any:
    return kind(0) if kind is not str else ""


_ENUMS: Final = tuple(
    {
        field.type
        for cls in m.MESSAGES.values()
        for field in cls.FIELDS.values()
        if issubclass(field.type, IntEnum)
    }
)
_INDEXES: Final = frozenset(
    {(m.Local, "name"), (m.Typename, "index"), (m.Name, "builtin"), (m.Name, "custom")}
)


def shrink_scalars(index: AnyIndex) -> Iterator[Edit]:
    """Each number nearer to 0, each string shorter, each flag false, each operator the first."""
    for number, node in enumerate(index.nodes):
        if node.__class__ is m.Name and node.which == "builtin":
            yield 2 + number, changing(index, number, _setting("custom", 0))
        for name, field in node.FIELDS.items():
            value = getattr(node, name)
            if field.is_message or not value or (node.__class__, name) in _INDEXES:
                continue
            for smaller in _smaller(value):
                yield 2 + number, changing(index, number, _setting(name, smaller))


def _setting(name: str, value: Any) -> Callable[[Any], None]:
    return lambda node: setattr(node, name, value)


def _smaller(value: Any) -> Iterator[Any]:
    """Values that are simpler, the simplest first."""
    if isinstance(value, str):
        piece = len(value)
        while piece:
            for start in range(0, len(value), piece):
                yield value[:start] + value[start + piece :]
            piece //= 2
    elif isinstance(value, IntEnum):
        yield from (member for member in value.__class__ if member < value)
    elif isinstance(value, bool):
        yield False
    else:
        yield 0
        if value < 0:
            yield -value if value > INT32_MIN else INT32_MIN + 1
        step = abs(value) // 2
        while step:
            yield value - step if value > 0 else value + step
            step //= 2


# The third phase: names


def rename(index: AnyIndex) -> Iterator[Edit]:
    """Local variables, types and the program's own names, numbered as they first occur."""

    def make() -> Message:
        edited: Message = copy(index.tree)
        found: dict[str, dict[int, int]] = {"name": {}, "index": {}, "custom": {}}
        for node in Index(edited).nodes:
            for (cls, attribute), numbers in zip(_RENAMED, found.values(), strict=True):
                value = getattr(node, attribute) if node.__class__ is cls else None
                if value is not None:
                    setattr(node, attribute, numbers.setdefault(value, len(numbers)))
        return edited

    yield 0, make


_RENAMED: Final = ((m.Local, "name"), (m.Typename, "index"), (m.Name, "custom"))

PHASES: Final[Sequence[Sequence[Pass]]] = (
    (
        Pass("types", "drop all type annotations", drop_types),
        Pass("lists", "shorten lists, from coarse to fine", shorten_lists),
        Pass("optionals", "drop what is optional", drop_optionals),
        Pass("extensions", "drop what the seed's schema lacks", drop_extensions),
        Pass("module", "put the module in place of the program", keep_module),
        Pass("splice", "put a body in place of its statement", splice_bodies),
        Pass("hoist", "put an operand in place of its expression", hoist),
        Pass("calls", "call a call's first argument instead", call_arguments),
        Pass("inline", "put a local variable's value in place of its uses", inline),
        Pass("functions", "put a function in place of its only use", inline_functions),
        Pass("bodies", "put a function's body in place of its call", inline_calls),
        Pass("extract", "take an expression out into a local", extract),
        Pass("print", "print a value where it is made, and stop", print_at_once),
        Pass("simplest", "replace by the simplest of the same kind", simplify),
        Pass("constants", "put the tree's constants in place of expressions", use_constants),
        Pass("fractions", "replace a calculation by a fraction", make_fractions),
    ),
    (
        Pass("zero", "make all values the simplest", simplify_all),
        Pass("scalars", "shrink numbers and strings", shrink_scalars),
    ),
    (Pass("names", "give the shortest names", rename),),
)
"""The passes by phase; a later phase starts when the one before has no more successes."""
