"""Types in templates that are not kinds: programs have them as they are written.

A kind as a part of such a type, `{value: integer}`, is the type of values of that kind. Types that
the template declares, and generics, get names that are not in scope.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from scriptschema import messages as m
from scriptschema.codec.copying import copy
from scriptschema.generation.programs import nodes
from scriptschema.generation.programs.annotations import sound
from scriptschema.generation.programs.any_types import DEEPEST, random_type
from scriptschema.generation.programs.maker import Frame, Maker
from scriptschema.generation.programs.nodes import MAKE
from scriptschema.generation.programs.scope import Alias
from scriptschema.generation.programs.templates.base import Compiler, handles
from scriptschema.generation.programs.templates.source import Build
from scriptschema.luau.parse import parse
from scriptschema.versions import TODAY

_ANY_WEIGHT: Final = 3
"""The share of any type, relative to an expression's."""


@handles(m.Type)
def type_(compiler: Compiler, node: m.Type, level: int) -> Build | None:
    """Compile a type; a type that Luau does not know is a kind, or the hole for any type."""
    kind = compiler.kind_of(node)
    if node.which != "class_":
        return None
    if not kind:
        compiler.hole(level + 2, _ANY_WEIGHT)
        return lambda maker, frame: random_type(
            maker, frame.take(maker, _ANY_WEIGHT), min(frame.room - level, DEEPEST)
        )
    compiler.template.fixed += 3
    return lambda maker, frame: sound(maker, kind)


@handles(m.Typename)
def typename(compiler: Compiler, node: m.Typename, _: int) -> Build:
    """Compile a use of a type that the template declares, or of a generic."""
    compiler.template.fixed += 1
    make = MAKE[m.Typename]
    return lambda maker, frame: make(_name_of(node, maker, frame))


@handles(m.TypeFunction)
def function(compiler: Compiler, node: m.TypeFunction, level: int) -> Build:
    """Compile the type of a function, whose generics are in scope in it."""
    compiler.template.fixed += 1
    args, rets = compiler.many(node.args, level + 1), compiler.many(node.rets, level + 1)
    make = MAKE[m.TypeFunction]

    def build(maker: Maker, frame: Frame) -> Any:
        mark = maker.scope.open()
        generics, packs = declare_generics(node, maker, frame)
        made = make(generics, packs, args(maker, frame), rets(maker, frame))
        maker.scope.close(mark)
        return made

    return build


def alias(compiler: Compiler, node: m.StatTypeAlias, level: int) -> Build:
    """Compile a type alias, which exists if types are requested; it may refer to itself."""
    part, fixed, _ = compiler.part(lambda: compiler.compile(node.type, level + 1))
    make, make_name = MAKE[m.StatTypeAlias], MAKE[m.Typename]
    generics, packs = len(node.generics), len(node.genericpacks)

    def build(maker: Maker, frame: Frame) -> list[m.Stat]:
        if not maker.annotations.declare:
            return []
        scope = maker.scope
        name = _name_of(node.name, maker, frame)
        maker.made += fixed + 3
        mark = scope.open()
        declared = declare_generics(node, maker, frame)
        type_ = part(maker, frame)
        scope.close(mark)
        scope.types.append(Alias(name, generics, packs))
        return [
            nodes.stat("type_alias", make(node.export, make_name(name), type_, *declared)),
        ]

    return build


_TYPE_FUNCTIONS: Final = (
    "type function T0(v1) return v1 end",
    "type function T0(v1, v2) if v1 == v2 then return v1 end return v2 end",
    "export type function T0(...) local v1 = ... return v1 end",
    "type function T0(v1) local v2 = {} for v3 = 1, 3 do v2[v3] = v1 end return v2[1] end",
)
"""The type functions to choose from, which refer to nothing around them."""


def type_function(maker: Maker) -> list[m.Stat]:
    """Return a type function, which comes into scope, if types are requested."""
    if not maker.annotations.declare:
        return []
    found, count = _parsed(_TYPE_FUNCTIONS[maker.below(len(_TYPE_FUNCTIONS))])
    made: Any = copy(found)
    maker.made += count
    made.alternative.name.index = maker.scope.new_type()
    maker.scope.types.append(Alias(made.alternative.name.index, 1))
    return [made]


@cache
def _parsed(text: str) -> tuple[m.Stat, int]:
    [found] = parse(text, luau=TODAY).tree.program.body
    return found, nodes.size(found)


def declare_generics(
    node: m.ExprFunction | m.TypeFunction | m.StatTypeAlias, maker: Maker, frame: Frame
) -> tuple[list[m.Typename], list[m.Typename]]:
    """Bring a template's generics and packs into scope; return them, or nothing without types."""
    if not maker.annotations.declare:
        return [], []
    scope = maker.scope
    generics = _declare(node.generics, maker, frame)
    scope.types += [Alias(one.index) for one in generics]
    packs = _declare(node.genericpacks, maker, frame)
    scope.packs += [one.index for one in packs]
    return generics, packs


def _declare(names: Sequence[m.Typename], maker: Maker, frame: Frame) -> list[m.Typename]:
    make, declared = MAKE[m.Typename], []
    for node in names:
        name = frame.names[_key(node)] = maker.scope.new_type()
        declared.append(make(name))
    maker.made += len(declared)
    return declared


def _name_of(node: m.Typename, maker: Maker, frame: Frame) -> int:
    """Return the index of a type's name; an alias may be used before it is declared."""
    key = _key(node)
    if key not in frame.names:
        frame.names[key] = maker.scope.new_type()
    name: int = frame.names[key]
    return name


def _key(node: m.Typename) -> str:
    """Return the key of a type's name in `Frame.names`."""
    return f"type {node.index}"
