"""Signatures: what each global and library member of Luau takes and returns, as data.

`SIGNATURES` is read from the table in `members.py`; `KINDS` says what each kind in it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

import attrs

from scriptschema.luau.members import LINES

KINDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "any": "any value, nil included",
        "value": "any value but nil",
        "number": "a number of any size, infinite and not-a-number included",
        "integer": "a whole number of few digits",
        "string": "a string",
        "boolean": "true or false",
        "array": "a table of numbers, without holes",
        "strings": "a table of strings, without holes",
        "map": "a table of integers by string",
        "object": "a table with a metatable",
        "function": "a function",
        "buffer": "a buffer of 16 bytes at least",
        "vector": "a vector",
        "thread": "a coroutine",
        "optional": "a number or nil",
        "nil": "nil",
        "scalar": "a number, a string, a boolean or nil",
        # Only of arguments, which are made for the call:
        "edge": "a number at which something may change: a fraction, negative, huge, no number",
        "callable": "a function that can be called with any arguments, or with none",
        "row": "a new table of six numbers",
        "record": "a new table with fields",
        "metatable": "a new table with metamethods",
        "date": "a new table with year, month and day",
        "routine": "a new coroutine that has not been started",
        "short": "a string of few characters",
        "eight": "a string constant of eight characters",
        "text": "a string constant of sixteen characters or more",
        "utf8": "a string constant that is valid UTF-8 and not empty",
        "numeral": "a string constant that can be read as a number",
        "digits": "a string constant that is a number to each base from 2 on",
        "pattern": "a string constant that is a Lua pattern",
        "replacement": "what `string.gsub` puts in: a string, a table or a function",
        "format": "a format for `string.format`, with arguments that fit it",
        "time": "a format for `os.date`",
        "pack": "a format for `string.pack`, with arguments that fit it",
        "fixed": "a format for `string.pack` whose length is known beforehand",
        "packed": "a format for `string.unpack`, and what `string.pack` made by it",
        "inquiry": "a string constant of the letters that `debug.info` knows",
        # Only of results:
        "iterator": "what a generic `for` iterates over, as one or more values",
        "order": "whether the first number comes before the second",
    }
)
"""What each kind is. A table of numbers by kind comes first, then what only arguments are."""


@attrs.frozen
class Parameter:
    """A parameter: its kind, whether it may be left out, or given any number of times.

    `bounds` are the least and the greatest value of a range; `function` how a function is called.
    """

    kind: str
    optional: bool = False
    repeated: bool = False
    bounds: tuple[int, int] | None = None
    function: Signature | None = None


@attrs.frozen
class Signature:
    """A way to call `library.name`, which is a global if `library` is empty.

    `parameters` is None for a field. `marks` are those of `members.py`.
    """

    library: str
    name: str
    parameters: tuple[Parameter, ...] | None
    results: tuple[str, ...]
    marks: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return f"{self.library}.{self.name}" if self.library else self.name


_LINE: Final = re.compile(r"(\w+)(?:\((.*)\))?(?: -> ([\w, ]+))?(?: ! ([\w ]+))?")
_PARAMETER: Final = re.compile(
    r"(?P<rest>\.\.\.)?"
    r"(?:function\((?P<taken>[\w, ]*)\) -> (?P<given>\w+)"
    r"|(?P<low>-?\d+)\.\.(?P<high>-?\d+)"
    r'|(?P<kind>[\w.]+|"[^"]*"))(?P<optional>\?)?'
)


def _parameters(text: str) -> Iterator[Parameter]:
    position = 0
    while position < len(text):
        found = _PARAMETER.match(text, position)
        if found is None:
            raise ValueError(f"not a parameter: {text[position:]}")
        bounds = function = None
        kind = found["kind"]
        if found["low"]:
            kind, bounds = "range", (int(found["low"]), int(found["high"]))
        elif found["given"]:
            taken = tuple(Parameter(part) for part in found["taken"].split(", "))
            kind, function = "function", Signature("", "", taken, (found["given"],))
        yield Parameter(kind, bool(found["optional"]), bool(found["rest"]), bounds, function)
        position = found.end() + len(", ")


def _signatures() -> Iterator[Signature]:
    for library, lines in LINES.items():
        for line in lines:
            found = _LINE.fullmatch(line)
            if found is None:
                raise ValueError(f"not a signature: {line}")
            name, parameters, results, marks = found.groups(default="")
            yield Signature(
                library,
                name,
                None if found[2] is None else tuple(_parameters(parameters)),
                tuple(results.split(", ")) if results else (),
                frozenset(marks.split()),
            )


SIGNATURES: Final[tuple[Signature, ...]] = tuple(_signatures())
"""Every way to call every member, in the order of the tables."""
