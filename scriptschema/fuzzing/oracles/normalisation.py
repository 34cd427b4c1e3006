"""Normalises outputs and messages before they are compared.

In outputs:

- addresses of tables and functions, such as `0x55d0a1`, become `0x`;
- `-nan` and `nan(ind)` become `nan`, because C libraries print the sign differently;
- carriage returns before line ends are removed.

A message such as `program.luau:3: no` is reduced to `:` unless messages are compared. Its position
is removed unless positions are compared, which they never are between two targets, because each
names chunks differently.

In messages for signatures and counts, numbers and quoted text, which depend on the program, and the
folders of files, which depend on the machine, are removed as well. In assertions, text that C
programmers put beside a condition is kept.

For the kind of a message, the names of types, operators and text in parentheses are also removed.
"""

from __future__ import annotations

import re
from typing import Final

_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]+")
_NAN: Final = re.compile(r"-nan(?:\(ind\))?|nan\(ind\)")
_POSITION: Final = re.compile(r'(?:\[string "[^"\n]*"\]|[\w./\\-]+):\d+:')
_MESSAGE: Final = re.compile(rf"{_POSITION.pattern} [^\t\n]*")
_QUOTED: Final = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`")
_NOT_FINITE: Final = re.compile(r"-?\b(?:nan|inf)\b")
_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
_FOLDERS: Final = re.compile(
    r"(?<![\w./])(?:/|\.{1,2}/|[A-Z]:\\)?(?:[\w.+~-]+[/\\])+(?=[\w+-]+\.\w)"
)
_FILE: Final = re.compile(r"(?:\S*[/\\])?([\w.+-]+):\d+: ")
_COMMENT: Final = re.compile(r"(?<=!)\"[^\"\n]*\"|(?<=&& )\"[^\"\n]*\"")
_WORD: Final = re.compile(r"[A-Za-z]+")
_TYPES: Final = re.compile(
    r"\b(?:nil|boolean|number|string|table|function|thread|userdata|buffer|vector)\b"
)
_VARYING: Final = re.compile(r"\([^()]*\)|[^\w\s…]+")
_FIRST: Final = 2000
_LONGEST: Final = 200


def output(text: str, *, positions: bool = True, messages: bool = True) -> str:
    """Normalise an output for comparison, with or without `positions` and `messages`."""
    text = _NAN.sub("nan", _ADDRESS.sub("0x", text.replace("\r\n", "\n")))
    if not messages:
        text = _MESSAGE.sub(":", text)
    return text if positions else _POSITION.sub(":", text)


def message(text: str) -> str:
    """Return the first line of a message without program-specific parts."""
    first = next((line for line in text.splitlines() if line.strip()), "")[:_FIRST]
    for pattern, instead in (
        (_FOLDERS, ""),
        (_POSITION, ""),
        (_ADDRESS, "…"),
        (_QUOTED, "'…'"),
        (_NUMBER, "N"),
    ):
        first = pattern.sub(instead, first)
    first = " ".join(first.split())
    return first if len(first) <= _LONGEST else first[:_LONGEST] + "…"


def undefined(text: str) -> str:
    """Return a message of UndefinedBehaviorSanitizer without the values that it names."""
    return message(_NOT_FINITE.sub("0", text))


def assertion(text: str) -> str:
    """Return a failed assertion after the name of its file, without its line.

    The text in `!"text"` and `n && "text"` is kept: it is constant, and identifies the assertion.
    """
    place = _FILE.match(text)
    said = _COMMENT.sub(
        lambda found: found[0].replace('"', "\0"), text[place.end() if place else 0 :]
    )
    said = message(said).replace("\0", '"')
    return f"{place[1]}: {said}" if place else said


def message_kind(text: str, source: str) -> str:
    """Return the kind of an error message of a program; empty if it is the program's own.

    A message is the program's own if all of its words are in the source.
    """
    said = message(text)
    if {*_WORD.findall(said)} <= {*_WORD.findall(source), "N"}:
        return ""
    return " ".join(_TYPES.sub("type", _VARYING.sub("", said)).split())
