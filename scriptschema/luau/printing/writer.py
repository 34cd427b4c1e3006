"""The writer: what is still to be printed, and what has been.

It keeps what is still to be printed, strings and messages, on a stack of its own, last part first:
depth costs memory, never a RecursionError, and time and memory are linear in the tree. Indentation
stops growing after some levels, for the same reason. How a message of each kind is printed stands
in the modules above, in functions of the writer `w` and the message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

from scriptschema.base import Message
from scriptschema.luau.names import Names
from scriptschema.messages import ModuleSet, StatBlock

Task: TypeAlias = tuple[Message, int, int, int]
"""A message to print, its level of indentation, and its place: see `needs_parentheses`."""

Part: TypeAlias = str | Message | Task
"""What a message is printed as: texts and messages, with a `Task` where the place matters."""

UNSET: Final = " --[[unset]]"
_DEEPEST_INDENT: Final = 40

Write: TypeAlias = Callable[[Any, Any], None]
"""Prints a message: it is called with the writer, of the class that the table is for, and that."""


class Writer:
    """Prints one tree, each message as the table `write` says.

    `level`, `limit` and `after` are those of the message being printed.
    """

    def __init__(
        self, write: Mapping[type[Message], Write], names: Names, types: bool, indent: str
    ) -> None:
        self.write = write
        self.names = names
        self.types = types
        self.newlines = ["\n" + indent * level for level in range(_DEEPEST_INDENT + 1)]
        self.out: list[str] = []
        self.stack: list[str | Task] = []
        self.level = self.limit = self.after = 0

    def text(self, tree: Message) -> str:
        """Return the source of a tree."""
        out, stack, handlers = self.out, self.stack, self.write
        stack.append((tree, 0, 0, 0))
        while stack:
            item = stack.pop()
            if type(item) is str:
                out.append(item)
            elif type(item) is tuple:
                node, self.level, self.limit, self.after = item
                handlers[node.__class__](self, node)
        if isinstance(tree, StatBlock | ModuleSet) and out:
            out[0] = out[0].lstrip("\n")
            out.append("\n")
        return "".join(out)

    def push(self, *parts: Part) -> None:
        """Print these next, the first one first."""
        level = self.level
        append: Callable[[Any], None] = self.stack.append
        for part in reversed(parts):  # not `isinstance`, which is slow for an abstract class
            append(part if type(part) is str or type(part) is tuple else (part, level, 0, 0))

    def newline(self, level: int) -> str:
        """What begins a line at a level."""
        return self.newlines[min(level, _DEEPEST_INDENT)]


def separated(nodes: Iterable[Message], separator: str = ", ") -> list[Part]:
    """The nodes with something between."""
    parts: list[Part] = []
    for node in nodes:
        parts += (separator, node)
    return parts[1:]


def write_wrapper(w: Writer, node: Any) -> None:
    """A message that holds one of several."""
    inner = node.alternative
    if inner is None:
        w.out.append(UNSET)
    else:
        w.write[inner.__class__](w, inner)  # it stands where the wrapper does
