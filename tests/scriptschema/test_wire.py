"""The codec by examples: exact bytes, the error for each kind of damage, and depth.

`test_differential.py` tests that it agrees with protobuf's own runtimes.
"""

import io
import pickle
import sys
import tracemalloc

import plain
import pytest
from fresh import printed_by
from hypothesis import given, settings
from hypothesis import strategies as st
from pure_protobuf.message import BaseMessage
from trees import nested

from scriptschema import Message, messages, strategies, wire
from scriptschema.generation.trees import generate
from scriptschema.interop import from_json, from_text
from scriptschema.messages import (
    MESSAGES,
    Expr,
    ExprBinary,
    ExprConstantNumber,
    ExprConstantString,
    ExprGroup,
    ExprUnary,
    Local,
    ModuleSet,
    Name,
    Stat,
    StatBlock,
    StatReturn,
    TableItem,
)

ENCODINGS = [
    (Local(name=0), "0800"),
    (Local(name=127), "087f"),
    (Local(name=128), "088001"),
    (Local(name=2**31 - 1), "08ffffffff07"),
    (Local(name=-1), "08ffffffffffffffffff01"),
    (Local(name=-(2**31)), "0880808080f8ffffffff01"),
    (messages.ExprConstantNil(), ""),
    (Expr(nil=messages.ExprConstantNil()), "1200"),
    (Expr(interpstring=messages.ExprInterpString()), "8a0100"),
    (Name(builtin=3), "0803"),
    (Name(custom=-1), "10ffffffffffffffffff01"),
    (ExprConstantString(val=""), "0a00"),
    (ExprConstantString(val="é\0"), "0a03c3a900"),
    (ExprConstantString(val="\udcff\udc80"), "0a02ff80"),
    (ExprConstantString(val="x" * 200), "0ac801" + "78" * 200),
    (messages.ExprConstantBool(val=True), "0801"),
    (ExprUnary(op=ExprUnary.Op.Len, expr=Expr()), "08021200"),
    (TableItem(value=Expr()), "1a00"),
    (TableItem(key_name=Name(custom=1), value=Expr()), "0a0210011a00"),
    (ModuleSet(program=StatBlock()), "1200"),
    (ModuleSet(module=StatBlock(), program=StatBlock(body=[Stat(), Stat()])), "0a0012040a000a00"),
    (StatBlock(body=[Stat(block=StatBlock())] * 70), "0a020a00" * 70),
    (Stat(block=StatBlock(body=[Stat(block=StatBlock())] * 70)), "0a9802" + "0a020a00" * 70),
]


@pytest.mark.parametrize(("message", "data"), ENCODINGS, ids=[data[:24] for _, data in ENCODINGS])
def test_the_exact_bytes(message: Message, data: str) -> None:
    assert wire.encode(message).hex() == data
    assert wire.decode(type(message), bytes.fromhex(data)) == message


def test_pure_protobufs_interface_goes_through_the_codec() -> None:
    local = Local(name=-1)
    data = bytes.fromhex("08ffffffffffffffffff01")
    assert bytes(local) == local.dumps() == data
    assert Local.loads(data) == Local.read_from(io.BytesIO(data)) == local
    stream = io.BytesIO()
    local.write_to(stream)
    assert stream.getvalue() == data
    with pytest.raises(wire.DecodeError):
        Local.loads(b"\x08")


def test_a_message_can_be_a_field_of_a_users_own_pure_protobuf_message() -> None:
    from dataclasses import dataclass
    from typing import Annotated

    from pure_protobuf.annotations import Field

    @dataclass
    class Crash(BaseMessage):
        program: Annotated[ModuleSet, Field(1)]
        seed: Annotated[int, Field(2)]

    crash = Crash(ModuleSet(program=StatBlock()), 7)
    assert bytes(crash).hex() == "0a0212001007"
    assert Crash.loads(bytes(crash)) == crash


