"""Random types of a given size.

If types must be sound, only parts that a type checker accepts are chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, Final, TypeAlias

from scriptschema import messages as m
from scriptschema.choices import WORDS
from scriptschema.generation.programs import nodes
from scriptschema.generation.programs.maker import Maker
from scriptschema.generation.programs.nodes import MAKE
from scriptschema.generation.programs.scope import Alias
from scriptschema.luau.names import DEFAULT, NameReader
from scriptschema.versions import TODAY

DEEPEST: Final = 12
"""The maximum number of levels of a type."""

LEAF: Final = 6
"""If fewer levels than this are available, a type has no parts."""

_READER: Final = NameReader(luau=TODAY)


def type_of(which: str, node: Any) -> m.Type:
    """Return a Type with its alternative `which` set to `node`."""
    return MAKE[m.Type](which, node)


def primitive(name: str) -> m.Type:
    """Return a primitive type of Luau."""
    return type_of("primitive", MAKE[m.TypePrimitive](_READER.primitive(name)))


def named(alias: Alias, generics: list[m.Type], packs: list[m.Typename]) -> m.Type:
    """Return a reference to an alias, with arguments for its generics and packs."""
    return type_of("literal", MAKE[m.TypeLiteral](MAKE[m.Typename](alias.name), generics, packs))


def random_generics(maker: Maker, of_256: int) -> tuple[list[m.Typename], list[m.Typename]]:
    """Declare one or two generics and perhaps a generic pack, with probability `of_256 / 256`.

    Return the declared generics and packs, or two empty lists.
    """
    if not maker.chance(of_256):
        return [], []
    packs_too = maker.below(2) == 1
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


_Maker: TypeAlias = Callable[[Maker, int, int], m.Type | None]
"""A function that returns a type or None, given a maker, a size and the number of available levels.
"""


def random_type(maker: Maker, size: int, room: int) -> m.Type:
    """Return a random type of about `size` nodes."""
    maker.made += 2
    makers, weights = _TABLES[maker.grammar.typed][size < 5 or room < LEAF]
    result = makers[maker.pick(weights)](maker, size - 2, room - 2)
    return result or primitive("any")


def _any_primitive(maker: Maker, size: int, room: int) -> m.Type:
    return type_of("primitive", MAKE[m.TypePrimitive](maker.below(len(DEFAULT.primitives))))


def _boolean(maker: Maker, size: int, room: int) -> m.Type:
    return type_of("boolean", MAKE[m.TypeBoolean](maker.below(2) == 1))


def _string(maker: Maker, size: int, room: int) -> m.Type:
    return type_of("string", MAKE[m.TypeString](WORDS[maker.below(len(WORDS))]))


def _class(maker: Maker, size: int, room: int) -> m.Type:
    return type_of("class_", MAKE[m.TypeClass](maker.below(len(DEFAULT.classes))))


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
    if maker.grammar.typed:
        if alias.packs and not scope.packs:
            return None
        packs = [MAKE[m.Typename](scope.packs[-1]) for _ in range(alias.packs)]
    elif scope.packs and (alias.packs or maker.below(2)):
        packs = [MAKE[m.Typename](scope.packs[-1])]
    return named(alias, generics, packs)


def _ref(maker: Maker, size: int, room: int) -> m.Type | None:
    if not maker.scope.modules:
        return None
    maker.made += 2
    prefix = MAKE[m.Local](maker.scope.modules[-1])
    return type_of("ref", MAKE[m.TypeRef](prefix, MAKE[m.Typename](maker.below(3))))


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
        key_type = primitive("number" if maker.below(2) else "string")
        indexer = MAKE[m.TypeTableIndexer](key_type, random_type(maker, size // 3, room - 2))
    return type_of("table", MAKE[m.TypeTable](items, indexer))


def _function(maker: Maker, size: int, room: int) -> m.Type:
    mark = maker.scope.open()
    generics, packs = random_generics(maker, 80)
    args = [random_type(maker, size // 3, room - 1) for _ in range(maker.below(3))]
    rets = [random_type(maker, size // 3, room - 1) for _ in range(maker.below(3))]
    maker.scope.close(mark)
    return type_of("function", MAKE[m.TypeFunction](generics, packs, args, rets))


def _typeof(maker: Maker, size: int, room: int) -> m.Type:
    kind = maker.any_kind()
    variable = maker.some(kind)
    maker.made += 2
    value = nodes.number(0) if variable is None else nodes.read(variable.name)
    return type_of("typeof", MAKE[m.TypeTypeof](value))


def _junction(which: str, message: Any) -> _Maker:
    def make(maker: Maker, size: int, room: int) -> m.Type:
        sides = [random_type(maker, size // 2, room - 1) for _ in range(2)]
        return type_of(which, MAKE[message](*sides))

    return make


def _weighed(*makers: tuple[int, _Maker]) -> tuple[Sequence[_Maker], Sequence[int]]:
    return [make for _, make in makers], list(accumulate(weight for weight, _ in makers))


_KNOWN: Final[tuple[tuple[int, _Maker], ...]] = (
    (14, _any_primitive),
    (2, _boolean),
    (2, _string),
    (6, _literal),
)
_LEAVES: Final[tuple[tuple[int, _Maker], ...]] = (*_KNOWN, (2, _class), (4, _ref))
_COMPOUND: Final[tuple[tuple[int, _Maker], ...]] = (
    (6, _table),
    (5, _function),
    (3, _typeof),
    (6, _junction("union", m.TypeUnion)),
    (4, _junction("intersection", m.TypeIntersection)),
)

_TABLES: Final = {
    typed: {True: _weighed(*leaves), False: _weighed(*leaves, *_COMPOUND)}
    for typed, leaves in ((False, _LEAVES), (True, _KNOWN))
}
"""The types to choose from, by two flags: whether the type must be sound, and whether it must be
small."""
