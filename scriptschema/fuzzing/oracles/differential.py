"""Differential: a deterministic program does the same on all targets and variants.

What it prints is compared, as `normalisation` says, and how it ends. Not compared is a program that
uses what is not the same in every run (`os.clock`), and one that came up against a limit: of the
stack, which is another at each optimization level, of time, memory or output.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Final

from scriptschema.fuzzing.oracles import normalisation
from scriptschema.fuzzing.oracles.verdict import Difference, Signature, Verdict
from scriptschema.fuzzing.targets import outcome
from scriptschema.fuzzing.targets.outcome import Run
from scriptschema.luau.library import SIGNATURES

KIND: Final = "difference"

POSITIONS: Final = "positions alone"
"""What the detail of a signature begins with if nothing but positions in messages differs."""

VARYING: Final = frozenset(
    f"{signature.library}.{signature.name}".removeprefix(".")
    for signature in SIGNATURES
    if "varies" in signature.marks and signature.name != "tostring"
)
"""The library members whose results are not the same in every run, or not to the last digit."""

_COMPARED: Final = frozenset([outcome.OK, outcome.ERROR, outcome.REJECTED])
_LIMITS: Final = (
    *("stack overflow", "error in error handling"),
    *("not enough memory", "out of memory", "script timed out"),
)


def difference(runs: Sequence[Run], targets: Sequence[int]) -> Verdict | None:
    """The verdict on runs of a program; `targets` says by number which target each was on."""
    if len(runs) < 2 or any(run.outcome.kind not in _COMPARED for run in runs):
        return None
    if any(
        limit in run.outcome.output or limit in run.outcome.error
        for run in runs
        for limit in _LIMITS
    ):
        return None
    first = runs[0]
    others = [
        run
        for run, target in zip(runs[1:], targets[1:], strict=True)
        if not _same(first, run, positions=target == targets[0])
    ]
    if not others:
        return None
    names = short_names(runs)
    same = [name for name, run in zip(names, runs, strict=True) if run not in others]
    different = [name for name, run in zip(names, runs, strict=True) if run in others]
    if all(_same(first, run, positions=False) for run in others):
        found = first_difference(first, others[0], positions=True)
        text = f"{first.target} and {others[0].target} differ in positions alone"
        if found is None:
            text += f": {_end_of(first, True)[1]} / {_end_of(others[0], True)[1]}"
        return Verdict(Signature(KIND, f"{POSITIONS}, {', '.join(different)}"), text, found)
    positions = targets[runs.index(others[0])] == targets[0]
    found = first_difference(first, others[0], positions=positions)
    detail = f"{', '.join(same)} / {', '.join(different)}"
    ends = [_end_of(run, positions) for run in (first, others[0])]
    if found is not None:
        message = f"line {found.line} of what they print differs"
    else:
        message = f"one ends with {' '.join(ends[0])}, the other with {' '.join(ends[1])}"
    text = f"{first.target} and {others[0].target} do not do the same: {message}"
    return Verdict(Signature(KIND, detail), text, found)


def short_names(runs: Sequence[Run]) -> list[str]:
    """The names of runs, less the words that all of them begin with."""
    words = [run.target.split(" ") for run in runs]
    while len(runs) > 1 and all(len(w) > 1 and w[0] == words[0][0] for w in words):
        words = [w[1:] for w in words]
    return [" ".join(w) for w in words]


def first_difference(left: Run, right: Run, *, positions: bool) -> Difference | None:
    """The first line that two runs print differently."""
    lines = [run.outcome.output.splitlines() for run in (left, right)]
    for number, (one, two) in enumerate(zip_longest(*lines), 1):
        if one is None or two is None or _line(one, positions) != _line(two, positions):
            return Difference(number, left.target, right.target, one, two)
    return None


def _line(text: str, positions: bool) -> str:
    return normalisation.output(text, positions=positions)


def _same(left: Run, right: Run, *, positions: bool) -> bool:
    if left.outcome.output != right.outcome.output and _line(
        left.outcome.output, positions
    ) != _line(right.outcome.output, positions):
        return False
    return _end_of(left, positions) == _end_of(right, positions)


def _end_of(run: Run, positions: bool) -> tuple[str, str]:
    if run.outcome.kind != outcome.ERROR:
        return run.outcome.kind, ""
    said = next(iter(run.outcome.error.splitlines()), "")
    return run.outcome.kind, _line(said, positions).strip()
