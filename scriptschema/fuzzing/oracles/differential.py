"""The differential oracle: a deterministic program behaves the same on all targets and variants.

The oracle compares the normalised output (see `normalisation`) and how the program ends. The level
`output` ignores the message and the position of an error. The level `errors` also compares the
message. The level `positions` also compares the position, but only between variants of one target.

Differences only in messages and differences only in positions are separate kinds. Each of these
kinds counts as one bug per campaign.

Programs are not compared if their output is not deterministic (see `determinism`), or if a run
exceeds a time, memory, output or stack limit. (The depth at which the stack overflows depends on
the optimization level.)
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import PurePath
from typing import Final

import attrs

from scriptschema.fuzzing.oracles import normalisation
from scriptschema.fuzzing.oracles.verdict import DIFFERENCE, Difference, Signature, Verdict
from scriptschema.fuzzing.targets import outcome
from scriptschema.fuzzing.targets.outcome import Run

KIND: Final = DIFFERENCE

MESSAGE: Final = "message"
POSITION: Final = "position"
"""The kind of a difference only in the positions of errors. `MESSAGE` is the kind of a difference
only in error messages."""

OUTPUT: Final = "output"
ERRORS: Final = "errors"
POSITIONS: Final = "positions"
COMPARED: Final = (OUTPUT, ERRORS, POSITIONS)
"""The levels of comparison. Each level includes the levels before it."""

_LEVELS: Final = {KIND: OUTPUT, MESSAGE: ERRORS, POSITION: POSITIONS}

_ENDED: Final = frozenset([outcome.OK, outcome.ERROR, outcome.REJECTED])
_LIMITS: Final = (
    *("stack overflow", "error in error handling"),
    *("not enough memory", "out of memory", "script timed out"),
)


def difference(
    runs: Sequence[Run], targets: Sequence[int], compare: str = OUTPUT, ulps: int = 0
) -> Verdict | None:
    """Return the verdict on a program's runs, or None if they agree or cannot be compared.

    `targets` contains the index of each run's target. `compare` is one of `COMPARED`. Printed
    numbers that are at most `ulps` units in the last place apart count as equal.
    """
    if len(runs) < 2 or any(run.outcome.kind not in _ENDED for run in runs):
        return None
    if any(
        limit in run.outcome.output or limit in run.outcome.error
        for run in runs
        for limit in _LIMITS
    ):
        return None
    first = runs[0]
    for level in COMPARED[: COMPARED.index(compare) + 1]:
        others = [
            run
            for run, target in zip(runs[1:], targets[1:], strict=True)
            if not _same(first, run, level, ulps) and (level != POSITIONS or target == targets[0])
        ]
        if others:
            return _verdict(runs, others, level, ulps)
    return None


def _verdict(runs: Sequence[Run], others: Sequence[Run], level: str, ulps: int) -> Verdict:
    first = runs[0]
    differing = first_difference(first, others[0], level, ulps)
    who = f"{first.target} and {others[0].target}"
    ends = [_end_of(run, level) for run in (first, others[0])]
    if level != OUTPUT:
        kind = MESSAGE if level == ERRORS else POSITION
        text = f"{who} differ only in {kind}s"
        return Verdict(
            Signature(kind), text if differing else f"{text}: {ends[0]} / {ends[1]}", differing
        )
    names = short_names(runs)
    same = [name for name, run in zip(names, runs, strict=True) if run not in others]
    different = [name for name, run in zip(names, runs, strict=True) if run in others]
    if ends[0] != ends[1] and differing is None:
        message = f"one ends with {ends[0]}, the other with {ends[1]}"
    elif differing is None:
        message = "only one ends its output with a line feed"
    else:
        message = f"line {differing.line} of their output differs"
        if differing.ulps:
            message += f", by {differing.ulps} unit{'s' * (differing.ulps > 1)} in the last place"
    text = f"{who} behave differently: {message}"
    return Verdict(Signature(KIND, f"{', '.join(same)} / {', '.join(different)}"), text, differing)


def blamed_by(signature: Signature) -> frozenset[str] | None:
    """Return the names of the runs that a signature blames, and the options that they share.

    These runs differ from the first run, or hang. If `-O1 --codegen` and `-O2 --codegen` differ
    from the rest, the shared option is `--codegen`. Options that all runs share are left out.
    Returns None if the signature blames no run, as for a rewritten program. For a crash, returns
    what the signature says about it.
    """
    if signature.kind == outcome.CRASH:
        return frozenset([signature.detail])
    others, slash, blamed = signature.detail.rpartition(" / ")
    if signature.kind == KIND and not slash:
        return None
    names = frozenset(blamed.split(", "))
    if not slash:
        return names
    common = frozenset.intersection(*(frozenset(name.split()) for name in names))
    rest = [frozenset(name.split()) for name in others.split(", ")]
    return names | (common - frozenset.intersection(*rest))


def rewritten_difference(
    name: str, runs: Sequence[Run], rewritten: Sequence[Run], ulps: int = 0
) -> Verdict | None:
    """Return the verdict on a program and its rewritten version, which must behave the same.

    `runs` and `rewritten` are their runs on the same targets and variants. `name` is the key of the
    rewriting function in `rewriting.REWRITINGS`. Returns None if no pair of runs differs.
    """
    for original, other in zip(runs, rewritten, strict=True):
        if other.outcome.kind == outcome.REJECTED:  # it may have reached a limit of the compiler
            continue
        verdict = difference([original, other], [0, 0], OUTPUT, ulps)
        if verdict is not None:
            return attrs.evolve(verdict, signature=Signature(KIND, name))
    return None


def is_repeated(kind: str, runs: Sequence[Run], again: Sequence[Run], ulps: int = 0) -> bool:
    """Return whether a program's runs differ because of a bug, not because its output varies.

    `again` contains repetitions of `runs`, in the same order. The runs form two groups: those that
    behave like the first run, and the others. At least one group must behave the same in `again`.
    The other may vary, for example if a bug prints uninitialised memory. Returns true if `kind` is
    not a kind of difference.
    """
    if kind not in _LEVELS:
        return True

    def same(left: Run, right: Run) -> bool:
        return _same(left, right, _LEVELS[kind], ulps)

    sides: dict[bool, bool] = {}
    for run, repeated in zip(runs, again, strict=True):
        side = same(runs[0], run)
        sides[side] = sides.get(side, True) and same(run, repeated)
    return any(sides.values())


_FILE: Final = re.compile(r"(?:^|\s+)\{file\}(?![^\s,])")


def short_names(runs: Sequence[Run]) -> list[str]:
    """Return the names of the runs, without the leading words that all the names share.

    `{file}` and the folders of paths are left out, too, unless different names become the same.
    """
    return shortened([run.target for run in runs])


def shortened(targets: Sequence[str]) -> list[str]:
    """Return the short names of runs with these names (see `short_names`)."""
    names = _distinct(targets)
    bare = _distinct([" ".join(_FILE.sub("", target).split()) for target in targets])
    short = [" ".join(PurePath(word).name or word for word in name.split()) for name in bare]
    for shorter in (short, bare):
        if all(shorter) and len({*shorter}) == len({*names}):
            return shorter
    return names


def _distinct(targets: Sequence[str]) -> list[str]:
    words = [target.split(" ") for target in targets]
    while len(words) > 1 and all(len(w) > 1 and w[0] == words[0][0] for w in words):
        words = [w[1:] for w in words]
    return [" ".join(w) for w in words]


def updated(signature: Signature, targets: Sequence[str]) -> Signature:
    """Return a signature in today's form. `targets` are the names of all runs of a program.

    In signatures of earlier versions, the names contain `{file}` and folders.
    """
    return _renamed(signature, _distinct(targets), shortened(targets))


def outdated(signature: Signature, targets: Sequence[str]) -> Signature:
    """Return a signature in the form that earlier versions gave it (see `updated`)."""
    return _renamed(signature, shortened(targets), _distinct(targets))


def _renamed(signature: Signature, names: Sequence[str], others: Sequence[str]) -> Signature:
    other = dict(zip(names, others, strict=True))
    parts = re.split("(, | / )", signature.detail)
    return attrs.evolve(signature, detail="".join(other.get(part, part) for part in parts))


def first_difference(left: Run, right: Run, level: str, ulps: int = 0) -> Difference | None:
    """Return the first line in which the outputs of two runs differ, or None if all are equal.

    `level` is one of `COMPARED`. Numbers that are at most `ulps` units in the last place apart
    count as equal. Whether the last line ends with a line feed is not compared.
    """
    lines = [lines_of(run.outcome.output) for run in (left, right)]
    for number, (left_line, right_line) in enumerate(zip_longest(*lines), 1):
        if left_line is None or right_line is None:
            return Difference(number, left.target, right.target, left_line, right_line)
        if not _same_text(left_line, right_line, level, ulps):
            apart = ulps_apart(_text(left_line, level), _text(right_line, level))
            return Difference(number, left.target, right.target, left_line, right_line, apart)
    return None


def lines_of(text: str) -> list[str]:
    """Return the lines of an output. Other control characters than line feeds end no line."""
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n") if text else []


def _text(text: str, level: str) -> str:
    return normalisation.output(text, positions=level == POSITIONS, messages=level != OUTPUT)


def _same_text(left: str, right: str, level: str, ulps: int) -> bool:
    if left == right:
        return True
    left, right = _text(left, level), _text(right, level)
    if left == right or not ulps:
        return left == right
    lines = left.split("\n"), right.split("\n")
    if len(lines[0]) != len(lines[1]):
        return False
    pairs = zip(*lines, strict=True)
    apart = (
        ulps_apart(left_line, right_line)
        for left_line, right_line in pairs
        if left_line != right_line
    )
    return all(distance is not None and distance <= ulps for distance in apart)


def _same(left: Run, right: Run, level: str, ulps: int) -> bool:
    if _end_of(left, level) != _end_of(right, level):
        return False
    return _same_text(left.outcome.output, right.outcome.output, level, ulps)


def _end_of(run: Run, level: str) -> str:
    if run.outcome.kind != outcome.ERROR or level == OUTPUT:
        return run.outcome.kind
    error = next(iter(run.outcome.error.splitlines()), "")
    return f"{run.outcome.kind} {_text(error, level).strip()}"


_NUMBER: Final = re.compile(r"(-?(?:(?<!\d)\d+(?:\.\d+)?(?:e[+-]?\d+)?|inf|nan))(?![\w.])")
_FAR: Final = 1 << 32
"""Numbers that are at least this many ULPs apart count as different."""


def ulps_apart(left: str, right: str) -> int | None:
    """Return the largest distance in ULPs between corresponding numbers in two lines.

    Returns None if the distance is `_FAR` or more. Also returns None if the lines differ in text,
    in the sign of a zero, or in an infinity or NaN.
    """
    left_parts, right_parts = _NUMBER.split(left), _NUMBER.split(right)
    if left_parts[::2] != right_parts[::2]:
        return None
    apart = 0
    for left_number, right_number in zip(left_parts[1::2], right_parts[1::2], strict=True):
        if left_number != right_number:
            distance = _distance(float(left_number), float(right_number))
            if not 0 < distance < _FAR:
                return None
            apart = max(apart, distance)
    return apart


def _distance(left: float, right: float) -> int:
    if not (math.isfinite(left) and math.isfinite(right)):
        return 0
    return abs(_rank(left) - _rank(right))


def _rank(value: float) -> int:
    bits: int = struct.unpack("<q", struct.pack("<d", value))[0]
    return bits if bits >= 0 else -(bits & 0x7FFF_FFFF_FFFF_FFFF)