@given(st.sampled_from(list(MESSAGES.values())).flatmap(strategies.messages))
def test_plain_pure_protobuf_writes_the_same_bytes(message: Message) -> None:
    try:
        expected = bytes(plain.from_message(message))
    except UnicodeEncodeError:  # it knows UTF-8 only
        return
    assert wire.encode(message) == expected


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_kind_of_bytes_is_decoded(kind: type) -> None:
    assert wire.decode(Local, kind(b"\x08\x05")) == Local(name=5)


RAW = ExprConstantString(val="\udcff\udcfe")
NO, YES = messages.ExprConstantBool(val=False), messages.ExprConstantBool(val=True)

# The table of the design: what upb does with damaged input.
TABLE = [
    ("ends inside a tag", Local, "080580", "byte 2: the tag is truncated"),
    ("ends inside a value", Local, "08", "byte 1, name: the value is truncated"),
    (
        "unknown field longer than the input",
        Local,
        "08057a7f",
        "byte 3: length 127 exceeds the remaining 0 bytes",
    ),
    ("unknown group holding field 1", Local, "08051b08091c", Local(name=5)),
    ("field number 0", Local, "08050001", "byte 2: field number 0 is invalid"),
    ("field number 0 in an unknown group", Local, "08050b00050c", Local(name=5)),
    ("field number 0 where there are no fields", messages.StatBreak, "0005", messages.StatBreak()),
    (
        "the end of group 0",
        messages.StatBreak,
        "04",
        "byte 0: end of group 0, which was never started",
    ),
    ("known field with another wire type", Local, "0a000807", Local(name=7)),
    ("int32 above 32 bits", Local, "088080808010", Local(name=0)),
    ("varint of 11 bytes", Local, "08" + "80" * 10 + "00", "byte 1, name: varint longer than"),
    ("ten-byte varint with extra bits", Local, "08" + "ff" * 9 + "7f", Local(name=-1)),
    (
        "unknown enum value in a required field",
        ExprUnary,
        "08031200",
        "byte 0: ExprUnary.op is required (ExprUnary.Op, tag 1)",
    ),
    ("string that is not UTF-8", ExprConstantString, "0a02fffe", RAW),
    (
        "a singular message twice",
        ExprGroup,
        "0a0222000a0422020805",
        ExprGroup(expr=Expr(number=ExprConstantNumber(val=5))),
    ),
    ("another alternative later", Expr, "22020805" + "1200", Expr(nil=messages.ExprConstantNil())),
    ("an alternative twice", Expr, "22020805" + "2200", Expr(number=ExprConstantNumber(val=5))),
    ("a scalar twice", Local, "08050806", Local(name=6)),
    ("a tag that is longer than it need be", Local, "88808080000" + "5", Local(name=5)),
    ("a tag of six bytes", Local, "888080808000" + "05", "byte 0: tag longer than 32 bits"),
    ("a tag above 32 bits", Local, "888080801005", "byte 0: tag longer than 32 bits"),
    ("a length of six bytes", Expr, "0a808080808000", "byte 1, group: length longer than 31"),
    ("a length above 31 bits", Expr, "0affffffff0f", "byte 1, group: length longer than 31"),
    ("a wire type that is none", Local, "08050e", "byte 2: invalid wire type 6"),
    ("fixed32 cut off", Local, "08050d0000", "byte 3: a value of 4 bytes exceeds the remaining 2"),
    ("fixed64 cut off", Local, "08050900", "byte 3: a value of 8 bytes exceeds the remaining 1"),
    ("fixed32 and fixed64", Local, "0d00000000" + "090000000000000000" + "0805", Local(name=5)),
    (
        "an end of a group that is not open",
        Local,
        "08050c",
        "byte 2: end of group 1, which was never started",
    ),
    (
        "the end of another group",
        Local,
        "08050b14",
        "byte 3: end of group 2, which was never started",
    ),
    ("a group without an end", Local, "08050b", "byte 3: group 1 is never closed"),
    ("a bool above 1", messages.ExprConstantBool, "0802", YES),
    ("a bool of 2**64", messages.ExprConstantBool, "08" + "80" * 9 + "02", NO),
    (
        "fields out of order",
        ExprUnary,
        "12000801",
        ExprUnary(op=ExprUnary.Op.Minus, expr=Expr()),
    ),
]


