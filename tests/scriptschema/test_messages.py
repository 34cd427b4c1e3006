"""The messages match the specification's tables, reject invalid values, and explain why."""

import ast
import copy
import inspect
import pickle
import subprocess
import sys
from enum import IntEnum

import attrs
import pytest
import spec
from hypothesis import given
from hypothesis.vendor.pretty import pretty
from pure_protobuf.message import BaseMessage
from trees import nested

from scriptschema import Message, Path, ValidationError, messages, strategies, walk
from scriptschema.choices import BytesChoices
from scriptschema.generation.trees import generate
from scriptschema.messages import (
    ENUMS,
    MESSAGES,
    Expr,
    ExprBinary,
    ExprCall,
    ExprConstantBool,
    ExprConstantNil,
    ExprConstantNumber,
    ExprConstantString,
    ExprFunction,
    ExprGroup,
    ExprIfElse,
    ExprPrefix,
    Local,
    ModuleSet,
    Name,
    Stat,
    StatBlock,
    StatFor,
    StatIf,
    StatReturn,
    TableItem,
)

RULES = {"req": "required", "opt": "optional", "rep": "repeated"}


def number(value: int) -> Expr:
    return Expr(number=ExprConstantNumber(val=value))


def test_there_are_57_messages_in_the_specifications_order() -> None:
    assert list(MESSAGES) == spec.MESSAGES
    assert len(MESSAGES) == 57
    assert len(spec.ROWS) == 158


@pytest.mark.parametrize("row", spec.ROWS, ids=lambda row: f"{row.message}.{row.field}")
def test_every_row_of_the_specifications_tables_is_a_field(row: spec.Row) -> None:
    [field] = [f for f in MESSAGES[row.message].FIELDS.values() if f.schema_name == row.field]
    assert field.tag == row.tag
    assert field.type_name == row.type
    assert field.rule == RULES.get(row.rule, "optional")
    assert field.oneof == (None if row.rule in RULES else row.rule)
    assert MESSAGES[row.message].ONEOF in (None, field.oneof) or field.oneof is None


def test_there_is_no_field_beside_the_specifications() -> None:
    assert sum(len(cls.FIELDS) for cls in MESSAGES.values()) == len(spec.ROWS)


def test_enums_have_the_specifications_values() -> None:
    assert {
        name: " ".join(member.name for member in enum) for name, enum in ENUMS.items()
    } == spec.ENUMS
    assert all([m.value for m in enum] == list(range(len(enum))) for enum in ENUMS.values())


@pytest.mark.parametrize("cls", MESSAGES.values(), ids=lambda cls: cls.__name__)
def test_every_message_is_an_attrs_class_and_a_pure_protobuf_message(cls: type[Message]) -> None:
    assert issubclass(cls, BaseMessage)
    assert {attribute.name for attribute in attrs.fields(cls)} == set(cls.ALL_FIELDS)
    assert all(attribute.kw_only for attribute in attrs.fields(cls))
    assert not hasattr(cls.__new__(cls), "__dict__")


@pytest.mark.parametrize("cls", MESSAGES.values(), ids=lambda cls: cls.__name__)
def test_help_tells_meaning_fields_and_source(cls: type[Message]) -> None:
    assert cls.__doc__ is not None
    assert "Source: specification 2." in cls.__doc__
    for field in cls.FIELDS.values():
        assert f"{field.name}: {field.type_name}, " in cls.__doc__
        assert f"tag {field.tag}" in cls.__doc__


def test_keywords_and_self_take_an_underscore() -> None:
    renamed = {
        f"{field.message}.{field.name}": field.schema_name
        for cls in MESSAGES.values()
        for field in cls.FIELDS.values()
        if field.name != field.schema_name
    }
    assert set(renamed.values()) == {
        *("self", "else", "if", "while", "break", "continue", "return", "for", "from", "class"),
        "global",
    }
    assert all(name.endswith(f".{schema}_") for name, schema in renamed.items())


class Kind(IntEnum):
    NUMBER = 4


