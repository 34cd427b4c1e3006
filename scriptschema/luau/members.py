"""The table of Luau's globals and library members, and how each is called.

Each line is a signature. A member that can be called in several ways has several lines:

    clamp(number, -8..0, 1..20@end) -> number

The parameter `kind?` is optional, and `...kind` may be repeated any number of times. A line without
parentheses is a field. `library.KINDS` describes each kind. `0..8` means a whole number in that
range, `0..8i` a 64-bit integer in that range, `"!*t"` exactly that string, `vector.zero` exactly
that field, and `function(number) -> boolean` a function with that signature.

Marks follow `!`: `varies` (the result differs between runs, or in its last digit between engines),
`fails` (the call may raise an error even with valid arguments), `yields` (the call may yield),
`untyped` (the call runs, but Luau's type checker rejects it). A member that is newer than the
schema is marked with the version that introduced it, such as `0.701`. If it was later removed, the
mark has both versions, such as `0.701..0.720`.

The role of a number follows `@`, and determines the values at which the behaviour may change: `at`
is an index, and `end` is the last index of a range that begins at `at`. See `library.ROLES`.

The kinds are narrow enough that every call with valid arguments returns, unless it is marked
`fails`. The order of globals and members in `_TABLE` is the order of their indexes in trees, and
must not change. New members go to the end of `_NEWER`, whose names have separate indexes
(`names.NEWER`).

Source: https://luau.org/library, https://github.com/luau-lang/luau/releases, and the real Luau,
against which the tests check this table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from scriptschema.versions import Span, Version

_TABLE: Final = {
    "": """
        print(...scalar)
        type(value) -> string
        typeof(value) -> string
        tostring(any) -> string ! varies
        tostring(number) -> string
        tostring(boolean) -> string
        tonumber(numeral) -> optional
        tonumber(digits, 2..36@base) -> optional
        select(1..3, scalar, scalar, scalar, ...scalar) -> scalar
        select("#", ...scalar) -> integer
        next(array) -> integer, number
        pairs(map) -> iterator
        ipairs(array) -> iterator
        rawequal(any, any) -> boolean
        rawget(map, string) -> optional
        rawlen(array) -> integer
        rawlen(string) -> integer
        rawset(record, string, scalar) -> any
        getmetatable(any) -> any ! untyped
        getmetatable(object) -> any
        setmetatable(record, metatable) -> object
        newproxy(boolean?) -> any
        assert(number, ...scalar) -> number ! untyped
        assert(number) -> number
        assert(number, short) -> number, string
        error(scalar, 0..2?) ! fails
        pcall(callable, ...scalar) -> boolean, any ! yields untyped
        pcall(callable) -> boolean, any ! yields
        xpcall(callable, function(any) -> any, ...scalar) -> boolean, any ! yields untyped
        xpcall(callable, function(any) -> any) -> boolean, any ! yields
        unpack(array) -> optional
        unpack(row, 1..2@at, 2..5@end) -> number
        gcinfo() -> number ! varies
        getfenv(callable) -> any
        getfenv(0..1?) -> any
        setfenv(callable, record) -> function
        _G -> any
        _VERSION -> string ! varies
    """,
    "math": """
        abs(number) -> number
        acos(number) -> number
        asin(number) -> number
        atan(number) -> number
        atan2(number, number) -> number
        ceil(number) -> number
        clamp(number, -8..0, 1..20@end) -> number
        cos(number) -> number
        cosh(number) -> number
        deg(number) -> number
        exp(number) -> number
        floor(number) -> number
        fmod(number, number) -> number
        frexp(number) -> number, number
        huge -> number
        ldexp(number, -8..20@exponent) -> number
        lerp(number, number, number) -> number
        log(number, number?) -> number
        log(number, 2..10@base) -> number
        log10(number) -> number
        map(number, 0..4, 5..9, number, number) -> number
        max(number, ...number) -> number
        min(number, ...number) -> number
        modf(number) -> number, number
        noise(integer, integer?, integer?) -> number
        pi -> number
        pow(number, number) -> number
        pow(number, 0..3) -> number
        rad(number) -> number
        random() -> number ! varies
        random(1..9) -> integer ! varies
        random(-9..0, 1..9) -> integer ! varies
        randomseed(integer)
        round(number) -> number
        sign(number) -> number
        sin(number) -> number
        sinh(number) -> number
        sqrt(number) -> number
        tan(number) -> number
        tanh(number) -> number
    """,
    "string": """
        byte(string, integer@at?, integer@end?) -> optional, optional
        char(32..126@byte, ...0..255@byte) -> string
        find(string, pattern, integer@at?) -> optional, optional, scalar
        find(string, short, 1..3@at, true) -> optional, optional
        format(format) -> string
        gmatch(string, pattern) -> iterator
        gsub(string, pattern, replacement, 0..3@count?) -> string, integer
        len(string) -> integer
        lower(string) -> string
        match(string, pattern, integer@at?) -> scalar
        pack(pack) -> string
        packsize(fixed) -> integer
        rep(short, 0..9@count) -> string
        rep(short, 0..9@count, short) -> string ! untyped
        reverse(string) -> string
        split(string, short?) -> strings
        sub(string, integer@at, integer@end?) -> string
        unpack(packed) -> scalar
        upper(string) -> string
    """,
    "table": """
        clear(row)
        clone(array) -> array
        clone(map) -> map
        concat(array, short?) -> string
        concat(strings, short?) -> string
        concat(row, short, 1..3@at, 2..6@end) -> string
        create(0..9@count, number) -> array
        find(array, number, 1..3@at?) -> optional
        find(strings, string) -> optional
        foreach(map, function(any, any) -> nil)
        foreach(row, function(any, any) -> any) -> any
        foreachi(array, function(any, any) -> nil)
        foreachi(row, function(any, any) -> any) -> any
        freeze(row) -> array
        getn(array) -> integer
        insert(row, number)
        insert(row, 1..7@at, number)
        isfrozen(array) -> boolean
        maxn(array) -> number
        move(row, 1..3@first, 2..5@last, 1..4@at) -> array
        move(array, 1..1@first, 1..1@last, 1..1@at, row) -> array
        pack(...scalar) -> any ! untyped
        pack(...number) -> any
        remove(row, 1..6@at?) -> optional
        sort(row)
        sort(row, function(number, number) -> order)
        unpack(array) -> optional
        unpack(row, 1..2@at, 2..5@end) -> number
    """,
    "bit32": """
        arshift(integer, -3..31@shift) -> number
        band(...integer) -> number
        bnot(integer) -> number
        bor(...integer) -> number
        btest(integer, ...integer) -> boolean
        bxor(...integer) -> number
        byteswap(integer) -> number
        countlz(integer) -> integer
        countrz(integer) -> integer
        extract(integer, 0..15@bit, 1..16@width?) -> number
        lrotate(integer, -3..40@shift) -> number
        lshift(integer, -3..40@shift) -> number
        replace(integer, integer, 0..15@bit, 1..16@width?) -> number
        rrotate(integer, -3..40@shift) -> number
        rshift(integer, -3..40@shift) -> number
    """,
    "buffer": """
        copy(buffer, 0..8@offset, buffer, 0..8@offset, 0..8@extent)
        create(16..40@count) -> buffer
        fill(buffer, 0..4@offset, 0..255@byte, 0..8@extent?)
        fromstring(text) -> buffer
        len(buffer) -> integer
        readbits(buffer, 0..64@bit_offset, 0..32@bits) -> number
        readf32(buffer, 0..12@offset4) -> number
        readf64(buffer, 0..8@offset8) -> number
        readi16(buffer, 0..14@offset2) -> integer
        readi32(buffer, 0..12@offset4) -> number
        readi8(buffer, 0..15@offset1) -> integer
        readstring(buffer, 0..8@offset, 0..8@extent) -> string
        readu16(buffer, 0..14@offset2) -> integer
        readu32(buffer, 0..12@offset4) -> number
        readu8(buffer, 0..15@offset1) -> integer
        tostring(buffer) -> string
        writebits(buffer, 0..64@bit_offset, 0..32@bits, integer@word)
        writef32(buffer, 0..12@offset4, number@float)
        writef64(buffer, 0..8@offset8, number@float)
        writei16(buffer, 0..14@offset2, integer@word)
        writei32(buffer, 0..12@offset4, integer@word)
        writei8(buffer, 0..15@offset1, integer@word)
        writestring(buffer, 0..8@offset8, eight, 0..8?)
        writeu16(buffer, 0..14@offset2, integer@word)
        writeu32(buffer, 0..12@offset4, integer@word)
        writeu8(buffer, 0..15@offset1, integer@word)
    """,
    "coroutine": """
        close(routine) -> boolean, any
        create(callable) -> thread
        isyieldable() -> boolean ! varies
        resume(routine, ...scalar) -> boolean, scalar
        running() -> any
        status(thread) -> scalar
        wrap(callable) -> function
        yield(...scalar) -> any ! yields
    """,
    "debug": """
        info(callable, inquiry) -> any ! varies
        info(0..3, inquiry) -> any ! varies
        info(thread, 0..1, inquiry) -> any ! varies
        traceback() -> string ! varies
        traceback(string, 0..3?) -> string ! varies
        traceback(thread, string?, 0..1?) -> string ! varies
    """,
    "os": """
        clock() -> number ! varies
        date(time?) -> string ! varies
        date(time, 0..9999) -> string
        date("!*t", 0..9999) -> any
        date("*t", 0..9999) -> any
        difftime(integer, integer) -> number
        time() -> number ! varies
        time(date) -> number
    """,
    "utf8": """
        char(32..126@code, ...0..9999@code) -> string
        charpattern -> string
        codepoint(utf8, 1..1@at?) -> integer
        codes(utf8) -> iterator
        len(string) -> scalar
        len(utf8, 1..1@at, -1..-1@end) -> optional, optional
        offset(utf8, -2..3@at) -> optional
    """,
    "vector": """
        abs(vector) -> vector
        angle(vector, vector, vector?) -> number
        ceil(vector) -> vector
        clamp(vector, vector.zero, vector.one) -> vector
        create(number, number, number) -> vector
        create(integer, integer) -> vector
        cross(vector, vector) -> vector
        dot(vector, vector) -> number
        floor(vector) -> vector
        lerp(vector, vector, number) -> vector ! 0.688
        magnitude(vector) -> number ! varies
        max(vector, ...vector) -> vector
        min(vector, ...vector) -> vector
        normalize(vector) -> vector
        one -> vector
        sign(vector) -> vector
        zero -> vector
    """,
}

_NEWER: Final = """
    math.isnan(number) -> boolean ! 0.701
    math.isinf(number) -> boolean ! 0.701
    math.isfinite(number) -> boolean ! 0.701
    math.nan -> number ! 0.711
    math.e -> number ! 0.711
    math.phi -> number ! 0.711
    math.sqrt2 -> number ! 0.711
    math.tau -> number ! 0.711
    buffer.readinteger(buffer, 0..8@offset8) -> int64 ! 0.715
    buffer.writeinteger(buffer, 0..8@offset8, int64) ! 0.715 untyped
    integer.create(integer) -> int64 ! 0.715 untyped
    integer.create(number) -> any ! 0.715
    integer.fromstring(digits, 2..36@base?) -> int64 ! 0.715 untyped
    integer.fromstring(string, 2..36@base?) -> any ! 0.715
    integer.tonumber(int64) -> number ! 0.715
    integer.neg(int64) -> int64 ! 0.715
    integer.bnot(int64) -> int64 ! 0.715
    integer.bswap(int64) -> int64 ! 0.715
    integer.countlz(int64) -> int64 ! 0.715
    integer.countrz(int64) -> int64 ! 0.715
    integer.add(int64, int64) -> int64 ! 0.715
    integer.sub(int64, int64) -> int64 ! 0.715
    integer.mul(int64, int64) -> int64 ! 0.715
    integer.div(int64, 1..9i) -> int64 ! 0.715
    integer.idiv(int64, 1..9i) -> int64 ! 0.715
    integer.mod(int64, 1..9i) -> int64 ! 0.715
    integer.rem(int64, 1..9i) -> int64 ! 0.715
    integer.udiv(int64, 1..9i) -> int64 ! 0.715
    integer.urem(int64, 1..9i) -> int64 ! 0.715
    integer.lt(int64, int64) -> boolean ! 0.715
    integer.le(int64, int64) -> boolean ! 0.715
    integer.gt(int64, int64) -> boolean ! 0.715
    integer.ge(int64, int64) -> boolean ! 0.715
    integer.ult(int64, int64) -> boolean ! 0.715
    integer.ule(int64, int64) -> boolean ! 0.715
    integer.ugt(int64, int64) -> boolean ! 0.715
    integer.uge(int64, int64) -> boolean ! 0.715
    integer.min(int64, ...int64) -> int64 ! 0.715
    integer.max(int64, ...int64) -> int64 ! 0.715
    integer.band(...int64) -> int64 ! 0.715
    integer.bor(...int64) -> int64 ! 0.715
    integer.bxor(...int64) -> int64 ! 0.715
    integer.btest(...int64) -> boolean ! 0.715
    integer.lshift(int64, int64) -> int64 ! 0.715
    integer.rshift(int64, int64) -> int64 ! 0.715
    integer.arshift(int64, int64) -> int64 ! 0.715
    integer.lrotate(int64, int64) -> int64 ! 0.715
    integer.rrotate(int64, int64) -> int64 ! 0.715
    integer.extract(int64, 0..40i, 1..20i?) -> int64 ! 0.715
    integer.replace(int64, int64, 0..40i, 1..20i?) -> int64 ! 0.715
    integer.clamp(int64, -8..0i, 1..20i) -> int64 ! 0.715
    integer.maxsigned -> int64 ! 0.715
    integer.minsigned -> int64 ! 0.715
