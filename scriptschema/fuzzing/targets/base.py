"""The interface of all targets, which run programs and return outcomes.

A program is a tree, which is rendered in the plain style or in another style. A source that is not
Luau has no tree, so it is passed as an empty tree with the source as its `Spelling`.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias

from scriptschema.fuzzing.targets.description import Description
from scriptschema.fuzzing.targets.outcome import Outcome
from scriptschema.luau.render import Sources, render_module_set
from scriptschema.messages import ModuleSet

__all__ = ["Sources", "Spelling", "Target", "written"]

Spelling: TypeAlias = int | str | None
"""The way to render a tree: in the plain style (None), or in the style with a seed (an integer). A
string is used as the source instead of the tree."""


def written(tree: ModuleSet, spelling: Spelling) -> Sources:
    """Return the sources of a program, written according to `spelling`."""
    if isinstance(spelling, str):
        return Sources(None, spelling)
    return render_module_set(tree, style=spelling)


class Target(Protocol):
    """A target, which runs one program at a time with each of the target's variants.

    `submit` starts a program and `collect` waits for it, so that the caller can create the next
    program in the meantime. A second `submit` before `collect` abandons the first program. Both
    raise TargetError if the target cannot be started. A crash caused by a program is an outcome,
    not an error.
    """

    description: Description

    def submit(self, sources: Sources, seconds: float, *, until_broken: bool = False) -> None:
        """Start a program, with a time limit in seconds for each variant.

        If `until_broken` is true, variants after an outcome in `outcome.BROKEN` may be
        `outcome.NOT_RUN`.
        """

    def collect(self) -> list[Outcome]:
        """Return the outcomes of the submitted program, one for each variant."""

    def close(self) -> None:
        """Terminate all processes."""