REFUSED = [
    (ExprBinary, "left", None, "is required (Expr, tag 2)"),
    (
        ExprGroup,
        "expr",
        ExprConstantNil(),
        "must be Expr (required, tag 1), found ExprConstantNil ExprConstantNil()",
    ),
    (
        Local,
        "name",
        2**31,
        "must be in int32's range -2147483648..2147483647 (required, tag 1), found int 2147483648",
    ),
    (
        Local,
        "name",
        -(2**31) - 1,
        "must be in int32's range -2147483648..2147483647 (required, tag 1), found int -2147483649",
    ),
    (Local, "name", True, "must be int32 (required, tag 1), found bool True"),
    (Local, "name", 1.0, "must be int32 (required, tag 1), found float 1.0"),
    (Local, "name", None, "is required (int32, tag 1)"),
    (ExprConstantBool, "val", 1, "must be bool (required, tag 1), found int 1"),
    (ExprConstantString, "val", b"x", "must be string (required, tag 1), found bytes b'x'"),
    (ExprBinary, "op", 3, "must be ExprBinary.Op (required, tag 1), found int 3"),
    (
        ExprBinary,
        "op",
        messages.ExprUnary.Op.Not,
        "must be ExprBinary.Op (required, tag 1), found ExprUnary.Op <Op.Not: 0>",
    ),
    (StatReturn, "list", (), "must be a list of Expr (repeated, tag 1), found tuple ()"),
    (StatReturn, "list", None, "must be a list of Expr (repeated, tag 1), found None"),
    (StatFor, "step", 3, "must be Expr (optional, tag 4), found int 3"),
    (Expr, "number", 5, "must be ExprConstantNumber (optional, tag 4), found int 5"),
    (
        Name,
        "builtin",
        2**31,
        "must be in int32's range -2147483648..2147483647 (optional, tag 1), found int 2147483648",
    ),
    (Name, "custom", False, "must be int32 (optional, tag 2), found bool False"),
]


@pytest.mark.parametrize(
    ("cls", "name", "value", "reason"),
    REFUSED,
    ids=[f"{cls.__name__}.{name}-{value!r:.20}" for cls, name, value, _ in REFUSED],
)
def test_a_refused_value_is_named_with_message_field_rule_and_value(
    cls: type[Message], name: str, value: object, reason: str
) -> None:
    sound = generate(cls, choices=BytesChoices(b""))
    before = copy.deepcopy(sound)
    arguments = {
        field: getattr(sound, field)
        for field, info in cls.FIELDS.items()
        if not info.oneof and field != name
    }
    with pytest.raises(ValidationError) as constructed:
        cls(**arguments, **{name: value})
    with pytest.raises(ValidationError) as assigned:
        setattr(sound, name, value)
    assert str(constructed.value) == f"{cls.__name__}.{name} {reason}"
    assert str(assigned.value) == f"{cls.__name__}.{name} {reason}"
    assert sound == before


def test_an_argument_that_is_not_given_is_required_in_the_same_words() -> None:
    with pytest.raises(ValidationError) as caught:
        ExprBinary(op=ExprBinary.Op.Add, right=number(1))
    assert str(caught.value) == "ExprBinary.left is required (Expr, tag 2)"


def test_a_refused_item_of_a_list_is_named_with_its_index() -> None:
    with pytest.raises(ValidationError) as caught:
        StatReturn(list=[number(1), 5])
    assert str(caught.value) == "StatReturn.list[1] must be Expr (repeated, tag 1), found int 5"


def test_two_alternatives_at_once_are_refused() -> None:
    with pytest.raises(ValidationError) as caught:
        Expr(nil=ExprConstantNil(), number=ExprConstantNumber(val=1))
    assert (
        str(caught.value)
        == "Expr: 'nil' and 'number' are both set, but only one field of expr_oneof can be set"
    )
    inner = StatIf(cond=number(1), then=StatBlock())
    with pytest.raises(ValidationError, match="StatIf: 'else_' and 'elseif' are both set"):
        StatIf(cond=number(1), then=StatBlock(), else_=StatBlock(), elseif=inner)


def test_a_refused_assignment_leaves_the_message_as_it_was() -> None:
    call = ExprCall(func=ExprPrefix(), self_=False, args=[number(1)])
    with pytest.raises(ValidationError):
        call.args = [number(1), None]
    assert call.args == [number(1)]


def test_an_integer_of_another_kind_is_an_int32() -> None:
    assert messages.TypePrimitive(kind=Kind.NUMBER).kind == 4


