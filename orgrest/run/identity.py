"""The identity of the steps of a run: their positions, never their names."""

from __future__ import annotations

import attrs


@attrs.frozen
class StepId:
    """A request or block of a document, by position.

    `file` is the document's, `start` the offset of the request or block in its text as it was read
    first. `turn` counts the turns of a loop, from 0; `runs` are the offsets of the `run` lines that
    lead to it, the outermost first. `name` is what messages call it.
    """

    file: str
    start: int
    turn: int = 0
    runs: tuple[tuple[str, int], ...] = ()
    name: str = attrs.field(default="", eq=False)

    @property
    def request(self) -> StepId:
        """The request that this step sends, whatever its turn and the `run` lines above it."""
        return attrs.evolve(self, turn=0, runs=())

    def __str__(self) -> str:
        return self.name or f"{self.file}:{self.start}"
