"""The index of a tree: its messages by class, how large each is and where it stands.

Made in one walk, and used many times: by the mutator for each mutant of a tree, by the reducer for
all candidates that one tree gives, for donors.
"""

from __future__ import annotations

from functools import cached_property
from typing import Generic, TypeVar

from scriptschema.base import Message, Path

MessageT = TypeVar("MessageT", bound=Message)


class Index(Generic[MessageT]):
    """The messages of `tree`, numbered in the order of `walk`: parents first, fields by tag.

    The tree must not be changed while the index is in use.
    """

    def __init__(self, tree: MessageT) -> None:
        self.tree = tree
        self.nodes: list[Message] = []
        """The messages, by number."""
        self.parents: list[int] = []
        """The number of the message around each; -1 for the tree itself."""
        self._steps: list[tuple[str, int | None]] = []
        self._by_class: dict[type[Message], list[int]] = {}
        self._fill()

    def _fill(self) -> None:
        nodes, parents, steps, by_class = self.nodes, self.parents, self._steps, self._by_class
        stack: list[tuple[Message, int, tuple[str, int | None]]] = [(self.tree, -1, ("", None))]
        while stack:
            node, parent, step = stack.pop()
            number = len(nodes)
            nodes.append(node)
            parents.append(parent)
            steps.append(step)
            cls = node.__class__
            if cls in by_class:
                by_class[cls].append(number)
            else:
                by_class[cls] = [number]
            for slot, repeated in cls._child_slots:
                child = getattr(node, slot)
                if child is None:
                    continue
                if repeated:
                    for index in range(len(child) - 1, -1, -1):
                        stack.append((child[index], number, (slot, index)))
                else:
                    name = node.which if slot == "alternative" else slot
                    stack.append((child, number, (name or "", None)))

    def __len__(self) -> int:
        """How many messages the tree has."""
        return len(self.nodes)

    def of(self, cls: type[Message]) -> list[int]:
        """The numbers of the messages of class `cls`."""
        return self._by_class.get(cls, [])

    def step(self, number: int) -> tuple[str, int | None]:
        """The last step of the path to a message: a field's name and, in a list, the index."""
        return self._steps[number]

    def path(self, number: int) -> Path:
        """The path to a message."""
        numbers = []
        while number > 0:
            numbers.append(number)
            number = self.parents[number]
        path = Path()
        for above in reversed(numbers):
            path = Path(path, *self._steps[above])
        return path

    def depth(self, number: int) -> int:
        """How many messages are around a message: 0 for the tree itself."""
        depth = 0
        while number > 0:
            number = self.parents[number]
            depth += 1
        return depth

    @cached_property
    def sizes(self) -> list[int]:
        """How many messages each message holds, itself included, by number."""
        sizes = [1] * len(self.nodes)
        parents = self.parents
        for number in range(len(sizes) - 1, 0, -1):
            sizes[parents[number]] += sizes[number]
        return sizes

    @cached_property
    def heights(self) -> list[int]:
        """How many levels are below each message, by number: 0 where it holds none."""
        heights = [0] * len(self.nodes)
        parents = self.parents
        for number in range(len(heights) - 1, 0, -1):
            parent = parents[number]
            if heights[parent] <= heights[number]:
                heights[parent] = heights[number] + 1
        return heights

    def inside(self, number: int) -> range:
        """The numbers of the messages below a message."""
        return range(number + 1, number + self.sizes[number])
