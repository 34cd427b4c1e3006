"""The `.proto` file, descriptors, text format and JSON. References: protobuf's runtime, protoc."""

import json
import subprocess
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
import spec
from components import require
from fresh import printed_by
from google.protobuf import descriptor_pb2, json_format, text_format
from hypothesis import given, settings
from hypothesis import strategies as st
from trees import nested

from scriptschema import Message, interop, messages, strategies, walk, wire
from scriptschema.messages import (
    MESSAGES,
    Expr,
    ExprCall,
    ExprConstantString,
    ExprPrefix,
    ExprUnary,
    Local,
    ModuleSet,
    Name,
    StatFor,
    StatReturn,
)

ANY_TREE = st.sampled_from(list(MESSAGES.values())).flatmap(strategies.messages)


def is_utf8(tree: Message) -> bool:
    return not any(
        isinstance(value, str) and value.encode("utf-8", "ignore").decode() != value
        for node, _ in walk(tree)
        for value in (getattr(node, name) for name in node.FIELDS)
    )


def described(data: bytes) -> descriptor_pb2.FileDescriptorProto:
    [file] = descriptor_pb2.FileDescriptorSet.FromString(data).file
    return file


def test_descriptors_hold_every_row_of_the_specifications_tables() -> None:
    file = described(interop.file_descriptor_set())
    expected = descriptor_pb2.FileDescriptorProto()
    spec.runtime_classes()["Expr"].DESCRIPTOR.file.CopyToProto(expected)
    assert (file.name, file.package) == ("script.proto", "script")
    assert list(file.message_type) == list(expected.message_type)


@pytest.fixture
def protoc() -> str:
    return require("protoc")


def test_protoc_compiles_the_printed_proto_to_the_same_descriptors(
    protoc: str, tmp_path: Path
) -> None:
    (tmp_path / "script.proto").write_text(interop.proto_source())
    subprocess.run(
        [protoc, "--descriptor_set_out=out.pb", "script.proto"], cwd=tmp_path, check=True
    )
    compiled = described((tmp_path / "out.pb").read_bytes())
    for message in compiled.message_type:
        for field in message.field:
            field.ClearField("json_name")
    assert compiled == described(interop.file_descriptor_set())


def test_the_printed_proto_has_every_field_of_the_specification() -> None:
    source = interop.proto_source()
    assert source.startswith('syntax = "proto2";\n\npackage script;\n')
    labels = {"req": "required ", "opt": "optional ", "rep": "repeated "}
    for row in spec.ROWS:
        body = source.partition(f"\nmessage {row.message} {{\n")[2].partition("\n}\n")[0]
        line = f"{labels.get(row.rule, '')}{row.type.removeprefix(f'{row.message}.')} "
        assert f" {line}{row.field} = {row.tag};" in body
        if row.rule not in labels:
            assert f"  oneof {row.rule} {{" in body


@given(ANY_TREE)
def test_nothing_is_lost_on_the_way_through_text(tree: Message) -> None:
    text = interop.to_text(tree)
    assert text.isascii()
    assert wire.encode(interop.from_text(type(tree), text)) == wire.encode(tree)


@given(ANY_TREE)
def test_the_runtime_reads_our_text_and_we_read_its_text(tree: Message) -> None:
    runtime = spec.runtime_classes()[type(tree).__name__]
    theirs = runtime.FromString(wire.encode(tree))
    if not is_utf8(tree):  # the runtime's Python code for text does not take those
        return
    assert interop.from_text(type(tree), text_format.MessageToString(theirs)) == tree
    assert text_format.Parse(interop.to_text(tree), runtime()) == theirs


PIECES = (
    "",
    " ",
    "}",
    "{",
    "{}",
    ";",
    ": ",
    "0",
    "-",
    "1.5",
    '"',
    "'a'",
    "true",
    "name",
    "[1]",
    "<",
)


@settings(max_examples=200)
@given(ANY_TREE, st.data())
def test_text_that_is_printed_and_damaged_means_what_protobufs_parser_says(
    tree: Message, data: st.DataObject
) -> None:
    text = interop.to_text(tree)
    tokens = text.split(" ")
    for _ in range(data.draw(st.integers(1, 2))):
        at = data.draw(st.integers(0, len(tokens)))
        tokens[at : at + data.draw(st.integers(0, 2))] = data.draw(
            st.lists(st.sampled_from([*PIECES, *tokens]), max_size=2)
        )
    text = " ".join(tokens)
    read = []
    for after in ("", " #"):  # a comment is not printed: so only the parser reads the second
        try:
            read.append(interop.from_text(type(tree), text + after))
        except interop.FormatError:
            read.append(None)
    assert read[0] == read[1]


