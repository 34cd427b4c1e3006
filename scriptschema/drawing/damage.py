"""Faults in encoded trees, to test how readers handle invalid bytes.

Each function draws a position, and returns the damaged bytes and a description of the damage.
"""

from __future__ import annotations

from typing import Final

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from scriptschema.codec import varints


def _place(draw: DrawFn, data: bytes) -> int:
    return draw(st.integers(0, len(data)))


def _piece(draw: DrawFn, data: bytes) -> tuple[int, int]:
    start = _place(draw, data)
    return start, draw(st.integers(start, min(len(data), start + 16)))


def _truncate(draw: DrawFn, data: bytes) -> tuple[bytes, str]:
    end = _place(draw, data)
    return data[:end], f"cut off at byte {end}"


def _flip(draw: DrawFn, data: bytes) -> tuple[bytes, str]:
    if not data:
        return data, "unchanged: there is no bit to flip"
    at = draw(st.integers(0, len(data) - 1))
    bit = draw(st.integers(0, 7))
    new = bytes([data[at] ^ 1 << bit])
    return data[:at] + new + data[at + 1 :], f"flipped bit {bit} of byte {at}"


def _overwrite(draw: DrawFn, data: bytes) -> tuple[bytes, str]:
    start, end = _piece(draw, data)
    new = draw(st.binary(max_size=8))
    return data[:start] + new + data[end:], f"replaced bytes {start} to {end} with {new.hex()}"


def _double(draw: DrawFn, data: bytes) -> tuple[bytes, str]:
    start, end = _piece(draw, data)
    at = _place(draw, data)
    return data[:at] + data[start:end] + data[at:], f"repeated bytes {start} to {end} at byte {at}"


def _repeat(draw: DrawFn, data: bytes) -> tuple[bytes, str]:
    times = draw(st.integers(2, 3))
    return data * times, f"repeated everything {times} times"


def _foreign(draw: DrawFn, data: bytes) -> tuple[bytes, str]:
    at = _place(draw, data)
    number = draw(st.sampled_from([0, 1, 2, 3, 5, 15, 16, 17, 99, 2**29 - 1, 2**29]))
    field = draw(st.sampled_from(_FOREIGN))
    tag, rest = field[0], field[1:]
    new = varints.varint_bytes(number << 3 | tag) + rest
    if tag == varints.GROUP:
        new += varints.varint_bytes(number << 3 | varints.END_GROUP)
    return data[:at] + new + data[at:], f"inserted the unknown field {new.hex()} at byte {at}"


_FOREIGN: Final = (
    bytes([varints.VARINT, 5]),
    bytes([varints.VARINT, *[255] * 9, 1]),
    bytes([varints.VARINT, *[255] * 10, 1]),
    bytes([varints.FIXED32, 1, 2, 3, 4]),
    bytes([varints.FIXED64, 1, 2, 3, 4, 5, 6, 7, 8]),
    bytes([varints.LENGTH, 0]),
    bytes([varints.LENGTH, 2, 8, 5]),
    bytes([varints.LENGTH, 127]),
    bytes([varints.GROUP, 8, 5]),
    bytes([varints.GROUP, 11, 12]),
    bytes([varints.END_GROUP]),
    bytes([6]),
    bytes([7]),
)


def _nest(draw: DrawFn, data: bytes) -> tuple[bytes, str]:
    levels = draw(st.sampled_from([1, 2, 50, 97, 98, 99, 100, 101, 150]))
    for _ in range(levels):
        data = b"\x0a" + varints.varint_bytes(len(data)) + data
    return data, f"nested {levels} times in field 1"


def _lengthen(draw: DrawFn, data: bytes) -> tuple[bytes, str]:
    if not data:
        return data, "unchanged: there is no byte to replace"
    at = draw(st.integers(0, len(data) - 1))
    more = draw(st.integers(1, 10))
    new = bytes([data[at] | 128, *[128] * (more - 1), 0])
    what = f"replaced byte {at} with an overlong varint of {more + 1} bytes"
    return data[:at] + new + data[at + 1 :], what


FAULTS: Final = (
    _truncate,
    _flip,
    _overwrite,
    _double,
    _repeat,
    _foreign,
    _nest,
    _lengthen,
)