def test_a_number_is_equal_whatever_its_class() -> None:
    assert Local(name=ExprBinary.Op.Sub) == Local(name=1)
    assert Local(name=ExprBinary.Op.Sub) != Local(name=2)


def test_a_number_that_python_does_not_print_is_refused_in_words() -> None:
    with pytest.raises(ValidationError, match=r"tag 1\), found int of 16610 bits"):
        Local(name=10**5000)


def test_unknown_names_are_refused_and_known_ones_listed() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'nmae'"):
        Local(nmae=1)
    with pytest.raises(AttributeError, match="Local has no field 'nmae'; available: name"):
        Local(name=1).nmae = 2
    with pytest.raises(AttributeError, match="ExprConstantNil has no field 'val'; available: none"):
        ExprConstantNil().val = 2
    with pytest.raises(TypeError):
        Local(1)


def test_fields_cannot_be_deleted() -> None:
    local = Local(name=1)
    with pytest.raises(AttributeError, match="cannot be deleted: assign None"):
        del local.name
    assert local.name == 1


def test_assigning_one_alternative_clears_the_others() -> None:
    expr = number(1)
    expr.nil = ExprConstantNil()
    assert expr == Expr(nil=ExprConstantNil())
    assert expr.number is None
    assert (expr.which, expr.alternative) == ("nil", ExprConstantNil())
    expr.number = None
    assert expr.which == "nil"
    expr.nil = None
    assert expr == Expr()
    assert (expr.which, expr.alternative) == (None, None)


@pytest.mark.parametrize(
    "message",
    [
        TableItem(key_expr=number(1), value=number(2)),
        ExprIfElse(cond=number(1), then=number(2), else_=number(3)),
        StatIf(cond=number(1), then=StatBlock(), else_=StatBlock()),
        Name(custom=0),
        Stat(return_=StatReturn()),
    ],
    ids=lambda message: type(message).__name__,
)
def test_every_oneof_tells_its_alternative_in_the_same_way(message: Message) -> None:
    assert message.which is not None
    assert getattr(message, message.which) is message.alternative
    set_names = [
        field.name
        for field in message.FIELDS.values()
        if field.oneof and getattr(message, field.name) is not None
    ]
    assert set_names == [message.which]
    with pytest.raises(
        AttributeError, match="which cannot be assigned: assign one of the fields of"
    ):
        message.which = "nil"


def test_type_checkers_know_the_alternatives_that_which_may_name() -> None:
    tree = ast.parse(inspect.getsource(messages))
    declared = {
        node.name: [
            ast.literal_eval(name)
            for statement in node.body
            if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "which"
            for literal in ast.walk(statement.value)
            if isinstance(literal, ast.Subscript) and ast.unparse(literal.value) == "Literal"
            for name in getattr(literal.slice, "elts", [literal.slice])
        ]
        for node in tree.body
        if isinstance(node, ast.ClassDef) and node.name in MESSAGES
    }
    assert declared == {
        name: [field.name for field in cls.ALL_FIELDS.values() if field.oneof]
        for name, cls in MESSAGES.items()
    }


def test_a_message_without_a_oneof_has_no_alternative() -> None:
    assert (Local(name=1).which, Local(name=1).alternative) == (None, None)
    with pytest.raises(AttributeError, match="Local has no field 'which'"):
        Local(name=1).which = "name"


def test_pure_protobufs_way_to_ask_a_oneof_works() -> None:
    assert number(1).expr_oneof == ExprConstantNumber(val=1)
    assert Expr().expr_oneof is None


