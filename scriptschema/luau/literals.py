"""The values of literals in Luau source: strings with their escape sequences, and numbers.

Source: https://luau.org/syntax#string-literals, and what the real Luau accepts.
"""

from __future__ import annotations

import math
import re
from typing import Final

from scriptschema.base import INT32_MAX, INT32_MIN, INT64_MAX
from scriptschema.codec.varints import int64
from scriptschema.messages import Expr, ExprBinary, ExprConstantNumber

_DECIMAL: Final = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?")
_PREFIXED: Final = re.compile(r"0x[0-9a-f]+|0b[01]+")
_ESCAPE: Final = re.compile(
    rb"\\(?:(\r\n?|\n)|z[ \t\n\v\f\r]*|x([0-9a-fA-F]{2})|u\{([0-9a-fA-F]+)\}|([0-9]{1,3})|(.))",
    re.DOTALL,
)
_CONTROLS: Final = dict(zip(b"abfnrtv", b"\a\b\f\n\r\t\v", strict=True))


def string_value(text: str) -> str:
    """Return the value of a string token in quotes or long brackets.

    Raises ValueError for an escape sequence that Luau does not have.
    """
    if text[0] != "[":
        return unescape(text[1:-1])
    level = text.index("[", 1) + 1
    return text[level:-level].replace("\r\n", "\n").removeprefix("\n")


def unescape(text: str) -> str:
    """Return the value of the text inside a quoted or interpolated string.

    Raises ValueError for an escape sequence that Luau does not have.
    """
    if "\\" not in text:
        return text
    data = _ESCAPE.sub(_unescaped, text.encode("utf-8", "surrogateescape"))
    return data.decode("utf-8", "surrogateescape")


def _unescaped(match: re.Match[bytes]) -> bytes:
    """Return the bytes that an escape sequence represents."""
    newline, byte, codepoint, decimal, other = match.groups()
    if newline:
        return b"\n"
    if byte:
        return bytes.fromhex(byte.decode())
    if codepoint and int(codepoint, 16) < 0x110000:
        return chr(int(codepoint, 16)).encode("utf-8", "surrogatepass")
    if decimal and int(decimal) < 256:
        return bytes([int(decimal)])
    if other and other not in b"xu":
        return bytes([_CONTROLS.get(other[0], other[0])])
    if match[0].startswith(b"\\z"):
        return b""
    raise ValueError(f"`{match[0].decode('utf-8', 'replace')}`")


def join(texts: list[str]) -> str:
    """Return the joined strings. UTF-8 characters that were split across strings are restored."""
    text = "".join(texts)
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")


def number_value(text: str) -> float:
    """Return the value of a number token.

    Raises ValueError for a token that is not a valid number.
    """
    digits = text.replace("_", "").lower()
    if digits.isdigit() and len(digits) < 10:
        return int(digits)
    if _DECIMAL.fullmatch(digits):
        return float(digits)
    if _PREFIXED.fullmatch(digits):
        return float(min(int(digits, 0), 2**64 - 1))
    raise ValueError(f"`{text}` is not a number")


def integer_value(text: str) -> int:
    """Return the value of an integer token such as `0xFFi`, as a signed 64-bit number.

    Raises ValueError for any token that is not a valid 64-bit integer.
    """
    digits = text.replace("_", "").lower().removesuffix("i")
    if digits.isdigit() and len(digits) < 100 and int(digits) <= INT64_MAX:
        return int(digits)
    if _PREFIXED.fullmatch(digits) and len(digits) < 100 and int(digits, 0) < 2**64:
        return int64(int(digits, 0))
    raise ValueError(f"`{text}` is not a 64-bit integer")


def nearest_int32(value: float) -> int:
    """Return a number rounded towards 0 and clamped to the range of int32."""
    return int(max(INT32_MIN, min(value, INT32_MAX)))


def number_text(value: float) -> str:
    """Return the shortest literal that Luau reads as this number, or `(0 / 0)` for NaN."""
    if math.isnan(value):
        return "(0 / 0)"
    if math.isinf(value):
        return "1e999" if value > 0 else "-1e999"
    digits, _, exponent = repr(value).partition("e")
    digits = digits.removesuffix(".0")
    return f"{digits}e{int(exponent)}" if exponent else digits


def integer_text(value: int) -> str:
    """Return the literal, without a minus sign, that Luau reads as this 64-bit integer."""
    return f"{value}i" if value >= 0 else f"{value & 2**64 - 1:#x}i"


def number_expression(value: float) -> Expr:
    """Return an expression of int32 constants with exactly this value, which must be positive."""
    if value == math.inf:
        return _binary(ExprBinary.Op.Div, _whole(1), _whole(0))
    places = 1
    while places < 10 and value * 10**places <= INT32_MAX:
        whole, power = round(value * 10**places), 10**places
        if whole / power == value:
            # Both integers are exact, and Luau rounds a quotient in the same way as a constant.
            common = math.gcd(whole, power)
            return _binary(ExprBinary.Op.Div, _whole(whole // common), _whole(power // common))
        places += 1
    numerator, denominator = value.as_integer_ratio()
    exponent = (numerator & -numerator).bit_length() - denominator.bit_length()
    numerator >>= max(exponent, 0)
    high, low = divmod(numerator, 2**31)
    expr = _whole(low)
    if high:
        expr = _binary(ExprBinary.Op.Pow, _whole(2), _whole(31))
        expr = expr if high == 1 else _binary(ExprBinary.Op.Mul, _whole(high), expr)
        expr = _binary(ExprBinary.Op.Add, expr, _whole(low)) if low else expr
    if exponent:
        power = _binary(ExprBinary.Op.Pow, _whole(2), _whole(exponent))
        expr = power if numerator == 1 else _binary(ExprBinary.Op.Mul, expr, power)
    return expr


def _whole(value: int) -> Expr:
    return Expr(number=ExprConstantNumber(val=value))


def _binary(op: ExprBinary.Op, left: Expr, right: Expr) -> Expr:
    return Expr(binary=ExprBinary(op=op, left=left, right=right))
