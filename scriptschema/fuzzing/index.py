"""The index of a tree: its messages by class, with the size and position of each message.

An index is created in a single walk. The mutator uses it for all mutants of a tree, and the reducer
for all candidates derived from a tree.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final, Generic, TypeVar

from scriptschema.base import Message, Path, require_message
from scriptschema.codec.compiling import compile_each, indented
from scriptschema.luau.names import DEFAULT
from scriptschema.luau.repair import is_valid
from scriptschema.messages import ExprFunction, Local, schema
from scriptschema.versions import TODAY

MessageT = TypeVar("MessageT", bound=Message)

_SLOTS: Final = 16
"""An upper bound for the number of message slots of any message. A step is an integer, `slot +
_SLOTS * index`, because a list of integers is created faster than a list of tuples."""


class Index(Generic[MessageT]):
    """The messages of `tree`, numbered in the order of `walk`: parents first, fields by tag.

    Do not change the tree while the index is in use.
    """

    def __init__(self, tree: MessageT) -> None:
        require_message(tree)
        self.tree = tree
        self.nodes: list[Message] = []
        """The messages in the order of their numbers."""
        self.parents: list[int] = []
        """For each message, the index of its parent in `nodes`, or -1 for the root."""
        self._steps: list[int] = []
        self._by_class: defaultdict[type[Message], list[int]] = defaultdict(list)
        try:
            _FILLERS[tree.__class__](tree, -1, 0, self.nodes, self.parents, self._steps)
        except RecursionError:  # a deep tree
            self._fill_deep()

    def _fill_deep(self) -> None:
        nodes, parents, steps = self.nodes, self.parents, self._steps
        for rows in (nodes, parents, steps):
            rows.clear()
        stack: list[tuple[Message, int, int]] = [(self.tree, -1, 0)]
        while stack:
            node, parent, step = stack.pop()
            number = len(nodes)
            nodes.append(node)
            parents.append(parent)
            steps.append(step)
            stack.extend((child, number, step) for child, step in reversed(_children(node)))

    def changed(self, tree: MessageT, number: int) -> Index[MessageT]:
        """Return the index of `tree`, which differs from the indexed tree only in message `number`.

        The trees must share all messages except this message and its ancestors. This is faster than
        creating a new index.
        """
        end = number + self.size(number)
        index: Index[MessageT] = Index.__new__(Index)
        index.tree = tree
        index._by_class = defaultdict(list)
        index.nodes = nodes = self.nodes[:number]
        index.parents = parents = self.parents[: number + 1]
        index._steps = steps = self._steps[: number + 1]
        node: Any = tree
        for inner in self.way(number):
            nodes[self.parents[inner]] = node
            slot, position = self.slot(inner)
            node = getattr(node, slot) if position is None else getattr(node, slot)[position]
        nodes.append(node)
        inside = enumerate(self.parents[number + 1 : end], number + 1)
        numbers = [inner for inner, parent in inside if parent == number]
        ends = dict(zip(numbers, [*numbers[1:], end], strict=False))
        known = {id(self.nodes[inner]): inner for inner in numbers}
        same = upto = 0  # entries to copy for messages with unchanged positions
        for child, step in _children(node):
            old = known.get(id(child))
            if old is not None and self._steps[old] == step:
                if old != upto:
                    self._copy_to(index, same, upto)
                    same = old
                upto = ends[old]
                continue
            self._copy_to(index, same, upto)
            same = upto = 0
            if old is None:
                try:
                    _FILLERS[child.__class__](child, number, step, nodes, parents, steps)
                except RecursionError:
                    return Index(tree)
            else:
                self._copy_to(index, old, ends[old], step)
        self._copy_to(index, same, upto)
        self._copy_to(index, end, len(self.nodes))
        return index

    def _copy_to(self, other: Index[Any], start: int, end: int, step: int | None = None) -> None:
        """Append the entries from `start` to `end` to `other`. `step` replaces the first step."""
        shift = len(other.nodes) - start
        other.nodes += self.nodes[start:end]
        parents = self.parents[start:end]
        other.parents += [p + shift if p >= start else p for p in parents] if shift else parents
        other._steps += self._steps[start:end]
        if step is not None:
            other._steps[start + shift] = step

    def __len__(self) -> int:
        """Return the number of messages in the tree."""
        return len(self.nodes)

    def of(self, cls: type[Message]) -> list[int]:
        """Return the numbers of the messages of class `cls`."""
        return self.by_class.get(cls, [])

    def messages(self, cls: type[Message]) -> list[Any]:
        """Return the messages of class `cls`."""
        return [self.nodes[number] for number in self.of(cls)]

    def unused_local(self) -> int | None:
        """Return the first index of a local's name that the tree does not use, or None."""
        used = {DEFAULT.local(variable.name) for variable in self.messages(Local)}
        return next((n for n, name in enumerate(DEFAULT.locals) if name not in used), None)

    @property
    def by_class(self) -> Mapping[type[Message], list[int]]:
        """The numbers of the messages of each class that occurs."""
        numbers = self._by_class
        if not numbers:
            for number, cls in enumerate(map(type, self.nodes)):
                numbers[cls].append(number)
        return numbers

    def slot(self, number: int) -> tuple[str, int | None]:
        """Return the parent's slot that contains a message and, for a list, the message's index."""
        index, position = divmod(self._steps[number], _SLOTS)
        slot, repeated = self.nodes[self.parents[number]]._child_slots[position]
        return slot, index if repeated else None

    def step(self, number: int) -> tuple[str, int | None]:
        """Return the last step of a message's path: the field's name and, for a list, the index."""
        if number == 0:
            return "", None
        slot, index = self.slot(number)
        if slot == "alternative":
            slot = self.nodes[self.parents[number]].which or ""
        return slot, index

    def path(self, number: int) -> Path:
        """Return the path to a message."""
        path = Path()
        for above in self.way(number):
            path = Path(path, *self.step(above))
        return path

    def way(self, number: int) -> list[int]:
        """Return the numbers of a message and its ancestors except the root, from top to bottom."""
        numbers = []
        while number > 0:
            numbers.append(number)
            number = self.parents[number]
        numbers.reverse()
        return numbers

    def depth(self, number: int) -> int:
        """Return the number of a message's ancestors, which is 0 for the root."""
        depth = 0
        while number > 0:
            number = self.parents[number]
            depth += 1
        return depth

    def size(self, number: int) -> int:
        """Return a message's size: the number of its descendants, plus 1 for the message itself.

        If only a few sizes are needed, this is faster than `sizes`.
        """
        parents = self.parents
        end = number + 1
        while end < len(parents) and parents[end] >= number:
            end += 1
        return end - number

    @cached_property
    def sizes(self) -> list[int]:
        """The size of each message (see `size`), by message number."""
        sizes = [1] * len(self.nodes)
        parents = self.parents
        for number in range(len(sizes) - 1, 0, -1):
            sizes[parents[number]] += sizes[number]
        return sizes

    @cached_property
    def heights(self) -> list[int]:
        """The number of levels below each message, by message number. A leaf has 0."""
        heights = [0] * len(self.nodes)
        parents = self.parents
        for number in range(len(heights) - 1, 0, -1):
            parent = parents[number]
            if heights[parent] <= heights[number]:
                heights[parent] = heights[number] + 1
        return heights

    @cached_property
    def is_program(self) -> bool:
        """Whether `check` finds no problem in the tree."""
        return is_valid(self.tree)

    def inside(self, number: int) -> range:
        """Return the numbers of all descendants of a message."""
        return range(number + 1, number + self.size(number))