def bytes_of_json(cls: type[Message], text: str) -> bytes:
    """Return the canonical bytes of the message that protobuf reads from a JSON text.

    By default, protobuf's JSON parser allows 100 levels including the outermost message, and its
    binary parser allows 100 levels below it. scriptschema has the same limit for both formats.
    """
    message = spec.runtime_classes()[cls.__name__]()
    json_format.Parse(text, message, max_recursion_depth=wire.MAX_DEPTH + 1)
    return bytes(message.SerializeToString(deterministic=True))


@given(ANY_TREE)
def test_nothing_is_lost_on_the_way_through_json_or_it_is_refused(tree: Message) -> None:
    if not is_utf8(tree):
        with pytest.raises(interop.FormatError, match="is not valid UTF-8, so JSON"):
            interop.to_json(tree)
        return
    text = interop.to_json(tree)
    assert interop.from_json(type(tree), text) == tree
    assert bytes_of_json(type(tree), text) == wire.encode(tree)


def test_a_tree_of_the_runtime_goes_through_text_and_json_and_back_to_the_same_bytes() -> None:
    runtime = spec.runtime_classes()["ModuleSet"]()
    runtime.program.body.add().call.expr.func.local.var.name = -1
    runtime.program.body[0].call.expr.self = False
    runtime.program.body[0].call.expr.args.add().string.val = "é\0\n"
    data = runtime.SerializeToString(deterministic=True)
    tree = wire.decode(ModuleSet, data)
    assert wire.encode(interop.from_text(ModuleSet, interop.to_text(tree))) == data
    assert wire.encode(interop.from_json(ModuleSet, interop.to_json(tree))) == data


def test_names_are_the_schemas_in_text_and_json() -> None:
    call = ExprCall(func=ExprPrefix(), self_=True)
    assert interop.to_text(call) == "func {\n}\nself: true\n"
    assert interop.to_json(call) == '{\n  "func": {},\n  "self": true\n}\n'


LITERALS = [
    (rb'"\a\b\f\n\r\t\v\\\?\'\""', b"\a\b\f\n\r\t\v\\?'\""),
    (rb'"\1\12\123\1234\377"', b"\1\12\123\1234\377"),
    (rb'"\x4\x41\x414\XfFg"', b"\x04\x41\x414\xffg"),
    (rb'"\u00e9\U0001F600\ud83d"', "é\U0001f600".encode() + b"\xed\xa0\xbd"),
    (rb'"\ud83d\uDE00\ude00\ud83d"', "\U0001f600".encode() + b"\xed\xb8\x80\xed\xa0\xbd"),
    (b'"\xc3\xa9\xff\x80"', b"\xc3\xa9\xff\x80"),
    (b"'a\"b' \"c'd\"", b"a\"bc'd"),
    (b'"a#b" # "comment" \xff\n', b"a#b"),
    (b'""', b""),
]


@pytest.mark.parametrize(("literal", "data"), LITERALS, ids=[repr(row[0]) for row in LITERALS])
def test_string_literals_are_read_as_the_c_parser_reads_them(literal: bytes, data: bytes) -> None:
    for after in (b"", b"\n", b" #"):  # read as printed text is, and by the parser
        message = interop.from_text(ExprConstantString, b"val: " + literal + after)
        assert message.val.encode("utf-8", "surrogateescape") == data


@given(st.binary(max_size=40))
def test_any_bytes_in_a_string_survive_raw_in_text(data: bytes) -> None:
    raw = data.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    message = interop.from_text(ExprConstantString, b'val: "' + raw + b'"')
    assert message.val.encode("utf-8", "surrogateescape") == data


