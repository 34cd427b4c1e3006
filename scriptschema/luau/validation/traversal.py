"""The traversal that validates and repairs: the remaining tasks, and the problems so far.

It visits a tree in the order in which Luau's compiler reads a program. The handlers in the other
modules are functions that take the traversal `v`, a message, its path and its depth (1 for the
root). A handler that finds a broken rule records a `Problem` and repairs the message immediately.
Then it pushes the messages to visit next on a stack. So nesting costs only memory and never causes
a RecursionError, and time is linear.

The rule `depth` is applied here: a part that is nested too deeply is removed, or replaced by the
simplest part that fits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Final, TypeAlias

import attrs

from scriptschema import messages as m
from scriptschema.base import Message, Path, require_message
from scriptschema.luau.names import Names
from scriptschema.luau.scope import MAX_CLOSURES, Scope
from scriptschema.versions import TODAY

_OWN_LIMITS: Final = frozenset(["depth", "registers", "size"])
"""The rules whose limits are below those of Luau's compiler."""

MAX_DEPTH: Final = 100
"""The maximum depth of a tree that protobuf's runtimes accept."""

DEEPEST: Final = 400
"""The maximum depth of a tree that was deeper than `MAX_DEPTH` before it was repaired. It is far
below Luau's own limit of 1,000."""

Place: TypeAlias = tuple[Any, ...]
"""The position of a message: the place of the enclosing message, and the name and index of the last
step, like the arguments of `Path`. The root's place is empty. A place is converted to a Path only
when a problem is recorded."""

Visit: TypeAlias = Callable[..., None]
"""A handler. Its arguments are the Traversal, a message, its path, its depth, and other arguments
that depend on the handler."""

Task: TypeAlias = tuple[Any, ...]
"""A handler with all its arguments but the Traversal, or a method of the Scope with its arguments.
A method has at most two arguments."""

HANDLERS: Final[dict[type[Message], Visit]] = {}
"""The handler for each kind of message. The modules that define handlers register them here.

A message of any other kind is checked by the handler of an enclosing message, or cannot break a
rule.
"""

_NOT_EMPTY: Final = {
    (m.StatLocal, "vars"), (m.StatForIn, "vars"), (m.StatForIn, "values"), (m.StatAssign, "vars"),
    (m.StatAssign, "values"), (m.ExprIfElse, "else_"),
}  # fmt: skip

JUMPS: Final = frozenset(["break_", "continue_", "return_"])
"""The statements that must come last in their block."""

WRAPPERS: Final = frozenset([m.Expr, m.ExprPrefix, m.LValue, m.Stat, m.Type])
"""The messages that consist only of a oneof."""


@attrs.frozen
class Problem:
    """A violation of a rule: the path, the rule (a key of RULES), and what is wrong there."""

    path: Path
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.path or 'tree'}: {self.message} [{self.rule}]"


def _heights() -> dict[type[Message], int]:
    heights = dict.fromkeys(m.schema(TODAY).messages.values(), 1)
    changed = True
    while changed:
        changed = False
        for cls in heights:
            fields = [field for field in cls.ALL_FIELDS.values() if field.is_message]
            height = 1 + max(
                (
                    heights[field.type]
                    for field in fields
                    if (field.rule == "required" and not field.oneof)
                    or (cls, field.name) in _NOT_EMPTY
                ),
                default=0,
            )
            if cls in WRAPPERS:
                height = 1 + min(heights[field.type] for field in fields)
            if height != heights[cls]:
                heights[cls] = height
                changed = True
    return heights


HEIGHTS: Final = _heights()
"""The minimum height of a valid message of each kind. It is 1 for a message that does not hold
another message."""

_ROOMY: Final = MAX_DEPTH - max(HEIGHTS.values())
"""The maximum depth at which any message still fits."""


def _depth(tree: Message) -> int:
    depth = 0
    level = [tree]
    while level:
        depth += 1
        below: list[Any] = []
        for node in level:
            for slot, repeated in node._child_slots:
                value = getattr(node, slot)
                if repeated:
                    below += value
                elif value is not None:
                    below.append(value)
        level = below
    return depth


def filler() -> m.ExprConstantNumber:
    """Return a replacement for a missing expression: the constant 0.

    Operations on nil would more often cause errors, which end the program. After a minus operator,
    1 would break the rule `minus`.
    """
    return m.ExprConstantNumber(val=0)


class IncompleteError(Exception):
    """Raised if visiting only part of the tree is not enough, so the whole tree must be visited."""


class InvalidError(Exception):
    """Raised if the tree breaks a rule and the traversal must not repair it."""


