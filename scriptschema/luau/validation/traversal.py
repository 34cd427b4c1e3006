"""The traversal that validates and repairs: what is still to be visited, and what was found.

It goes through a copy of the tree in the order in which Luau's compiler reads a program. The
handlers in the modules above are functions of the traversal `v`, a message, its path and its depth
(the root's is 1). Where a rule is broken they note a `Problem` and repair the message at once, and
they push what is to be visited next. Open messages are kept on a stack: depth costs memory, never
a RecursionError, and time is linear.

The rule `depth` is applied here: what a message has no room for gives way to the simplest thing
that has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias, TypeVar

import attrs

from scriptschema.base import Message, Path
from scriptschema.luau.names import Names
from scriptschema.luau.scope import Scope
from scriptschema.messages import (
    MESSAGES,
    Expr,
    ExprConstantNumber,
    ExprGlobal,
    ExprIfElse,
    ExprPrefix,
    LValue,
    Stat,
    StatAssign,
    StatBlock,
    StatForIn,
    StatLocal,
    Type,
    TypePrimitive,
)

RULES: Final = {
    "depth": "the tree must not be nested too deep",
}

MAX_DEPTH: Final = 100
"""How deep protobuf's runtimes take a message to be nested."""

DEEPEST: Final = 400
"""How deep a tree may be that is deeper than that: Luau's parser allows 1,000 levels of its own."""

Visit: TypeAlias = Callable[..., None]
"""A handler: takes the Traversal, a message, its path, its depth, and what its holder knows."""

Task: TypeAlias = tuple[Any, ...]
"""A handler and its arguments after the Traversal; or a method of the Scope and its arguments,
which are two at most.
"""

HANDLERS: Final[dict[type[Message], Visit]] = {}
"""How to visit a message of each kind, filled by the modules that have the handlers.

What is not here can only be judged in a message around it, or holds nothing that could be wrong.
"""

_NOT_EMPTY: Final = {
    (StatLocal, "vars"), (StatForIn, "vars"), (StatForIn, "values"), (StatAssign, "vars"),
    (StatAssign, "values"), (ExprIfElse, "else_"),
}  # fmt: skip

_WRAPPERS: Final = (Expr, ExprPrefix, LValue, Stat, Type)
"""The messages that hold exactly one of several."""

MessageT = TypeVar("MessageT", bound=Message)


@attrs.frozen
class Problem:
    """A rule that a tree breaks: where, which one (a key of RULES), and what is wrong there."""

    path: Path
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.path or 'tree'}: {self.message} [{self.rule}]"


def _heights() -> dict[type[Message], int]:
    """How high a valid message of each kind is at least."""
    heights = dict.fromkeys(MESSAGES.values(), 1)
    changed = True
    while changed:
        changed = False
        for cls in heights:
            fields = [field for field in cls.FIELDS.values() if field.is_message]
            height = 1 + max(
                (
                    heights[field.type]
                    for field in fields
                    if (field.rule == "required" and not field.oneof)
                    or (cls, field.name) in _NOT_EMPTY
                ),
                default=0,
            )
            if cls in _WRAPPERS:
                height = 1 + min(heights[field.type] for field in fields)
            if height != heights[cls]:
                heights[cls] = height
                changed = True
    return heights


HEIGHTS: Final = _heights()
"""How high a valid message of each kind is at least: 1 for one without messages in it."""


def _copy(tree: MessageT) -> tuple[MessageT, int]:
    """Return a copy of the tree that shares nothing with it, and how deep the tree is."""
    put = object.__setattr__
    copied = object.__new__(tree.__class__)
    deepest = 1
    pairs: list[tuple[Any, Any, int]] = [(tree, copied, 1)]
    while pairs:
        old, new, depth = pairs.pop()
        if depth > deepest:
            deepest = depth
        for slot in old._slots:
            value = getattr(old, slot)
            if value.__class__ in HEIGHTS:
                child = object.__new__(value.__class__)
                pairs.append((value, child, depth + 1))
                value = child
            elif value.__class__ is list:
                items = []
                for item in value:
                    child = object.__new__(item.__class__)
                    pairs.append((item, child, depth + 1))
                    items.append(child)
                value = items
            put(new, slot, value)
    return copied, deepest


def filler() -> ExprConstantNumber:
    """What stands for a missing expression: a program of numbers runs further than one of nils.

    It is 0, and not 1, because `-1` would be a constant of its own.
    """
    return ExprConstantNumber(val=0)


class Traversal:
    """One traversal: `tree` is the repaired copy, `problems` what was found on the way.

    `scope` is what is visible where the traversal is, `deepest` how deep the copy may be, and
    `module_reachable` whether a require here finds a module.
    """

    def __init__(self, tree: Message, names: Names) -> None:
        self.names = names
        self.scope = Scope(names)
        self.problems: list[Problem] = []
        self.module_reachable = True
        self.tree: Any
        self.tree, depth = _copy(tree)
        self.deepest = MAX_DEPTH if depth <= MAX_DEPTH else DEEPEST
        self._any = names.primitives.index("any") if "any" in names.primitives else 0
        self._stack: list[Task] = []

    def run(self) -> None:
        """Visit the whole tree."""
        stack = self._stack
        scope = self.scope
        tight = self.deepest - max(HEIGHTS.values())
        stack.append((HANDLERS.get(self.tree.__class__, _leave), self.tree, Path(), 1))
        while stack:
            task = stack.pop()
            if len(task) > 3:  # a message, its path and its depth: others are about the scope
                scope.function.size += 1
                if task[3] > tight:
                    self.fit(*task[1:4])
                task[0](self, *task[1:])
            else:
                task[0](*task[1:])

    def push(self, *tasks: Task) -> None:
        """Visit these next, the first one first."""
        self._stack.extend(reversed(tasks))

    def note(self, path: Path, rule: str, message: str) -> None:
        """Note a problem: where, the rule's name, what is wrong."""
        self.problems.append(Problem(path, rule, message))

    def fit(self, node: Message, path: Path, depth: int) -> None:
        """Take out of a message what leads too deep; it holds what must be there."""
        cls = node.__class__
        room = self.deepest - depth
        for field in cls.FIELDS.values():
            value = getattr(node, field.name)
            if not field.is_message or not value or HEIGHTS[field.type] <= room:
                continue
            if field.rule == "repeated":
                setattr(node, field.name, [])
            elif cls in _WRAPPERS:
                self.simplify(node)
            elif field.oneof or field.rule == "optional":
                setattr(node, field.name, None)
            else:
                continue
            self.note(path, "depth", f"nested more than {self.deepest} deep below {field.name}")

    def simplify(self, node: Any) -> None:
        """Set a message that holds one of several to its simplest alternative."""
        match node:
            case Expr():
                node.number = filler()
            case Stat():
                node.block = StatBlock()
            case Type():
                node.primitive = TypePrimitive(kind=self._any)
            case _:
                node.global_ = ExprGlobal(name=self.scope.free_global(0, builtin=False))


def _leave(*_: object) -> None:
    """Visit a message that has no handler."""