def test_a_long_string_in_text_needs_little_more_memory_than_its_length() -> None:
    text = 'val: "' + 'é\\001\\"' * 60_000 + '"'
    tracemalloc.start()
    message = interop.from_text(ExprConstantString, text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert message.val == 'é\1"' * 60_000
    assert peak < 20 * len(text)


BAD_TEXT = [
    (ExprConstantString, 'val: "a\nb"', "line 1: unterminated string literal"),
    (ExprConstantString, "\nval: 'a\\'", "line 2: unterminated string literal"),
    # Each quote must not be taken for the start of another literal: that would take hours.
    (ExprConstantString, 'val: "' + '\\"' * 300_000, "line 1: unterminated string literal"),
    (ExprConstantString, "val: " + "x" * 100_000, "line 1: 'val: xxx"),
    (ExprConstantString, r'val: "\q"', r"line 1: invalid escape \q in a string literal"),
    (ExprConstantString, '\n\nval: "\\U00110000"', r"line 3: invalid escape \U"),
    (ExprConstantString, b'val: "\\\xff"', "line 1: invalid escape \\\\xff"),
    (ExprConstantString, "val: 5", "line 1: 'val: 5': Expected string but found: '5'"),
    (ExprConstantString, 'val: "a" val: "b"', "line 1: Message type"),
    (ExprConstantString, "", "ExprConstantString.val is required (string, tag 1)"),
    (Local, "nmae: 1", 'line 1: Message type "script.Local" has no field named "nmae"'),
    (Local, "name: 2147483648", "Value out of range: 2147483648"),
    (ExprUnary, "op: Plus expr {}", 'Enum type "script.ExprUnary.Op" has no value named'),
    (ModuleSet, "program { body { local { values { local {} } } } }", "program.body[0].local.val"),
    (Name, "builtin: 1 custom: 2", "line 1: Field "),
    (Expr, "group { expr { " * 60 + "}}" * 60, "messages are nested more than 100 levels deep"),
    (Expr, "group { expr { " * 20_000, "messages are nested more than 100 levels deep"),
]


BAD_JSON = [
    (Local, "{", "line 1, column 2: Expecting property name"),
    (Local, "{}", "Local.name is required (int32, tag 1)"),
    (Local, "[]", "Local must be an object, found an array"),
    (ModuleSet, '{"program": []}', "program: StatBlock must be an object, found an array"),
    (
        Local,
        '{"name": 2147483648}',
        "name: must be in int32's range -2147483648..2147483647, found",
    ),
    (Local, '{"name": 1.5}', "name: must be int32, found 1.5"),
    (Local, '{"name": true}', "name: must be int32, found true"),
    (Local, '{"name": "0x1"}', "name: must be int32, found '0x1'"),
    (Local, '{"name": 1e999}', "name: must be int32, found inf"),
    (Local, '{"name": NaN}', "NaN is not a JSON number"),
    (Local, '{"name": ' + "9" * 100_000 + "}", "name: must be int32, found"),
    (Local, '{"name": 1, "name": 2}', "duplicate field Local.name"),
    (Local, '{"nmae": 1}', "Local has no field 'nmae'; available: name"),
    (Local, "null", "Local must be an object, found null"),
    (Local, '{"' + "n" * 100_000 + '": 1}', "Local has no field 'nnn"),
    (Local, b'{"name": "\xff"}', "byte 10: not valid UTF-8"),
    (ExprConstantString, r'{"val": "\ud800"}', "val: unpaired surrogate"),
    (ExprConstantString, '{"val": 5}', "val: must be a string, found 5"),
    (messages.ExprConstantBool, '{"val": 1}', "val: must be true or false, found 1"),
    (ExprUnary, '{"op": "Plus", "expr": {}}', "op: ExprUnary.Op has no value 'Plus'"),
    (ExprUnary, '{"op": 1.5, "expr": {}}', "op: must be ExprUnary.Op, found 1.5"),
    (ExprUnary, '{"op": 7, "expr": {}}', "op: ExprUnary.Op has no value 7"),
    (StatReturn, '{"list": {}}', "list: StatReturn.list must be an array, found an object"),
    (StatReturn, '{"list": [{}, null]}', "list[1]: Expr must be an object, found null"),
    (Name, '{"builtin": 1, "custom": 2}', "Name: 'builtin' and 'custom' are both set"),
    (
        Expr,
        '{"group":{"expr":' * 60 + "{}" + "}}" * 60,
        "messages are nested more than 100 levels deep",
    ),
    (Expr, '{"group":{"expr":' * 20_000, "messages are nested more than 100 levels deep"),
    (ModuleSet, '{"program": {"body": [{"local": {"vars": [{}]}}]}}', "program.body[0].local.vars"),
]


BAD = [(interop.from_text, *row) for row in BAD_TEXT]
BAD += [(interop.from_json, *row) for row in BAD_JSON]


@pytest.mark.parametrize(("read", "cls", "text", "reason"), BAD, ids=[row[3] for row in BAD])
def test_bad_text_and_bad_json_are_refused_with_the_reason_and_the_line_if_there_is_one(
    read: Callable[..., Message], cls: type[Message], text: str | bytes, reason: str
) -> None:
    with pytest.raises(interop.FormatError) as caught:
        read(cls, text)
    assert reason in str(caught.value)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    ("cls", "text"),
    [
        (Local, '{"name": "-12"}'),
        (Local, '{"name": -12.0}'),
        (Local, '{"name": "1e2"}'),
        (StatFor, '{"var": {"name": 1}, "from": {}, "to": {}, "step": null, "body": {}}'),
        (Expr, '{"indexName": {"expr": {}, "index": {"custom": 0}}, "nil": null}'),
        (Expr, '{"index_name": {"expr": {}, "index": {}}}'),
        (ExprUnary, '{"op": 2, "expr": {}}'),
        (ExprUnary, '{"op": "Len", "expr": {}}'),
    ],
)
def test_json_is_read_in_every_spelling_that_protobuf_allows(cls: type[Message], text: str) -> None:
    assert wire.encode(interop.from_json(cls, text)) == bytes_of_json(cls, text)


