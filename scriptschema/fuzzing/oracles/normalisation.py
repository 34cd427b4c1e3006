"""Normalises program outputs and error messages before they are compared.

In outputs:

- addresses of tables and functions, such as `0x55d0a1`, become `0x`;
- `-nan` and `nan(ind)` become `nan`, because C libraries print the sign differently;
- carriage returns before line feeds are removed.

If messages are not compared, a message such as `program.luau:3: no` is reduced to `:`. If only
positions are not compared, it becomes `: no`. Positions are never compared between two targets,
because each target names chunks differently.

Messages that are counted or become part of a signature are reduced further. Numbers and quoted
strings depend on the program, so they are replaced with placeholders. So are names of temporary
files, UUIDs, and hexadecimal words with a digit and at least 6 characters, because they may vary
from run to run. Folders are removed from file paths. A string that explains the condition of an
assertion, as in `!"text"` and `n && "text"`, is preserved.

In the kind of an error message (`message_kind`), names of types are also replaced with `type`.
Operators and text in parentheses are removed.
"""

from __future__ import annotations

import re
import tempfile
from functools import cache
from typing import Final

_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]+")
_NAN: Final = re.compile(r"-nan(?:\(ind\))?|nan\(ind\)")
# Match a chunk's name only from its start: trying each position in a long word takes hours.
_POSITION: Final = re.compile(r'(?:\[string "[^"\n]*"\]|(?<![\w./\\-])[\w./\\-]++):\d+:')
_MESSAGE: Final = re.compile(rf"{_POSITION.pattern} [^\t\n]*")
_QUOTED: Final = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`")
_NOT_FINITE: Final = re.compile(r"-?\b(?:nan|inf)\b")
_STATUS: Final = re.compile(r"\A(?:status \d+, |the service ended with status \d+: )")
_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
_RANDOM: Final = re.compile(
    r"-?(?<![\w.])(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{6,})(?!\w)",
    re.IGNORECASE,
)
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
_MACRO: Final = 80
"""A condition of at least this many characters comes from a macro, which many files may use."""
_FIRST: Final = 2000
_LONGEST: Final = 200


def output(text: str, *, positions: bool = True, messages: bool = True) -> str:
    """Return a program's output, normalised for comparison.

    If `positions` or `messages` is false, positions or whole messages are removed.
    """
    text = _NAN.sub("nan", _ADDRESS.sub("0x", text.replace("\r\n", "\n")))
    if not messages:
        text = _MESSAGE.sub(":", text)
    return text if positions else _POSITION.sub(":", text)


def message(text: str, *, strings: bool = False) -> str:
    """Return the first line of a message without parts that depend on the program or machine.

    An exit status at the start is preserved, because it distinguishes bugs. If `strings` is true,
    so are quoted strings.
    """
    first = next((line for line in text.splitlines() if line.strip()), "")[:_FIRST]
    status = _STATUS.match(first)
    first = first[status.end() if status else 0 :]
    for pattern, instead in (
        (_temporary(tempfile.gettempdir()), "…"),
        (_FOLDERS, ""),
        (_POSITION, ""),
        (_ADDRESS, "…"),
        *([] if strings else [(_QUOTED, "'…'")]),
        (_RANDOM, "N"),  # a random word may consist of digits only
        (_NUMBER, "N"),
    ):
        first = pattern.sub(instead, first)
    first = (status[0] if status else "") + " ".join(first.split())
    return first if len(first) <= _LONGEST else first[:_LONGEST] + "…"


@cache
def _temporary(folder: str) -> re.Pattern[str]:
    """Return a pattern for temporary files that neither `_FOLDERS` nor `_POSITION` matches."""
    return re.compile(
        rf"(?<![\w./])(?:{re.escape(folder)}|/tmp)/[\w.+~-]++"
        r"(?!(?:/[\w.+~-]+)*/[\w+-]+\.\w|:\d)"
    )


def undefined(text: str) -> str:
    """Return an UndefinedBehaviorSanitizer message with the values removed."""
    return message(_NOT_FINITE.sub("0", text))


def assertion(text: str) -> str:
    """Return a failed assertion, preceded by its file name but without its line number.

    The string in `!"text"` and `n && "text"` is preserved, because it identifies the assertion. The
    file of a condition from a macro is left out, because one bug may violate it in several files.
    """
    place = _FILE.match(text)
    condition = _COMMENT.sub(
        lambda match: match[0].replace('"', "\0"), text[place.end() if place else 0 :]
    )
    condition = message(condition).replace("\0", '"')
    return f"{place[1]}: {condition}" if place and len(condition) < _MACRO else condition


def message_kind(text: str, source: str) -> str:
    """Return the kind of an error message, or an empty string for a program's own message.

    A message whose words all occur in the source is treated as the program's own.
    """
    normalised = message(text)
    if {*_WORD.findall(normalised)} <= {*_WORD.findall(source), "N"}:
        return ""
    return " ".join(_TYPES.sub("type", _VARYING.sub("", normalised)).split())