def own_nodes(node: Any) -> Iterator[Any]:
    """Yield the messages of a tree, except those inside functions."""
    stack = [node]
    while stack:
        node = stack.pop()
        yield node
        if node.__class__ is not ExprFunction:
            for slot, repeated in node._child_slots:
                child = getattr(node, slot)
                stack += child if repeated else [child] if child is not None else []


def _children(node: Message) -> list[tuple[Message, int]]:
    children: list[tuple[Message, int]] = []
    for step, (slot, repeated) in reversed([*enumerate(node._child_slots)]):
        child = getattr(node, slot)
        if repeated:
            children += [(item, step + _SLOTS * index) for index, item in enumerate(child)]
        elif child is not None:
            children.append((child, step))
    return children


def _recording(cls: type[Message], step: object) -> list[str]:
    if cls._child_slots:
        return [f"fill_{cls.__name__}(child, number, {step}, nodes, parents, steps)"]
    return ["nodes.append(child)", "parents.append(number)", f"steps.append({step})"]


def _lines(cls: type[Message]) -> list[str]:
    """Return the body of a function that records a message and its descendants."""
    lines = ["number = len(nodes)"]
    lines += ["nodes.append(node)", "parents.append(parent)", "steps.append(step)"]
    for step, (slot, repeated) in reversed([*enumerate(cls._child_slots)]):
        if repeated:
            inner = [*_recording(cls.ALL_FIELDS[slot].type, "step"), f"step += {_SLOTS}"]
            lines += [f"step = {step}", f"for child in node.{slot}:", *indented(inner)]
            continue
        if slot == "alternative":
            inner = [f"of[child.__class__](child, number, {step}, nodes, parents, steps)"]
        else:
            inner = _recording(cls.ALL_FIELDS[slot].type, step)
        lines += [f"child = node.{slot}", "if child is not None:", *indented(inner)]
    return lines


_FILLERS: Final[dict[type[Message], Callable[..., None]]] = {}
_FILLERS.update(
    compile_each(
        "fill",
        "node, parent, step, nodes, parents, steps",
        _lines,
        {"of": _FILLERS},
        schema(TODAY),
    )
)
