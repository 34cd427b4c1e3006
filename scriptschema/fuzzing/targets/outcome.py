"""What became of a program that a target ran."""

from __future__ import annotations

from typing import Any, Final

import attrs

OK: Final = "ok"
"""It ran to its end."""
ERROR: Final = "error"
"""It ended with an error of its own, which Luau reported."""
REJECTED: Final = "rejected"
"""It was not compiled."""
FLOOD: Final = "flood"
"""It printed more than it may."""
HANG: Final = "hang"
MEMORY: Final = "memory"
CRASH: Final = "crash"
SANITIZER: Final = "sanitizer"
ASSERTION: Final = "assertion"
INTERNAL: Final = "internal error"
UNDEFINED: Final = "undefined behaviour"
"""What UndefinedBehaviorSanitizer reports."""

ORDINARY: Final = frozenset([OK, ERROR, REJECTED, FLOOD])
"""Outcomes that no implementation needs to be ashamed of."""

BROKEN: Final = frozenset([CRASH, SANITIZER, ASSERTION, INTERNAL, UNDEFINED])
"""Outcomes that no program may have."""

LIMITS: Final = frozenset([HANG, MEMORY])

ONCE: Final = "seen once"
"""No outcome, but a kind of verdict: one of `BROKEN`, which did not come again."""

KINDS: Final = (
    *(OK, ERROR, REJECTED, FLOOD, HANG, MEMORY),
    *(CRASH, SANITIZER, ASSERTION, INTERNAL, UNDEFINED),
)


@attrs.frozen
class Outcome:
    r"""How a run ended.

    `kind` is one of `KINDS`, `output` what the program printed, with bytes that are not UTF-8 as
    `\xNN`, `error` the error message or the report of whoever noticed what is wrong, `status` the
    exit status, negative for a signal, and `frames` the functions of the stack, the innermost
    first, where a report has them; of undefined behaviour, the place in the source before these.
    `report` is what was written to standard error, as far as it is kept, where that is of interest.
    `requests` are the last that a process got that broke, this one
    among them, where a process runs many programs.
    """

    kind: str
    output: str = ""
    error: str = ""
    status: int | None = None
    frames: tuple[str, ...] = ()
    seconds: float = attrs.field(default=0.0, eq=False)
    report: str = attrs.field(default="", eq=False)
    requests: tuple[str, ...] = attrs.field(default=(), eq=False, repr=False)

    def as_json(self) -> dict[str, Any]:
        """Everything but `requests` as JSON's types."""
        value = {**attrs.asdict(self), "frames": [*self.frames]}
        del value["requests"]
        return value

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Outcome:
        """The inverse of `as_json`. Raises KeyError and TypeError for anything else."""
        return cls(**{**value, "frames": tuple(value["frames"])})


@attrs.frozen
class Run:
    """A run on a target: its name and variant, such as `luau-web -O2`, and the outcome."""

    target: str
    outcome: Outcome

    def as_json(self) -> dict[str, Any]:
        """Everything as JSON's types."""
        return {"target": self.target, "outcome": self.outcome.as_json()}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Run:
        """The inverse of `as_json`. Raises KeyError and TypeError for anything else."""
        return cls(value["target"], Outcome.from_json(value["outcome"]))
