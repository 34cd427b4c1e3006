"""Finds the libraries, members, globals and syntax that a template uses.

Templates that use something that a program must avoid are left out.
"""

from __future__ import annotations

from collections.abc import Set
from functools import cache
from typing import Any, Final

from scriptschema import messages as m
from scriptschema.base import walk
from scriptschema.luau.names import DEFAULT, Names
from scriptschema.luau.parse import parse
from scriptschema.versions import TODAY

LIBRARY_OF_KIND: Final = {
    "buffer": "buffer",
    "vector": "vector",
    "thread": "coroutine",
    "routine": "coroutine",
}
"""The kinds whose values only a library can create, mapped to the library."""


@cache
def uses(source: str) -> frozenset[str]:
    """Return what a template uses: globals, libraries, members such as `math.pi`, and syntax.

    `source` is the template's text, written as statements. Syntax is identified by its name in the
    schema, such as `ExprIfElse` or `ExprBinary.Op.FloorDiv`. A hole or type of a certain kind
    counts as a use of the library that creates values of that kind. Of the types in a template,
    only those in casts and instantiations count as a use of `Type`: the option `types` determines
    the other annotations.
    """
    result = parse(source, luau=TODAY)
    names = result.names
    used: set[str] = set()
    for node, _ in walk(result.tree):
        used |= _uses_of(node, names)
    return frozenset(used)


def avoids(source: str, without: Set[str]) -> bool:
    """Return whether a template uses nothing in `without`."""
    return not without or without.isdisjoint(uses(source))


def _uses_of(node: Any, names: Names) -> set[str]:
    used = {node.__class__.__name__} - {"Type", "Typename"}
    match node:
        case m.ExprCast() | m.ExprInstantiate():
            used.add("Type")
        case m.ExprCall() if node.parenless:
            used.add("ExprCall.parenless")
        case m.StatCompoundAssign() if node.floor:
            used.add("StatCompoundAssign.floor")
        case m.ExprBinary():
            used.add(f"ExprBinary.Op.{node.op.name}")
        case m.ExprGlobal():
            name = names.global_(node.name)
            kind = name.removeprefix("some_").partition("_")[0].lower()
            used |= {name, LIBRARY_OF_KIND.get(kind, name)}
            if name == "TYPE_FUNCTION":
                used.add("StatTypeFunction")
        case m.ExprIndexName():
            owner = names.owner(node.expr)
            member = names.field(node.index, owner)
            if owner in DEFAULT.libraries:
                used.add(f"{owner}.{member}")
            elif member in DEFAULT.libraries["string"]:  # maybe a method of a string
                used |= {"string", f"string.{member}"}
        case m.TypePrimitive():
            kind = names.primitive(node.kind)
            used.add(LIBRARY_OF_KIND.get(kind, ""))
    return used
