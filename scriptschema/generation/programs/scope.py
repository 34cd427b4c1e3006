"""Scope: the variables that a statement can use, by kind, and the enclosing function.

A kind says what a value can be used for (`luau.library.KINDS`). Names are given out in turn, so
that no two variables that are in scope share one, as long as there are no more than there are
names.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import attrs

from scriptschema.luau.names import DEFAULT

SELF: Final = DEFAULT.locals.index("self")
"""The index of `self` in the table of local variables."""

NAMES: Final = SELF
"""How many names of local variables are used: those before `self`."""

CROWDED: Final = 32
"""With this many variables in scope, no statement is chosen only to declare another."""


@attrs.define(eq=False)
class Variable:
    """A variable: the index of its name, its kind, and for a function how it is called.

    `cost` is how many statements a use of it executes at most: a call of the function, of the
    object's method. A global is one of the program's own names.
    """

    name: int
    kind: str
    is_global: bool = False
    parameters: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    cost: int = 0


@attrs.define(eq=False)
class Function:
    """What the generator knows of the function whose body it is making.

    `times` is how often the current statement is executed at most for each call, `steps` how many
    statements have been so far; `results` are the kinds of its results, None if they are open.
    `guarded` says that an error in it is caught.
    """

    vararg: bool
    results: tuple[str, ...] | None = None
    guarded: bool = False
    loops: int = 0
    times: int = 1
    steps: int = 0


@attrs.define(eq=False)
class Alias:
    """A type that is in scope: the index of its name, and how many generics and packs it takes.

    `kind` is the kind of which it is the type, if there is one.
    """

    name: int
    generics: int = 0
    packs: int = 0
    kind: str = ""


class Scope:
    """The variables and types in scope; blocks are opened and closed like brackets."""

    def __init__(self, *, vararg: bool = True, first: int = 0) -> None:
        self.main = self.function = Function(vararg)
        self.by_kind: dict[str, list[Variable]] = {}
        self.types: list[Alias] = []
        self.packs: list[int] = []
        self.modules: list[int] = []
        self._first = first
        self._names = 0
        self._published: list[Variable] = []
        self._types_made = 0

    @classmethod
    def of(
        cls,
        variables: Iterable[tuple[int, str | None]],
        *,
        loop: bool = False,
        vararg: bool = True,
        guarded: bool = False,
    ) -> Scope:
        """Return the scope at some point of a program that exists.

        `variables` are the locals that are visible there, the innermost last: the index of the
        name, and the kind (a key of `luau.library.KINDS`), None if nothing is known of the value.
        `loop`: a loop of the same function is around; `vararg`: the function takes `...`;
        `guarded`: an error is caught further out.
        """
        known = list(variables)
        scope = cls(vararg=vararg, first=max((name for name, _ in known), default=-1) + 1)
        scope.function.loops = int(loop)
        scope.function.guarded = guarded
        for name, kind in known:
            if kind is not None:
                scope.by_kind.setdefault(kind, []).append(Variable(name, kind))
        return scope

    def declare(self, kind: str | None = None) -> int:
        """Declare a local variable and return the index of its name.

        Without a kind it is private: no expression is made of it.
        """
        name = (self._first + self._names) % NAMES
        self._names += 1
        if kind is not None:
            self.publish(Variable(name, kind))
        return name

    def publish(self, variable: Variable) -> None:
        """Let expressions use a variable from now on that was declared as a private one."""
        self._published.append(variable)
        self.by_kind.setdefault(variable.kind, []).append(variable)

    def new_type(self) -> int:
        """Return the index of a type's name that is not in scope, as long as there is one."""
        names = len(DEFAULT.types)
        used = {alias.name for alias in self.types}.union(self.packs)
        for _ in range(names):
            self._types_made += 1
            name = (self._types_made - 1) % names
            if name not in used:
                break
        return name

    def open(self) -> tuple[int, int, int, int, int]:
        """Open a block; `close` takes what is returned."""
        return (
            self._names,
            len(self._published),
            len(self.types),
            len(self.packs),
            len(self.modules),
        )

    def close(self, mark: tuple[int, int, int, int, int]) -> None:
        """Forget what was declared since."""
        self._names, published, types, packs, modules = mark
        while len(self._published) > published:
            variable = self._published.pop()
            self.by_kind[variable.kind].pop()
        del self.types[types:]
        del self.packs[packs:]
        del self.modules[modules:]

    @property
    def repeats_names(self) -> bool:
        """Whether there are as many variables in scope as names."""
        return self._names >= NAMES

    @property
    def crowded(self) -> bool:
        """Whether many variables are in scope."""
        return self._names >= CROWDED
