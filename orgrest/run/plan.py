"""The plan of a run: its steps in order, each with a unique identity.

Dry runs and runs carry out these steps; code lenses, diagnostics and test explorers list them. A
run of tests chooses among them, with the setup before and the teardown after the rest.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Literal

import attrs

if TYPE_CHECKING:
    from collections.abc import Hashable

    from orgrest.model import OrgrestError

Part = Literal["setup", "request", "teardown"]
"""The part of a run of tests to which a step belongs."""


@attrs.frozen
class StepId:
    """The identity of a step: its position, never its name.

    `file` is the document's, `start` the offset of the request or block in the text as first read.
    `turn` counts the turns of a loop, from 0; `runs` are the files and offsets of the `run` lines
    that lead to it, the outermost first. `name` is used in messages.
    """

    file: str
    start: int
    turn: int = 0
    runs: tuple[tuple[str, int], ...] = ()
    name: str = attrs.field(default="", eq=False)

    @property
    def request(self) -> StepId:
        """The request that this step sends: the same for all turns and `run` lines."""
        return attrs.evolve(self, turn=0, runs=())

    def __str__(self) -> str:
        return self.name or f"{self.file}:{self.start}"


@attrs.frozen
class Call(StepId):
    """The identity of a request that is sent again for one reference, as in `:var x=get(id=1)`.

    `by` identifies the referring step, `number` counts its references.
    """

    by: Hashable = None
    number: int = 0

    @property
    def request(self) -> StepId:
        """The request itself: the same for all references that call it."""
        return StepId(self.file, self.start, name=self.name)


@attrs.frozen(eq=False)
class Step:
    """A step: a request or block, or a line of a request file that runs other requests.

    `source` is its object in that kind of document, `line` (from 1) its position. `tags` are those
    of the Org headings above, of `#+FILETAGS:` and of `# @tag` lines.
    """

    id: StepId
    line: int
    name: str | None
    tags: frozenset[str]
    source: Any = attrs.field(repr=False)

    @property
    def part(self) -> Part:
        """The part of the run that it belongs to, by the name or tag `setup` or `teardown`."""
        words = {word.lower() for word in (*self.tags, self.name or "")}
        if "setup" in words:
            return "setup"
        return "teardown" if "teardown" in words else "request"


@attrs.frozen
class Choice:
    """A choice of steps by name and by tag; without names or without tags, all of them match.

    Names may be patterns (`login*`). Setup and teardown are always included.
    """

    names: tuple[str, ...] = ()
    tags: frozenset[str] = frozenset()

    def takes(self, step: Step) -> bool:
        """Return whether a step is chosen."""
        if step.part != "request":
            return True
        if self.tags and not self.tags & step.tags:
            return False
        return not self.names or any(fnmatchcase(step.name or "", name) for name in self.names)


@attrs.frozen(eq=False)
class Plan:
    """The steps for a document, in order.

    `problems` are failures of the whole document, `notices` warnings for the user. `suspects` look
    like a block or a header argument but are not: they are warnings, too, but errors in a run of
    tests, where the intended check would otherwise silently not happen.
    """

    steps: tuple[Step, ...]
    notices: tuple[str, ...] = ()
    problems: tuple[OrgrestError, ...] = ()
    suspects: tuple[OrgrestError, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """The notices and suspects, for a run that sends the rest of the document."""
        return (*self.notices, *(f"line {one.line}: {one.reason}" for one in self.suspects))

    def of(self, part: Part, choice: Choice = Choice()) -> list[Step]:
        """Return the chosen steps of a part of the run."""
        return [step for step in self.steps if step.part == part and choice.takes(step)]


def split_tags(text: str) -> list[str]:
    """Return the tags of a `# @tag a, b` line."""
    return text.replace(",", " ").split()
