"""The plan of a run: its steps in order, each with a unique identity.

Runs and dry runs carry out these steps. Code lenses, diagnostics and test explorers list them. A
test run carries out the setup, some of the other steps, and the teardown.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

from orgrest import classes

if TYPE_CHECKING:
    from collections.abc import Hashable

    from orgrest.model import OrgrestError

Part = Literal["setup", "request", "teardown"]
"""The part of a test run that a step belongs to."""


@classes.frozen
class StepId:
    """The identity of a step, which depends on its position and not on its name.

    `file` is the document, and `start` is the offset of the request or block in the original text.
    `turn` is the index of the iteration in a loop, starting at 0. `runs` contains (file, offset)
    for each `run` line that leads to the step, the outermost first. `call` is set if the request is
    sent again for a reference such as `:var x=get(id=1)`. It identifies the step that contains the
    reference, and contains the number of the reference in that step. `name` is used only in
    messages.
    """

    file: str
    start: int
    turn: int = 0
    runs: tuple[tuple[str, int], ...] = ()
    call: tuple[Hashable, int] | None = None
    name: str = classes.field(default="", eq=False)

    @property
    def request(self) -> StepId:
        """The identity of the request itself, without the iteration, `run` lines and reference."""
        if not (self.turn or self.runs or self.call):
            return self
        return classes.evolve(self, turn=0, runs=(), call=None)

    def __str__(self) -> str:
        return self.name or f"{self.file}:{self.start}"


@classes.frozen(eq=False)
class Step:
    """A step: a request, a block, or a `run` line in a request file, as parsed in `source`.

    `line` is counted from 1. `tags` come from Org headings, `#+FILETAGS:` and `# @tag` lines.
    """

    id: StepId
    line: int
    name: str | None
    tags: frozenset[str]
    source: Any = classes.field(repr=False)

    @cached_property
    def part(self) -> Part:
        """The part of the run that this step belongs to: `setup`, `teardown` or `request`.

        It is `setup` or `teardown` if the step has that name or tag.
        """
        words = {word.lower() for word in (*self.tags, self.name or "")}
        if "setup" in words:
            return "setup"
        return "teardown" if "teardown" in words else "request"


@classes.frozen
class Choice:
    """A selection of steps by name, by tag and by identity.

    Empty `names`, `tags` or `ids` select every step. A name may be a pattern such as `login*`. In a
    test run, setup and teardown are always carried out. If `alone` is true, the plan contains only
    the selected steps.
    """

    names: tuple[str, ...] = ()
    tags: frozenset[str] = frozenset()
    ids: frozenset[StepId] = frozenset()
    alone: bool = False

    def takes(self, step: Step) -> bool:
        """Return whether a run carries out a step of its plan."""
        return self.alone or step.part != "request" or self.selects(step)

    def selects(self, step: Step) -> bool:
        """Return whether this choice selects a step."""
        if self.tags and not self.tags & step.tags:
            return False
        if self.ids and step.id not in self.ids:
            return False
        name = step.name or ""
        return not self.names or any(n and (n == name or fnmatchcase(name, n)) for n in self.names)


@classes.frozen(eq=False)
class Plan:
    """The steps for a document, in order.

    `problems` contains failures of the whole document, and `notices` contains warnings for the
    user. `suspects` contains messages about text that looks like a block or a header argument but
    is neither. They are errors in a test run, which would otherwise skip a check silently, and
    warnings in other runs. If the document contains no request at all, they are in `problems`
    instead.
    """

    steps: tuple[Step, ...]
    notices: tuple[str, ...] = ()
    problems: tuple[OrgrestError, ...] = ()
    suspects: tuple[OrgrestError, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """The notices and suspects together, for runs in which both are warnings."""
        return (
            *self.notices,
            *(f"line {suspect.line}: {suspect.reason}" for suspect in self.suspects),
        )

    def of(self, part: Part, choice: Choice | None = None) -> list[Step]:
        """Return the steps in a part of the run. If there is a `choice`, return only its steps."""
        choice = choice or Choice()
        return [step for step in self.steps if step.part == part and choice.takes(step)]

    def tested(self, choice: Choice) -> list[Step]:
        """Return the steps of a test run in order: setup, chosen requests and teardown.

        The list is empty if no request is chosen.
        """
        setup, requests, teardown = (self.of(part, choice) for part in get_args(Part))
        return [*setup, *requests, *teardown] if requests else []


def split_tags(text: str) -> list[str]:
    """Return the tags in a `# @tag a, b` line."""
    return text.replace(",", " ").split()
