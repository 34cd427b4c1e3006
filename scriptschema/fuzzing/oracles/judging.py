"""The judge of a campaign: applies its oracles to a program and its runs."""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

import attrs

from scriptschema.fuzzing.corpora import features
from scriptschema.fuzzing.corpora.features import library_names
from scriptschema.fuzzing.oracles import differential, normalisation, round_trip
from scriptschema.fuzzing.oracles.verdict import Signature, Verdict
from scriptschema.fuzzing.targets import outcome
from scriptschema.fuzzing.targets.base import Sources
from scriptschema.fuzzing.targets.outcome import Run
from scriptschema.luau.breaking import is_luau
from scriptschema.versions import Version
from scriptschema.wire import Scan

TYPES: Final = "types"
ACCEPTED: Final = "accepted"
"""A source that is not Luau ran to its end."""
OWN: Final = "own"
UNCLEAR: Final = frozenset([differential.KIND, outcome.HANG, outcome.MEMORY, TYPES])
"""Kinds of verdicts whose signature identifies a bug only together with the reduced program."""

_TYPE_ERROR: Final = re.compile(
    r"attempt to (?:call|index|perform arithmetic|compare|concatenate|get length|iterate)"
    r"|invalid argument #|missing argument #|expected, got"
)
_FRAMES: Final = 3
_SLOW: Final = 10
"""A program that elsewhere takes more than one in this many parts of the time limit is slow, and
does not hang."""

Function = Callable[[str, Sequence[Run]], object]


class JudgeError(Exception):
    """The user's judge function cannot be loaded, or failed; the message says why."""


class Judge:
    """Judges programs by the given `oracles`, names from `config.ORACLES`.

    `targets` has the number of each run's target. `checker` and `printer` are commands that contain
    `{file}` or read standard input. `function` (`module:function`) receives the source and the
    runs, and returns None, a string that identifies a bug, or a Verdict. `compare` and `ulps` are
    those of `differential.difference`.

    Raises JudgeError.
    """

    def __init__(
        self,
        oracles: Sequence[str],
        targets: Sequence[int],
        *,
        checker: str = "",
        printer: str = "",
        function: str = "",
        compare: str = differential.OUTPUT,
        ulps: int = 0,
        seconds: float = 10.0,
    ) -> None:
        self.oracles = frozenset(oracles)
        self.targets = targets
        self.checker = checker
        self.printer = printer
        self.function = _function(function) if function else None
        self.compare = compare
        self.ulps = ulps
        self.seconds = seconds

    def judge(
        self, sources: Sources, runs: Sequence[Run], scan: Scan, plain: Sources | None = None
    ) -> Verdict | None:
        """Return the worst verdict on the runs of a program; None if they show no bug.

        `sources` are those that were run; if they are in a style, `plain` are those without.

        Raises JudgeError, and TargetError if the checker cannot be run.
        """
        kinds = {run.outcome.kind for run in runs}
        found: Verdict | None = None
        if not kinds <= outcome.ORDINARY:
            found = self._broken(runs) or self._exhausted(runs)
        if found is None and self.function is not None:
            found = self._own(sources, runs)
        if found is None and len(runs) > 1 and "difference" in self.oracles:
            found = differential.difference(runs, self.targets, self.compare, self.ulps)
            if found is not None and not _is_determined(plain or sources, scan):
                found = None
        if found is None and self.checker and "types" in self.oracles:
            found = self._types(sources, runs[0])
        return found

    def judge_refusal(self, text: str, runs: Sequence[Run]) -> Verdict | None:
        """Return the worst verdict on the runs of a source that is not Luau; None if all refuse it.

        Unless its signature is clear, the verdict never counts as the same bug as a program's. A
        source that turns out to be Luau may run.
        """
        found = self._broken(runs) or self._exhausted(runs)
        if found is not None and not is_clear(found.signature):
            detail = f"{found.signature.detail}, of no program".lstrip(", ")
            return attrs.evolve(found, signature=attrs.evolve(found.signature, detail=detail))
        if found is None and ACCEPTED in self.oracles:
            pairs = zip(differential.short_names(runs), runs, strict=True)
            names = [name for name, run in pairs if run.outcome.kind in (outcome.OK, outcome.FLOOD)]
            if names and not is_luau(text):
                said = f"{', '.join(names)} runs what is not Luau"
                found = Verdict(Signature(ACCEPTED, ", ".join(names)), said)
        return found

    def judge_rewritten(
        self,
        name: str,
        sources: Sources,
        scan: Scan,
        runs: Sequence[Run],
        rewritten: Sequence[Run],
    ) -> Verdict | None:
        """Return the verdict on runs of a program, and of its rewriting `name`: see `rewriting`.

        `sources` are without a style.
        """
        if "metamorphic" not in self.oracles:
            return None
        found = differential.rewritten_difference(name, runs, rewritten, self.ulps)
        return found if found is not None and _is_determined(sources, scan) else None

    def judge_text(self, sources: Sources, plain: Sources | None = None) -> Verdict | None:
        """Return the verdict of the round-trip oracles, which need no target; see `judge`."""
        if "round-trip" not in self.oracles:
            return None
        found = round_trip.own(sources, plain)
        if found is None and self.printer and sources.module is None:
            found = round_trip.by_command(self.printer, sources, self.seconds, 1024)
        return found

    def _broken(self, runs: Sequence[Run]) -> Verdict | None:
        if "broken" not in self.oracles:
            return None
        for run in runs:
            if run.outcome.kind in outcome.BROKEN:
                frames = run.outcome.frames[:_FRAMES]
                if run.outcome.kind == outcome.ASSERTION:
                    said = normalisation.assertion(run.outcome.error)
                else:
                    said = normalisation.message(run.outcome.error)
                detail = " < ".join(frames) if frames else said
                if run.outcome.kind == outcome.UNDEFINED:  # identified by its site, not by callers
                    said = normalisation.undefined(run.outcome.error)
                    detail = f"{frames[0]}: {said}" if frames else said
                text = f"{run.target}: {run.outcome.kind}: {run.outcome.error.strip()[:500]}"
                return Verdict(Signature(run.outcome.kind, detail), text)
        return None

    def _exhausted(self, runs: Sequence[Run]) -> Verdict | None:
        """Return a verdict on a hang or memory exhaustion that only some of the runs had."""
        for kind in (outcome.HANG, outcome.MEMORY):
            if kind not in self.oracles:
                continue
            names = differential.short_names(runs)
            pairs = [*zip(names, runs, strict=True)]
            those = [name for name, run in pairs if run.outcome.kind == kind]
            if kind == outcome.HANG and _is_slow(runs):
                continue
            if those and (len(runs) == 1 or len(those) < len(runs)):
                what = "hangs" if kind == outcome.HANG else "uses up its memory"
                others = "" if len(runs) == 1 else ", others do not"
                return Verdict(Signature(kind, ", ".join(those)), f"{those[0]} {what}{others}")
        return None

    def _own(self, sources: Sources, runs: Sequence[Run]) -> Verdict | None:
        try:
            said = self.function(sources.program, runs) if self.function else None
        except Exception as error:
            name = type(error).__name__
            raise JudgeError(f"the function that judges ended with {name}: {error}") from error
        if said is None or isinstance(said, Verdict):
            return said
        return Verdict(Signature(OWN, normalisation.message(str(said))), str(said))

    def _types(self, sources: Sources, run: Run) -> Verdict | None:
        """Return a verdict on a run-time type error in a program that passes strict checking."""
        if run.outcome.kind != outcome.ERROR or not _TYPE_ERROR.search(run.outcome.error):
            return None
        source = f"--!strict\n{sources.program}"
        if round_trip.output_of(self.checker, source, self.seconds, 4096) is None:
            return None
        said = normalisation.message(run.outcome.error)
        text = f"{self.checker} accepts it, and {run.target} says: {run.outcome.error[:500]}"
        return Verdict(Signature(TYPES, said), text)