"""
"""Members that are newer than the schema, oldest first."""


LINES: Final[dict[str, list[str]]] = {
    library: [line.strip() for line in text.strip().splitlines()]
    for library, text in _TABLE.items()
}
"""The signature lines of each library. The key "" holds the lines of the globals."""

_SPAN: Final = re.compile(r"! .*?\b(0\.\d+)(?:\.\.(0\.\d+))?")
_NAME: Final = re.compile(r"\w+")

MEMBERS: Final[Mapping[str, tuple[str, ...]]] = {
    library: tuple(dict.fromkeys(_NAME.findall(line)[0] for line in lines))
    for library, lines in LINES.items()
}
"""The names that the schema's indexes refer to, by library. The key "" holds the globals."""


def span_of(line: str) -> Span | None:
    """Return the Luau versions that have the member in a signature line, or None if all have it."""
    match = _SPAN.search(line)
    return Span(*map(Version.parse, filter(None, match.groups()))) if match else None


def _read_newer() -> dict[tuple[str, str], Span]:
    """Add the lines of `_NEWER` to `LINES`. Return the versions that have each new member."""
    spans: dict[tuple[str, str], Span] = {}
    for text in _NEWER.strip().splitlines():
        library, line = text.strip().split(".", 1)
        span = span_of(line) or Span()
        if library not in MEMBERS:
            spans.setdefault(("", library), span)
        spans.setdefault((library, _NAME.findall(line)[0]), span)
        LINES.setdefault(library, []).append(line)
    return spans


NEWER_MEMBERS: Final[Mapping[tuple[str, str], Span]] = _read_newer()
"""The versions of each member in `_NEWER`, by library and name. New libraries are included, under
the library ""."""
