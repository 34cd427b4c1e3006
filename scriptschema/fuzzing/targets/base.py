"""The interface of all targets: they turn programs into outcomes, even if a process crashes.

A program is written plainly, in a style, or is a source that is not Luau. Such a source has no
tree: it is given where others have their style, with an empty tree.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias

from scriptschema.fuzzing.targets.outcome import Outcome
from scriptschema.luau.render import Sources, render_module_set
from scriptschema.messages import ModuleSet

__all__ = ["Sources", "Spelling", "Target", "written"]

Spelling: TypeAlias = int | str | None
"""None for plain, a number for the seed of a style, or the text to run regardless of the tree."""


def written(tree: ModuleSet, spelling: Spelling) -> Sources:
    """Return the sources of a program."""
    if isinstance(spelling, str):
        return Sources(None, spelling)
    return render_module_set(tree, style=spelling)


class Target(Protocol):
    """Runs one program at a time, with each of its variants.

    `submit` starts a program and `collect` waits for it, so that the caller can create the next
    program meanwhile. Submitting another program before `collect` abandons the first. Both raise
    TargetError if the target cannot be started; a crash caused by a program is an outcome.
    """

    def submit(self, sources: Sources, seconds: float) -> None:
        """Start a program, with a time limit in seconds for each variant."""

    def collect(self) -> list[Outcome]:
        """Return the outcomes of the submitted program, one for each variant."""

    def close(self) -> None:
        """End all processes."""
