"""Probes a target: its version, its globals and library members, and the syntax it supports.

It does so by running programs, because version numbers do not reflect flags and custom builds.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import closing
from types import MappingProxyType
from typing import Any, Final

import attrs

from scriptschema.fuzzing.targets import outcome
from scriptschema.fuzzing.targets.base import Sources, Target
from scriptschema.fuzzing.targets.calibration import RIGHT, failures
from scriptschema.fuzzing.targets.description import Description
from scriptschema.fuzzing.targets.opening import open_target, version_of_target
from scriptschema.fuzzing.targets.outcome import Outcome
from scriptschema.luau.library import SIGNATURES
from scriptschema.luau.members import NEWER_MEMBERS
from scriptschema.luau.names import DEFAULT
from scriptschema.versions import SEED, TODAY, Version

SYNTAX: Final[Mapping[str, str]] = MappingProxyType(
    {
        "ExprAttr": "@native local function f() end",
        "ExprBinary.Op.FloorDiv": "local a = 7 // 2",
        "ExprCall.parenless": "type'a' type{1}",
        "ExprIfElse": "local a = if 1 then 2 else 3",
        "ExprInterpString": "local a = `{1}`",
        "StatCompoundAssign": "local a = 1 a += 1",
        "StatCompoundAssign.floor": "local a = 7 a //= 2",
        "StatContinue": "for i = 1, 2 do continue end",
        "StatTypeAlias": "type T = number",
        "StatTypeFunction": "type function f(t) return t end",
        "Type": "local function f(a: number): number local b: number = a return b end",
        "Typename": "local function f<T>() end",
    }
)
"""Syntax that some versions lack: its name in the schema, and a program that uses it."""

ANNOTATIONS: Final = frozenset(["Type", "Typename"])
"""The names in `SYNTAX` that programs without type annotations do not use. Every annotation and
every cast contains a `Type`. Generics and the names of aliases are `Typename`s."""

NEWER: Final = (
    (Version(677), "", "local a = 1.5"),
    (Version(677), "Type", "local a: {read a: number}"),
    (Version(687), "ExprAttr", "@[native] local function f() end"),
    (Version(701), "Type", "local function f() end f<<number>>()"),
    (Version(711), "", "const a = 1"),
    (Version(715), "", "local a = 5i"),
    (Version(723), "", "export local a = 1"),
)
"""Programs with syntax that is newer than the schema and has no name in `SYNTAX`.

Each has the Luau version that introduced the syntax, and the name in `SYNTAX` of something that the
program uses as well. A target that lacks it never gets such programs, so nothing is probed.
"""

SPELLINGS: Final = "spellings"
"""The name in `Probed.missing` for alternative notations, such as `0B1_0`, that `render` uses only
if it is given a style."""

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
    """The properties of a target.

    `missing` are the globals, the library members (`library.member`) and the syntax that the target
    lacks, except features newer than the schema. `runs` is true if the target runs programs instead
    of only parsing or compiling them. `luau` is the newest version of Luau that the target supports
    except for what is `missing`, or None if it is older than the schema or not known. `fails` maps
    each feature in `RIGHT` whose programs all fail to an error.
    """

    target: str
    version: str = ""
    missing: tuple[str, ...] = ()
    runs: bool = False
    luau: Version | None = None
    fails: Mapping[str, str] = attrs.field(factory=dict, hash=False)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Probed:
        """Return the properties stored in JSON data. Raises KeyError or TypeError if invalid."""
        luau = value.get("luau")
        return cls(
            value["target"],
            value["version"],
            tuple(value["missing"]),
            bool(value.get("runs", False)),
            None if luau is None else Version(int(luau.partition(".")[2])),
            dict(value.get("fails", {})),
        )

    def __str__(self) -> str:
        known = f"{self.target} ({self.version})" if self.version else self.target
        if self.luau is not None:
            known += f", Luau {self.luau}"
        whole = [name for name in self.missing if name in DEFAULT.libraries]
        rest = [name for name in self.missing if name.partition(".")[0] not in whole]
        lacks = ", ".join([*whole, *rest])
        known = f"{known}: lacks {lacks}" if lacks else known
        return f"{known}; {failures(self.fails)}" if self.fails else known


def as_json(value: Any) -> dict[str, Any]:
    """Return the fields of an attrs object as JSON data. A version of Luau becomes a string."""

    def written(each: Any) -> Any:
        return str(each) if type(each) is Version else attrs.asdict(each, recurse=False)

    data: dict[str, Any] = json.loads(json.dumps(value, default=written))
    return data


def probe(description: Description) -> Probed:
    """Return the properties of a target.

    If a target cannot run the probe, it is assumed to have all globals and library members. Raises
    TargetError.
    """
    with closing(open_target(description)) as target:
        printed = _printed(target)
        lacked = _missing_names(printed)
        lacks = _missing_syntax(target)
        fails = _failing(target)
        if _IF in fails:
            lacks = [name for name in lacks if name != "ExprIfElse"]  # which then proves nothing
        missing = dict.fromkeys([*lacked, *lacks])
        # A target that only parses programs may accept anything, so its version stays unknown.
        runs, luau = None not in printed, None
        if runs:
            luau = version_of(missing, _newer_syntax(target, lacks))
    version = version_of_target(description)
    older = tuple(name for name in missing if name not in _SPANS)
    return Probed(description.name, version, older, runs, luau, fails)


def version_of(missing: Collection[str], syntax: Iterable[Version] = ()) -> Version | None:
    """Return the newest version of Luau that a target supports except for some syntax.

    `missing` are the names that the target lacks. `syntax` are the versions that introduced syntax
    that the target lacks. Returns None if the target supports only versions older than the schema.
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
    **{str(signature): signature.span for signature in SIGNATURES if signature.span},
    **{name: span for (owner, name), span in NEWER_MEMBERS.items() if not owner},
}
"""For each global or library member newer than the schema: the Luau versions that have it."""


