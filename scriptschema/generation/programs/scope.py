"""Scope: the variables that a statement can use, by kind, and the enclosing function.

A kind says what a value can be used for (`luau.library.KINDS`). Names are assigned in turn, so that
no two variables in scope share a name, unless there are more variables than names.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import attrs

from scriptschema.luau.names import DEFAULT

SELF: Final = DEFAULT.locals.index("self")
"""The index of `self` in the table of local variables."""

NAMES: Final = SELF
"""The number of names that local variables use: those before `self`."""

CROWDED: Final = 32
"""The number of variables in scope from which no statement is chosen only to declare another."""


@attrs.define(eq=False)
class Variable:
    """A variable: the index of its name, its kind, and, for a function, how it is called.

    `cost` is the maximum number of statements that a use of it executes: a call of the function, or
    of the object's method. A global is one of the program's own names.
    """

    name: int
    kind: str
    is_global: bool = False
    parameters: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    cost: int = 0


@attrs.define(eq=False)
class Function:
    """The generator's knowledge about the function whose body it is generating.

    `times` is the maximum number of executions of the current statement for each call, `steps` that
    of all statements so far; `results` are the kinds of its results, None if they are open.
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
    """A type that is in scope: the index of its name, and the number of its generics and packs.

    `kind` is the kind that it is the type of, if any.
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
        """Return the scope at some point of an existing program.

        `variables` are the locals that are visible there, the innermost last: the index of the
        name, and the kind (a key of `luau.library.KINDS`), None if the value is unknown. `loop`: a
        loop of the same function encloses it; `vararg`: the function takes `...`; `guarded`: an
        error is caught by enclosing code.
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

        Without a kind it is private: generated expressions do not use it.
        """
        name = (self._first + self._names) % NAMES
        self._names += 1
        if kind is not None:
            self.publish(Variable(name, kind))
        return name

    def publish(self, variable: Variable) -> None:
        """Let expressions use a variable, declared as private, from now on."""
        self._published.append(variable)
        self.by_kind.setdefault(variable.kind, []).append(variable)

    def new_type(self) -> int:
        """Return the index of a type's name that is not in scope, as long as such names exist."""
        names = len(DEFAULT.types)
        used = {alias.name for alias in self.types}.union(self.packs)
        for _ in range(names):
            self._types_made += 1
            name = (self._types_made - 1) % names
            if name not in used:
                break
        return name

    def open(self) -> tuple[int, int, int, int, int]:
        """Open a block; return the argument for `close`."""
        return (
            self._names,
            len(self._published),
            len(self.types),
            len(self.packs),
            len(self.modules),
        )

    def close(self, mark: tuple[int, int, int, int, int]) -> None:
        """Forget what was declared since `open` returned `mark`."""
        self._names, published, types, packs, modules = mark
        while len(self._published) > published:
            variable = self._published.pop()
            self.by_kind[variable.kind].pop()
        del self.types[types:]
        del self.packs[packs:]
        del self.modules[modules:]

    @property
    def repeats_names(self) -> bool:
        """Whether at least as many variables are in scope as there are names."""
        return self._names >= NAMES

    @property
    def crowded(self) -> bool:
        """Whether many variables are in scope."""
        return self._names >= CROWDED
