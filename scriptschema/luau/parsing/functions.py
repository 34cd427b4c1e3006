"""Reads functions: generics, parameters, return types and body."""

from __future__ import annotations

from scriptschema.luau.parsing.reader import Reader, Reading
from scriptschema.luau.parsing.type_annotations import (
    at_pack,
    primitive,
    read_generics,
    read_pack,
    read_results,
    read_type,
    shut_generics,
)
from scriptschema.messages import (
    ExprAttr,
    ExprFunction,
    Type,
    TypeList,
    Typename,
    TypeOmitted,
    TypePack,
)


def read_function_body(
    r: Reader, opening: int, attributes: list[ExprAttr], *, method: bool = False
) -> Reading:
    """Read a function's generics, parameters, return types, body and `end`.

    `opening` is the index of the `function` token. `method` is true if the function has an implicit
    parameter `self`.
    """
    generic, generics, packs, _ = yield read_generics(r)
    parenthesis = r.index
    r.expect("(", "and the function's parameters")
    names: list[str] = []
    bindings: list[tuple[int, Type | None]] = []
    vararg = False
    vararg_pack: Typename | None = None
    while r.kind != ")":
        index = r.index
        if r.skip("..."):
            vararg = True
            if r.skip(":"):
                if r.kind == "name" and at_pack(r):
                    if not r.extended:
                        r.lose(index, "generic pack as the type of `...`", "dropped")
                    vararg_pack = (yield read_pack(r)).generic
                else:
                    bindings.append((index, (yield read_type(r))))
            break
        names.append(r.name("of a parameter or `...`"))
        bindings.append((index, (yield read_type(r)) if r.skip(":") else None))
        if not r.skip(","):
            break
        if r.kind == ")":
            r.fail("a parameter after `,`")
    r.close(")", parenthesis)
    types = by_position(r, bindings)
    rettypes: list[Type] = []
    rettail: TypePack | None = None
    if r.kind == "->":
        r.fail("`:` before the return type")
    if r.kind == ":":
        index = r.advance()
        rettypes, rettail = yield read_results(r)
        if r.index - index == 3 and r.kinds[index + 1] == "(":
            if not r.extended:
                r.lose(index, "return type `()`", "dropped")
            rettail = TypePack(list=TypeList())
    r.depth += 1
    r.open(*(["self"] if method else []))
    args = [r.declare(name) for name in names]
    body = yield r.block(r)
    r.shut()
    r.depth -= 1
    shut_generics(r, generic)
    r.close("end", opening)
    function = ExprFunction(
        generics=generics,
        genericpacks=packs,
        args=args,
        vararg=vararg,
        body=body,
        types=types,
        rettypes=rettypes,
    )
    if r.extended:
        function.attributes = attributes
        function.vararg_pack = vararg_pack
        function.rettail = rettail
    return function


def by_position(r: Reader, named: list[tuple[int, Type | None]]) -> list[Type]:
    """Return one type for each name, up to the last name that has a type.

    `named` has the index of each name's token, and the name's type or None. A missing type becomes
    a TypeOmitted or, in the original schema, `any`.
    """
    while named and named[-1][1] is None:
        named.pop()
    types = []
    for index, type_ in named:
        if type_ is None and r.extended:
            type_ = Type(omitted=TypeOmitted())
        elif type_ is None:
            r.lose(index, "name without a type before one with a type", "the type is `any`")
            type_ = primitive(r, "any")
        types.append(type_)
    return types
