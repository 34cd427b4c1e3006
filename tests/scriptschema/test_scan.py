"""Scanning bytes gives the same results as decoding and walking, and the same errors."""

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trees import nested, size

from scriptschema import strategies, wire
from scriptschema.base import Message, walk
from scriptschema.codec.compiling import Unusual, is_choice
from scriptschema.codec.scanning import listed, parts, scan_canonical
from scriptschema.generation.trees import generate
from scriptschema.messages import (
    MESSAGES,
    Expr,
    ExprBinary,
    ExprConstantNil,
    ExprGroup,
    ExprLocal,
    ExprTable,
    ExprUnary,
    Local,
    ModuleSet,
    Name,
    Stat,
    StatBlock,
    StatReturn,
    TableItem,
)


def held(tree: Message) -> Counter[str]:
    """Return the messages of a tree with their positions, in the scanner's terms, by walking."""
    found: Counter[str] = Counter()
    around: dict[int, Message] = {}
    for message, path in walk(tree):
        for slot, _ in message._child_slots:
            children = getattr(message, slot)
            for child in children if isinstance(children, list) else [children]:
                around[id(child)] = message
        if is_choice(message.__class__) and message.which is not None:
            continue
        name = message.__class__.__name__
        if is_choice(message.__class__):
            name += ".unset"
        steps = path.steps()
        parent = around.get(id(message))
        if parent is not None and is_choice(parent.__class__):
            steps.pop()
            parent = around.get(id(parent))
        if parent is not None:
            field = parent.FIELDS[steps[-1][0]]
            name = f"{field.message}.{field.schema_name}: {name}"
        found[name] += 1
    return found


@settings(max_examples=50)
@given(tree=strategies.module_sets() | strategies.exprs() | strategies.stats())
def test_each_message_and_the_field_it_stands_in_is_found(tree: Message) -> None:
    scan = wire.scan(type(tree), wire.encode(tree))
    known = parts()
    found = Counter(known[n].feature for n in scan.parts if known[n].messages)
    assert found == held(tree)
    assert scan.depth == max(len(path) for _, path in walk(tree))
    assert scan.size == len(wire.encode(tree))
    names = [node for node, _ in walk(tree) if isinstance(node, Name) and node.which == "builtin"]
    assert scan.builtins == [name.builtin for name in names]


def refusal(read: Callable[..., object], cls: type[Message], data: bytes) -> str:
    """Return the message of the error that reading raises, or an empty string."""
    try:
        read(cls, data)
    except wire.DecodeError as error:
        return str(error)
    return ""


@settings(max_examples=100)
@given(
    st.sampled_from([ModuleSet, Expr, StatBlock]).flatmap(
        lambda cls: st.tuples(st.just(cls), strategies.damaged(cls))
    )
)
def test_damage_is_refused_as_decoding_refuses_it(
    pair: tuple[type[Message], strategies.Damaged],
) -> None:
    cls, damaged = pair[0], pair[1].data
    reason = refusal(wire.decode, cls, damaged)
    assert refusal(wire.scan, cls, damaged) == reason
    if reason:
        return
    encoded = wire.encode(wire.decode(cls, damaged))
    assert wire.canonical(cls, damaged) == (encoded, wire.scan(cls, encoded))
    try:
        scan_canonical(cls, damaged, wire.MAX_DEPTH)
    except (Unusual, IndexError, KeyError):
        return
    assert damaged == encoded  # the fast way takes nothing but what `encode` writes


@pytest.mark.parametrize("name", MESSAGES)
def test_every_message_can_stand_outermost(name: str) -> None:
    for seed in range(20):
        tree = generate(MESSAGES[name], seed=seed, size=20)
        scan = wire.scan(type(tree), wire.encode(tree))
        known = parts()
        count = sum(len(known[number].messages) for number in scan.parts)
        assert count == size(tree)
        assert listed(tree).parts == scan.parts


def test_unknown_fields_are_dropped_or_refused_as_asked() -> None:
    data = wire.encode(ModuleSet(program=StatBlock()))
    assert wire.canonical(ModuleSet, data + b"\x98\x06\x01")[0] == data
    with pytest.raises(wire.DecodeError, match="unknown field 99"):
        wire.scan(ModuleSet, data + b"\x98\x06\x01", unknown="error")


def test_depth_is_limited_as_in_decoding() -> None:
    for levels in (96, 98, 100):
        assert wire.scan(Expr, wire.encode(nested(levels))).depth == levels
    deep = wire.encode(nested(102), max_depth=200)
    with pytest.raises(wire.DecodeError, match="more than 100 levels deep"):
        wire.scan(Expr, deep)
    assert wire.scan(Expr, deep, max_depth=102).depth == 102
    leaf = Expr(nil=ExprConstantNil())
    for _ in range(50):
        leaf = Expr(group=ExprGroup(expr=leaf))
    with pytest.raises(wire.DecodeError, match="more than 100 levels deep"):
        wire.scan(Expr, wire.encode(leaf, max_depth=101))


def without_names(tree: Message) -> Message:
    """Return the tree with 0, "" and false for all names and constants."""
    for message, _ in walk(tree):
        for name, field in message.FIELDS.items():
            if field.type is int and getattr(message, name) is not None:
                setattr(message, name, 0)
            elif field.name == "val":
                setattr(message, name, field.type())
    return tree


@settings(max_examples=50)
@given(one=strategies.exprs(size=12), two=strategies.exprs(size=12))
def test_trees_have_the_same_parts_only_if_they_are_equal_but_for_names_and_constants(
    one: Expr, two: Expr
) -> None:
    shapes = [wire.scan(Expr, wire.encode(tree)).parts for tree in (one, two)]
    assert (shapes[0] == shapes[1]) == (without_names(one) == without_names(two))


def test_where_a_list_or_a_message_ends_is_part_of_the_shape() -> None:
    def block(*stats: Stat) -> Stat:
        return Stat(block=StatBlock(body=list(stats)))

    stop = Stat(return_=StatReturn())
    nil = Expr(nil=ExprConstantNil())
    pairs: list[tuple[Message, Message]] = [
        (block(block(stop), stop), block(block(stop, stop))),
        (block(block(), block()), block(block(block()))),
        (
            Expr(table=ExprTable(items=[TableItem(key_expr=nil, value=nil)])),
            Expr(table=ExprTable(items=[TableItem(value=nil), TableItem(value=nil)])),
        ),
        (
            Expr(unary=ExprUnary(op=ExprUnary.Op.Not, expr=nil)),
            Expr(unary=ExprUnary(op=ExprUnary.Op.Len, expr=nil)),
        ),
    ]
    for pair in pairs:
        one, two = (wire.scan(type(tree), wire.encode(tree)).parts for tree in pair)
        assert one != two


def test_values_of_many_bytes_are_read() -> None:
    for number in (0, 127, 128, 2**31 - 1, -1, -(2**31)):
        local = Expr(local=ExprLocal(var=Local(name=number)))
        tree = Expr(binary=ExprBinary(op=ExprBinary.Op.Pow, left=local, right=local))
        data = wire.encode(tree)
        assert scan_canonical(Expr, data, 100).size == len(data)
