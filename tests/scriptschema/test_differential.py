"""The codec compared with protobuf's own runtime (upb), both ways, on valid and damaged bytes.

The runtime gets its descriptors from `spec.py`, typed by hand, never from the package. The long
mode (`pytest --long`) compares more than 100,000 damaged inputs.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
import spec
from google.protobuf.internal import api_implementation
from google.protobuf.message import DecodeError, EncodeError
from hypothesis import given, settings
from hypothesis import strategies as st

from scriptschema import Message, strategies, wire
from scriptschema.choices import RandomChoices
from scriptschema.generation.trees import generate
from scriptschema.messages import MESSAGES, Expr, ModuleSet

ANY_MESSAGE = st.sampled_from(list(MESSAGES.values()))


def test_the_judge_is_upb() -> None:
    assert api_implementation.Type() == "upb"


def by_upb(cls: type[Message], data: bytes) -> Any:
    """Return the runtime's message, or None if it rejects the bytes."""
    runtime = spec.runtime_classes()[cls.__name__]()
    try:
        runtime.ParseFromString(data)
        runtime.SerializeToString()
    except (DecodeError, EncodeError):
        return None
    return runtime


def by_us(cls: type[Message], data: bytes) -> Message | None:
    try:
        return wire.decode(cls, data)
    except wire.DecodeError:
        return None


def same_tree(ours: Message, theirs: Any) -> bool:
    """Compare field by field, without any encoding."""
    pairs: list[tuple[Any, Any]] = [(ours, theirs)]
    while pairs:
        one, two = pairs.pop()
        for name, field in type(one).FIELDS.items():
            value = getattr(one, name)
            if field.rule == "repeated":
                others = getattr(two, field.schema_name)
                if len(value) != len(others):
                    return False
                pairs.extend(zip(value, others, strict=True))
                continue
            if (value is not None) != two.HasField(field.schema_name):
                return False
            if value is None:
                continue
            if field.is_message:
                pairs.append((value, getattr(two, field.schema_name)))
            elif field.type is not str:
                if value != getattr(two, field.schema_name):
                    return False
            elif value.encode("utf-8", "surrogateescape") != _bytes_of(two):
                return False
    return True


def _bytes_of(message: Any) -> bytes:
    """Return a message's only string as bytes. The runtime may refuse to return it as a string."""
    data = message.SerializeToString()
    [length, *rest] = data[1:3] if data[1] > 127 else data[1:2]
    size = length if not rest else (length & 127) | rest[0] << 7
    return bytes(data[1 + (2 if rest else 1) :][:size])


def check_sound(message: Message) -> None:
    cls = type(message)
    data = wire.encode(message)
    theirs = by_upb(cls, data)
    assert theirs is not None
    assert theirs.SerializeToString(deterministic=True) == data
    assert same_tree(message, theirs)
    assert wire.decode(cls, data, unknown="error") == message


def check_damaged(cls: type[Message], data: bytes) -> bool:
    """Compare both codecs on any bytes. Return whether they accepted the bytes."""
    ours, theirs = by_us(cls, data), by_upb(cls, data)
    if ours is None or theirs is None:
        assert (ours is None) == (theirs is None), (cls.__name__, data.hex())
        return False
    assert same_tree(ours, theirs), (cls.__name__, data.hex())
    check_sound(ours)
    return True


@settings(max_examples=400)
@given(ANY_MESSAGE.flatmap(strategies.messages))
def test_trees_have_the_same_bytes_in_both_and_read_back_the_same(message: Message) -> None:
    check_sound(message)


@pytest.mark.parametrize("size", [1000, 20_000])
def test_large_trees_have_the_same_bytes_in_both(size: int) -> None:
    for seed in range(3):
        check_sound(generate(seed=seed, size=size))


@pytest.mark.slow
@settings(max_examples=600)
@given(ANY_MESSAGE.flatmap(lambda cls: st.tuples(st.just(cls), strategies.damaged(cls))))
def test_damaged_bytes_are_accepted_or_refused_alike(
    case: tuple[type[Message], strategies.Damaged],
) -> None:
    cls, damaged = case
    check_damaged(cls, damaged.data)


@settings(max_examples=300)
@given(ANY_MESSAGE, st.binary(max_size=30))
def test_arbitrary_bytes_are_accepted_or_refused_alike(cls: type[Message], data: bytes) -> None:
    check_damaged(cls, data)


def test_a_hundred_thousand_damaged_inputs_end_alike(long_mode: bool) -> None:
    """A plain random source creates the damage, many times faster than Hypothesis."""
    inputs = 120_000 if long_mode else 6_000
    source = random.Random(20_26)
    classes = list(MESSAGES.values())
    outcomes = {True: 0, False: 0}
    for count in range(inputs):
        cls = classes[count % len(classes)] if count % 3 else source.choice([ModuleSet, Expr])
        tree = generate(cls, choices=RandomChoices(source), size=source.choice([3, 10, 30, 80]))
        data = wire.encode(tree)
        for _ in range(source.choice([1, 1, 2, 3])):
            data = _damage(source, data)
        outcomes[check_damaged(cls, data)] += 1
    # Neither all sound nor all broken: both sides of the comparison were used.
    assert min(outcomes.values()) > inputs / 10, outcomes


def _damage(source: random.Random, data: bytes) -> bytes:
    at = source.randint(0, len(data))
    piece = data[at : at + source.choice([1, 2, 4, 16])]
    kind = source.randrange(10)
    if kind == 0:
        return data[:at]
    if kind == 1 and at < len(data):
        return data[:at] + bytes([data[at] ^ 1 << source.randrange(8)]) + data[at + 1 :]
    if kind == 2:
        return data[:at] + data[at + len(piece) :]
    if kind == 3:
        to = source.randint(0, len(data))
        return data[:to] + piece + data[to:]
    if kind == 4:
        return data + data
    if kind == 5:
        number = source.choice([1, 2, 3, 4, 15, 16, 1000])
        tag = source.randrange(8)
        tail = source.choice(
            [b"", b"\x00", b"\x02\x08\x05", bytes(4), bytes(8), b"\xff" * 9 + b"\x01"]
        )
        return data[:at] + _varint(number << 3 | tag) + tail + data[at:]
    if kind == 6:
        group = source.randrange(1, 20)
        inside = source.choice([b"", b"\x08\x05", b"\x0b\x0c", piece])
        return data[:at] + _varint(group << 3 | 3) + inside + _varint(group << 3 | 4) + data[at:]
    if kind == 7:
        for _ in range(source.choice([1, 2, 98, 99, 100, 101])):
            data = b"\x0a" + _varint(len(data)) + data
        return data
    if kind == 8 and at < len(data):
        more = source.randint(1, 10)
        return data[:at] + bytes([data[at] | 128, *[128] * (more - 1), 0]) + data[at + 1 :]
    # A field again: what is repeated must be merged, replaced or appended.
    return data + data[: source.randint(0, len(data))]


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])
