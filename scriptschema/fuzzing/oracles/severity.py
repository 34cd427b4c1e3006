"""How bad a bug is, by its signature: the order of reports, and of `--fail-on-find`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from scriptschema.fuzzing.oracles import differential
from scriptschema.fuzzing.oracles.verdict import Signature
from scriptschema.fuzzing.targets import outcome

SEVERITIES: Final = (
    *("memory", "crash", "result", "assertion"),
    *("hang", "undefined", "message", "position"),
)
"""The worst first. `memory` is what a sanitizer reports, or memory that is used up; `result` a
wrong one, or whatever another oracle says; `assertion` also an internal error."""

LEAST: Final = "undefined"
"""What is less severe is no find among finds: one entry stands for all of it."""

_BY_KIND: Final[Mapping[str, str]] = {
    outcome.SANITIZER: "memory",
    outcome.MEMORY: "memory",
    outcome.CRASH: "crash",
    outcome.ASSERTION: "assertion",
    outcome.INTERNAL: "assertion",
    outcome.HANG: "hang",
    outcome.UNDEFINED: "undefined",
    differential.MESSAGE: "message",
    differential.POSITION: "position",
}


def severity_of(signature: Signature) -> str:
    """Return the severity of a bug; of one that was seen once, that of what was seen."""
    kind = signature.kind
    if kind == outcome.ONCE:
        kind = signature.detail.partition(":")[0]
    return _BY_KIND.get(kind, "result")


def rank_of(signature: Signature) -> int:
    """Return a number by which bugs are sorted, the worst first."""
    return SEVERITIES.index(severity_of(signature))


def is_at_least(signature: Signature, severity: str) -> bool:
    """Whether a bug is as severe as `severity`, or more."""
    return rank_of(signature) <= SEVERITIES.index(severity)