REPLACEMENTS = [
    None,
    True,
    0,
    1.5,
    3.0,
    -1,
    2**31,
    "",
    "1",
    "Len",
    [],
    [[]],
    {},
    {"name": 1},
    [None],
]


@settings(max_examples=300)
@given(ANY_TREE, st.data())
def test_json_that_is_read_is_what_protobuf_reads(tree: Message, data: st.DataObject) -> None:
    if not is_utf8(tree):
        return
    found = json.loads(interop.to_json(tree))
    holders = [found]
    for holder in holders:
        values = holder.values() if isinstance(holder, dict) else holder
        holders += [value for value in values if isinstance(value, dict | list)]
    holder = data.draw(st.sampled_from(holders))
    if holder:
        key = data.draw(
            st.sampled_from(list(holder) if isinstance(holder, dict) else range(len(holder)))
        )
        holder[key] = data.draw(st.sampled_from(REPLACEMENTS))
    text = json.dumps(found)
    try:
        ours = interop.from_json(type(tree), text)
    except interop.FormatError:
        return
    assert wire.encode(ours) == bytes_of_json(type(tree), text)


def test_json_needs_no_runtime_of_protobuf() -> None:
    script = (
        "import sys; sys.modules['google.protobuf'] = None\n"
        "from scriptschema import interop, messages\n"
        "text = interop.to_json(messages.Local(name=1))\n"
        "print(interop.from_json(messages.Local, text))\n"
    )
    assert printed_by(script) == "Local(name=1)\n"


def test_unknown_values_of_enums_are_dropped_where_that_is_requested() -> None:
    with pytest.raises(interop.FormatError, match=r"ExprUnary\.op is required"):
        interop.from_json(ExprUnary, '{"op": "Plus", "expr": {}}', unknown="drop")


def test_unknown_fields_are_dropped_where_that_is_requested() -> None:
    assert interop.from_text(Local, "name: 1 nmae { x: 2 }", unknown="drop") == Local(name=1)
    assert interop.from_json(Local, '{"name": 1, "nmae": {}}', unknown="drop") == Local(name=1)


def test_trees_as_deep_as_the_limit_go_through_text_and_json() -> None:
    deep = nested(100)
    assert interop.from_text(Expr, interop.to_text(deep)) == deep
    assert interop.from_json(Expr, interop.to_json(deep)) == deep
    for write in (interop.to_text, interop.to_json):
        with pytest.raises(wire.EncodeError, match="nested more than 100 levels deep"):
            write(nested(102))


@settings(max_examples=200)
@given(st.binary(max_size=60), st.sampled_from(list(MESSAGES.values())))
def test_any_bytes_end_in_a_message_or_a_format_error(data: bytes, cls: type[Message]) -> None:
    for read in (interop.from_text, interop.from_json):
        try:
            message = read(cls, data)
        except interop.FormatError:
            continue
        assert wire.decode(cls, wire.encode(message)) == message
