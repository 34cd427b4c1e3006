"""Writes strings and numbers in any of the spellings that Luau allows, selected by choices.

All spellings have the same value. Choice 0 is the spelling that `render` prints without a style.

Source: https://luau.org/syntax, "String literals" and "Number literals", and what Luau itself
accepts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from zlib import crc32

from scriptschema.luau.quoting import escape, quote, quote_in_interpolation, string_bytes

_CONTROLS: Final = dict(zip("\a\b\f\n\r\t\v", "abfnrtv", strict=True))
_SPACES: Final = ("", " ", "\n", "\t \r\n", "  \v\f  ")
_DIGITS: Final = "0123456789"
_LEVELS: Final = 4
_MASK: Final = 2**64 - 1


class Near:
    """Choices that depend only on a key and on the text nearby.

    So a spelling stays the same when the program around it gets smaller.
    """

    def __init__(self, key: int) -> None:
        self._key = key
        self._state = 0

    def at(self, near: str) -> None:
        """Start a new sequence of choices for a place. `near` is the text next to the place."""
        self._state = crc32(near.encode("utf-8", "surrogatepass"), self._key) + 1

    def below(self, n: int) -> int:
        """Return an integer from 0 to n - 1, for n up to 256. 0 is the ordinary spelling."""
        self._state = self._state * 6364136223846793005 + 1442695040888963407 & _MASK
        return (self._state >> 40) % n


def string(choices: Near, value: str) -> str:
    """Return a string constant in quotes, with or without escapes, or in long brackets.

    Long brackets are preceded by a space, so that they do not merge with a `[` before them.
    """
    kind = choices.below(4)
    if kind == 1:
        return _escaped(choices, value, "'", few=True)
    if kind == 2 and _fits_in_brackets(value):
        newline = "\r\n" if choices.below(2) else "\n"  # Luau reads both as a newline
        return " " + in_brackets(value, choices.below(_LEVELS)).replace("\n", newline)
    if kind >= 2:
        return _escaped(choices, value, "\"'"[choices.below(2)])
    return quote(value)


def text_in_interpolation(choices: Near, value: str) -> str:
    """Return a spelling of `value` as text between the expressions of an interpolated string."""
    if choices.below(2):
        return "".join(_characters(choices, value, "`{"))
    return quote_in_interpolation(value)


def number(choices: Near, value: int) -> str:
    """Return a number constant in one of Luau's notations.

    The notation is hexadecimal, binary or decimal, possibly with `_`, an exponent or a fraction.
    """
    sign, digits = ("-", str(-value)) if value < 0 else ("", str(value))
    return sign + _NUMBERS[choices.below(len(_NUMBERS))](choices, digits)


def _fits_in_brackets(value: str) -> bool:
    return not any(c in "\0\r" or "\ud800" <= c <= "\udfff" for c in value)


def in_brackets(value: str, level: int) -> str:
    """Return `value` in long brackets.

    The brackets have the level `level`, or the next level whose closing bracket is not in `value`.
    """
    closing = f"]{'=' * level}]"
    while (value + closing).find(closing) < len(value):
        closing = closing.replace("]", "]=", 1)
    newline = "\n" if value.startswith("\n") else ""  # Luau skips the first newline
    return f"{closing.replace(']', '[')}{newline}{value}{closing}"


def _escaped(choices: Near, value: str, delimiter: str, *, few: bool = False) -> str:
    if few:
        inner = "".join(_plain(character, delimiter) for character in value)
    else:
        inner = "".join(_characters(choices, value, delimiter))
    return f"{delimiter}{inner}{delimiter}"


def _plain(character: str, special: str) -> str:
    if character in special or character == "\\":
        return "\\" + character
    return character if " " <= character <= "~" else escape(character)


def _characters(choices: Near, value: str, special: str) -> list[str]:
    """Return the characters of a string, about half of them as escape sequences."""
    written = []
    for character, following in zip(value, value[1:] + " ", strict=False):
        kind = choices.below(12)
        if kind == 6 and "\ud800" <= character <= "\udfff":
            kind = 7
        if kind == 6:
            zeros = "0" * choices.below(4)
            written.append(f"\\u{{{zeros}{ord(character):{'xX'[choices.below(2)]}}}}")
        elif kind == 7:
            written += [f"\\x{byte:02x}" for byte in string_bytes(character)]
        elif kind == 8:
            least = 3 if following in _DIGITS else choices.below(4)
            *first, last = string_bytes(character)
            written += [f"\\{byte:03}" for byte in first]
            written.append(f"\\{last:0{least}}")
        elif kind == 9 and character in _CONTROLS:
            written.append("\\" + _CONTROLS[character])
        elif kind == 9 and " " <= character <= "~" and not character.isalnum():
            written.append("\\" + character)
        elif kind == 10 and character == "\n":
            written.append(("\\\n", "\\\r\n")[choices.below(2)])
        elif kind == 11:
            plain = _plain(character, special)
            plain = r"\x20" if plain == " " else plain  # otherwise `\z` would skip it, too
            written.append(rf"\z{_SPACES[choices.below(len(_SPACES))]}{plain}")
        else:
            written.append(_plain(character, special))
    return written


def _decimal(_: Near, digits: str) -> str:
    return digits


def _hexadecimal(choices: Near, digits: str) -> str:
    letters = f"{int(digits):{'xX'[choices.below(2)]}}"
    return f"0{'xX'[choices.below(2)]}{_underscored(choices, letters)}"


def _binary(choices: Near, digits: str) -> str:
    return f"0{'bB'[choices.below(2)]}{_underscored(choices, f'{int(digits):b}')}"


def _underscored(choices: Near, digits: str) -> str:
    return "".join("_" * (choices.below(4) == 1) + digit for digit in digits)


def _grouped(choices: Near, digits: str) -> str:
    return digits[0] + _underscored(choices, digits[1:]) + "_" * choices.below(2)


def _with_exponent(choices: Near, digits: str) -> str:
    sign = ("", "+", "-")[choices.below(3)]
    zeros = len(digits) - len(digits.rstrip("0"))
    if sign == "-":
        digits, exponent = digits + "00", 2
    elif zeros == len(digits):
        exponent = choices.below(10)
    else:
        exponent = zeros
        digits = digits[: len(digits) - zeros]
    return f"{digits}{'eE'[choices.below(2)]}{sign}{'0' * choices.below(2)}{exponent}"


def _with_fraction(choices: Near, digits: str) -> str:
    kind = choices.below(3)
    if kind == 2:
        return f".{digits}{'eE'[choices.below(2)]}{len(digits)}"
    return f"{digits}.{'0' * kind}"


_NUMBERS: Final[tuple[Callable[[Near, str], str], ...]] = (
    _decimal,
    _hexadecimal,
    _binary,
    _grouped,
    _with_exponent,
    _with_fraction,
)
