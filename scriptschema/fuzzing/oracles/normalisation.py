"""What is left out of outputs and messages before they are compared, and why.

Of an output, all of:

- `0x55d0a1` is `0x`: addresses, by which tables and functions are printed;
- `-nan` and `nan(ind)` are `nan`: its sign says nothing, and not every C library prints it;
- carriage returns before the ends of lines.

Of a message, `program.luau:3: no`, all but the `:` unless messages are compared; and its position
unless that is, which it never is between two targets, since each names chunks in its own way.

Of a message that stands in a signature or is counted, also numbers and what stands in quotes, which
differ from program to program, and the folders of files, which differ from machine to machine.
"""

from __future__ import annotations

import re
from typing import Final

_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]+")
_NAN: Final = re.compile(r"-nan(?:\(ind\))?|nan\(ind\)")
_POSITION: Final = re.compile(r'(?:\[string "[^"\n]*"\]|[\w./\\-]+):\d+:')
_MESSAGE: Final = re.compile(rf"{_POSITION.pattern} [^\t\n]*")
_QUOTED: Final = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`")
_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
_FOLDERS: Final = re.compile(
    r"(?<![\w./])(?:/|\.{1,2}/|[A-Z]:\\)?(?:[\w.+~-]+[/\\])+(?=[\w+-]+\.\w)"
)
_FIRST: Final = 2000
_LONGEST: Final = 200


def output(text: str, *, positions: bool = True, messages: bool = True) -> str:
    """An output as it is compared, with `positions` and `messages` or without."""
    text = _NAN.sub("nan", _ADDRESS.sub("0x", text.replace("\r\n", "\n")))
    if not messages:
        text = _MESSAGE.sub(":", text)
    return text if positions else _POSITION.sub(":", text)


def message(text: str) -> str:
    """The first line of a message, without what differs from program to program."""
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
