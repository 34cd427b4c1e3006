"""The elements of an encoding: wire types, tags, varints and lengths.

The reading functions check every step, and raise DecodeError with the location and the reason.

Source: the Protocol Buffers manual, "Encoding".
"""

from __future__ import annotations

import struct
from typing import Final

from scriptschema.base import INT32_MAX, INT32_MIN, FieldInfo, Path
from scriptschema.codec.errors import DecodeError

VARINT: Final = 0
FIXED64: Final = 1
LENGTH: Final = 2
GROUP: Final = 3
END_GROUP: Final = 4
FIXED32: Final = 5


def tag(field: FieldInfo) -> int:
    """Return the field's tag: its number and wire type as one integer."""
    if field.type is float:
        return field.tag << 3 | FIXED64
    return field.tag << 3 | (LENGTH if field.is_message or field.type is str else VARINT)


def tag_bytes(field: FieldInfo) -> bytes:
    """Return the field's tag (number and wire type) in encoded form, as it precedes the value."""
    return varint_bytes(tag(field))


def varint_bytes(value: int) -> bytes:
    """Return the integer as a varint. A negative integer takes ten bytes."""
    if 0 <= value < 16384:
        return bytes((value & 127 | 128, value >> 7) if value > 127 else (value,))
    if INT32_MIN <= value < 0:  # without a loop, which takes twice as long
        low, middle = value & 127 | 128, value >> 7 & 127 | 128
        high = value >> 14 & 127 | 128, value >> 21 & 127 | 128, value >> 28 & 127 | 128
        return bytes((low, middle, *high, 255, 255, 255, 255, 1))
    value &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_varint(data: bytes, position: int, end: int, path: Path) -> tuple[int, int]:
    """Return the value of a varint, truncated to 64 bits, and the position after the varint.

    A varint has at most ten bytes.
    """
    value = 0
    for index in range(10):
        if position + index >= end:
            raise DecodeError(position, str(path), "the value is truncated")
        byte = data[position + index]
        value |= (byte & 127) << (7 * index)
        if byte < 128:
            return value & 0xFFFFFFFFFFFFFFFF, position + index + 1
    raise DecodeError(position, str(path), "varint longer than 10 bytes")


def read_tag(data: bytes, position: int, end: int, path: Path) -> tuple[int, int]:
    """Return a field's tag and the position after it. A tag has at most five bytes."""
    value = 0
    for index in range(5):
        if position + index >= end:
            raise DecodeError(position, str(path), "the tag is truncated")
        byte = data[position + index]
        value |= (byte & 127) << (7 * index)
        if byte < 128:
            if value >> 32:
                break
            return value, position + index + 1
    raise DecodeError(position, str(path), "tag longer than 32 bits")


def read_length(data: bytes, position: int, end: int, path: Path) -> tuple[int, int]:
    """Return a field's length and the position after it.

    Raises DecodeError if the field extends beyond `end`.
    """
    size, after = read_varint(data, position, end, path)
    if after - position > 5 or size > INT32_MAX:
        raise DecodeError(position, str(path), "length longer than 31 bits")
    if size > end - after:
        reason = f"length {size} exceeds the remaining {end - after} bytes"
        raise DecodeError(position, str(path), reason)
    return size, after


def skip(data: bytes, position: int, end: int, wire_type: int, path: Path) -> int:
    """Return the position after the value of an unknown field."""
    if wire_type == VARINT:
        return read_varint(data, position, end, path)[1]
    if wire_type == LENGTH:
        size, position = read_length(data, position, end, path)
        return position + size
    if wire_type not in (FIXED32, FIXED64):
        raise DecodeError(position - 1, str(path), f"invalid wire type {wire_type}")
    return after_fixed(position, end, 4 if wire_type == FIXED32 else 8, path)


def after_fixed(position: int, end: int, size: int, path: Path) -> int:
    """Return the position after a value of `size` bytes, which must not extend beyond `end`."""
    if size > end - position:
        reason = f"a value of {size} bytes exceeds the remaining {end - position} bytes"
        raise DecodeError(position, str(path), reason)
    return position + size


def int32(value: int) -> int:
    """Return the low 32 bits of `value` as a signed number."""
    return ((value & 0xFFFFFFFF) ^ 0x80000000) - 0x80000000


def int64(value: int) -> int:
    """Return the low 64 bits of `value` as a signed number."""
    return (value ^ 1 << 63) - (1 << 63)


def double_bytes(value: float) -> bytes:
    """Return the eight bytes that encode the number as a double."""
    return struct.pack("<d", value)


def double(data: bytes, position: int) -> float:
    """Return the double in the eight bytes at `position`."""
    number: float = struct.unpack_from("<d", data, position)[0]
    return number
