"""Probes a target: its version, its globals and library members, and the syntax it supports.

It is probed by running programs, because version numbers do not cover flags and other builds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

import attrs

from scriptschema.fuzzing.targets import outcome
from scriptschema.fuzzing.targets.base import Sources, Target
from scriptschema.fuzzing.targets.description import Description
from scriptschema.fuzzing.targets.opening import open_target, version_of_target
from scriptschema.luau.names import DEFAULT

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

SPELLINGS: Final = "spellings"
"""The name of what programs in a style need."""

_PROBES: Final = {
    **SYNTAX,
    SPELLINGS: """local a = {'a' .. "\\x41\\65\\u{41}\\z
  b" .. [==[c]==]; 0x1F + 0B1_0 + 1_000 + 1e3 + .5e1 + 1.,}; --[==[
d]==] type"a"; type{1}; type[[]] --e
""",
}

_BEGIN: Final = "probe 2"
_END: Final = "probe 3"


@attrs.frozen
class Probed:
    """A target's properties; `missing` has globals, `library.member`s and syntax it lacks.

    `runs` says that it runs programs, and does not only read them.
    """

    target: str
    version: str = ""
    missing: tuple[str, ...] = ()
    runs: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return all fields as JSON data."""
        return {**attrs.asdict(self), "missing": [*self.missing]}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Probed:
        """Invert `as_json`. Raises KeyError or TypeError for other data."""
        runs = bool(value.get("runs", False))
        return cls(value["target"], value["version"], tuple(value["missing"]), runs)

    def __str__(self) -> str:
        known = f"{self.target} ({self.version})" if self.version else self.target
        whole = [name for name in self.missing if name in DEFAULT.libraries]
        rest = [name for name in self.missing if name.partition(".")[0] not in whole]
        lacks = ", ".join([*whole, *rest])
        return f"{known}: lacks {lacks}" if lacks else known


def probe(description: Description) -> Probed:
    """Probe a target; one that does not run the probe is assumed to have everything.

    Raises TargetError.
    """
    target = open_target(description)
    try:
        printed = _printed(target, description)
        missing = [*_missing_names(printed), *_missing_syntax(target, description)]
    finally:
        target.close()
    version, runs = version_of_target(description), None not in printed
    return Probed(description.name, version, tuple(dict.fromkeys(missing)), runs)


def names() -> Iterator[str]:
    """Yield all known globals and members, each library before its members."""
    for name in DEFAULT.globals:
        yield name
        yield from (f"{name}.{member}" for member in DEFAULT.libraries.get(name, ()))


def program() -> str:
    """Return a program for any Luau version that prints the numbers of existing `names`."""
    lines = ["local print = print", 'print("probe " .. 1 + 1)']
    for number, name in enumerate(names()):
        library, dot, _ = name.partition(".")
        guard = f"{library} ~= nil and {name}" if dot else name
        lines.append(f'if {guard} ~= nil then print("has {number}") end')
    return "\n".join([*lines, 'print("probe " .. 1 + 2)', ""])


def _printed(target: Target, description: Description) -> list[set[str] | None]:
    """Return the lines that each variant prints, None for one that does not run the probe."""
    target.submit(Sources(None, program()), max(description.seconds, 10))
    printed = [{line.strip() for line in found.output.splitlines()} for found in target.collect()]
    return [lines if {_BEGIN, _END} <= lines else None for lines in printed]


def _missing_names(printed: list[set[str] | None]) -> Iterator[str]:
    for lines in filter(None, printed):
        for number, name in enumerate(names()):
            if f"has {number}" not in lines:
                yield name


def _missing_syntax(target: Target, description: Description) -> Iterator[str]:
    def reads(source: str) -> bool:
        target.submit(Sources(None, source), max(description.seconds, 10))
        # A crash does not prove that the syntax is unsupported: it is a bug for programs to find.
        refused = {outcome.ERROR, outcome.REJECTED}
        return all(found.kind not in refused for found in target.collect())

    if not reads("\n".join(f"do {source} end" for source in _PROBES.values())):
        yield from (name for name, source in _PROBES.items() if not reads(source))
