"""Compiles types in templates, except those that are kinds.

A kind inside another type, as in `{value: integer}`, becomes the type of the kind's values. TYPE
becomes any type. Generics, and types that the template declares, get names that are not in scope
yet. Luau's own types keep their names.
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
"""The weight of a hole for a type, if an expression has weight 1."""


@handles(m.Type)
def type_(compiler: Compiler, node: m.Type, level: int) -> Build | None:
    """Compile a type. A name that is not one of Luau's types is a kind, or the hole TYPE."""
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
    """Compile the name of a generic, or of a type that the template declares."""
    compiler.template.fixed += 1
    make = MAKE[m.Typename]
    return lambda maker, frame: make(_name_of(node, maker, frame))


@handles(m.TypeFunction)
def function(compiler: Compiler, node: m.TypeFunction, level: int) -> Build:
    """Compile a function type. Its generics are in scope inside the type."""
    compiler.template.fixed += 1
    args, rets = compiler.many(node.args, level + 1), compiler.many(node.rets, level + 1)
    make = MAKE[m.TypeFunction]

    def build(maker: Maker, frame: Frame) -> Any:
        mark = maker.scope.open()
        generics, packs = declare_generics(node, maker, frame)
        result = make(generics, packs, args(maker, frame), rets(maker, frame))
        maker.scope.close(mark)
        return result

    return build


def alias(compiler: Compiler, node: m.StatTypeAlias, level: int) -> Build:
    """Compile a type alias, which may refer to itself. Without annotations, it is left out."""
    part, fixed, *_ = compiler.part(lambda: compiler.compile(node.type, level + 1))
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
"""The type functions to choose from. They do not refer to other names in the program."""


def type_function(maker: Maker) -> list[m.Stat]:
    """Return a type function and bring it into scope. Without annotations, return []."""
    if not maker.annotations.declare:
        return []
    original, count = _parsed(_TYPE_FUNCTIONS[maker.below(len(_TYPE_FUNCTIONS))])
    statement: Any = copy(original)
    maker.made += count
    statement.alternative.name.index = maker.scope.new_type()
    maker.scope.types.append(Alias(statement.alternative.name.index, 1))
    return [statement]


@cache
def _parsed(text: str) -> tuple[m.Stat, int]:
    [statement] = parse(text, luau=TODAY).tree.program.body
    return statement, nodes.size(statement)


def declare_generics(
    node: m.ExprFunction | m.TypeFunction | m.StatTypeAlias, maker: Maker, frame: Frame
) -> tuple[list[m.Typename], list[m.Typename]]:
    """Bring a template's generics and packs into scope, and return them.

    If `maker.annotations.declare` is false, return two empty lists.
    """
    if not maker.annotations.declare:
        return [], []
    scope = maker.scope
    generics = _declare(node.generics, maker, frame)
    scope.types += [Alias(typename_.index) for typename_ in generics]
    packs = _declare(node.genericpacks, maker, frame)
    scope.packs += [typename_.index for typename_ in packs]
    return generics, packs


def _declare(names: Sequence[m.Typename], maker: Maker, frame: Frame) -> list[m.Typename]:
    make, declared = MAKE[m.Typename], []
    for node in names:
        name = frame.names[_key(node)] = maker.scope.new_type()
        declared.append(make(name))
    maker.made += len(declared)
    return declared


def _name_of(node: m.Typename, maker: Maker, frame: Frame) -> int:
    key = _key(node)
    if key not in frame.names:  # used before its declaration
        frame.names[key] = maker.scope.new_type()
    name: int = frame.names[key]
    return name


def _key(node: m.Typename) -> str:
    return f"type {node.index}"
