"""A mutation in progress: what an operator can ask for, and how it makes a change.

An operator (`operators.py`) is called with the Mutation and the number of a message of the tree. It
reads the index, and calls one of `put`, `change_body` and `change` once; these create the new tree,
so that the given tree stays unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from scriptschema import messages as m
from scriptschema.base import Message
from scriptschema.choices import Choices
from scriptschema.codec.copying import twin
from scriptschema.fuzzing.context import Context, Kinds, context_of, kind_of
from scriptschema.fuzzing.index import Index
from scriptschema.generation import programs, trees
from scriptschema.luau.repair import repair_in_place
from scriptschema.versions import Version

EXPRESSION_LEVELS = 10
STATEMENT_LEVELS = 16
"""The minimum number of levels that the generator of programs needs."""

LARGEST = 60
"""The maximum number of messages generated at a time."""

_BLIND = 16
"""In a program, one in this many edits ignores kinds and scope."""


class Mutation:
    """The tree to mutate, and the options: `programs` means that the mutant should still run.

    `donors` are indexes of other trees, `room` the number of messages that may be added,
    `max_depth` the number of levels that the mutant may have. `result` is the mutant, None until
    something is changed; it must be repaired, unless `safe`. `number` is that of the message that
    differs.
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
        luau: str | Version | None = None,
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
        """Return an integer from 0 to count - 1, for any count from 1 on."""
        below = self.choices.below
        if count <= 256:
            return below(count)
        return (below(256) << 16 | below(256) << 8 | below(256)) % count

    def blind(self) -> bool:
        """Return whether this edit may ignore kinds and scope."""
        return not self.programs or self.choices.below(_BLIND) == _BLIND - 1

    # The context of a message

    def levels(self, number: int) -> int:
        """Return how many levels a replacement for a message may have below it."""
        return self.max_depth - self.index.depth(number) - 1

    def context(self, number: int) -> Context:
        """Return the context of a message."""
        return context_of(self.index, number)

    def kind(self, number: int, context: Context) -> str | None:
        """Return the kind of the expression of that number."""
        node: Any = self.index.nodes[number]
        return kind_of(node, context.variables)

    # New parts

    def generated(self, cls: type[Message], number: int) -> Any:
        """Return a random message of a size like that of the number, valid only by the schema."""
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
        """Return a type that is valid in any place; None if the result would not be."""
        made: m.Type | None = self.generated(m.Type, number)
        if made is not None and made.which == "omitted":  # valid only for a variable
            return None
        if self.programs and made is not None:
            # Repaired as if nothing that it may use were in scope: `...`, variables, the module.
            annotated = m.Stat(local=m.StatLocal(vars=[m.Local(name=0)], types=[made]))
            function = m.ExprFunction(vararg=False, body=m.StatBlock(body=[annotated]))
            last = m.Stat(return_=m.StatReturn(list=[m.Expr(function=function)]))
            repair_in_place(m.ModuleSet(program=m.StatBlock(body=[last])))
        return made

    def aim(self, size: int) -> int:
        """Return the size of a part to generate as a replacement for one of `size` messages."""
        most = max(1, min(LARGEST, 2 * size + 2, self.room + size))
        return 1 + self.below(most)

    def expression(self, kind: str, number: int, context: Context) -> m.Expr | None:
        """Return an expression of that kind that uses what is in scope in a context."""
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
        """Return a statement that uses what is in scope in a context, and declares nothing."""
        if levels < STATEMENT_LEVELS + 2:
            return None
        made = programs.statements(
            self.scope(context),
            self.choices,
            size=self.aim(size),
            max_depth=min(levels - 2, 40),
            luau=self.luau,
        )
        return closed(made)

    def scope(self, context: Context) -> programs.Scope:
        """Return the context in the form that the generator of programs uses."""
        return programs.Scope.of(
            context.variables.items(), loop=context.loop, vararg=context.vararg
        )

    def fits(self, donor: Index[Any], number: int, context: Context) -> bool:
        """Return whether all that a donor's part uses is in scope: variables of the same kinds."""
        there: Kinds | None = None
        for inner in [number, *donor.inside(number)]:
            node: Any = donor.nodes[inner]
            cls = node.__class__
            if cls in _FROM_AROUND or (cls is m.ExprVarargs and not context.vararg):
                return False
            if cls is m.ExprLocal:
                there = context_of(donor, number).variables if there is None else there
                name = node.var.name
                if name in there and (
                    name not in context.variables or there[name] != context.variables[name]
                ):
                    return False
        return True

    # Changes

    def put(self, number: int, node: Message, *, safe: bool = False) -> bool:
        """Replace a message with `node`; return whether the tree has changed."""
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
        """Return whether any operators and constants are valid in a message's place.

        In a group, under a minus and in an interpolated string some are written differently.
        """
        parent = self.index.nodes[self.index.parents[number]]
        return parent.__class__ not in (m.ExprGroup, m.ExprUnary, m.ExprInterpString)

    def change_body(
        self, number: int, edit: Callable[[list[m.Stat]], None], *, safe: bool = False
    ) -> bool:
        """Let `edit` change the statements of the block of that number, see `change`."""
        return self.change(number, lambda block: edit(block.body), safe=safe)

    def change(self, number: int, edit: Callable[[Any], None], *, safe: bool = False) -> bool:
        """Let `edit` change the message of that number, but not those in it, in a new tree.

        All messages that are not on the path to it are shared with the given tree.
        """
        index = self.index
        self.result = node = twin(index.tree)
        self.number = number
        for inner in index.way(number):
            made = twin(index.nodes[inner])
            slot, position = index.slot(inner)
            if position is None:
                object.__setattr__(node, slot, made)
            else:
                getattr(node, slot)[position] = made
            node = made
        edit(node)
        self.safe = safe
        return True


def closed(statements: list[m.Stat]) -> m.Stat | None:
    """Return the statements as a single one that declares nothing and may be followed by others."""
    if len(statements) == 1 and statements[0].which in CLOSED:
        return statements[0]
    return m.Stat(block=m.StatBlock(body=statements)) if statements else None


CLOSED = frozenset(
    [
        *("block", "if_", "while_", "repeat", "call", "for_", "for_in"),
        *("assign", "compound_assign", "function"),
    ]
)
"""The statements that declare no local and are allowed anywhere in a block."""

_FROM_AROUND = frozenset([m.TypeLiteral, m.TypeRef, m.StatRequireIntoLocalHelper])
"""Messages that name a type, or the module, which may not be in scope elsewhere."""
