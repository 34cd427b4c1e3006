"""Extension fields are written and read only if a version is requested."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import spec
from extended import extended_tree
from hypothesis import example, given
from hypothesis import strategies as st

from scriptschema import messages as m
from scriptschema import strategies, wire
from scriptschema.base import Message, walk
from scriptschema.codec.careful import decode_carefully, encode_carefully
from scriptschema.codec.copying import copy as fast_copy
from scriptschema.codec.scanning import listed, parts
from scriptschema.generation.trees import generate
from scriptschema.interop import from_json, from_text
from scriptschema.versions import TODAY, Version

TODAYS = m.schema("today")
EVERY = list(TODAYS.messages.values())
EXTENSIONS = [
    field for cls in EVERY for field in cls.ALL_FIELDS.values() if field.name not in cls.FIELDS
]


@st.composite
def extended_trees(draw: st.DrawFn) -> Message:
    """Return a random tree of any message in today's schema."""
    cls = draw(st.sampled_from(EVERY))
    tree: Message = extended_tree(TODAYS, cls, draw(st.integers(0, 2**32)), draw(st.integers(1, 9)))
    return tree


def test_the_seeds_messages_and_fields_are_what_they_were() -> None:
    assert list(m.SEED.messages) == list(m.MESSAGES) == spec.MESSAGES
    assert sum(len(fields) for fields in m.SEED.fields.values()) == len(spec.ROWS)
    assert all(m.SEED.fields[cls] == cls.FIELDS for cls in m.MESSAGES.values())


def test_an_extension_takes_a_tag_that_the_seed_leaves_free_and_stands_behind_its_fields() -> None:
    assert len(EXTENSIONS) > 30
    for field in EXTENSIONS:
        cls = m.MESSAGES[field.message]
        assert field.since is not None
        assert field.rule != "required"
        assert field.tag > max((f.tag for f in cls.FIELDS.values()), default=0)
        assert field.tag < 16 or field.tag in (18, 19) or field.tag >= 1000


def test_a_version_has_what_came_until_then() -> None:
    fields = {
        version: {
            f"{f.message}.{f.name}" for c in m.schema(version).fields.values() for f in c.values()
        }
        for version in ("0.677", "0.710", "0.711", "0.735", "today")
    }
    assert "Expr.cast" in fields["0.677"]
    assert "StatLocal.is_const" not in fields["0.710"]
    assert fields["0.711"] - fields["0.710"] == {"StatLocal.is_const", "StatLocalFunction.is_const"}
    assert fields["0.735"] == fields["today"]
    assert m.schema(Version(711)) is m.schema("0.714")
    for use in (
        lambda luau: m.schema(luau),
        lambda luau: wire.encode(m.Local(name=1), luau=luau),
        lambda luau: wire.decode(m.Local, b"\x08\x05", luau=luau),
        lambda luau: wire.scan(m.Local, b"\x08\x05", luau=luau),
    ):
        for luau in ("0.5", ""):
            with pytest.raises(ValueError, match="unknown version of Luau"):
                use(luau)


@given(extended_trees())
@example(m.ExprConstantInteger(val=-(2**63)))
@example(m.ExprConstantInteger(val=2**63 - 1))
@example(m.ExprConstantNumber(val=0, double=float("-inf")))
def test_an_extended_tree_is_the_same_after_every_way_through_bytes_and_copies(
    tree: Message,
) -> None:
    data = wire.encode(tree, luau="today")
    assert wire.decode(type(tree), data, luau="today") == tree
    assert decode_carefully(type(tree), data, 100, TODAYS, refuse_unknown=True) == tree
    assert b"".join(reversed(encode_carefully(tree, 100, TODAYS))) == data
    for copied in fast_copy(tree), copy.deepcopy(tree), pickle.loads(pickle.dumps(tree)):
        assert copied == tree
        assert wire.encode(copied, luau="today") == data


@given(extended_trees())
def test_what_the_seeds_schema_lacks_is_never_left_out_in_silence(tree: Message) -> None:
    if type(tree).__name__ not in m.MESSAGES:
        return
    newer = {
        str(path)
        for node, path in walk(tree)
        for name, field in node.ALL_FIELDS.items()
        if field not in m.SEED and getattr(node, name) not in (None, [])
    }
    if not newer:
        assert wire.encode(tree) == wire.encode(tree, luau="today")
        return
    with pytest.raises(
        wire.EncodeError, match="which is not in the original schema: encode with luau="
    ) as e:
        wire.encode(tree)
    assert e.value.path in newer


