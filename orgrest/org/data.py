"""Reads the tables, lists, results and plain text that ``:var`` can refer to.

As in Org, the value of a table is its rows, without horizontal rules and the header above the first
rule. The value of a list is its items. A cell or item such as ``=text=`` loses its markers.

Indices such as ``name[1,0]`` select parts of tables and lists. A range such as ``0:2`` includes
both ends. An empty index or ``*`` selects everything. Negative indices count from the end. Row
indices also count the header and the horizontal rules.
"""

from __future__ import annotations

import json
import re
from typing import TypeAlias

from orgrest.org.elements import Elements
from orgrest.org.lisp import ArgumentError, Number
from orgrest.org.text import column, unescape
from orgrest.regular import compiled

Data: TypeAlias = "str | list[Data]"

_RULE = compiled(r"[ \t]*\|[-+]")
_ITEM = compiled(r"[ \t]*(?:[-+*]|[0-9]+[.)])(?:[ \t]+\[[ X-]\])?[ \t]*(.*)")
_VERBATIM = compiled(r"=(?!=)(?:[^=]|=(?=[^\W_]))+=|~(?!~)(?:[^~]|~(?=[^\W_]))+~")
_JSON_NUMBER = compiled(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_HLINE: list[Data] = []


def read(element: tuple[str, list[str]], name: str, indices: str, *, header: bool) -> Data:
    """Return the value of an element called `name`, or the part that `indices` select.

    If `header` is true, a table's value includes the header. Raises ArgumentError if `indices` are
    malformed or out of range.
    """
    kind, lines = element
    if kind == "drawer":
        inner = Elements("\n".join(lines[1:-1]))
        inside = inner.element_at(0)
        kind, lines = inside if inside[0] in ("table", "list", "fixed") else ("text", lines[1:-1])
    if kind == "table":
        rows = [_HLINE if _RULE.match(x) else _cells(x) for x in lines if x.lstrip()[0] == "|"]
        return _table(rows, indices, name, header=header)
    if kind == "list":
        items: Data = [_unmarked(match[1]) for line in lines if (match := _ITEM.match(line))]
        return pick(items, indices, name) if indices else items
    text = _text(kind, lines)
    if indices:
        raise ArgumentError(
            f"{name} is not a table or list, so it cannot be indexed with [{indices}]"
        )
    return text


def _cells(line: str) -> list[Data]:
    cells = line.strip().removeprefix("|").removesuffix("|").split("|")
    return [_unmarked(cell.strip().replace("\\vert{}", "|")) for cell in cells]


def _unmarked(text: str) -> str:
    return text[1:-1] if _VERBATIM.fullmatch(text) else text


def _table(rows: list[list[Data]], indices: str, name: str, *, header: bool) -> Data:
    if indices:
        return pick([*rows], indices, name)
    if not header and len(rows) > 2 and rows[1] is _HLINE and rows[0] is not _HLINE:
        rows = rows[2:]
    return [row for row in rows if row is not _HLINE]


def _text(kind: str, lines: list[str]) -> str:
    if kind == "fixed":
        return "\n".join(line.lstrip(" \t")[2:] for line in lines)
    if kind in ("src", "example", "export", "special", "verse", "quote", "center", "comment"):
        inside = lines[1:-1]
        width = min((column(line) for line in inside if line.strip()), default=0)
        return "\n".join(unescape(line[width:] if line.strip() else "") for line in inside)
    return "\n".join(line.strip() for line in lines)


def to_text(value: object) -> str:
    """Return a value for use in a request: lists and tables as JSON, other values unchanged."""
    if value is None:
        return ""
    if isinstance(value, Number):
        return value.text
    return value if isinstance(value, str) else _json(value)


def _json(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_json(item) for item in value)}]"
    if value is None:
        return "null"
    text = value.text if isinstance(value, Number) else str(value)
    return text if _JSON_NUMBER.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def pick(data: Data, indices: str, name: str) -> Data:
    """Return the part of a table or list that `indices` select.

    Raises ArgumentError if the indices are out of range.
    """
    first, _, rest = indices.partition(",")
    first = first.strip()
    if not isinstance(data, list):
        raise ArgumentError(f"{name}[{indices}] has more indices than the data has dimensions")
    try:
        if first in ("", "*"):
            chosen = data
        elif ":" in first:
            start, _, stop = first.partition(":")
            low, high = (_index(text, len(data)) for text in (start or "0", stop or "-1"))
            chosen = data[low : high + 1]
        else:
            item = data[_index(first, len(data))]
            return pick(item, rest, name) if rest else item
    except IndexError:
        raise ArgumentError(f"index out of range: {name}[{indices}]") from None
    items = [item for item in chosen if item is not _HLINE]
    return [pick(item, rest, name) for item in items] if rest else items


def _index(text: str, length: int) -> int:
    number = int(text) if re.fullmatch(r"-?[0-9]{1,9}", text.strip()) else length
    if not -length <= number < length:
        raise IndexError
    return number % length
