"""Trees are exchanged with upstream's schema of Luau 0.735 without loss, or each loss is reported.

`upstream-0.735.json` has that schema, from upstream's file. The reference is protobuf's runtime.
"""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from google.protobuf import descriptor_pb2
from hypothesis import example, given
from hypothesis import strategies as st
from test_extensions import extended_trees
from test_interop import is_utf8

from scriptschema import Message, interop, wire
from scriptschema import messages as m
from scriptschema.base import walk
from scriptschema.commands.main import main
from scriptschema.generation.trees import generate
from scriptschema.interop import upstream, upstream_schema
from scriptschema.luau.parse import parse

THEIRS = json.loads((Path(__file__).parent / "upstream-0.735.json").read_text())
REGULAR = m.Typename.Kind.Regular
FORMS = st.sampled_from(["binary", "text", "json"])
EXCHANGED = [name for name in m.schema("today").messages if name in THEIRS["messages"]]


def test_the_schema_that_is_made_of_ours_is_upstreams_row_by_row() -> None:
    labels = {"optional": 1, "required": 2, "repeated": 3}
    kinds = descriptor_pb2.FieldDescriptorProto
    scalars = {"int32": 5, "int64": 3, "bool": 8, "string": 9}
    file = upstream_schema.file()
    assert sorted(message.name for message in file.message_type) == sorted(THEIRS["messages"])
    for message in file.message_type:
        rows = {}
        for field in message.field:
            oneof = message.oneof_decl[0].name if field.HasField("oneof_index") else None
            kind = field.type_name.removeprefix(".script.") or field.type
            is_enum = field.type == kinds.TYPE_ENUM
            rows[field.name] = (
                field.number,
                field.label,
                kind,
                oneof,
                field.default_value,
                is_enum,
            )
        wanted = {}
        enums = THEIRS["enums"]
        for row in THEIRS["messages"][message.name]:
            kind = scalars.get(row["type"], row["type"])
            nested = f"{message.name}.{kind}"
            kind = nested if nested in enums else kind
            wanted[row["name"]] = (
                row["tag"],
                labels[row["rule"]],
                kind,
                row.get("oneof"),
                row.get("default", ""),
                kind in enums,
            )
        assert rows == wanted, message.name
    made = {enum.name: enum for enum in file.enum_type}
    made |= {f"{one.name}.{enum.name}": enum for one in file.message_type for enum in one.enum_type}
    assert {
        name: {value.name: value.number for value in enum.value} for name, enum in made.items()
    } == THEIRS["enums"]


@given(st.sampled_from(list(m.MESSAGES)), st.integers(0, 2**32), FORMS)
def test_a_tree_of_the_seed_comes_back_whole(name: str, seed: int, form: str) -> None:
    if name not in EXCHANGED:
        return
    tree = generate(m.MESSAGES[name], seed=seed, size=40, max_depth=40)
    if form == "json" and not is_utf8(tree):
        with pytest.raises(interop.FormatError, match="a string is not valid UTF-8"):
            upstream.to_upstream(tree, form)
        return
    data, notes = upstream.to_upstream(tree, form)
    assert notes == []
    again, notes = upstream.from_upstream(type(tree), data, form)
    assert notes == []
    assert again == tree


def random_message(cls: Any, rng: random.Random, left: int) -> Any:
    """Return a random message of upstream's schema."""
    message = cls()
    described = descriptor_pb2.DescriptorProto()
    cls.DESCRIPTOR.CopyToProto(described)
    labels = {field.name: field.label for field in described.field}
    oneofs = set()
    for field in cls.DESCRIPTOR.fields:
        oneof = field.containing_oneof
        if oneof is not None:
            if oneof.name in oneofs or left <= 0:
                continue
            oneofs.add(oneof.name)
            field = rng.choice(oneof.fields)
        required = labels[field.name] == 2
        if not required and oneof is None and (left <= 0 or rng.random() < 0.5):
            continue
        if field.message_type is not None:
            inner = random_message(field.message_type._concrete_class, rng, left - 1)
            if labels[field.name] == 3:
                getattr(message, field.name).add().CopyFrom(inner)
            else:
                getattr(message, field.name).CopyFrom(inner)
        elif field.enum_type is not None:
            setattr(message, field.name, rng.choice(field.enum_type.values).number)
        elif field.type in (field.TYPE_STRING, field.TYPE_BYTES):
            setattr(message, field.name, rng.choice([b"", b"a", b"\xff"]))
        elif field.type == field.TYPE_BOOL:
            setattr(message, field.name, rng.random() < 0.5)
        else:
            setattr(message, field.name, rng.choice([0, 1, -1, 2**31 - 1, -(2**31)]))
    return message