@pytest.mark.parametrize(
    ("cls", "data", "result"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE]
)
def test_damaged_input_is_read_as_upb_reads_it(cls: type[Message], data: str, result) -> None:
    if isinstance(result, Message):
        assert wire.decode(cls, bytes.fromhex(data)) == result
    else:
        with pytest.raises(wire.DecodeError) as caught:
            wire.decode(cls, bytes.fromhex(data))
        assert str(caught.value).startswith(result)


def test_damage_is_placed_by_byte_and_path() -> None:
    tree = ModuleSet(
        program=StatBlock(
            body=[
                Stat(),
                Stat(),
                Stat(return_=StatReturn(list=[Expr(number=ExprConstantNumber(val=5))])),
            ]
        )
    )
    data = bytearray(wire.encode(tree))
    assert data.hex() == "120e0a000a000a083a060a0422020805"
    data[11] = 40
    with pytest.raises(wire.DecodeError) as caught:
        wire.decode(ModuleSet, data)
    error = caught.value
    assert str(error) == (
        "byte 11, program.body[2].return_.list[0]: length 40 exceeds the remaining 4 bytes"
    )
    assert (error.offset, error.path) == (11, "program.body[2].return_.list[0]")
    assert error.reason == "length 40 exceeds the remaining 4 bytes"


def test_a_field_that_is_missing_is_placed_at_its_message() -> None:
    data = bytes.fromhex("0a023a00" + "0a08" + "3a06" + "0a04" + "2a02" + "1200")
    with pytest.raises(wire.DecodeError) as caught:
        wire.decode(StatBlock, data)
    assert str(caught.value) == (
        "byte 11, body[1].return_.list[0].string: ExprConstantString.val is required "
        "(string, tag 1)"
    )


UNKNOWN = [
    (Local, "08057800", "byte 2: Local: unknown field 15"),
    (Local, "0a000807", "byte 0: Local: field 1 (name) has the wrong wire type 2"),
    (Local, "08050b0c", "byte 2: Local: field 1 (name) has the wrong wire type 3"),
    (ExprUnary, "080312000801", "byte 0, op: 3 is not a value of ExprUnary.Op"),
]


@pytest.mark.parametrize(("cls", "data", "text"), UNKNOWN, ids=[row[1] for row in UNKNOWN])
def test_unknown_fields_are_dropped_or_refused_as_asked(
    cls: type[Message], data: str, text: str
) -> None:
    kept = wire.decode(cls, bytes.fromhex(data))
    assert wire.decode(cls, wire.encode(kept), unknown="error") == kept
    with pytest.raises(wire.DecodeError) as caught:
        wire.decode(cls, bytes.fromhex(data), unknown="error")
    assert str(caught.value) == text


@pytest.mark.parametrize("cls", [Local, ExprGroup], ids=["a number", "a length"])
def test_a_varint_without_end_is_given_up_at_once(cls: type[Message]) -> None:
    # Collecting its bits first would take minutes: time grows with the square of their number.
    data = (b"\x08" if cls is Local else b"\x0a") + b"\xff" * 2_000_000
    with pytest.raises(wire.DecodeError, match="varint longer than 10 bytes"):
        wire.decode(cls, data)


@pytest.mark.parametrize("data", [5, [8, 5], "\x08\x05", None])
def test_what_is_no_bytes_is_not_decoded(data: object) -> None:
    with pytest.raises(TypeError, match="a bytes-like object is required"):
        wire.decode(Local, data)


