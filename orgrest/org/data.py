"""Reads the tables, lists, results and plain text that ``:var`` can refer to.

As in Org, the value of a table is its rows, without horizontal rules and without the header above
the only rule. The value of a list is its top-level items. What looks like a number is one, so
``01234`` is 1234, and ``"01234"`` is a string. In a result that orgrest wrote, a cell or item such
as ``=text=`` loses its markers.

Indices such as ``name[1,0]`` select parts of tables and lists. A range such as ``0:2`` includes
both ends. An empty index or ``*`` selects everything. Negative indices count from the end. Row
indices also count the header and the horizontal rules, which are left out afterwards.

Source: the Org manual, "Environment of a Code Block"; `org-babel-ref-index-list`,
`org-babel-disassemble-tables` and `org-babel-read` in Org's source code.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TypeAlias

from orgrest.org.blocks import ArgumentError
from orgrest.org.elements import Elements
from orgrest.org.lisp import NUMBER, STRING, Number, unquote, write_number
from orgrest.org.text import column, unescape
from orgrest.regular import compiled

Data: TypeAlias = "str | Number | Sequence[Data] | None"
"""A text, a number, a list, or a horizontal rule among the rows of a table (None)."""

_RULE = compiled(r"[ \t]*\|[-+]")
_ITEM = compiled(r"[ \t]*(?:[-+*]|[0-9]+[.)])(?=[ \t]|$)(?:[ \t]+\[[ X-]\])?[ \t]*(.*)")
_VERBATIM = compiled(r"=(?!=)(?:[^=]|=(?=[^\W_]))+=|~(?!~)(?:[^~]|~(?=[^\W_]))+~")
_JSON_NUMBER = compiled(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")


def read(element: tuple[str, list[str]], *, is_result: bool = False) -> Data:
    """Return the value of an element. Tables include their header and their rules."""
    kind, lines = element
    if kind == "drawer":
        inner = Elements("\n".join(lines[1:-1]))
        inside = inner.element_at(0)
        kind, lines = inside if inside[0] in ("table", "list", "fixed") else ("text", lines[1:-1])
    if kind == "table":
        rows = [x for x in lines if x.lstrip()[0] == "|"]
        return [None if _RULE.match(row) else _cells(row, is_result) for row in rows]
    if kind == "list":
        return [_read(item, is_result) for item in _items(lines)]
    text = _text(kind, lines)
    return _number(text) if kind == "fixed" else text


def selected(data: Data, name: str, indices: str = "", colnames: str | None = None) -> Data:
    """Return the part of the data called `name` that `indices` select, without rules and header.

    `colnames` is the value of the header argument `:colnames`: `no` keeps the header, and `yes`
    removes the first row even if there is no rule below it. Raises ArgumentError if `indices` are
    malformed or out of range.
    """
    if indices and not isinstance(data, list):
        raise ArgumentError(
            f"{name} is not a table or list, so it cannot be indexed with [{indices}]"
        )
    value = _pick(data, indices, f"{name}[{indices}]") if indices else data
    if not isinstance(value, list):
        return value
    rules = [number for number, row in enumerate(value) if row is None]
    if colnames == "yes" or (colnames != "no" and rules == [1]):
        value = value[1:]
    return [row for row in value if row is not None]


def _items(lines: list[str]) -> list[str]:
    """Return the text of each top-level item. The lines of an item are joined by line breaks."""
    items: list[list[str]] = []
    outer = min(column(line) for line in lines if _ITEM.match(line))
    inner = False
    for line in lines:
        match = _ITEM.match(line)
        if match is not None:
            inner = column(line) > outer
        if inner:
            continue
        if match is not None:
            items.append([match[1]])
        else:
            items[-1].append(line.strip())
    return ["\n".join(item).strip() for item in items]


def _cells(line: str, is_result: bool) -> list[Data]:
    cells = line.strip().removeprefix("|").removesuffix("|").split("|")
    return [_read(cell.strip().replace("\\vert{}", "|"), is_result) for cell in cells]


def _read(text: str, is_result: bool) -> str | Number:
    """Return the value of a cell or item: a number, a string in quotes, or its text."""
    if is_result and _VERBATIM.fullmatch(text):
        return text[1:-1]
    if STRING.fullmatch(text):
        return unquote(text)
    return _number(text)


def _number(text: str) -> str | Number:
    number = text.strip()
    return Number(write_number(number)) if NUMBER.fullmatch(number) else text


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


def _pick(data: Data, indices: str, reference: str) -> Data:
    """Return the part of a table or list that `indices` select. A single element is not a list.

    `reference` is the whole reference, for error messages.
    """
    first, _, rest = indices.partition(",")
    first = first.strip()
    if not isinstance(data, list):
        raise ArgumentError(f"{reference} has more indices than the data has dimensions")
    try:
        if first in ("", "*"):
            chosen = data
        elif ":" in first:
            start, _, stop = first.partition(":")
            low, high = (_index(text, len(data)) for text in (start or "0", stop or "-1"))
            chosen = data[low : high + 1]
        else:
            chosen = [data[_index(first, len(data))]]
    except IndexError:
        raise ArgumentError(f"index out of range: {reference}") from None
    if rest:
        chosen = [None if item is None else _pick(item, rest, reference) for item in chosen]
    return chosen[0] if len(chosen) == 1 else chosen


def _index(text: str, length: int) -> int:
    number = int(text) if re.fullmatch(r"-?[0-9]{1,9}", text.strip()) else length
    if not -length <= number < length:
        raise IndexError
    return number % length
