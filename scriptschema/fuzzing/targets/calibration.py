"""Programs known to be valid or erroneous, which show how a target normally reports errors.

A command may report errors in programs by an exit status or by an uncaught exception. The statuses
and exceptions that it uses for these erroneous programs are normal. All others are bugs in the
target.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Final

import attrs

RIGHT: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "an if statement": (
            "if 1 then end",
            "local a = 1 if a then print(a) elseif nil then print(2) else print(3) end",
        ),
        "a while loop": ("while nil do end", "local a = 1 while a do print(a) a = nil end"),
        "a repeat loop": ("repeat until 1", "local a repeat a = 1 print(a) until a"),
        "a numeric for loop": ("for i = 1, 1 do end", "for a = 3, 1, -1 do print(a) end"),
        "a generic for loop": (
            "for k in pairs({}) do end",
            "for i, v in ipairs({1}) do print(i, v) end",
        ),
        "a local function": (
            "local function f() end f()",
            "local function f(a) return a end print(f(1))",
        ),
        "a function with `...`": (
            "local function f(...) end f()",
            "local function f(...) print(...) end f(1, 2)",
        ),
        "a table": ("local t = {}", "local t = {1, a = 2} print(t.a, t[1])"),
        "a string": ("local s = 'a'", 'local s = "a b" print(s)'),
        "a method call": ("local t = {f = print} t:f()", 'local s = "a" print(s:rep(2))'),
        "arithmetic": ("print(1 + 2)", "local a = 7 print(-a * 2 / 3 - a % 2)"),
        "a comparison": ("print(1 == 2)", "local a = 7 print(a < 8, a >= 7, a ~= 1)"),
        "`and`, `or` or `not`": ("print(1 and 2)", "local a print(not a, a or 1)"),
        "a concatenation": ('print("a" .. "b")', 'local a = 1 print("a" .. a .. "b")'),
        "pcall": ("print(pcall(print))", 'local a = pcall(error, "x") print(a)'),
    }
)
"""Features of every Luau version, each with two programs that use it and little else."""

_ONE: Final = "--!strict\nlocal a: number = 'a'\n"

WRONG: Final = (
    *("print(1 2", "local s = 'a", "break", "local a = ", "print(-{})", _ONE),
    *('error("wrong")', "error({})", "local a print(a.b)", "local a a()", "local a = {} < {}"),
    "local function f() return 1 + f() end print(f())",
    " ".join(f"local v{number} = {number}" for number in range(300)),
)
"""Programs that do not compile or that end with an error when run."""

SEVERAL: Final = _ONE * 3
"""A program with several errors. The exit status of some commands is the number of errors."""


@attrs.frozen
class Normal:
    """The exit statuses and uncaught exception classes that normally report a program's errors.

    If `statuses` is None, any status is normal. If it is empty, only success is.
    """

    exceptions: frozenset[str] = frozenset()
    statuses: frozenset[int] | None = None


@attrs.frozen
class Failed:
    """The failure of an erroneous program: an exit status, an uncaught exception, or both.

    `status` is None if it was 0, or if a signal ended the process. `exception` is the exception's
    class, or None.
    """

    status: int | None
    exception: str | None = None


def learned(wrong: Iterable[Failed], several: Failed | None) -> Normal:
    """Return how a target normally reports errors, as learned from `WRONG` and `SEVERAL`.

    `wrong` are the failures of programs in `WRONG`. `several` is the failure of `SEVERAL`, or None
    if that did not fail. A status that only `several` has may be the number of errors. In that
    case, any status is normal.
    """
    ends = [*wrong]
    exceptions = frozenset(end.exception for end in ends if end.exception is not None)
    statuses = frozenset(end.status for end in ends if end.status is not None)
    if several is not None and several.status not in {None, *statuses}:
        return Normal(exceptions)
    return Normal(exceptions, statuses)


def failures(fails: Mapping[str, str]) -> str:
    """Return text that lists the features whose programs fail, each with its error."""
    texts: dict[str, list[str]] = {}
    for name, error in fails.items():
        texts.setdefault(error, []).append(name)
    return "; ".join(
        f"every program with {_either(names)} fails: {error}" for error, names in texts.items()
    )


def _either(names: Collection[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last
