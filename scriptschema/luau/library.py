"""Signatures: the parameters and results of each of Luau's globals and library members, as data.

`SIGNATURES` is read from the table in `members.py`. `KINDS` describes each kind in that table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

import attrs

from scriptschema.luau.members import LINES, span_of
from scriptschema.versions import Span

KINDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "any": "any value, nil included",
        "value": "any value but nil",
        "number": "a number of any size, including infinity and NaN",
        "integer": "a whole number with few digits",
        "int64": "a 64-bit integer of type `integer`, which is not a `number` and is not accepted "
        "by arithmetic operators",
        "string": "a string",
        "boolean": "true or false",
        "array": "a table of numbers, without holes",
        "strings": "a table of strings, without holes",
        "map": "a table of integers with string keys",
        "object": "a table with a metatable",
        "function": "a function",
        "buffer": "a buffer of at least 16 bytes",
        "vector": "a vector",
        "thread": "a coroutine",
        "optional": "a number or nil",
        "nil": "nil",
        "scalar": "a number, a string, a boolean or nil",
        # Only for arguments, which are created for the call:
        "edge": "a number that may be an edge case: a fraction, negative, huge or NaN",
        "callable": "a function that can be called with any arguments, or with none",
        "row": "a new table of six numbers",
        "record": "a new table with fields",
        "metatable": "a new table with metamethods",
        "date": "a new table with year, month and day",
        "routine": "a new coroutine that has not been started",
        "short": "a short string",
        "eight": "a string constant of eight characters",
        "text": "a string constant of sixteen characters or more",
        "utf8": "a string constant that is valid UTF-8 and not empty",
        "numeral": "a string constant that can be read as a number",
        "digits": "a string constant that is a valid number in any base",
        "pattern": "a string constant that is a Lua pattern",
        "replacement": "the replacement argument of `string.gsub`: a string, a table or a function",
        "format": "a format for `string.format`, with arguments that fit it",
        "time": "a format for `os.date`",
        "pack": "a format for `string.pack`, with arguments that fit it",
        "fixed": "a format for `string.pack` in which each item has a fixed size",
        "packed": "a format for `string.unpack`, and a string packed with that format",
        "inquiry": "a string constant made of the letters that `debug.info` accepts",
        # Only for results:
        "iterator": "what a generic `for` iterates over, as one or more values",
        "order": "whether the first number comes before the second",
    }
)
"""A description of each kind. The kinds for both arguments and results come first, then the kinds
only for arguments, and then the kinds only for results."""

Limits = Callable[[int, int], tuple[int, ...]]
"""A function that returns the limits of a numeric argument: the values at which the behaviour of
the called function changes. It takes the length of the call's first argument, and the value of the
preceding numeric argument. For the role `end`, for example, this is the value of `at`."""


@attrs.frozen
class Role:
    """The meaning of a numeric argument: a description, and the limits at which behaviour changes.

    `is_float` is true if the called function stores the bits of the number. NaN is then avoided,
    because its bits vary. `is_looped` is true if the function visits every number up to this one,
    so the number must not be huge. `is_added` is true if Luau adds the number to another number as
    a C `int`. A huge number would overflow, which is undefined in C: the result would depend on
    whether Luau calls the function in the ordinary way or directly, as a builtin.
    """

    what: str
    limits: Limits
    is_float: bool = False
    is_looped: bool = False
    is_added: bool = False


ROLES: Final[Mapping[str, Role]] = MappingProxyType(
    {
        "at": Role(
            "a position, counted from 1, or from the end if negative", lambda n, _: (0, n, -n)
        ),
        "end": Role("the last position of a range", lambda n, before: (before, n, -1)),
        "first": Role(
            "the first position that is visited", lambda n, _: (0, n, -n), is_looped=True
        ),
        "last": Role(
            "the last position that is visited", lambda n, before: (before, n), is_looped=True
        ),
        "count": Role("how many", lambda n, _: (0, n)),
        "base": Role("a base", lambda *_: (2, 10, 36)),
        "exponent": Role("an exponent of 2", lambda *_: (0, 1023, -1022, -1074)),
        "bit": Role("the first bit, from 0 to 31", lambda *_: (0, 31), is_added=True),
        "width": Role(
            "how many bits, starting at `@bit`", lambda _, before: (1, 32 - before), is_added=True
        ),
        "shift": Role("how many bits to shift or rotate by", lambda *_: (0, 31, -31)),
        "byte": Role("a byte", lambda *_: (0, 255)),
        "code": Role("a code point", lambda *_: (0x7F, 0x7FF, 0xD7FF, 0xFFFF, 0x10FFFF)),
        "word": Role("a number of 8, 16 or 32 bits", lambda *_: (0, 127, 255, -128, 65535)),
        "float": Role("a number to store", lambda *_: (0, 1 << 24), is_float=True),
        "offset": Role("a byte, from 0", lambda n, _: (0, n)),
        "extent": Role("how many bytes, starting at `@offset`", lambda n, before: (0, n - before)),
        "offset1": Role("a byte, from 0", lambda n, _: (0, n - 1)),
        "offset2": Role("the first of 2 bytes", lambda n, _: (0, n - 2)),
        "offset4": Role("the first of 4 bytes", lambda n, _: (0, n - 4)),
        "offset8": Role("the first of 8 bytes", lambda n, _: (0, n - 8)),
        "bit_offset": Role("a bit, from 0", lambda n, _: (0, 8 * n)),
        "bits": Role(
            "how many bits, starting at `@bit_offset`",
            lambda n, before: (0, 32, 8 * n - before),
        ),
    }
)
"""The roles of numbers, by the name that follows `@` in `members.py`."""


@attrs.frozen
class Parameter:
    """A parameter: its kind, and whether it is optional or repeated.

    `bounds` are the smallest and the largest value of a `range` (numbers) or `range64` (64-bit
    integers). `role` is a key of `ROLES`, or empty. `function` is the signature of a parameter that
    is a function.
    """

    kind: str
    optional: bool = False
    repeated: bool = False
    bounds: tuple[int, int] | None = None
    function: Signature | None = None
    role: str = ""

    @property
    def is_number(self) -> bool:
        """Return whether the parameter is a number."""
        return self.kind in ("range", "number", "integer")

    def limits(self, length: int, before: int) -> tuple[int, ...]:
        """Return the values at which the function's behaviour changes: see `Limits`."""
        if self.role:
            return ROLES[self.role].limits(length, before)
        return self.bounds or (0,)