@given(st.sampled_from(EXCHANGED), st.integers(0, 2**32))
def test_a_tree_of_upstreams_comes_back_whole_or_what_is_not_is_reported(
    name: str, seed: int
) -> None:
    theirs = random_message(upstream_schema.classes(strings=False)[name], random.Random(seed), 9)
    data = theirs.SerializeToString(deterministic=True)
    cls = m.schema("today").messages[name]
    tree, notes = upstream.from_upstream(cls, data)
    assert wire.encode(tree, luau="today") is not None
    again, more = upstream.to_upstream(tree)
    if again != data:
        assert notes or more


@example(m.TypeRef(prefix=m.Local(name=1), index=m.Typename(index=1, kind=REGULAR)), "binary")
@given(extended_trees(), FORMS)
def test_an_extended_tree_is_exchanged_or_what_is_lost_is_reported(
    tree: Message, form: str
) -> None:
    if type(tree).__name__ not in EXCHANGED:
        with pytest.raises(interop.FormatError, match="has no message"):
            upstream.to_upstream(tree, form)
        return
    data, notes = upstream.to_upstream(tree, form)
    again, more = upstream.from_upstream(type(tree), data, form)
    if not (notes or more):
        assert wire.encode(again, luau="today") == wire.encode(implicit(tree), luau="today")


def implicit(tree: Message) -> Message:
    """Return the tree without values that upstream does not store, since they are implied."""
    tree = copy.deepcopy(tree)
    for node, _ in walk(tree):
        for name in (*getattr(node, "generics", ()), *getattr(node, "genericpacks", ())):
            if isinstance(name, m.Typename) and name.kind is m.Typename.Kind.Generic:
                name.kind = None
        if isinstance(node, m.Typename) and node.kind is REGULAR:
            node.kind = None
        elif isinstance(node, m.StatClass) and not node.is_open:
            node.is_open = None
        elif isinstance(node, m.ExprCall) and not node.parenless:
            node.parenless = None
    return tree


SOURCE = """
f "x" f {} t:m "y"
const x = 5i
export local y = f() :: T
@native local function g(a: {read x: T}): keyof<T> x //= 0.5 end
"""


def test_what_upstream_cannot_say_is_reported_with_its_place() -> None:
    tree = parse(SOURCE, luau="today").tree.program
    data, notes = upstream.to_upstream(tree, "text")
    assign = "body[5].local_function.func.body.body[0].compound_assign"
    assert [str(one) for one in notes] == [
        "body[2].call.expr: ExprCall.parenless: dropped",
        "body[4].local.values[0]: Expr.cast: dropped; its operand was kept",
        f"{assign}.value.number: ExprConstantNumber.double: dropped",
        f"{assign}: StatCompoundAssign.floor: dropped",
    ]
    text = data.decode()
    for line in "parenless {", "access: Read", "is_const: true", "is_exported: true", "builtin {":
        assert line in text
    again, notes = upstream.from_upstream(m.StatBlock, data, "text")
    assert notes == []
    assert upstream.to_upstream(again, "text") == (data, [])


CLASS = """
class A function f(self) end public x: T public function g() end end
open class B extends A end
"""


def test_a_class_is_exchanged_with_what_the_two_schemas_share() -> None:
    tree = parse(CLASS, luau="today").tree.program
    data, notes = upstream.to_upstream(tree)
    assert [str(one) for one in notes] == [
        "body[0].class_.members[1]: a property after a method: moved before it",
        "body[1].class_: StatClass.extends: dropped",
    ]
    again, notes = upstream.from_upstream(m.StatBlock, data)
    assert {str(one).partition(": ")[2] for one in notes} == {
        "StatClass.inst: dropped",
        "StatClass.local: dropped",
    }
    assert again.body[0].class_ is not None
    assert again.body[1].class_ is not None
    assert [member.which for member in again.body[0].class_.members] == ["prop", "method", "method"]
    assert again.body[1].class_.is_open
    assert upstream.to_upstream(again) == (data, [])


