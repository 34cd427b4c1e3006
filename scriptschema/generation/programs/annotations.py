"""Annotations: the types of variables, parameters and results, and type aliases.

`random` ones are any types of the schema, `sound` ones say what kind the values are. Neither
changes what a program does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, takewhile
from typing import Any, Final, Literal, TypeAlias, cast

from scriptschema import messages as m
from scriptschema.choices import WORDS
from scriptschema.generation.programs import nodes
from scriptschema.generation.programs.maker import Annotated, Annotations, Maker, Said
from scriptschema.generation.programs.nodes import MAKE
from scriptschema.generation.programs.scope import Alias
from scriptschema.luau.names import DEFAULT

Types = Literal["none", "random", "sound"]

DEEPEST: Final = 12
"""How many levels a type has at most."""

LEAF: Final = 6
"""With less room than this, a type has no parts."""

_PRIMITIVES: Final = {name: index for index, name in enumerate(DEFAULT.primitives)}


class RandomTypes(Annotations):
    """Any types, on some of the variables."""

    declare = True

    def local(self, maker: Maker, kinds: Sequence[Said], room: int) -> list[m.Type]:
        """Return types for the first of the variables, or none."""
        if not maker.chance(110):
            return []
        return [self.one(maker, kind, room) for kind in kinds]

    def one(self, maker: Maker, kind: Said, room: int) -> m.Type:
        """Return a type for a variable: often the right one, so that it says something."""
        if kind is not None and is_known(kind) and maker.below(4) < 2:
            return sound(maker, kind)
        return random_type(maker, 6, min(room, DEEPEST))

    def function(
        self,
        maker: Maker,
        kinds: Sequence[Said],
        rest: Sequence[Said],
        results: Sequence[Said],
        room: int,
    ) -> Annotated:
        """Return generics, and types of the first parameters and of results, or none."""
        generics: list[m.Typename] = []
        packs: list[m.Typename] = []
        if maker.chance(40):
            generics, packs = declare_generics(maker, packs_too=maker.below(2) == 1)
        types = []
        if maker.chance(130):
            types = [self.one(maker, kind, room) for kind in kinds]
            if rest and maker.below(2):
                types.append(self.one(maker, rest[0], room))
        returned = []
        if maker.chance(100):
            returned = [self.one(maker, kind, room) for kind in results or (None,)]
        return generics, packs, types, returned

    def alias(self, maker: Maker, size: int, room: int) -> list[m.Stat]:
        """Return an alias of any type."""
        return [_alias(maker, lambda: random_type(maker, size, min(room - 3, DEEPEST)))]


class SoundTypes(Annotations):
    """Types that say what kinds the values are of."""

    declare = True

    def local(self, maker: Maker, kinds: Sequence[Said], room: int) -> list[m.Type]:
        """Return the types of the first variables, as far as known; some of what is inferred."""
        known = [kind for kind in takewhile(is_known, kinds) if kind is not None]
        if _INFERRED.issuperset(known) and maker.below(4) == 3:
            return []
        return [sound(maker, kind) for kind in known]

    def function(
        self,
        maker: Maker,
        kinds: Sequence[Said],
        rest: Sequence[Said],
        results: Sequence[Said],
        room: int,
    ) -> Annotated:
        """Return the types of parameters and results, `any` for what is not known.

        Where nothing is known of any parameter, they are inferred.
        """
        said = [*kinds, *rest]
        types = [sound(maker, kind or "any") for kind in said] if any(said) else []
        return [], [], types, [sound(maker, kind or "any") for kind in results]

    def alias(self, maker: Maker, size: int, room: int) -> list[m.Stat]:
        """Return an alias of the type of some kind."""
        kinds = list(_SOUND)
        return [_alias(maker, lambda: sound(maker, kinds[maker.below(len(kinds))]))]


ANNOTATIONS: Final[Mapping[str, Annotations]] = {
    "none": Annotations(),
    "random": RandomTypes(),
    "sound": SoundTypes(),
}
"""What the option `types` says."""


def _type(which: str, node: Any) -> m.Type:
    return cast(m.Type, MAKE[m.Type](which, node))


def _primitive(name: str) -> m.Type:
    return _type("primitive", MAKE[m.TypePrimitive](_PRIMITIVES[name]))


def _indexed(key: str, value: m.Type) -> m.Type:
    return _type("table", MAKE[m.TypeTable]([], MAKE[m.TypeTableIndexer](_primitive(key), value)))


_SOUND: Final[Mapping[str, Callable[[], m.Type]]] = {
    "number": lambda: _primitive("number"),
    "integer": lambda: _primitive("number"),
    "string": lambda: _primitive("string"),
    "boolean": lambda: _primitive("boolean"),
    "array": lambda: _indexed("number", _primitive("number")),
    "strings": lambda: _indexed("number", _primitive("string")),
    "map": lambda: _indexed("string", _primitive("number")),
    "buffer": lambda: _primitive("buffer"),
    "vector": lambda: _primitive("vector"),
    "thread": lambda: _primitive("thread"),
    "optional": lambda: _type("union", MAKE[m.TypeUnion](_primitive("number"), _primitive("nil"))),
    "object": lambda: _primitive("any"),
    "any": lambda: _primitive("any"),
    "value": lambda: _primitive("any"),
    "scalar": lambda: _primitive("any"),
}


_INFERRED: Final = frozenset(
    ["number", "integer", "string", "boolean", "buffer", "vector", "thread"]
)
"""The kinds that a type checker sees in a value; it would see what keys a table has now."""


def is_known(kind: Said) -> bool:
    """Whether there is a type for what a template says."""
    return kind in _SOUND or callable(kind)


def sound(maker: Maker, kind: str | Callable[[], m.Type]) -> m.Type:
    """Return the type of a kind, or the type that a template has."""
    if callable(kind):
        return kind()
    maker.made += 3
    return _SOUND.get(kind, _SOUND["any"])()


def declare_generics(maker: Maker, *, packs_too: bool) -> tuple[list[m.Typename], list[m.Typename]]:
    """Declare one or two generics, and a pack; return them."""
    scope = maker.scope
    generics = []
    for _ in range(1 + maker.below(2)):
        name = scope.new_type()
        scope.types.append(Alias(name))
        generics.append(MAKE[m.Typename](name))
    packs = []
    if packs_too:
        name = scope.new_type()
        scope.packs.append(name)
        packs.append(MAKE[m.Typename](name))
    maker.made += len(generics) + len(packs)
    return generics, packs


def _alias(maker: Maker, make: Callable[[], m.Type]) -> m.Stat:
    scope = maker.scope
    maker.made += 3
    name, export = scope.new_type(), maker.below(4) == 3
    mark = scope.open()
    generics: list[m.Typename] = []
    packs: list[m.Typename] = []
    if maker.chance(60):
        generics, packs = declare_generics(maker, packs_too=maker.below(2) == 1)
    type_ = make()
    scope.close(mark)
    scope.types.append(Alias(name, len(generics), len(packs)))
    alias = MAKE[m.StatTypeAlias](export, MAKE[m.Typename](name), type_, generics, packs)
    return nodes.stat("type_alias", alias)


# Any types. Each takes a size and the levels that there is room for.

_Maker: TypeAlias = Callable[[Maker, int, int], m.Type | None]


def random_type(maker: Maker, size: int, room: int) -> m.Type:
    """Return any type of about `size` nodes."""
    maker.made += 2
    small = size < 5 or room < LEAF
    makers, weights = _SMALL if small else _ALL
    made = makers[maker.pick(weights)](maker, size - 2, room - 2)
    return made or _primitive("any")


def _any_primitive(maker: Maker, size: int, room: int) -> m.Type:
    return _type("primitive", MAKE[m.TypePrimitive](maker.below(len(_PRIMITIVES))))


def _boolean(maker: Maker, size: int, room: int) -> m.Type:
    return _type("boolean", MAKE[m.TypeBoolean](maker.below(2) == 1))


def _string(maker: Maker, size: int, room: int) -> m.Type:
    return _type("string", MAKE[m.TypeString](WORDS[maker.below(len(WORDS))]))


def _class(maker: Maker, size: int, room: int) -> m.Type:
    return _type("class_", MAKE[m.TypeClass](maker.below(len(DEFAULT.classes))))


def _literal(maker: Maker, size: int, room: int) -> m.Type | None:
    scope = maker.scope
    if not scope.types:
        return None
    alias = scope.types[-1 - maker.below(min(len(scope.types), 256))]
    if alias.generics and room < LEAF:
        return None
    maker.made += 1
    generics = [random_type(maker, size // 2, room - 1) for _ in range(alias.generics)]
    packs = []
    if scope.packs and (alias.packs or maker.below(2)):
        packs = [MAKE[m.Typename](scope.packs[-1])]
    return _type("literal", MAKE[m.TypeLiteral](MAKE[m.Typename](alias.name), generics, packs))


def _ref(maker: Maker, size: int, room: int) -> m.Type | None:
    if not maker.scope.modules:
        return None
    maker.made += 2
    prefix = MAKE[m.Local](maker.scope.modules[-1])
    return _type("ref", MAKE[m.TypeRef](prefix, MAKE[m.Typename](maker.below(3))))


def _table(maker: Maker, size: int, room: int) -> m.Type:
    items = []
    count = maker.below(3)
    for position in range(count):
        maker.made += 2
        key = MAKE[m.Name]("custom", position)
        items.append(MAKE[m.TypeTableItem](key, random_type(maker, size // 3, room - 2)))
    indexer = None
    if maker.below(2) or not items:
        maker.made += 1
        key = _primitive("number" if maker.below(2) else "string")
        indexer = MAKE[m.TypeTableIndexer](key, random_type(maker, size // 3, room - 2))
    return _type("table", MAKE[m.TypeTable](items, indexer))


def _function(maker: Maker, size: int, room: int) -> m.Type:
    mark = maker.scope.open()
    generics: list[m.Typename] = []
    packs: list[m.Typename] = []
    if maker.chance(80):
        generics, packs = declare_generics(maker, packs_too=maker.below(2) == 1)
    args = [random_type(maker, size // 3, room - 1) for _ in range(maker.below(3))]
    rets = [random_type(maker, size // 3, room - 1) for _ in range(maker.below(3))]
    maker.scope.close(mark)
    return _type("function", MAKE[m.TypeFunction](generics, packs, args, rets))


def _typeof(maker: Maker, size: int, room: int) -> m.Type:
    kind = maker.any_kind()
    variable = maker.some(kind)
    maker.made += 2
    value = nodes.number(0)
    if variable is not None and not variable.is_global:
        value = nodes.expr("local", nodes.variable(variable.name))
    return _type("typeof", MAKE[m.TypeTypeof](value))


def _junction(which: str, message: Any) -> _Maker:
    def make(maker: Maker, size: int, room: int) -> m.Type:
        sides = [random_type(maker, size // 2, room - 1) for _ in range(2)]
        return _type(which, MAKE[message](*sides))

    return make


def _weighed(*makers: tuple[int, _Maker]) -> tuple[Sequence[_Maker], Sequence[int]]:
    return [make for _, make in makers], list(accumulate(weight for weight, _ in makers))


_LEAVES: Final[tuple[tuple[int, _Maker], ...]] = (
    (14, _any_primitive),
    (2, _boolean),
    (2, _string),
    (2, _class),
    (6, _literal),
    (4, _ref),
)

_SMALL: Final = _weighed(*_LEAVES)

_ALL: Final = _weighed(
    *_LEAVES,
    (6, _table),
    (5, _function),
    (3, _typeof),
    (6, _junction("union", m.TypeUnion)),
    (4, _junction("intersection", m.TypeIntersection)),
)