@pytest.mark.parametrize("cls", [Message, type("Mine", (Local,), {}), int, None])
def test_only_the_schemas_messages_are_decoded(cls: type) -> None:
    with pytest.raises(TypeError, match="not a message class: "):
        wire.decode(cls, b"\x08\x05")


def test_what_to_do_with_unknown_fields_is_checked() -> None:
    data = b"\x08\x05"
    for read, local in (
        (wire.decode, data),
        (wire.scan, data),
        (from_json, '{"name": 5}'),
        (from_text, "name: 5"),
    ):
        with pytest.raises(ValueError, match="`unknown` must be 'drop' or 'error', found 'keep'"):
            read(Local, local, unknown="keep")


def test_the_depth_limit_is_that_of_protobufs_runtimes() -> None:
    assert wire.decode(Expr, wire.encode(nested(100))) == nested(100)
    with pytest.raises(wire.EncodeError, match="messages are nested more than 100 levels deep"):
        wire.encode(nested(102))
    data = wire.encode(nested(102), max_depth=102)
    with pytest.raises(wire.DecodeError, match=r"byte \d+, group.*: messages are nested more"):
        wire.decode(Expr, data)
    assert wire.decode(Expr, data, max_depth=102) == nested(102)


@pytest.mark.parametrize("groups", [400, 20_000])
def test_any_depth_works_where_it_is_requested(groups: int) -> None:
    data = wire.encode(nested(2 * groups), max_depth=2 * groups)
    assert wire.decode(Expr, data, max_depth=2 * groups) == nested(2 * groups)
    with pytest.raises(wire.EncodeError) as caught:
        wire.encode(nested(2 * groups), max_depth=2 * groups - 1)
    assert len(str(caught.value)) < 700
    assert caught.value.path.count("group") == groups
    with pytest.raises(wire.DecodeError) as refused:
        wire.decode(Expr, data, max_depth=2 * groups - 1)
    assert len(str(refused.value)) < 700


def test_the_callers_own_depth_does_not_matter_until_python_can_go_no_further() -> None:
    tree = generate(seed=1, size=200)
    data = wire.encode(tree)

    def decode_below(frames: int) -> Message:
        return decode_below(frames - 1) if frames else wire.decode(ModuleSet, data)

    decoded = 0
    with pytest.raises(RecursionError):  # noqa: PT012  # each depth until there is no room
        for frames in range(sys.getrecursionlimit()):
            assert decode_below(frames) is not None
            decoded = frames
    assert decoded > 500


def test_deep_unknown_groups_end_in_an_error() -> None:
    for levels in (101, 1_000_000):
        with pytest.raises(wire.DecodeError, match="nested more than 100 levels deep"):
            wire.decode(Local, b"\x08\x05" + b"\x1b" * levels)
    groups = b"\x08\x05" + b"\x1b" * 100 + b"\x1c" * 100
    assert wire.decode(Local, groups) == Local(name=5)


def test_a_tree_that_holds_itself_ends_in_an_error() -> None:
    block = StatBlock()
    block.body.append(Stat(block=block))
    with pytest.raises(wire.EncodeError, match="nested more than 100 levels deep"):
        wire.encode(block)


def test_what_a_list_should_not_hold_is_found_when_it_is_encoded() -> None:
    tree = StatBlock(body=[Stat(return_=StatReturn())])
    tree.body[0].return_.list.extend([Expr(), Stat()])
    with pytest.raises(wire.EncodeError) as caught:
        wire.encode(tree)
    assert str(caught.value) == (
        "body[0].return_: StatReturn.list[1] must be Expr (repeated, tag 1), found Stat Stat()"
    )


def test_a_surrogate_that_stands_for_no_byte_cannot_be_encoded() -> None:
    tree = StatReturn(list=[Expr(string=ExprConstantString(val="ab\ud800"))])
    with pytest.raises(wire.EncodeError) as caught:
        wire.encode(tree)
    assert str(caught.value) == (
        "list[0].string: ExprConstantString.val contains a surrogate that does not represent "
        "a byte (U+D800 at index 2)"
    )