def test_pure_protobufs_tables_are_complete_when_they_can_be_seen() -> None:
    """In a new process: a thread that saw a table that was being filled lost fields."""
    script = """
import threading
from pure_protobuf.descriptors._field import _FieldDescriptor
from scriptschema.messages import Expr
make, seen = _FieldDescriptor.from_attribute, []
def watched(cls, hint):
    seen.append("__PROTOBUF_FIELDS_BY_NAME__" in vars(Expr))
    return make(cls, hint)
_FieldDescriptor.from_attribute = watched
assert len(Expr.__PROTOBUF_FIELDS_BY_NAME__) == len(Expr.ALL_FIELDS)
assert seen and not any(seen)
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_lists_are_not_shared_between_messages() -> None:
    StatBlock().body.append(Stat())
    assert StatBlock().body == []


def test_repr_shows_set_fields_only_and_can_be_evaluated() -> None:
    tree = StatReturn(
        list=[
            Expr(binary=ExprBinary(op=ExprBinary.Op.Pow, left=number(1), right=Expr())),
            Expr(string=ExprConstantString(val="a\udcff")),
        ]
    )
    assert repr(tree) == (
        "StatReturn(list=[Expr(binary=ExprBinary(op=ExprBinary.Op.Pow, "
        "left=Expr(number=ExprConstantNumber(val=1)), right=Expr())), "
        "Expr(string=ExprConstantString(val='a\\udcff'))])"
    )
    assert eval(repr(tree), vars(messages)) == tree
    assert repr(Local(name=0)) == "Local(name=0)"
    assert repr(ModuleSet(program=StatBlock())) == "ModuleSet(program=StatBlock())"


def test_repr_of_a_large_or_deep_tree_stays_readable() -> None:
    wide = StatBlock(body=[Stat(block=StatBlock()) for _ in range(5000)])
    assert len(repr(wide)) < 2000
    assert "... 4980 more" in repr(wide)
    deep = Expr()
    for _ in range(5000):
        deep = Expr(group=ExprGroup(expr=deep))
    assert len(repr(deep)) < 2000
    assert "Expr(...)" in repr(deep)
    long = repr(ExprConstantString(val="x" * 10_000))
    assert len(long) < 300
    with pytest.raises(SyntaxError):  # rather than another string
        eval(long, vars(messages))


def test_hypothesis_prints_a_failing_example_of_hundreds_of_messages_whole() -> None:
    tree = StatBlock(body=[Stat(block=StatBlock()) for _ in range(400)])
    assert eval(pretty(tree), vars(messages)) == tree


def test_hypothesis_prints_a_failing_example_as_repr_does() -> None:
    tree = StatReturn(list=[number(1)] * 4)
    text = pretty(tree)
    assert "\n" in text
    assert eval(text, vars(messages)) == tree
    assert pretty(number(1)) == repr(number(1))
    assert pretty(Expr) == "scriptschema.messages.Expr"


def test_equality_sees_every_difference() -> None:
    assert number(1) == number(1)
    assert number(1) != number(2)
    assert number(1) != 1
    assert Name(builtin=1) != Name(custom=1)
    assert StatReturn(list=[number(1)]) != StatReturn(list=[number(1), number(1)])
    assert StatReturn(list=[number(1)]) != StatReturn(list=[Expr()])
    assert Expr() != ExprPrefix()
    with pytest.raises(TypeError, match="unhashable"):
        hash(number(1))


def test_equality_reaches_any_depth() -> None:
    def nest(inner: Expr) -> Expr:
        for _ in range(20_000):
            inner = Expr(group=ExprGroup(expr=inner))
        return inner

    assert nest(number(1)) == nest(number(1))
    assert nest(number(1)) != nest(number(2))


@given(strategies.module_sets())
def test_copies_are_equal_and_apart(tree: ModuleSet) -> None:
    for twin in (copy.deepcopy(tree), pickle.loads(pickle.dumps(tree))):
        assert twin == tree
        mine = {id(node) for node, _ in walk(tree)}
        assert not mine & {id(node) for node, _ in walk(twin)}
    shallow = copy.copy(tree)
    assert shallow == tree
    assert shallow.program is tree.program


def test_attrs_evolve_makes_a_changed_copy() -> None:
    local = attrs.evolve(ExprFunction(vararg=False, body=StatBlock()), vararg=True)
    assert local == ExprFunction(vararg=True, body=StatBlock())


def test_signatures_tell_which_fields_are_required() -> None:
    parameters = inspect.signature(StatFor).parameters
    required = {name for name, p in parameters.items() if p.default is p.empty}
    assert required == {"var", "from_", "to", "body"}


def test_walk_yields_every_message_with_its_path_in_tag_order() -> None:
    tree = ModuleSet(
        program=StatBlock(
            body=[
                Stat(),
                Stat(return_=StatReturn(list=[number(1), Expr()])),
                Stat(
                    if_=StatIf(
                        cond=Expr(),
                        then=StatBlock(),
                        elseif=StatIf(cond=Expr(), then=StatBlock(), else_=StatBlock()),
                    )
                ),
            ]
        )
    )
    assert [(str(path), type(node).__name__) for node, path in walk(tree)] == [
        ("", "ModuleSet"),
        ("program", "StatBlock"),
        ("program.body[0]", "Stat"),
        ("program.body[1]", "Stat"),
        ("program.body[1].return_", "StatReturn"),
        ("program.body[1].return_.list[0]", "Expr"),
        ("program.body[1].return_.list[0].number", "ExprConstantNumber"),
        ("program.body[1].return_.list[1]", "Expr"),
        ("program.body[2]", "Stat"),
        ("program.body[2].if_", "StatIf"),
        ("program.body[2].if_.cond", "Expr"),
        ("program.body[2].if_.then", "StatBlock"),
        ("program.body[2].if_.elseif", "StatIf"),
        ("program.body[2].if_.elseif.cond", "Expr"),
        ("program.body[2].if_.elseif.then", "StatBlock"),
        ("program.body[2].if_.elseif.else_", "StatBlock"),
    ]


@given(strategies.module_sets())
def test_a_path_leads_from_the_root_to_its_message(tree: ModuleSet) -> None:
    for node, path in walk(tree):
        found: object = tree
        for name, index in path.steps():
            found = getattr(found, name)
            if index is not None:
                assert isinstance(found, list)
                found = found[index]
        assert found is node
        assert len(path) == len(path.steps())


def test_a_walk_sees_what_its_loop_changed_below_the_message_it_is_at() -> None:
    tree = StatBlock(body=[Stat(), Stat()])
    seen = []
    for node, path in walk(tree):
        if isinstance(node, Stat):
            node.break_ = messages.StatBreak()
        seen.append(str(path))
    assert seen == ["", "body[0]", "body[0].break_", "body[1]", "body[1].break_"]


def test_paths_compare_by_their_steps() -> None:
    path = Path(Path(None), "body", 2)
    assert path == Path(Path(), "body", 2)
    assert hash(path) == hash(Path(Path(), "body", 2))
    assert path != Path(Path(), "body", 3)
    assert path != "body[2]"
    assert path
    assert not Path()
    assert (repr(path), repr(Path())) == ("<Path body[2]>", "<Path (root)>")


def test_trees_of_any_depth_can_be_copied_and_pickled() -> None:
    deep = nested(20_000)
    block = StatBlock(body=[Stat(return_=StatReturn(list=[deep, number(1)]))])
    twin = copy.deepcopy(block)
    loaded = pickle.loads(pickle.dumps(block))
    assert twin == loaded == block
    assert not {id(node) for node, _ in walk(twin)} & {id(node) for node, _ in walk(block)}


@given(strategies.module_sets())
def test_copies_and_pickles_are_equal_and_share_nothing(tree: ModuleSet) -> None:
    mine = {id(node) for node, _ in walk(tree)}
    for twin in (
        copy.deepcopy(tree),
        pickle.loads(pickle.dumps(tree)),
        pickle.loads(pickle.dumps(tree, 0)),
    ):
        assert twin == tree
        assert repr(twin) == repr(tree)
        assert not mine & {id(node) for node, _ in walk(twin)}


def test_what_is_shared_within_a_tree_stays_shared_in_its_copies() -> None:
    one = number(1)
    tree = StatReturn(list=[one, one])
    for twin in (copy.deepcopy(tree), pickle.loads(pickle.dumps(tree))):
        assert twin.list[0] is twin.list[1]
        assert twin.list[0] is not one
    pair = copy.deepcopy([tree, one])
    assert pair[0].list[0] is pair[1]


def test_a_shallow_copy_shares_the_children() -> None:
    tree = StatReturn(list=[number(1)])
    twin = copy.copy(tree)
    assert twin == tree
    assert twin is not tree
    assert twin.list is tree.list


def test_a_tree_that_is_not_valid_can_be_copied_and_pickled_for_a_report() -> None:
    tree = StatReturn()
    tree.list.extend([number(1), {"a": [tree]}, "text", None, [number(2)]])
    twin = copy.deepcopy(tree)
    assert twin.list[1]["a"][0] is twin
    tree.list[1] = {"a": []}
    assert pickle.loads(pickle.dumps(tree)).list == tree.list
    assert twin.list[4] == [number(2)]
    assert twin.list[4][0] is not tree.list[4][0]
