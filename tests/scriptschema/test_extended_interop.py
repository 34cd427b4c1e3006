"""Extended trees in other protobuf tools: protoc reads the schema, the runtime exchanges trees."""

import json
import math
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from command import ok_here, run_here
from components import require
from google.protobuf import (
    descriptor_pb2,
    json_format,
    message_factory,
    text_format,
)
from hypothesis import given, settings
from test_extensions import EVERY, TODAYS, extended_trees

from scriptschema import Message, files, interop, walk, wire
from scriptschema import messages as m


@cache
def runtime_classes(luau: str = "today") -> dict[str, Any]:
    """Return the classes that protobuf's runtime creates from our descriptors."""
    files = descriptor_pb2.FileDescriptorSet.FromString(interop.file_descriptor_set(luau)).file
    classes = message_factory.GetMessages(files)
    return {name.removeprefix("script."): cls for name, cls in classes.items()}


@pytest.mark.parametrize("luau", ["0.677", "0.711", "today"])
def test_protoc_compiles_the_printed_proto_of_a_version(luau: str, tmp_path: Path) -> None:
    (tmp_path / "script.proto").write_text(interop.proto_source(luau))
    subprocess.run(
        [require("protoc"), "--descriptor_set_out=out.pb", "script.proto"], cwd=tmp_path, check=True
    )
    compiled = descriptor_pb2.FileDescriptorSet.FromString((tmp_path / "out.pb").read_bytes())
    for message in compiled.file[0].message_type:
        for field in message.field:
            field.ClearField("json_name")
    assert compiled.SerializeToString() == interop.file_descriptor_set(luau)


def test_the_printed_proto_says_since_which_version_a_field_is_there() -> None:
    source = interop.proto_source("today")
    assert "  optional bool is_const = 4;  // since Luau 0.711\n" in source
    assert "    ExprCast cast = 1000;  // since Luau 0.677\n" in source
    assert "is_const" not in interop.proto_source("0.710")
    assert "since" not in interop.proto_source()


@given(extended_trees())
def test_the_runtime_has_the_same_bytes_for_an_extended_tree(tree: Message) -> None:
    data = wire.encode(tree, luau="today")
    theirs = runtime_classes()[type(tree).__name__].FromString(data)
    assert theirs.SerializeToString(deterministic=True) == data
    theirs.DiscardUnknownFields()
    assert theirs.SerializeToString(deterministic=True) == data


@settings(max_examples=50)
@given(extended_trees())
def test_the_runtime_and_we_read_each_others_text_and_json(tree: Message) -> None:
    cls = type(tree)
    runtime = runtime_classes()[cls.__name__]
    theirs = runtime.FromString(wire.encode(tree, luau="today"))
    text = interop.to_text(tree, luau="today")
    assert text_format.Parse(text, runtime()) == theirs
    assert interop.from_text(cls, text, luau="today") == tree
    assert interop.from_text(cls, text_format.MessageToString(theirs), luau="today") == tree
    printed = json_format.MessageToJson(theirs, preserving_proto_field_name=True)
    assert json.loads(interop.to_json(tree, luau="today")) == json.loads(printed)
    assert interop.from_json(cls, interop.to_json(tree, luau="today"), luau="today") == tree
    assert interop.from_json(cls, json_format.MessageToJson(theirs), luau="today") == tree


NUMBER = m.ExprConstantNumber


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.5", 0.5),
        ('"0.5"', 0.5),
        ("1", 1.0),
        ("1e300", 1e300),
        ('"Infinity"', math.inf),
        ('"-Infinity"', -math.inf),
    ],
)
def test_json_takes_what_the_mapping_allows_for_a_double(text: str, value: float) -> None:
    source = f'{{"val": 0, "double": {text}}}'
    assert interop.from_json(NUMBER, source, luau="today").double == value
    assert json_format.Parse(source, runtime_classes()["ExprConstantNumber"]()).double == value