class Traversal:
    """Checks and repairs `tree`, and adds to `problems`.

    `scope` contains the names that are visible at the current position. `module_reachable` is true
    if a `require` at this position finds a module. `any` is the index of the type named `any`. If
    `partial` is true, only a part of the tree is visited and the rest must not change: see
    `partial.py`. If `strict` is true, the first problem raises InvalidError, and the tree remains
    unchanged.
    """

    def __init__(
        self, tree: Message, names: Names, *, partial: bool = False, strict: bool = False
    ) -> None:
        require_message(tree)
        self.tree: Any = tree
        self.names = names
        self.partial = partial
        self.strict = strict
        self.scope = Scope(names)
        self.problems: list[Problem] = []
        self.module_reachable = True
        self.any = names.primitives.index("any") if "any" in names.primitives else 0
        self.stack: list[Task] = []

    @cached_property
    def deepest(self) -> int:
        """Return the maximum depth that the tree may have. It is computed on first access."""
        return MAX_DEPTH if _depth(self.tree) <= MAX_DEPTH else DEEPEST

    def run(self) -> None:
        """Visit the whole tree."""
        self.stack.append((HANDLERS.get(self.tree.__class__, _leave), self.tree, (), 1))
        self.go_on(0)

    def go_on(self, left: int) -> None:
        """Run tasks until only `left` tasks remain."""
        stack = self.stack
        scope = self.scope
        while len(stack) > left:
            task = stack.pop()
            count = len(task)
            if count == 5:  # the most frequent case, and faster than the general case below
                visit, node, place, depth, argument = task
                scope.function.size += 1
                if depth > _ROOMY:
                    self.fit(node, place, depth)
                visit(self, node, place, depth, argument)
            elif count > 3:  # a handler's arguments; methods of the Scope have fewer
                self.enter(*task[1:4])
                task[0](self, *task[1:])
            else:
                task[0](*task[1:])

    def enter(self, node: Message, path: Place, depth: int) -> None:
        """Count a message before it is visited, and remove parts that are nested too deeply."""
        self.scope.function.size += 1
        if depth > _ROOMY:
            self.fit(node, path, depth)

    def push(self, *tasks: Task) -> None:
        """Add tasks to run next, in this order."""
        self.stack.extend(reversed(tasks))

    def note(self, place: Place, rule: str, message: str) -> None:
        """Record a problem: its place, the name of the rule, and what is wrong."""
        if self.strict:
            raise InvalidError
        steps = []
        while place:
            place, *step = place
            steps.append(step)
        path = Path()
        for step in reversed(steps):
            path = Path(path, *step)
        if rule in _OWN_LIMITS:
            message += " (a limit of scriptschema, below Luau's)"
        self.problems.append(Problem(path, rule, message))

    def shorten(self, node: Message, name: str, room: int, path: Place, rule: str) -> None:
        """Remove the items of a list beyond the first `room` items."""
        items = getattr(node, name)
        room = max(room, 0)
        if len(items) > room:
            self.note(path, rule, f"{name} has {len(items)} items, but the limit is {room}")
            setattr(node, name, items[:room])

    def may_hold_closure(self, path: Place) -> bool:
        """Count another closure, or record a problem and return False if the limit forbids it."""
        self.scope.function.closures += 1
        if self.scope.function.closures <= MAX_CLOSURES:
            return True
        self.note(path, "closures", f"the function creates more than {MAX_CLOSURES} functions")
        return False

    def fit(self, node: Message, path: Place, depth: int) -> None:
        """Remove the parts of a message that are nested too deeply, except required ones."""
        cls = node.__class__
        room = self.deepest - depth
        for field in cls.ALL_FIELDS.values():
            value = getattr(node, field.name)
            if not field.is_message or not value or HEIGHTS[field.type] <= room:
                continue
            is_wrapper = cls in WRAPPERS
            if field.rule == "required" and not (field.oneof or is_wrapper):
                continue
            self.note(
                path, "depth", f"nested more than {self.deepest} levels deep below {field.name}"
            )
            if field.rule == "repeated":
                setattr(node, field.name, [])
            elif is_wrapper:
                self.simplify(node)
            elif cls is m.ExprIfElse:  # it must have an else
                node.else_ = m.Expr(number=filler())
            else:
                setattr(node, field.name, None)

    def simplify(self, node: Any) -> None:
        """Set a message that consists of a oneof to its simplest alternative."""
        match node:
            case m.Expr():
                node.number = filler()
            case m.Stat():
                node.block = m.StatBlock()
            case m.Type():
                node.primitive = m.TypePrimitive(kind=self.any)
            case _:
                node.global_ = m.ExprGlobal(name=self.scope.free_global(0, builtin=False))


def _leave(*_: object) -> None:
    """Do nothing, for messages without a handler."""
