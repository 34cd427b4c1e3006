"""The severity of a bug. Reports are sorted by it, and `--fail-on-find` sets a threshold for it."""

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
"""Severities, the worst first. `memory` is a sanitizer report or exhausted memory. `crash` includes
internal errors, such as uncaught exceptions. `result` is a wrong result or any other oracle's
verdict."""

LEAST: Final = "undefined"
"""The lowest severity at which bugs are listed individually. Less severe bugs share one entry."""

_BY_KIND: Final[Mapping[str, str]] = {
    outcome.SANITIZER: "memory",
    outcome.MEMORY: "memory",
    outcome.CRASH: "crash",
    outcome.INTERNAL: "crash",
    outcome.ASSERTION: "assertion",
    outcome.HANG: "hang",
    outcome.ENDLESS: "hang",
    outcome.UNDEFINED: "undefined",
    differential.MESSAGE: "message",
    differential.POSITION: "position",
}


def severity_of(signature: Signature) -> str:
    """Return the severity of a bug, including one that was seen only once."""
    return _BY_KIND.get(signature.seen.kind, "result")


def rank_of(signature: Signature) -> int:
    """Return a number that sorts bugs by severity, the worst first."""
    return SEVERITIES.index(severity_of(signature))


def is_at_least(signature: Signature, severity: str) -> bool:
    """Return whether a bug is at least as severe as `severity`."""
    return rank_of(signature) <= SEVERITIES.index(severity)
