"""Completion contexts in those lines of an Org document that configure requests.

These lines are the first lines of blocks, and lines with header arguments or properties. `LINES`
contains their patterns.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from orgrest.http.parsing.lines import BLANKS
from orgrest.org.blocks import REQUEST_LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from orgrest.editor.completion.cursor import Cursor
    from orgrest.editor.completion.model import Context

_BEGIN = re.compile(r"[ \t]*#\+begin_src[ \t]+(\S*)(?:(?<=\S)([ \t].*))?", re.IGNORECASE)
_HEADER_KEYWORD = re.compile(r"[ \t]*#\+headers?:([ \t].*)", re.IGNORECASE)
_BLOCK_BELOW = re.compile(
    r"[ \t\r]*(?:\n[ \t]*#\+(?!begin_).*)*\n[ \t]*#\+begin_src[ \t]+(\S+)", re.IGNORECASE
)
_PROPERTY = re.compile(
    r"[ \t]*(?:#\+property:[ \t]+header-args(?::([^\s:+]+))?\+?"
    r"|:header-args(?::([^\s:+]+))?\+?:)([ \t].*)",
    re.IGNORECASE,
)
_PROPERTY_NAME = re.compile(r"[ \t]*#\+property:[ \t]+(\S*)", re.IGNORECASE)
_ARGUMENT = re.compile(r"(?:^|[ \t])(:[^\s:=\"]*|)$")
_GIVEN = re.compile(r"(?:^|[ \t]):([\w-]+)[ \t]+")
_REFERENCE = re.compile(r"=[ \t]*([^\s=\"'()\[\]]*)$")


def contexts(cursor: Cursor) -> Iterator[Context]:
    """Yield the possible contexts at the offset.

    They depend on the first pattern in `LINES` that matches the part of the line before the offset.
    """
    for pattern, read in LINES:
        if line := pattern.fullmatch(cursor.before):
            yield from read(cursor, line)
            return


def _begin(cursor: Cursor, line: re.Match[str]) -> Iterator[Context]:
    if line[2] is None:
        yield cursor.here("language", line[1], rest=r"\S*")
    elif line[1] in REQUEST_LANGUAGES:
        yield from _arguments(cursor, line[2])


def _header_keyword(cursor: Cursor, line: re.Match[str]) -> Iterator[Context]:
    end = cursor.start + len(cursor.before + cursor.after)
    below = _BLOCK_BELOW.match(cursor.text, end)
    if below is None or below[1] in REQUEST_LANGUAGES:
        yield from _arguments(cursor, line[1])


def _property(cursor: Cursor, line: re.Match[str]) -> Iterator[Context]:
    language = line[1] or line[2]
    if language is None or language.lower() in REQUEST_LANGUAGES:
        yield from _arguments(cursor, line[3])


def _property_name(cursor: Cursor, line: re.Match[str]) -> Iterator[Context]:
    yield cursor.here("property", line[1], rest=r"\S*")


def _arguments(cursor: Cursor, text: str) -> Iterator[Context]:
    """Yield the contexts in the incomplete header argument at the end of `text`."""
    if len(re.findall(r'(?<!\\)"', text)) % 2:
        return
    name = _ARGUMENT.search(text)
    if name and name[1]:
        yield cursor.here("argument", name[1], rest=r"[\w-]*")
        return
    *_, match = (None, *_GIVEN.finditer(text))
    value = text[match.end() :] if match else ""
    if match:
        yield from _argument_value(cursor, match[1], value)
    last = value.rstrip(BLANKS)[-1:]
    if name and (not match or last not in ("", "=")):
        yield cursor.here("argument", "")


def _argument_value(cursor: Cursor, name: str, text: str) -> Iterator[Context]:
    if name == "var":
        if reference := _REFERENCE.search(text):
            yield cursor.here("reference", reference[1], rest=r"[^\s()\[\]\"]*")
    elif name == "post":
        if re.fullmatch(r"[^\s()\[\]\"]*", text):
            yield cursor.here("reference", text, rest=r"[^\s()\[\]\"]*")
    else:
        prefix = re.split(r"[ \t]", text)[-1] if name == "results" else text
        yield cursor.here("argument value", prefix, name, r"\S*")


Line: TypeAlias = "tuple[re.Pattern[str], Callable[[Cursor, re.Match[str]], Iterator[Context]]]"

LINES: tuple[Line, ...] = (
    (_BEGIN, _begin),
    (_HEADER_KEYWORD, _header_keyword),
    (_PROPERTY, _property),
    (_PROPERTY_NAME, _property_name),
)
