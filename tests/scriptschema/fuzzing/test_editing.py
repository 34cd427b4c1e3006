"""Editing by path, and the index: new trees share nothing with old ones, errors name positions."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scriptschema import Message, Path, strategies, walk, wire
from scriptschema.codec.copying import copy
from scriptschema.fuzzing.editing import EditError, at, delete, insert, replace
from scriptschema.fuzzing.index import Index
from scriptschema.messages import (
    Expr,
    ExprConstantNil,
    ExprConstantNumber,
    ExprUnary,
    ModuleSet,
    Stat,
    StatBlock,
    StatBreak,
    StatFor,
    StatIf,
    StatReturn,
    StatWhile,
)


def parts(tree: Message) -> set[int]:
    """Return the parts of a tree that can be changed: its messages and its lists."""
    found = set()
    for node, _ in walk(tree):
        found.add(id(node))
        found |= {id(getattr(node, slot)) for slot, repeated in node._child_slots if repeated}
    return found


def program(*statements: Stat) -> ModuleSet:
    return ModuleSet(program=StatBlock(body=[*statements]))


def nil() -> Expr:
    return Expr(nil=ExprConstantNil())


BREAK = Stat(break_=StatBreak())
LOOP = Stat(while_=StatWhile(cond=nil(), body=StatBlock(body=[BREAK])))


@settings(max_examples=40)
@given(strategies.module_sets())
def test_a_copy_equals_its_tree_and_changing_it_leaves_the_tree_alone(tree: ModuleSet) -> None:
    copied = copy(tree)
    assert copied == tree
    assert not parts(copied) & parts(tree)
    before = wire.encode(tree)
    for node, _ in walk(copied):
        for slot, repeated in node._child_slots:
            if repeated:
                getattr(node, slot).clear()
    assert wire.encode(tree) == before


def test_a_tree_of_any_depth_can_be_copied() -> None:
    tree = nil()
    for _ in range(5_000):
        tree = Expr(unary=ExprUnary(op=ExprUnary.Op.Not, expr=tree))
    assert copy(tree) == tree


@settings(max_examples=40)
@given(strategies.module_sets(), st.data())
def test_any_message_can_be_found_and_replaced_by_the_path_that_walk_tells(
    tree: ModuleSet, data: st.DataObject
) -> None:
    node, path = data.draw(st.sampled_from([*walk(tree)]))
    assert at(tree, path) is node
    assert at(tree, str(path)) is node
    before = wire.encode(tree)
    other = data.draw(strategies.messages(type(node), size=10))
    edited = replace(tree, path, other)
    assert at(edited, path) == other
    assert not parts(edited) & (parts(tree) | parts(other))
    assert wire.encode(tree) == before
    assert replace(edited, str(path), node) == tree


def test_items_are_inserted_before_others_and_at_the_end_and_deleted() -> None:
    tree = program(LOOP)
    longer = insert(insert(tree, "program.body[0]", BREAK), "program.body[2]", BREAK)
    assert [stat.which for stat in longer.program.body] == ["break_", "while_", "break_"]
    shorter = delete(longer, "program.body[1].while_.body.body[0]")
    assert shorter.program.body[1].while_ == StatWhile(cond=nil(), body=StatBlock())
    assert delete(delete(longer, "program.body[2]"), "program.body[0]") == tree == program(LOOP)


def test_optional_parts_are_set_and_unset() -> None:
    tree = program(Stat(if_=StatIf(cond=nil(), then=StatBlock())))
    with_else = insert(tree, "program.body[0].if_.else_", StatBlock(body=[LOOP]))
    assert with_else.program.body[0].if_ == StatIf(
        cond=nil(), then=StatBlock(), else_=StatBlock(body=[LOOP])
    )
    assert delete(with_else, "program.body[0].if_.else_") == tree
    assert delete(tree, "program.body[0].if_") == program(Stat())


def test_the_root_is_replaced_by_a_copy_of_the_same_class() -> None:
    other = program(LOOP)
    edited = replace(program(), "", other)
    assert edited == other
    assert not parts(edited) & parts(other)
    with pytest.raises(EditError, match="a StatBlock cannot replace the root of a tree"):
        replace(program(), Path(), StatBlock())


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda t: at(t, "program.body[7]"), r"program.body\[7\]: StatBlock.body has only 1 items"),
        (lambda t: at(t, "module"), "module: ModuleSet.module is not set"),
        (
            lambda t: at(t, "programme"),
            "programme: ModuleSet has no field 'programme'; available: mod",
        ),
        (lambda t: at(t, "program.body"), "program.body: StatBlock.body is a list: select an item"),
        (lambda t: at(t, "program[0]"), r"program\[0\]: ModuleSet.program is not a list"),
        (lambda t: at(t, "program..x"), "invalid path step ''"),
        (lambda t: at(t, "program.body[-1]"), r"invalid path step 'body\[-1\]'"),
        (lambda t: replace(t, "program", BREAK), r"program: ModuleSet.program must be StatBlock"),
        (
            lambda t: insert(t, "program", StatBlock()),
            "ModuleSet.program is already set: replace it",
        ),
        (lambda t: insert(t, "program.body[2]", BREAK), "StatBlock.body has only 1 items"),
        (lambda t: insert(t, "", t), "the path is empty: only a part of a tree"),
        (lambda t: delete(t, "program"), "program: ModuleSet.program is required"),
        (lambda t: delete(t, ""), "the path is empty: only a part of a tree"),
        (
            lambda t: at(t, "program.body[0].while_.cond.nil.val"),
            "ExprConstantNil has no field 'val'",
        ),
        (
            lambda t: replace(
                program(Stat(return_=StatReturn(list=[Expr(number=ExprConstantNumber(val=1))]))),
                "program.body[0].return_.list[0].number.val",
                nil(),
            ),
            "ExprConstantNumber.val is int32, not a message",
        ),
    ],
)
def test_an_edit_that_cannot_be_says_where_and_why(edit: object, words: str) -> None:
    tree = program(LOOP)
    with pytest.raises(EditError, match=words):
        edit(tree)  # type: ignore[operator]
    assert tree == program(LOOP)


@settings(max_examples=40)
@given(strategies.module_sets())
def test_the_index_knows_what_walk_tells(tree: ModuleSet) -> None:
    index = Index(tree)
    walked = [*walk(tree)]
    assert len(index) == len(walked)
    for number, (node, path) in enumerate(walked):
        assert index.nodes[number] is node
        assert index.path(number) == path
        assert index.step(number) == (path.steps() or [("", None)])[-1]
        assert index.depth(number) == len(path)
        assert number in index.of(type(node))
        inside = [*walk(node)]
        assert index.sizes[number] == len(inside)
        assert index.heights[number] == max(len(below) for _, below in inside)
        assert [index.nodes[n] for n in index.inside(number)] == [n for n, _ in inside[1:]]
    assert sum(len(index.of(cls)) for cls in {type(node) for node, _ in walked}) == len(walked)
    assert index.of(StatFor) == [n for n, (node, _) in enumerate(walked) if type(node) is StatFor]


def test_a_tree_deeper_than_python_calls_go_has_an_index() -> None:
    tree = StatBlock()
    for _ in range(2000):
        tree = StatBlock(body=[Stat(break_=StatBreak()), Stat(block=tree)])
    index = Index(tree)
    for number, (node, path) in enumerate(walk(tree)):
        assert index.nodes[number] is node
        assert index.step(number) == (path.name, path.index)
    assert index.heights[0] == 4000
    assert index.size(0) == len(index) == 8001
