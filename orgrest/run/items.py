"""The items of a document that can be evaluated: positions, names, tags, parts of the run.

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
    """A block or request of a document: `what` is its object in that kind of document.

    `key` is its identity; None if it stands for requests of other lines.

    `tags` are those of the Org headings above, of `#+FILETAGS:` and of `# @tag` lines.
    """

    line: int
    name: str | None
    tags: frozenset[str]
    what: Any = attrs.field(repr=False)
    key: StepId | None = None

    @property
    def part(self) -> Part:
        """The part of the run in which it is sent, by the name or tag `setup` or `teardown`."""
        words = {word.lower() for word in (*self.tags, self.name or "")}
        if "setup" in words:
            return "setup"
        return "teardown" if "teardown" in words else "request"


@attrs.frozen
class Choice:
    """Which requests of a document are tested: each by its name or one of its tags; empty, all.

    Names may be patterns (`login*`). Setup and teardown are always included.
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