@attrs.frozen
class Signature:
    """One way to use a global or a member of a library.

    `library` is empty for a global. `parameters` is None for a field. `marks` are the member's
    marks in `members.py`, without the versions. `span` is the range of versions that have the
    member, or None if every version has it.
    """

    library: str
    name: str
    parameters: tuple[Parameter, ...] | None
    results: tuple[str, ...]
    marks: frozenset[str] = frozenset()
    span: Span | None = None

    def __str__(self) -> str:
        return f"{self.library}.{self.name}" if self.library else self.name


_LINE: Final = re.compile(r"(\w+)(?:\((.*)\))?(?: -> ([\w, ]+))?(?: ! ([\w. ]+))?")
_PARAMETER: Final = re.compile(
    r"(?P<rest>\.\.\.)?"
    r"(?:function\((?P<taken>[\w, ]*)\) -> (?P<given>\w+)"
    r"|(?P<low>-?\d+)\.\.(?P<high>-?\d+)(?P<long>i)?"
    r'|(?P<kind>[\w.]+|"[^"]*"))(?:@(?P<role>\w+))?(?P<optional>\?)?'
)


def _parameters(text: str) -> Iterator[Parameter]:
    position = 0
    while position < len(text):
        match = _PARAMETER.match(text, position)
        if match is None:
            raise ValueError(f"not a parameter: {text[position:]}")
        bounds = function = None
        kind = match["kind"]
        if match["low"]:
            kind = "range64" if match["long"] else "range"
            bounds = int(match["low"]), int(match["high"])
        elif match["given"]:
            accepted = tuple(Parameter(part) for part in match["taken"].split(", "))
            kind, function = "function", Signature("", "", accepted, (match["given"],))
        role = match["role"] or ""
        yield Parameter(kind, bool(match["optional"]), bool(match["rest"]), bounds, function, role)
        position = match.end() + len(", ")


def _signatures() -> Iterator[Signature]:
    for library, lines in LINES.items():
        for line in lines:
            match = _LINE.fullmatch(line)
            if match is None:
                raise ValueError(f"not a signature: {line}")
            name, parameters, results, marks = match.groups(default="")
            yield Signature(
                library,
                name,
                None if match[2] is None else tuple(_parameters(parameters)),
                tuple(results.split(", ")) if results else (),
                frozenset(mark for mark in marks.split() if mark.isalpha()),
                span_of(line),
            )


SIGNATURES: Final[tuple[Signature, ...]] = tuple(_signatures())
"""Every way to call every member, in the order of the tables."""
