"""Functions: generics, parameters, result types and body."""

from __future__ import annotations

from scriptschema.luau.parsing.reader import Reader, Reading
from scriptschema.luau.parsing.type_annotations import (
    at_pack,
    read_generics,
    read_pack,
    read_results,
    read_type,
    shut_generics,
)
from scriptschema.messages import ExprFunction, Type, Typename, TypePrimitive


def read_function_body(r: Reader, opening: int, *, method: bool = False) -> Reading:
    """Generics, parameters, result types, body and `end`; `opening` is the `function`."""
    generic: list[str] = []
    generics: list[Typename] = []
    packs: list[Typename] = []
    if r.kind == "<":
        generic, generics, packs = yield read_generics(r)
    parenthesis = r.index
    r.expect("(", "and the function's parameters")
    names: list[str] = []
    found: list[tuple[int, Type | None]] = []
    vararg = False
    while r.kind != ")":
        index = r.index
        if r.skip("..."):
            vararg = True
            if r.skip(":"):
                if at_pack(r):
                    r.lose(index, "generic pack as the type of `...`", "left out")
                    yield read_pack(r)
                else:
                    found.append((index, (yield read_type(r))))
            break
        names.append(r.name("of a parameter or `...`"))
        found.append((index, (yield read_type(r)) if r.skip(":") else None))
        if not r.skip(","):
            break
        if r.kind == ")":
            r.fail("a parameter after `,`")
    r.close(")", parenthesis)
    types = by_position(r, found)
    rettypes: list[Type] = []
    if r.kind == "->":
        r.fail("`:` before the result type")
    if r.kind == ":":
        index = r.index
        r.advance()
        rettypes = yield read_results(r)
        if r.index - index == 3 and r.kinds[index + 1] == "(":
            r.lose(index, "result type `()`", "left out")
    r.open(*(["self"] if method else []))
    args = [r.declare(name) for name in names]
    body = yield r.block(r)
    r.shut()
    shut_generics(r, generic)
    r.close("end", opening)
    return ExprFunction(
        generics=generics,
        genericpacks=packs,
        args=args,
        vararg=vararg,
        body=body,
        types=types,
        rettypes=rettypes,
    )


def by_position(r: Reader, found: list[tuple[int, Type | None]]) -> list[Type]:
    """Types for the schema's lists, which go with the names by position: no gaps."""
    while found and found[-1][1] is None:
        found.pop()
    types = []
    for index, type_ in found:
        if type_ is None:
            r.lose(index, "no type before a name that has one", "the type is `any`")
            type_ = Type(primitive=TypePrimitive(kind=r.names.primitive("any")))
        types.append(type_)
    return types
