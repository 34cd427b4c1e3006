"""Compares numbers in program output by their distance in units in the last place (ULPs)."""

from __future__ import annotations

import math
import re
import struct
from typing import Final

_NUMBER: Final = re.compile(r"(-?(?:(?<!\d)\d+(?:\.\d+)?(?:e[+-]?\d+)?|inf|nan))(?![\w.])")
_FAR: Final = 1 << 32
"""Numbers that are at least this many ULPs apart count as different."""


def ulps_apart(left: str, right: str) -> int | None:
    """Return the largest distance in ULPs between corresponding numbers in two lines.

    Returns None if the distance is `_FAR` or more. Also returns None if the lines differ in text,
    in the sign of a zero, or in an infinity or NaN.
    """
    left_parts, right_parts = _NUMBER.split(left), _NUMBER.split(right)
    if left_parts[::2] != right_parts[::2]:
        return None
    apart = 0
    for left_number, right_number in zip(left_parts[1::2], right_parts[1::2], strict=True):
        if left_number != right_number:
            distance = _distance(float(left_number), float(right_number))
            if not 0 < distance < _FAR:
                return None
            apart = max(apart, distance)
    return apart


def _distance(left: float, right: float) -> int:
    if not (math.isfinite(left) and math.isfinite(right)):
        return 0
    return abs(_rank(left) - _rank(right))


def _rank(value: float) -> int:
    bits: int = struct.unpack("<q", struct.pack("<d", value))[0]
    return bits if bits >= 0 else -(bits & 0x7FFF_FFFF_FFFF_FFFF)