def _is_slow(runs: Sequence[Run]) -> bool:
    """Return whether a program or machine is slow: it takes long even where the program ends."""
    limit = min((r.outcome.seconds for r in runs if r.outcome.kind == outcome.HANG), default=0)
    return any(r.outcome.kind != outcome.HANG and r.outcome.seconds > limit / _SLOW for r in runs)


def _is_determined(sources: Sources, scan: Scan) -> bool:
    """Return whether Luau determines what a program prints.

    It does not if library members vary (`os.clock`), if there are weak tables, whose contents
    depend on when garbage is collected, or if a table constructor has a nil and the length of a
    table matters: with holes, any border is the length (Lua 5.1 manual, section 2.5.5).
    """
    named = {*library_names(scan)}
    if not named.isdisjoint(differential.VARYING) or "__mode" in sources.program:
        return False
    nil, length = _holes(scan.luau)
    if nil not in scan.parts:
        return True
    return length not in scan.parts and not any(
        name in _BORDER or name.startswith("table.") for name in named
    )


@cache
def _holes(luau: Version | None) -> tuple[int, int]:
    """Return the numbers of a nil in a table constructor and of the operator `#`."""
    names = features.names(luau)
    return names.index("TableItem.value: ExprConstantNil"), names.index("ExprUnary.Op.Len")


_BORDER: Final = frozenset(["ipairs", "unpack"])
"""Globals whose result depends on the length of a table; others are in the library `table`."""


def is_clear(signature: Signature) -> bool:
    """Return whether a signature identifies a bug without the reduced program."""
    if signature.kind in UNCLEAR:
        return False
    return signature.kind != outcome.CRASH or not re.fullmatch(
        r"(?:SIG[A-Z]+|signal N)?", signature.detail
    )


def _function(name: str) -> Function:
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise JudgeError(f"{name!r} is not a function: write module:function")
    if os.getcwd() not in sys.path:  # noqa: PTH109  # as Python does for scripts
        sys.path.insert(0, os.getcwd())  # noqa: PTH109
    try:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise JudgeError(f"{name!r} cannot be had: {error}") from None
    if not callable(found):
        raise JudgeError(f"{name!r} is not a function")
    return found  # type: ignore[no-any-return]  # its result is checked