@pytest.mark.parametrize(
    ("cls", "source", "reason"),
    [
        (NUMBER, '{"val": 0, "double": "x"}', "double: must be a double, found 'x'"),
        (NUMBER, '{"val": 0, "double": []}', "double: must be a double, found an array"),
        (
            NUMBER,
            '{"val": 0, "double": 1e999}',
            "double: must be in the range of a double, found inf",
        ),
        (m.ExprConstantInteger, '{"val": "9223372036854775808"}', "val: must be in int64's range"),
        (m.ExprConstantInteger, '{"val": "1x"}', "val: must be int64, found '1x'"),
    ],
)
def test_json_refuses_what_the_runtime_refuses(
    cls: type[Message], source: str, reason: str
) -> None:
    with pytest.raises(interop.FormatError, match="^" + reason):
        interop.from_json(cls, source, luau="today")
    with pytest.raises(json_format.ParseError):
        json_format.Parse(source, runtime_classes()[cls.__name__]())


def test_json_takes_no_truth_for_a_double() -> None:
    with pytest.raises(interop.FormatError, match="double: must be a double, found true"):
        interop.from_json(NUMBER, '{"val": 0, "double": true}', luau="today")


def test_an_integer_of_64_bits_is_exact_in_json() -> None:
    tree = m.ExprConstantInteger(val=2**63 - 1)
    text = interop.to_json(tree, luau="today")
    assert json.loads(text) == {"val": "9223372036854775807"}
    assert interop.from_json(type(tree), text, luau="today") == tree


def test_a_number_that_is_none_is_written_and_read() -> None:
    tree = NUMBER(val=0, double=math.nan)
    for text in (
        interop.to_json(tree, luau="today"),
        json_format.MessageToJson(runtime_classes()["ExprConstantNumber"](val=0, double=math.nan)),
    ):
        read = interop.from_json(NUMBER, text, luau="today")
        assert read.double is not None
        assert math.isnan(read.double)


def test_the_seeds_formats_refuse_an_extension_and_say_so() -> None:
    tree = m.Stat(local=m.StatLocal(is_const=True))
    for write in interop.to_text, interop.to_json:
        with pytest.raises(wire.EncodeError, match="local: StatLocal"):
            write(tree)
    text = interop.to_json(tree, luau="0.711")
    with pytest.raises(interop.FormatError, match="StatLocal has no field 'is_const'"):
        interop.from_json(m.Stat, text)
    assert interop.from_json(m.Stat, text, unknown="drop") == m.Stat(local=m.StatLocal())


def test_convert_takes_extended_trees_through_every_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tree = m.ModuleSet(program=m.StatBlock(body=[m.Stat(local=m.StatLocal(is_const=True))]))
    files.write(tmp_path / "a.pb", wire.encode(tree, luau="today"))
    for source, form, target in [
        ("a.pb", "text", "b.textproto"),
        ("b.textproto", "json", "c.json"),
        ("c.json", "binary", "d.pb"),
    ]:
        ok_here("convert", source, "--luau", "0.711", "--to", form, "-o", target)
    assert (tmp_path / "d.pb").read_bytes() == (tmp_path / "a.pb").read_bytes()
    refused = run_here("convert", "a.pb", "--to", "text")
    assert refused.returncode == 1
    assert b"StatLocal: unknown field 4" in refused.stderr
    wrong = run_here("convert", "a.pb", "--to", "text", "--luau", "5")
    assert wrong.returncode == 2
    assert b"unknown version of Luau '5'" in wrong.stderr


def test_show_prints_an_extended_tree(tmp_path: Path) -> None:
    files.write(tmp_path / "a.pb", wire.encode(m.StatLocal(is_const=True), luau="today"))
    shown = ok_here("show", tmp_path / "a.pb", "--message", "StatLocal", "--luau", "today")
    assert b"is_const=True" in shown


def test_every_message_of_the_schema_is_walked_by_the_random_trees() -> None:
    from extended import extended_tree

    seen = {
        type(node)
        for seed, cls in enumerate(EVERY)
        for node, _ in walk(extended_tree(TODAYS, cls, seed))
    }
    assert seen == set(EVERY)
