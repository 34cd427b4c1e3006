"""The outcome of a program's run on a target, and how to show what the target printed."""

from __future__ import annotations

import re
from typing import Any, Final

import attrs

OK: Final = "ok"
"""The program finished normally."""
ERROR: Final = "error"
"""The program ended with a Luau error."""
REJECTED: Final = "rejected"
"""The target refused to compile the program."""
FLOOD: Final = "flood"
"""The program exceeded the output limit."""
HANG: Final = "hang"
MEMORY: Final = "memory"
CRASH: Final = "crash"
SANITIZER: Final = "sanitizer"
ASSERTION: Final = "assertion"
INTERNAL: Final = "internal error"
UNDEFINED: Final = "undefined behaviour"
"""A report from UndefinedBehaviorSanitizer."""

ORDINARY: Final = frozenset([OK, ERROR, REJECTED, FLOOD])
"""Outcomes that a correct implementation can have."""

FAILED: Final = frozenset([ERROR, REJECTED])
"""The outcomes by which a target reports an error in the program."""

SILENT: Final = "nothing on standard error"
"""The end of the message about a process that failed without writing one."""

BROKEN: Final = frozenset([CRASH, SANITIZER, ASSERTION, INTERNAL, UNDEFINED])
"""Outcomes that indicate a bug in the target, regardless of the program."""

LIMITS: Final = frozenset([HANG, MEMORY])

NOT_RUN: Final = "not run"
"""The program was not run, because the outcome of an earlier variant is a bug and decides the
verdict."""

ONCE: Final = "seen once"
"""Not an outcome, but a kind of verdict: a `BROKEN` outcome that could not be reproduced."""

ENDLESS: Final = "endless"
"""Not an outcome, but a kind of verdict: a program hangs in all runs, and takes too many steps."""

KINDS: Final = (
    *(OK, ERROR, REJECTED, FLOOD, HANG, MEMORY),
    *(CRASH, SANITIZER, ASSERTION, INTERNAL, UNDEFINED),
)
"""A program with several runs is counted for the last of these that it had."""


@attrs.frozen
class Outcome:
    r"""The outcome of a run.

    `kind` is one of `KINDS`, or `NOT_RUN`. `output` is the program's output. Bytes in it that are
    not UTF-8 are written as `\xNN`. `error` is the error message, or the problem that was detected.
    `status` is the exit status, negative for a signal. `report` is the part of standard error that
    was kept, or empty if it is not relevant. `frames` are the functions in the target's stack
    trace, innermost first. For undefined behaviour, the position in the source comes before them.
    `exception` is the class of the uncaught exception that ended the run, or empty.

    `seconds` is the duration of the run, but at least the time limit for a hang. It includes
    `starting`, the time in which the process started. `requests` are the latest requests to a
    service that crashed or failed, up to that for this run.

    `coverage` contains the indexes of the coverage counters that the run reached in the target's
    code, or is None if the target does not report coverage. Counters that an earlier run of the
    same process reached may be missing.
    """

    kind: str
    output: str = ""
    error: str = ""
    status: int | None = None
    frames: tuple[str, ...] = ()
    seconds: float = attrs.field(default=0.0, eq=False)
    report: str = attrs.field(default="", eq=False)
    requests: tuple[str, ...] = attrs.field(default=(), eq=False, repr=False)
    coverage: frozenset[int] | None = attrs.field(default=None, eq=False, repr=False)
    starting: float = attrs.field(default=0.0, eq=False)
    exception: str = ""

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Outcome:
        """Return the outcome stored in JSON data. Raises KeyError or TypeError for invalid data."""
        return cls(**{**value, "frames": tuple(value["frames"])})


@attrs.frozen
class Run:
    """A run on a target: the target's name with the variant (`luau-web -O2`), and the outcome."""

    target: str
    outcome: Outcome

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Run:
        """Return the run stored in JSON data. Raises KeyError or TypeError for invalid data."""
        return cls(value["target"], Outcome.from_json(value["outcome"]))


def agree(kind: str, other: str) -> bool:
    """Return whether two runs of one program that ended in these ways may show the same bug.

    A program that does not end may reach the time limit in one run, and the memory limit in the
    other.
    """
    return kind == other or {kind, other} <= LIMITS


OUTPUT: Final = 4_000
"""The maximum number of characters shown of a run's output."""

_HARMFUL: Final = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ufffe\uffff\ud800-\udfff]"
)


def visible(text: str) -> str:
    r"""Return the text with invisible and formatting characters as escapes such as `\x1b`."""
    return _HARMFUL.sub(lambda match: ascii(match[0])[1:-1], text)


def shortened(text: str, limit: int = OUTPUT) -> str:
    """Return the first `limit` characters of a text, with escapes as in `visible`.

    If more characters follow, a note says how many.
    """
    rest = len(text) - limit
    note = f"\n… and {rest:,} more characters" if rest > 0 else ""
    return visible(text[:limit]) + note