def test_the_error_says_where_and_which_version_has_it() -> None:
    tree = m.StatBlock(body=[m.Stat(local=m.StatLocal(is_const=True))])
    with pytest.raises(wire.EncodeError) as error:
        wire.encode(tree)
    assert str(error.value) == (
        "body[0].local: StatLocal.is_const is an extension for Luau 0.711, "
        "which is not in the original schema: encode with luau='0.711' or newer"
    )
    with pytest.raises(wire.EncodeError, match="which is newer than the requested version"):
        wire.encode(tree, luau="0.700")


@given(extended_trees())
def test_the_seeds_schema_drops_what_it_does_not_know_as_protobuf_does(tree: Message) -> None:
    if type(tree).__name__ not in m.MESSAGES:
        return
    data = wire.encode(tree, luau="today")
    message = spec.runtime_classes()[type(tree).__name__]()
    message.MergeFromString(data)
    if not message.IsInitialized():
        with pytest.raises(wire.DecodeError, match="is required"):
            wire.decode(type(tree), data)
        return
    message.DiscardUnknownFields()
    seeds = wire.decode(type(tree), data)
    assert wire.encode(seeds) == message.SerializeToString(deterministic=True)
    if wire.encode(seeds) != data:
        with pytest.raises(wire.DecodeError, match=r"unknown field \d+: it exists for luau="):
            wire.decode(type(tree), data, unknown="error")


@given(st.integers(0, 2**32))
def test_a_tree_of_the_seed_has_the_same_bytes_in_every_version(seed: int) -> None:
    tree = generate(seed=seed, size=60)
    data = wire.encode(tree)
    for version in ("0.677", "0.711", "today"):
        assert wire.encode(tree, luau=version) == data
        assert wire.decode(m.ModuleSet, data, luau=version) == tree


@given(extended_trees())
def test_a_scan_tells_every_message_of_an_extended_tree(tree: Message) -> None:
    known = parts(TODAYS)
    scan = wire.scan(type(tree), wire.encode(tree, luau="today"), luau="today")
    found = sorted(name for number in scan.parts for name in known[number].messages)
    assert found == sorted(type(node).__name__ for node, _ in walk(tree))


@given(extended_trees())
def test_a_campaign_sees_the_same_features_in_a_tree_as_a_corpus_sees_in_its_bytes(
    tree: Message,
) -> None:
    scan = wire.scan(type(tree), wire.encode(tree, luau="today"), luau="today")
    listing = listed(tree, TODAYS)
    assert (listing.parts, listing.builtins) == (scan.parts, scan.builtins)
    assert listing.luau == scan.luau


@given(st.binary(max_size=60), st.sampled_from(EVERY))
def test_bytes_of_any_kind_are_read_or_refused_by_todays_schema(
    data: bytes, cls: type[Message]
) -> None:
    try:
        tree = wire.decode(cls, data, luau=TODAY)
    except wire.DecodeError:
        return
    again = wire.encode(tree, luau=TODAY)
    assert wire.encode(wire.decode(cls, again, luau=TODAY), luau=TODAY) == again


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("c13e", "a value of 8 bytes exceeds the remaining"),
        ("0800c13e0000", "a value of 8 bytes exceeds the remaining"),
    ],
)
def test_a_double_that_is_cut_off_is_refused(data: str, reason: str) -> None:
    with pytest.raises(wire.DecodeError, match=reason):
        wire.decode(m.ExprConstantNumber, bytes.fromhex(data), luau="today")


def test_values_of_the_new_scalars_are_checked() -> None:
    with pytest.raises(ValueError, match="in int64's range"):
        m.ExprConstantInteger(val=2**63)
    with pytest.raises(ValueError, match="must be double"):
        m.ExprConstantNumber(val=0, double=1)


MAKERS: list[Callable[[Any], object]] = [
    lambda cls: wire.decode(cls, b""),
    lambda cls: wire.scan(cls, b""),
    lambda cls: from_json(cls, "{}"),
    lambda cls: from_text(cls, ""),
    lambda cls: generate(cls, seed=1),
    strategies.messages,
    strategies.encoded,
]


def test_a_message_that_the_schema_lacks_is_refused() -> None:
    with pytest.raises(wire.EncodeError, match="ExprCast is not a message of the original schema"):
        wire.encode(m.ExprCast(expr=m.Expr(), type=m.Type()))
    for make in MAKERS:
        with pytest.raises(
            TypeError, match=r"ExprCast is not a message of .*: it requires luau='0.677' or"
        ):
            make(m.ExprCast)
        with pytest.raises(TypeError, match="not a message class: int"):
            make(int)
    with pytest.raises(TypeError, match="StatClass is not a message of the schema of Luau"):
        wire.decode(m.StatClass, b"", luau="0.714")
