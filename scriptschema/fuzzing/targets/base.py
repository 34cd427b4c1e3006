"""What all targets are: programs go in, outcomes come out, whatever happens to the process."""

from __future__ import annotations

from typing import Protocol

from scriptschema.fuzzing.targets.outcome import Outcome
from scriptschema.luau.render import Sources

__all__ = ["Sources", "Target"]


class Target(Protocol):
    """Runs one program at a time, with each of its variants.

    `submit` starts that and `collect` waits for it, so that the next program can be made meanwhile.
    A program that was submitted and not collected when the next one is, is given up.
    Both raise TargetError where the target cannot be started; that a program ends it is an outcome.
    """

    def submit(self, sources: Sources, seconds: float) -> None:
        """Start to run a program, for so many seconds at most with each variant."""

    def collect(self) -> list[Outcome]:
        """The outcomes of the program that was submitted, one for each variant."""

    def close(self) -> None:
        """End all processes."""
