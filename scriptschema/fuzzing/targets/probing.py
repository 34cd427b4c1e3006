"""Probes a target: its version, its globals and library members, and the syntax it supports.

It runs programs, because version numbers do not cover flags and other builds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

import attrs

from scriptschema.fuzzing.targets import outcome
from scriptschema.fuzzing.targets.base import Sources, Target
from scriptschema.fuzzing.targets.description import Description
from scriptschema.fuzzing.targets.opening import open_target, version_of_target
from scriptschema.luau.library import SIGNATURES
from scriptschema.luau.members import NEWER_MEMBERS
from scriptschema.luau.names import DEFAULT
from scriptschema.versions import SEED, TODAY, Version

SYNTAX: Final[Mapping[str, str]] = MappingProxyType(
    {
        "ExprBinary.Op.FloorDiv": "local a = 7 // 2",
        "ExprIfElse": "local a = if 1 then 2 else 3",
        "ExprInterpString": "local a = `{1}`",
        "StatCompoundAssign": "local a = 1 a += 1",
        "StatContinue": "for i = 1, 2 do continue end",
        "StatTypeAlias": "type T = number",
    }
)
"""Syntax that not every version supports: its name in a tree, and a program that uses it."""

NEWER: Final = (
    (Version(677), "type function f(t) return t end"),
    (Version(677), "@native local function f() end"),
    (Version(677), "type T = {read a: number} local a = 1.5 a //= 2"),
    (Version(687), "@[native] local function f() end"),
    (Version(701), "local function f() end f<<number>>()"),
    (Version(711), "const a = 1"),
    (Version(715), "local a = 5i"),
    (Version(723), "export local a = 1"),
)
"""Programs with syntax that only newer versions of Luau have, or that the seed's schema lacks."""

SPELLINGS: Final = "spellings"
"""The name of the syntax that programs in a style need."""

_PROBES: Final = {
    **SYNTAX,
    SPELLINGS: """local a = {'a' .. "\\x41\\65\\u{41}\\z
  b" .. [==[c]==]; 0x1F + 0B1_0 + 1_000 + 1e3 + .5e1 + 1.,}; --[==[
d]==] type"a"; type{1}; type[[]] --e
""",
}

_BASIC: Final = {
    "if": "if 1 then end",
    "while": "while nil do end",
    "for": "for i = 1, 1 do end",
    "function": "local function f() end f()",
    "a table": "local t = {1}",
    "a string": "local s = 'a'",
}
"""Programs with features of every version of Luau, by name."""

_BEGIN: Final = "probe 2"
_END: Final = "probe 3"


