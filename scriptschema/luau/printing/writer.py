"""The writer: the output so far, and the state for printing the rest of a tree.

A function in the other modules prints each kind of message. It takes the writer `w` and the
message, and calls the functions for the messages inside. A message that is nested too deeply is
postponed: the writer reserves its place in the output, and fills it later. So nesting costs only
memory and never causes a RecursionError. Time and memory are linear in the size of the tree,
because indentation does not grow beyond `_DEEPEST_INDENT` levels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final, TypeAlias

from scriptschema.base import Message, require_message
from scriptschema.luau.names import Names
from scriptschema.messages import StatBlock

Part: TypeAlias = str | Message
"""A part of the output: a string, or a message that is still to be printed."""

UNSET: Final = " --[[unset]]"
_DEEPEST_INDENT: Final = 40

ON_ONE_LINE: Final = 1 << 32
"""A number to subtract from the writer's level while printing on one line. The level is then
negative, and `Writer.newline` returns a space."""

_ROOM: Final = 64
"""The maximum depth of nested messages that are printed immediately. Deeper messages are postponed.
Each level needs up to five calls."""

Write: TypeAlias = Callable[[Any, Any], None]
"""A function that prints a message. Its arguments are the writer and the message."""


class Writer:
    """Prints one tree. `write` maps each kind of message to the function that prints it.

    `level` is the indentation. `limit` and `after` are the priorities of the operators around the
    next operand (see `needs_parentheses`). Printing the operand resets them to 0.
    """

    def __init__(
        self, write: Mapping[type[Message], Write], names: Names, types: bool, indent: str
    ) -> None:
        self.write = write
        self.names = names
        self.types = types
        self._newlines = _newlines(indent)
        self.out: list[Any] = []
        """The output: strings, and a nested list of the same form for each postponed message."""
        self.level = self.limit = self.after = 0
        self.room = _ROOM
        self._later: list[tuple[list[Any], Message, int, int, int]] = []

    def text(self, tree: Message) -> str:
        """Return the source of a tree."""
        require_message(tree)
        whole = self.out
        self.write[tree.__class__](self, tree)
        if isinstance(tree, StatBlock) and whole:
            whole[0] = whole[0].lstrip("\n")
            whole.append("\n")
        if not self._later:
            return "".join(whole)
        while self._later:
            self.out, node, self.level, self.limit, self.after = self._later.pop()
            self.write[node.__class__](self, node)
        return "".join(_flat(whole))

    def inside(self, node: Message) -> None:
        """Print a message now or, if it is nested too deeply, later."""
        if self.room:
            self.room -= 1
            self.write[node.__class__](self, node)
            self.room += 1
        else:
            self.later(node)

    def later(self, node: Message) -> None:
        """Reserve the current place in the output for a message, and print the message later."""
        place: list[Any] = []
        self.out.append(place)
        self._later.append((place, node, self.level, self.limit, self.after))
        self.limit = self.after = 0

    def print(self, *parts: Part) -> None:
        """Print strings and messages in order."""
        write, put = self.write, self.out.append
        for part in parts:
            if type(part) is str:
                put(part)
            else:
                write[part.__class__](self, part)  # type: ignore[index]  # it is a message

    def list(self, nodes: Iterable[Message]) -> None:
        """Print messages, separated by commas."""
        write, put = self.write, self.out.append
        between = False
        for node in nodes:
            if between:
                put(", ")
            write[node.__class__](self, node)
            between = True

    def newline(self) -> str:
        """Return the text that begins a line: a newline and the indentation.

        While printing on one line, return a space.
        """
        if self.level < 0:
            return " "
        return self._newlines[min(self.level, _DEEPEST_INDENT)]


@cache
def _newlines(indent: str) -> list[str]:
    return ["\n" + indent * level for level in range(_DEEPEST_INDENT + 1)]


def _flat(whole: Iterable[Any]) -> Iterator[str]:
    """Yield the strings of the output, in order."""
    open_ = [iter(whole)]
    while open_:
        for item in open_[-1]:
            if type(item) is list:
                open_.append(iter(item))
                break
            yield item
        else:
            open_.pop()


def separated(nodes: Iterable[Message]) -> list[Part]:
    """Return the nodes, separated by commas."""
    parts: list[Part] = []
    for node in nodes:
        parts += (", ", node)
    return parts[1:]


def write_wrapper(w: Writer, node: Any) -> None:
    """Print the inner message of a message that only holds another message."""
    inner = node.alternative
    if inner is None:
        w.out.append(UNSET)
    elif w.room:  # like `Writer.inside`
        w.room -= 1
        w.write[inner.__class__](w, inner)
        w.room += 1
    else:
        w.later(inner)