def names() -> Iterator[str]:
    """Yield all known globals and members, each library before its members."""
    for name in DEFAULT.globals:
        yield name
        yield from (f"{name}.{member}" for member in DEFAULT.libraries.get(name, ()))
    yield from (f"{owner}.{name}" if owner else name for owner, name in NEWER_MEMBERS)


def program() -> str:
    """Return a program that prints the index in `names()` of each name that exists.

    The program is valid in every Luau version.
    """
    lines = ["local print = print", 'print("probe " .. 1 + 1)']
    for number, name in enumerate(names()):
        library, dot, _ = name.partition(".")
        guard = f"{library} ~= nil and {name}" if dot else name
        lines.append(f'if {guard} ~= nil then print("has {number}") end')
    return "\n".join([*lines, 'print("probe " .. 1 + 2)', ""])


def _printed(target: Target) -> list[set[str] | None]:
    """Return each variant's lines, or None for a variant that cannot run the probe.

    The time includes the start of the target.
    """
    target.submit(Sources(None, program()), max(target.description.seconds, 10))
    printed = [{line.strip() for line in run.output.splitlines()} for run in target.collect()]
    return [lines if {_BEGIN, _END} <= lines else None for lines in printed]


def _missing_names(printed: list[set[str] | None]) -> Iterator[str]:
    for lines in filter(None, printed):
        for number, name in enumerate(names()):
            if f"has {number}" not in lines:
                yield name


def _worst(target: Target, source: str) -> Outcome:
    """Run a program, and return its first outcome that is not normal, or its first outcome."""
    target.submit(Sources(None, source), target.description.seconds)
    outcomes = target.collect()
    return next((each for each in outcomes if each.kind not in _FINE), outcomes[0])


_FINE: Final = frozenset([outcome.OK, outcome.FLOOD])


def _reads(target: Target, source: str) -> bool:
    # A crash does not prove that the syntax is unsupported. It is a bug for a campaign to find.
    return _worst(target, source).kind not in outcome.FAILED


def _missing_syntax(target: Target) -> list[str]:
    if _reads(target, "\n".join(f"do {source} end" for source in _PROBES.values())):
        return []
    return [name for name, source in _PROBES.items() if not _reads(target, source)]


def _failing(target: Target) -> dict[str, str]:
    whole = "\n".join(f"do {source} end" for sources in RIGHT.values() for source in sources)
    if _worst(target, whole).kind in _FINE:
        return {}
    failing = {}
    for name, sources in RIGHT.items():
        ends = [_worst(target, source) for source in sources]
        if not any(each.kind in _FINE for each in ends):
            error = next(filter(str.strip, ends[0].error.splitlines()), "no error message").strip()
            failing[name] = f"{ends[0].kind}: {error[:_LONGEST]}"
            if ends[0].kind in outcome.FAILED:
                failing[name] += " (if this is a crash, use --crash REGEX)"
    return failing


_LONGEST: Final = 200
_IF: Final = "an if statement"


def _newer_syntax(target: Target, missing: Collection[str]) -> Iterator[Version]:
    """Yield the first Luau version that has syntax, not in `missing`, that the target lacks."""
    for version, needed, source in NEWER:
        if needed not in missing and not _reads(target, source):
            yield version
            return