def test_what_upstream_leaves_open_is_reported() -> None:
    theirs = upstream_schema.classes(strings=False)
    call = theirs["ExprCall"]()
    call.parenless.func.SetInParent()
    method = theirs["ClassMethod"]()
    method.metamethod.index = 3
    method.func.vararg = False
    method.func.body.SetInParent()
    wanted = {
        m.ExprCall: [
            (theirs["ExprCall"](), "an empty call: replaced by a call to an empty expression"),
            (
                call,
                "a call with neither parentheses nor an argument: read as a call without arguments",
            ),
        ],
        m.TypeLiteral: [
            (
                theirs["TypeLiteral"](name={}),
                "an empty type name: replaced by the first name in the table of types",
            ),
        ],
        m.ClassMethod: [(method, "ClassMethod.metamethod: dropped")],
    }
    for cls, cases in wanted.items():
        for message, told in cases:
            _, found = upstream.from_upstream(cls, message.SerializeToString())
            assert told in [one.what for one in found]
    member = m.StatClass(name=m.Local(name=0), members=[m.ClassMember()])
    assert [one.what for one in upstream.to_upstream(member)[1]] == [
        "an empty class member: dropped"
    ]


@pytest.mark.parametrize(
    ("data", "form", "reason"),
    [
        (b"\x08", "binary", "not a message of the upstream schema"),
        (b"\x80\x02\x01\x08\x01", "binary", "fields that the upstream schema .Luau 0.735. lacks"),
        (b"", "binary", "missing required fields: name"),
        (b"x: 1", "text", 'has no field named "x"'),
        (b"{", "json", "Failed to load JSON"),
        (b"\xff", "json", "codec can't decode"),
    ],
)
def test_what_is_no_tree_of_upstreams_is_refused(data: bytes, form: str, reason: str) -> None:
    with pytest.raises(interop.FormatError, match=reason):
        upstream.from_upstream(m.Local, data, form)


def test_a_tree_that_nests_too_deep_for_upstreams_readers_is_refused() -> None:
    expr = m.Expr()
    for _ in range(30):
        func = m.ExprPrefix(group=m.ExprGroup(expr=expr))
        expr = m.Expr(call=m.ExprCall(func=func, self_=False))
    wire.encode(m.ExprGroup(expr=expr), max_depth=200)
    deep = m.Expr(group=m.ExprGroup(expr=expr))
    with pytest.raises((interop.FormatError, wire.EncodeError), match="nest"):
        upstream.to_upstream(deep)


def test_convert_goes_there_and_back(tmp_path: Path) -> None:
    tree = m.ModuleSet(program=parse("const x = f 'y'", luau="today").tree.program)
    start = tmp_path / "a.pb"
    start.write_bytes(wire.encode(tree, luau="today"))
    for form, name in [("binary", "b.pb"), ("text", "b.textproto"), ("json", "b.json")]:
        there = tmp_path / name
        back = tmp_path / "back.pb"
        luau = ["--luau", "today"]
        to = ["convert", str(start), *luau, "--to", form, "--upstream", "to", "-o", str(there)]
        assert CliRunner().invoke(main, to).exit_code == 0
        of = ["convert", str(there), *luau, "--to", "binary", "--upstream", "from"]
        assert CliRunner().invoke(main, [*of, "-o", str(back)]).exit_code == 0
        assert back.read_bytes() == start.read_bytes()


def test_convert_tells_what_is_left_out_and_fails_where_it_cannot(tmp_path: Path) -> None:
    start = tmp_path / "a.pb"
    tree = m.ModuleSet(program=parse("x //= 1", luau="today").tree.program)
    start.write_bytes(wire.encode(tree, luau="today"))
    options = ["--luau", "today", "--to", "text", "--upstream"]
    result = CliRunner().invoke(main, ["convert", str(start), *options, "to"])
    assert result.exit_code == 0
    assert (
        "a.pb: program.body[0].compound_assign: StatCompoundAssign.floor: dropped" in result.stderr
    )
    result = CliRunner().invoke(main, ["convert", str(start), *options, "from"])
    assert result.exit_code == 1
    assert "a.pb: " in result.stderr
