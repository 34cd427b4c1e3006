"""The `Mutation` object, with which mutation operators inspect and change a tree.

An operator (see `operators`) inspects the tree's index, and then calls `put`, `change_body` or
`change` once. These methods create a new tree and leave the original unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from scriptschema import messages as m
from scriptschema.base import Message
from scriptschema.choices import Choices
from scriptschema.codec.copying import shallow_copy
from scriptschema.fuzzing.context import Context, Kinds, context_of, kind_of
from scriptschema.fuzzing.index import Index
from scriptschema.generation import programs, trees
from scriptschema.luau.names import DEFAULT
from scriptschema.luau.repair import repair_in_place
from scriptschema.versions import Version

EXPRESSION_LEVELS = 10
STATEMENT_LEVELS = 16
"""The minimum number of tree levels that the program generator needs for a statement."""

LARGEST = 60
"""The maximum number of messages to generate for one replacement."""

_BLIND = 16
"""When a program is mutated, an edit ignores kinds and scope with a probability of 1 / `_BLIND`."""


class Mutation:
    """The tree to mutate, the options, and the result.

    `index` is the tree's `Index`. `donors` are those of other trees to copy parts from. If
    `programs` is true, the mutant should still run. `room` is the maximum number of messages to
    add, and `max_depth` is the maximum number of levels in the mutant.

    `result` is the mutant, or None if nothing has been changed yet. `number` is the number of the
    changed message. Unless `safe` is true, the mutant must be repaired.
    """

    def __init__(
        self,
        index: Index[Any],
        choices: Choices,
        *,
        donors: Sequence[Index[Any]],
        programs: bool,
        room: int,
        max_depth: int,
        luau: str | Version | None,
    ) -> None:
        self.luau = luau
        self.index = index
        self.choices = choices
        self.donors = donors
        self.programs = programs
        self.room = room
        self.max_depth = max_depth
        self.result: Any = None
        self.safe = False
        self.number = 0

    # Choices

    def below(self, count: int) -> int:
        """Return a random integer from 0 to `count` - 1. `count` must be at least 1."""
        below = self.choices.below
        if count <= 256:
            return below(count)
        return (below(256) << 16 | below(256) << 8 | below(256)) % count

    def blind(self) -> bool:
        """Return whether this edit may ignore kinds and scope.

        The result is random if `programs` is true, otherwise always True.
        """
        return not self.programs or self.choices.below(_BLIND) == _BLIND - 1

    # The context of a message

    def levels(self, number: int) -> int:
        """Return how many levels a replacement for a message may have below its root."""
        return self.max_depth - self.index.depth(number) - 1

    def context(self, number: int) -> Context:
        """Return the context of a message: the variables in scope and the loops around it."""
        return context_of(self.index, number)

    def kind(self, number: int, context: Context) -> str | None:
        """Return the kind of the expression `number`, or None if it is not known."""
        node: Any = self.index.nodes[number]
        return kind_of(node, context.variables)

    # New parts

    def generated(self, cls: type[Message], number: int) -> Any:
        """Return a random message of class `cls`, similar in size to message `number`.

        It conforms to the schema, but may break rules of Luau (see `luau.repair`). Returns None if
        every message of this class would exceed `max_depth`.
        """
        try:
            return trees.generate(
                cls,
                choices=self.choices,
                size=self.aim(self.index.size(number)),
                max_depth=self.levels(number),
                luau=self.luau,
            )
        except ValueError:  # no message of this class is that flat
            return None

    def type(self, number: int) -> m.Type | None:
        """Return a random type that is valid in every position and can replace message `number`.

        Returns None if the random type is valid only for a variable, or if every type would exceed
        `max_depth`.
        """
        new: m.Type | None = self.generated(m.Type, number)
        if new is not None and new.which == "omitted":  # valid only for a variable
            return None
        if self.programs and new is not None:
            # Repaired as if `...`, variables and the module were not in scope.
            annotated = m.Stat(local=m.StatLocal(vars=[m.Local(name=0)], types=[new]))
            function = m.ExprFunction(vararg=False, body=m.StatBlock(body=[annotated]))
            last = m.Stat(return_=m.StatReturn(list=[m.Expr(function=function)]))
            repair_in_place(m.ModuleSet(program=m.StatBlock(body=[last])))
        return new

    def aim(self, size: int) -> int:
        """Return a random size for the replacement of a part that has `size` messages."""
        most = max(1, min(LARGEST, 2 * size + 2, self.room + size))
        return 1 + self.below(most)

    def expression(self, kind: str, number: int, context: Context) -> m.Expr | None:
        """Return an expression of kind `kind` that can replace message `number`.

        The expression uses the variables in scope in `context`. Returns None if fewer than
        `EXPRESSION_LEVELS` levels are left.
        """
        levels = self.levels(number)
        if levels < EXPRESSION_LEVELS:
            return None
        size = self.aim(self.index.size(number))
        return programs.expression(
            kind,
            self.scope(context),
            self.choices,
            size=size,
            max_depth=min(levels, 20),
            luau=self.luau,
        )

    def statement(self, context: Context, size: int, levels: int) -> m.Stat | None:
        """Return a statement that declares nothing and uses the variables in scope in `context`.

        Returns None if `levels`, the number of levels that are left, is too small.
        """
        if levels < STATEMENT_LEVELS + 2:
            return None
        statements = programs.statements(
            self.scope(context),
            self.choices,
            size=self.aim(size),
            max_depth=min(levels - 2, 40),
            luau=self.luau,
        )
        return closed(statements)

    def scope(self, context: Context) -> programs.Scope:
        """Convert a context to a scope for the program generator."""
        return programs.Scope.of(
            context.variables.items(), loop=context.loop, vararg=context.vararg
        )

    def fits(self, donor: Index[Any], number: int, context: Context) -> bool:
        """Return whether message `number` of a donor can be used in `context`.

        Variables that the message uses, but does not declare, must be in scope in `context` and
        have the same kinds there. The message may use `...` only if `context` allows it. It must
        not refer to a type or to the required module.
        """
        there: Kinds | None = None
        for inner in [number, *donor.inside(number)]:
            node: Any = donor.nodes[inner]
            cls = node.__class__
            if cls in _FROM_AROUND or (cls is m.ExprVarargs and not context.vararg):
                return False
            if cls is m.ExprLocal:
                if there is None:  # several indexes have the same name
                    variables = context_of(donor, number).variables
                    there = {name % len(DEFAULT.locals): kind for name, kind in variables.items()}
                name = node.var.name % len(DEFAULT.locals)
                if name in there and (
                    name not in context.variables or there[name] != context.variables[name]
                ):
                    return False
        return True

    # Changes

    def put(self, number: int, node: Message, *, safe: bool = False) -> bool:
        """Replace message `number` with `node`, and return whether the tree has changed.

        Set `safe` if the new tree needs no repair. `safe` is ignored where `node` may need a
        change, such as the removal of redundant parentheses.
        """
        index = self.index
        if number == 0 or node == index.nodes[number]:
            return False
        part, levels = Index(node), self.levels(number)
        if len(part) > levels and part.heights[0] > levels:
            return False
        name, position = index.step(number)

        def put_in(parent: Any) -> None:
            if position is None:
                setattr(parent, name, node)
            else:
                getattr(parent, name)[position] = node

        parent = index.parents[number]
        # Among operands, the surrounding operators determine which parentheses are needed.
        if isinstance(index.nodes[parent], m.ExprBinary) and part.of(m.ExprGroup):
            safe = False
        return self.change(parent, put_in, safe=safe and self.is_free(number))

    def is_free(self, number: int) -> bool:
        """Return whether any operation or constant can replace a message without a repair.

        In parentheses, after a unary operator and in an interpolated string, some need a different
        form: `-` and the constant 1 become the constant -1, for example. The argument of a call
        without parentheses must remain a string or a table.
        """
        parent: Any = self.index.nodes[self.index.parents[number]]
        if parent.__class__ is m.ExprCall:
            return not parent.parenless
        return parent.__class__ not in (m.ExprGroup, m.ExprUnary, m.ExprInterpString)

    def change_body(
        self, number: int, edit: Callable[[list[m.Stat]], None], *, safe: bool = False
    ) -> bool:
        """Call `edit` with the statements of block `number` in a new tree. See `change`."""
        return self.change(number, lambda block: edit(block.body), safe=safe)

    def change(self, number: int, edit: Callable[[Any], None], *, safe: bool = False) -> bool:
        """Create a new tree in which `edit` has changed message `number`, and return True.

        `edit` may change the message's fields, but not the messages inside it, which both trees
        share. Set `safe` if the new tree needs no repair.
        """
        index = self.index
        self.result = node = shallow_copy(index.tree)
        self.number = number
        for inner in index.way(number):
            copied = shallow_copy(index.nodes[inner])
            slot, position = index.slot(inner)
            if position is None:
                object.__setattr__(node, slot, copied)
            else:
                getattr(node, slot)[position] = copied
            node = copied
        edit(node)
        self.safe = safe
        return True


def closed(statements: list[m.Stat]) -> m.Stat | None:
    """Combine statements into one that declares no local and can be followed by others.

    The result is None if there are no statements.
    """
    if len(statements) == 1 and statements[0].which in CLOSED:
        return statements[0]
    return m.Stat(block=m.StatBlock(body=statements)) if statements else None


CLOSED = frozenset(
    [
        *("block", "if_", "while_", "repeat", "call", "for_", "for_in"),
        *("assign", "compound_assign", "function"),
    ]
)
"""Statements that declare no local and are allowed anywhere in a block."""

_FROM_AROUND = frozenset([m.TypeLiteral, m.TypeRef, m.StatRequireIntoLocalHelper])
"""Messages that refer to a type or to the required module, which may be unavailable in the place
that the messages are copied to."""
