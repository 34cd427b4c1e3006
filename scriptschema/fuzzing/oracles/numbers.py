"""Numbers in what programs print: how far apart two are, in units in the last place."""

from __future__ import annotations

import math
import re
import struct
from typing import Final

_NUMBER: Final = re.compile(r"(-?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|inf|nan))(?![\w.])")
_FAR: Final = 1 << 32
"""Beyond so many, numbers are not near each other but others."""


def ulps_apart(left: str, right: str) -> int | None:
    """How many doubles two lines are apart in the number where they are most.

    None where they differ in anything else: in text, a sign of zero, by far.
    """
    ones, others = _NUMBER.split(left), _NUMBER.split(right)
    if ones[::2] != others[::2]:
        return None
    apart = 0
    for one, other in zip(ones[1::2], others[1::2], strict=True):
        if one != other:
            distance = _distance(float(one), float(other))
            if not 0 < distance < _FAR:
                return None
            apart = max(apart, distance)
    return apart


def _distance(one: float, other: float) -> int:
    """How many doubles there are from one to another; 0 where that says nothing."""
    if not (math.isfinite(one) and math.isfinite(other)):
        return 0
    return abs(_place(one) - _place(other))


def _place(value: float) -> int:
    """The place of a double among all, in their order."""
    bits: int = struct.unpack("<q", struct.pack("<d", value))[0]
    return bits if bits >= 0 else -(bits & 0x7FFF_FFFF_FFFF_FFFF)
