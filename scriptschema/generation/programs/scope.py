"""The variables that a statement can use, by kind, and the enclosing function.

A kind says what a value can be used for (see `luau.library.KINDS`). Names are assigned in turn.
Variables in scope share a name only if there are more variables than names.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import attrs

from scriptschema.luau.names import DEFAULT, SELF

NAMES: Final = SELF
"""The number of names for local variables: those before `self` in the table of names."""

CROWDED: Final = 32
"""If this many variables are in scope, idioms that declare more variables are not chosen."""


@attrs.define(eq=False)
class Variable:
    """A variable: the index of its name, and its kind.

    For a function, `parameters` and `results` are kinds. `cost` is the maximum number of statements
    that a call to the function, or to a method of the object, executes.
    """

    name: int
    kind: str
    parameters: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    cost: int = 0


@attrs.define(eq=False)
class Function:
    """The state of the function whose body is being generated.

    `times` is the assumed maximum number of times that the current statement runs. `steps` is the
    total of these numbers so far. `results` has the kinds of the function's results, or is None if
    any kind is allowed. `guarded` is true if errors raised in the function are caught.
    """

    vararg: bool
    results: tuple[str, ...] | None = None
    guarded: bool = False
    loops: int = 0
    times: int = 1
    steps: int = 0


@attrs.define(eq=False)
class Alias:
    """A type in scope: the index of its name, and how many generics and packs it has.

    `kind` is the kind of the type's values, or "" if the values have no kind.
    """

    name: int
    generics: int = 0
    packs: int = 0
    kind: str = ""


class Scope:
    """The variables and types in scope. Blocks are nested: `close` ends the innermost block."""

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
        """Return the scope at a place in an existing program.

        `variables` has a (name index, kind) pair for each visible local, with the innermost last.
        The kind is a key of `luau.library.KINDS`, or None if unknown. `loop` is true if a loop in
        the same function encloses the place, `vararg` if the function has `...`, and `guarded` if
        errors at the place are caught.
        """
        declared = list(variables)
        scope = cls(vararg=vararg, first=max((name for name, _ in declared), default=-1) + 1)
        scope.function.loops = int(loop)
        scope.function.guarded = guarded
        for name, kind in declared:
            if kind is not None:
                scope.by_kind.setdefault(kind, []).append(Variable(name, kind))
        return scope

    def declare(self) -> int:
        """Declare a local variable and return the index of its name.

        The variable is private: generated expressions do not use it unless it is published.
        """
        name = (self._first + self._names) % NAMES
        self._names += 1
        return name

    def publish(self, variable: Variable) -> None:
        """Allow expressions to use a variable that was declared as private."""
        self._published.append(variable)
        self.by_kind.setdefault(variable.kind, []).append(variable)

    def new_type(self) -> int:
        """Return the index of an unused type name, or of an arbitrary one if all are in scope."""
        names = len(DEFAULT.types)
        used = {alias.name for alias in self.types}.union(self.packs)
        for _ in range(names):
            self._types_made += 1
            name = (self._types_made - 1) % names
            if name not in used:
                break
        return name

    def open(self) -> tuple[int, int, int, int, int]:
        """Open a block, and return the mark to pass to `close`."""
        return (
            self._names,
            len(self._published),
            len(self.types),
            len(self.packs),
            len(self.modules),
        )

    def close(self, mark: tuple[int, int, int, int, int]) -> None:
        """Close a block, and remove all declarations since `open` returned `mark`."""
        self._names, published, types, packs, modules = mark
        while len(self._published) > published:
            variable = self._published.pop()
            self.by_kind[variable.kind].pop()
        del self.types[types:]
        del self.packs[packs:]
        del self.modules[modules:]

    @property
    def repeats_names(self) -> bool:
        """Return whether the number of variables in scope is at least the number of names."""
        return self._names >= NAMES

    @property
    def crowded(self) -> bool:
        """Return whether at least `CROWDED` variables are in scope."""
        return self._names >= CROWDED
