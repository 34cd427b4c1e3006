"""Annotations: the types of variables, parameters and results, and type aliases.

`random` annotations can be any type in the schema. `sound` annotations are the types of the values.
Neither changes what a program does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import takewhile
from typing import Final, Literal

from scriptschema import messages as m
from scriptschema.generation.programs import nodes
from scriptschema.generation.programs.any_types import (
    DEEPEST,
    named,
    primitive,
    random_generics,
    random_type,
    type_of,
)
from scriptschema.generation.programs.maker import Annotated, Annotations, Kinds, Maker, Said
from scriptschema.generation.programs.nodes import MAKE
from scriptschema.generation.programs.scope import Alias

Types = Literal["none", "random", "sound"]


class RandomTypes(Annotations):
    """Annotations with random types, for some of the variables."""

    declare = True

    def local(self, maker: Maker, kinds: Kinds, room: int) -> list[m.Type]:
        """Return types for all of the variables, or an empty list."""
        if not maker.chance(110):
            return []
        return [self.one(maker, kind, room) for kind in kinds]

    def one(self, maker: Maker, kind: Said, room: int) -> m.Type:
        """Return a type for a variable: often the type of its value, otherwise a random type."""
        if kind is not None and is_known(kind) and maker.below(4) < 2:
            return sound(maker, kind)
        return random_type(maker, 6, min(room, DEEPEST))

    def function(
        self, maker: Maker, kinds: Kinds, rest: Kinds, results: Kinds, room: int
    ) -> Annotated:
        """Return generics, generic packs, parameter types and return types, each possibly empty."""
        generics, packs = random_generics(maker, 40)
        types = []
        if maker.chance(170):
            # Native code has special paths for functions in which all types are known.
            if maker.below(2):
                types = [sound(maker, kind or "any") for kind in kinds]
            else:
                types = [self.one(maker, kind, room) for kind in kinds]
            if rest and maker.below(2):
                types.append(self.one(maker, rest[0], room))
        returned = []
        if maker.chance(100):
            returned = [self.one(maker, kind, room) for kind in results or (None,)]
        return generics, packs, types, returned

    def alias(self, maker: Maker, size: int, room: int) -> list[m.Stat]:
        """Return an alias for a random type."""
        return [_alias(maker, lambda: random_type(maker, size, min(room - 3, DEEPEST)))]


class SoundTypes(Annotations):
    """Annotations with the actual types of the values."""

    declare = True

    def local(self, maker: Maker, kinds: Kinds, room: int) -> list[m.Type]:
        """Return the types of all variables before the first variable of unknown type.

        If a type checker can infer all of these types, the list is sometimes empty.
        """
        leading = [kind for kind in takewhile(is_known, kinds) if kind is not None]
        if _INFERRED.issuperset(leading) and maker.below(2):
            return []
        return [sound(maker, kind) for kind in leading]

    def function(
        self, maker: Maker, kinds: Kinds, rest: Kinds, results: Kinds, room: int
    ) -> Annotated:
        """Return the types of parameters and results, or `any` where the type is unknown.

        If no parameter has a known type, the list of parameter types is empty.
        """
        all_kinds = [*kinds, *rest]
        types = [sound(maker, kind or "any") for kind in all_kinds] if any(all_kinds) else []
        return [], [], types, [sound(maker, kind or "any") for kind in results]

    def alias(self, maker: Maker, size: int, room: int) -> list[m.Stat]:
        """Return an alias for a random type or a kind's type. Later code can use the alias."""
        if maker.below(3) == 2:
            return [_alias(maker, lambda: random_type(maker, size, min(room - 3, DEEPEST)))]
        kind = _KINDS[maker.below(len(_KINDS))]
        return [_alias(maker, lambda: sound(maker, kind), kind)]


ANNOTATIONS: Final[Mapping[str, Annotations]] = {
    "none": Annotations(),
    "random": RandomTypes(),
    "sound": SoundTypes(),
}
"""The annotations for each value of the option `types`."""


def _indexed(key: str, value: m.Type) -> m.Type:
    return type_of("table", MAKE[m.TypeTable]([], MAKE[m.TypeTableIndexer](primitive(key), value)))


_SOUND: Final[Mapping[str, Callable[[], m.Type]]] = {
    "number": lambda: primitive("number"),
    "integer": lambda: primitive("number"),
    "int64": lambda: primitive("integer"),
    "string": lambda: primitive("string"),
    "boolean": lambda: primitive("boolean"),
    "array": lambda: _indexed("number", primitive("number")),
    "strings": lambda: _indexed("number", primitive("string")),
    "map": lambda: _indexed("string", primitive("number")),
    "buffer": lambda: primitive("buffer"),
    "vector": lambda: primitive("vector"),
    "thread": lambda: primitive("thread"),
    "optional": lambda: type_of("union", MAKE[m.TypeUnion](primitive("number"), primitive("nil"))),
    "object": lambda: primitive("any"),
    "any": lambda: primitive("any"),
    "value": lambda: primitive("any"),
    "scalar": lambda: primitive("any"),
}


_KINDS: Final = tuple(kind for kind in _SOUND if kind != "int64")

_INFERRED: Final = frozenset(
    ["number", "integer", "int64", "string", "boolean", "buffer", "vector", "thread", "object"]
)
"""The kinds that a type checker infers from a value. Tables are not included, because a checker
infers only the keys that a table has when it is created."""


def is_known(kind: Said) -> bool:
    """Return whether a variable's declared kind or type is known."""
    return kind in _SOUND or callable(kind)


def sound(maker: Maker, kind: str | Callable[[], m.Type]) -> m.Type:
    """Return the type for values of `kind`.

    If `kind` is a function, call it and return its result.
    """
    if callable(kind):
        return kind()
    maker.made += 3
    if maker.grammar.typed and maker.scope.types and maker.chance(100):
        for alias in reversed(maker.scope.types):
            if alias.kind == kind:
                return named(alias, [primitive("number") for _ in range(alias.generics)], [])
    return _SOUND.get(kind, _SOUND["any"])()


def _alias(maker: Maker, make: Callable[[], m.Type], kind: str = "") -> m.Stat:
    scope = maker.scope
    maker.made += 3
    name, export = scope.new_type(), maker.below(4) == 3
    mark = scope.open()
    generics, packs = random_generics(maker, 60)
    type_ = make()
    scope.close(mark)
    scope.types.append(Alias(name, len(generics), len(packs), "" if packs else kind))
    alias = MAKE[m.StatTypeAlias](export, MAKE[m.Typename](name), type_, generics, packs)
    return nodes.stat("type_alias", alias)
