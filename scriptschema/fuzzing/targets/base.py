"""The interface of all targets: they turn programs into outcomes, even if a process crashes."""

from __future__ import annotations

from typing import Protocol

from scriptschema.fuzzing.targets.outcome import Outcome
from scriptschema.luau.render import Sources

__all__ = ["Sources", "Target"]


class Target(Protocol):
    """Runs one program at a time, with each of its variants.

    `submit` starts a program and `collect` waits for it, so that the caller can make the next one
    meanwhile. Submitting another program before `collect` abandons the first. Both raise
    TargetError if the target cannot be started; a crash caused by a program is an outcome.
    """

    def submit(self, sources: Sources, seconds: float) -> None:
        """Start a program, with a time limit in seconds for each variant."""

    def collect(self) -> list[Outcome]:
        """Return the outcomes of the submitted program, one for each variant."""

    def close(self) -> None:
        """End all processes."""
