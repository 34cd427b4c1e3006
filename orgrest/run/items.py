"""What a document has to be evaluated, before anything is sent: places, names, tags, parts.

A run of tests chooses among these, and sends its setup before and its teardown after the rest.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Literal

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from orgrest.run.identity import StepId

Part = Literal["setup", "request", "teardown"]
"""When a request is sent in a run of tests."""


@attrs.frozen(eq=False)
class Item:
    """A block or request of a document: `what` is how its kind of document knows it.

    `key` tells it from all others; None where it stands for requests that other lines have.

    `tags` are those of the Org headings above, of `#+FILETAGS:` and of `# @tag` lines.
    """

    line: int
    name: str | None
    tags: frozenset[str]
    what: Any = attrs.field(repr=False)
    key: StepId | None = None

    @property
    def part(self) -> Part:
        """When it is sent: what is named or tagged `setup` or `teardown` is so."""
        words = {word.lower() for word in (*self.tags, self.name or "")}
        if "setup" in words:
            return "setup"
        return "teardown" if "teardown" in words else "request"


@attrs.frozen
class Choice:
    """Which requests of a document are tested: each by its name or one of its tags; empty, all.

    Names may be patterns (`login*`). Setup and teardown are always taken.
    """

    names: tuple[str, ...] = ()
    tags: frozenset[str] = frozenset()

    def of(self, items: Iterable[Item], part: Part) -> list[Item]:
        """Return those of the items that are sent in this part of the run."""
        return [item for item in items if item.part == part and self.takes(item)]

    def takes(self, item: Item) -> bool:
        """Tell whether an item is sent."""
        if item.part != "request":
            return True
        if self.tags and not self.tags & item.tags:
            return False
        return not self.names or any(fnmatchcase(item.name or "", name) for name in self.names)


def split_tags(text: str) -> list[str]:
    """Return the tags of a `# @tag a, b` line."""
    return text.replace(",", " ").split()