@attrs.frozen
class Probed:
    """A target's properties; `missing` has globals, `library.member`s and syntax it lacks.

    `runs` is whether it runs programs, instead of only reading them. `luau` is the newest version
    of Luau that it fully supports (see `versions.Version`), None if only the seed's schema is known
    to be supported. `missing` does not include features of versions after that. `fails` names
    features of every version of Luau with which every program fails.
    """

    target: str
    version: str = ""
    missing: tuple[str, ...] = ()
    runs: bool = False
    luau: Version | None = None
    fails: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return all fields as JSON data."""
        luau = None if self.luau is None else str(self.luau)
        return {
            **attrs.asdict(self),
            "missing": [*self.missing],
            "luau": luau,
            "fails": [*self.fails],
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Probed:
        """Invert `as_json`. Raises KeyError or TypeError for other data."""
        luau = value.get("luau")
        return cls(
            value["target"],
            value["version"],
            tuple(value["missing"]),
            bool(value.get("runs", False)),
            None if luau is None else Version(int(luau.partition(".")[2])),
            tuple(value.get("fails", ())),
        )

    def __str__(self) -> str:
        known = f"{self.target} ({self.version})" if self.version else self.target
        if self.luau is not None:
            known += f", Luau {self.luau}"
        whole = [name for name in self.missing if name in DEFAULT.libraries]
        rest = [name for name in self.missing if name.partition(".")[0] not in whole]
        lacks = ", ".join([*whole, *rest])
        known = f"{known}: lacks {lacks}" if lacks else known
        if not self.fails:
            return known
        failing = ", or ".join(self.fails)
        return (
            f"{known}; every program with {failing} fails: if that is a crash, give --crash REGEX"
        )


def probe(description: Description) -> Probed:
    """Probe a target; one that does not run the probe is assumed to have everything.

    Raises TargetError.
    """
    target = open_target(description)
    try:
        printed = _printed(target, description)
        lacked = _missing_names(printed)
        lacks = _missing_syntax(target, description)
        fails = _failing(target, description) if lacks else []
        if "if" in fails:
            lacks = [name for name in lacks if name != "ExprIfElse"]  # which proves nothing then
        missing = dict.fromkeys([*lacked, *lacks])
        # A target that only reads programs may accept anything, so its version stays unknown.
        runs, luau = None not in printed, None
        if runs and not lacks:
            luau = version_of(missing, _newer_syntax(target, description))
    finally:
        target.close()
    version = version_of_target(description)
    older = tuple(name for name in missing if name not in _SPANS)
    return Probed(description.name, version, older, runs, luau, tuple(fails))


def version_of(missing: Collection[str], syntax: Iterable[Version] = ()) -> Version | None:
    """Return the newest version with no missing feature; None if before the seed's schema.

    `missing` are names that the target lacks, `syntax` versions that introduced missing syntax.
    """
    left_out = {name for name in DEFAULT.libraries if name in missing}  # missing as a whole
    lacks = [
        span.since
        for name, span in _SPANS.items()
        if name in missing and name.partition(".")[0] not in left_out
    ]
    first = min([*lacks, *syntax], default=Version(TODAY.number + 1))
    return Version(first.number - 1) if first > SEED else None


_SPANS: Final = {
    **{str(one): one.span for one in SIGNATURES if one.span},
    **{name: span for (owner, name), span in NEWER_MEMBERS.items() if not owner},
}
"""The versions of members and libraries that were added later."""


def names() -> Iterator[str]:
    """Yield all known globals and members, each library before its members."""
    for name in DEFAULT.globals:
        yield name
        yield from (f"{name}.{member}" for member in DEFAULT.libraries.get(name, ()))
    yield from (f"{owner}.{name}" if owner else name for owner, name in NEWER_MEMBERS)


def program() -> str:
    """Return a program for any Luau version that prints the numbers of existing `names`."""
    lines = ["local print = print", 'print("probe " .. 1 + 1)']
    for number, name in enumerate(names()):
        library, dot, _ = name.partition(".")
        guard = f"{library} ~= nil and {name}" if dot else name
        lines.append(f'if {guard} ~= nil then print("has {number}") end')
    return "\n".join([*lines, 'print("probe " .. 1 + 2)', ""])


def _printed(target: Target, description: Description) -> list[set[str] | None]:
    """Return the lines that each variant prints; None for a variant that does not run the probe."""
    target.submit(Sources(None, program()), max(description.seconds, 10))
    printed = [{line.strip() for line in found.output.splitlines()} for found in target.collect()]
    return [lines if {_BEGIN, _END} <= lines else None for lines in printed]


def _missing_names(printed: list[set[str] | None]) -> Iterator[str]:
    for lines in filter(None, printed):
        for number, name in enumerate(names()):
            if f"has {number}" not in lines:
                yield name


def _reads(target: Target, description: Description, source: str) -> bool:
    target.submit(Sources(None, source), max(description.seconds, 10))
    # A crash does not prove that the syntax is unsupported: it is a bug for programs to find.
    refused = {outcome.ERROR, outcome.REJECTED}
    return all(found.kind not in refused for found in target.collect())


def _missing_syntax(target: Target, description: Description) -> list[str]:
    if _reads(target, description, "\n".join(f"do {source} end" for source in _PROBES.values())):
        return []
    return [name for name, source in _PROBES.items() if not _reads(target, description, source)]


def _failing(target: Target, description: Description) -> list[str]:
    """Return features of every version of Luau that this target refuses."""
    return [name for name, source in _BASIC.items() if not _reads(target, description, source)]


def _newer_syntax(target: Target, description: Description) -> Iterator[Version]:
    """Yield the first version that introduced syntax that a target lacks, if any."""
    for version, source in NEWER:
        if not _reads(target, description, source):
            yield version
            return