def test_a_message_made_without_its_fields_cannot_be_encoded() -> None:
    tree = StatReturn(list=[Expr()])
    bare = object.__new__(ExprGroup)
    object.__setattr__(tree.list[0], "which", "group")
    object.__setattr__(tree.list[0], "alternative", bare)
    with pytest.raises(wire.EncodeError, match=r"list\[0\].group: ExprGroup.expr is required"):
        wire.encode(tree)
    with pytest.raises(wire.EncodeError, match=r"StatReturn\.list is not a list"):
        wire.encode(object.__new__(StatReturn))


def test_what_is_no_message_cannot_be_encoded() -> None:
    with pytest.raises(wire.EncodeError, match="not a message: int"):
        wire.encode(5)
    with pytest.raises(TypeError, match="not a message class: int"):
        wire.decode(int, b"")


def test_errors_are_values_errors_and_can_cross_processes() -> None:
    with pytest.raises(wire.DecodeError) as caught:
        wire.decode(ModuleSet, b"\x12\x05")
    for error in (caught.value, wire.EncodeError("a.b", "no")):
        assert isinstance(error, ValueError)
        assert isinstance(error, wire.WireError)
        twin = pickle.loads(pickle.dumps(error))
        assert (str(twin), vars(twin)) == (str(error), vars(error))


def test_hypothesis_sees_one_failure_for_one_kind_of_error() -> None:
    # Hypothesis tells failures apart by where an error and its context were raised.
    for read in (wire.decode, wire.scan):
        with pytest.raises(wire.DecodeError) as caught:
            read(ModuleSet, b"\x12\x05")
        assert caught.value.__context__ is None
    with pytest.raises(wire.EncodeError) as refused:
        wire.encode(nested(102))
    assert refused.value.__context__ is None


@settings(max_examples=300)
@given(st.binary(max_size=200), st.sampled_from(list(MESSAGES.values())))
def test_any_bytes_end_in_a_message_or_a_decode_error(data: bytes, cls: type[Message]) -> None:
    try:
        message = wire.decode(cls, data)
    except wire.DecodeError as refused:
        offset = refused.offset
    else:
        assert wire.decode(cls, wire.encode(message)) == message
        offset = 0
    assert 0 <= offset <= len(data)


def test_memory_grows_no_faster_than_the_input() -> None:
    def peak(data: bytes) -> float:
        tracemalloc.start()
        try:
            wire.decode(StatBlock, data)
        except wire.DecodeError:
            pass
        finally:
            top = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        return top / len(data)

    empty_statements = b"\x0a\x00"  # the most nodes a byte
    for damage in (b"", b"\x80"):
        factors = [peak(empty_statements * n + damage) for n in (500, 10_000)]
        assert max(factors) < 250


def test_million_byte_trees_round_trip() -> None:
    tree = generate(seed=1, size=100_000)
    data = wire.encode(tree)
    assert wire.decode(ModuleSet, data) == tree


def test_binary_operators_are_encoded_by_value() -> None:
    for op in ExprBinary.Op:
        data = wire.encode(ExprBinary(op=op, left=Expr(), right=Expr()))
        assert data == bytes([8, op.value, 0x12, 0, 0x1A, 0])


@pytest.mark.parametrize(
    "imported",
    [
        "from scriptschema import messages",
        "from scriptschema.messages import Local; import scriptschema.messages as messages",
        "import scriptschema.wire; from scriptschema import messages",
        "import scriptschema.base; from scriptschema import messages",
    ],
)
def test_bytes_and_loads_work_with_nothing_imported_but_the_messages(imported: str) -> None:
    script = (
        f"{imported}\n"
        "local = messages.Local.loads(bytes.fromhex('08ac02'))\n"
        "print(local, bytes(local).hex(), local.dumps().hex())"
    )
    assert printed_by(script) == "Local(name=300) 08ac02 08ac02\n"
