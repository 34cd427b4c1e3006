"""Types."""

from __future__ import annotations

import re
from typing import Final

from scriptschema import messages as m
from scriptschema.luau.names import KEYWORDS
from scriptschema.luau.parsing.reader import Reader, Reading

_MORE_PRIMITIVES: Final = frozenset({"never", "unknown"})
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def read_type(r: Reader) -> Reading:
    """A type: a union, an intersection or a simple one."""
    if r.kind in ("|", "&"):
        return (yield _read_alternatives(r, None))
    first = yield _read_simple_type(r)
    if r.kind in ("|", "&", "?"):
        return (yield _read_alternatives(r, first))
    return first


def _read_alternatives(r: Reader, type_: m.Type | None) -> Reading:
    """What follows the first type of a union or an intersection; None: nothing is read yet."""
    signs: set[str] = set()
    while r.kind in ("|", "&", "?"):
        index = r.index
        sign = r.take()
        signs.add("&" if sign == "&" else "|")
        if len(signs) > 1:
            r.fail("parentheses where `|` or `?` and `&` meet in a type", index)
        if sign == "?":
            further = m.Type(primitive=m.TypePrimitive(kind=r.names.primitive("nil")))
        else:
            further = yield _read_simple_type(r)
        if type_ is None:
            type_ = further
        elif sign == "&":
            type_ = m.Type(intersection=m.TypeIntersection(left=type_, right=further))
        else:
            type_ = m.Type(union=m.TypeUnion(left=type_, right=further))
    return type_


def _read_simple_type(r: Reader) -> Reading:
    """A type without `|`, `&` and `?` outside of brackets."""
    kind = r.kind
    if kind == "name":
        return (yield _read_named_type(r))
    if kind == "{":
        return (yield _read_table_type(r))
    if kind in ("(", "<"):
        return (yield _read_function_type(r))
    if kind == "nil":
        r.advance()
        return m.Type(primitive=m.TypePrimitive(kind=r.names.primitive("nil")))
    if kind in ("true", "false"):
        return m.Type(boolean=m.TypeBoolean(val=r.take() == "true"))
    if kind == "string":
        return m.Type(string=m.TypeString(val=r.string()))
    r.fail("a type")


def _read_named_type(r: Reader) -> Reading:
    """A type that begins with a name."""
    start = r.index
    text = r.take()
    if text == "typeof":
        opening = r.index
        r.expect("(", "after `typeof`")
        expr = yield r.expression(r)
        r.close(")", opening)
        return m.Type(typeof=m.TypeTypeof(expr=expr))
    if r.skip("."):
        member = typename(r, r.name("of a type of the module"))
        if r.kind == "<":
            r.lose(r.index, "types given to a module's type", "left out")
            yield read_type_arguments(r)
        if not r.in_scope.get(text):
            r.lose(start, f"type of `{text}`, which is not a local", "the type is `any`")
            return m.Type(primitive=m.TypePrimitive(kind=r.names.primitive("any")))
        prefix = m.Local(name=r.names.local(text))
        return m.Type(ref=m.TypeRef(prefix=prefix, index=member))
    declared = text in r.aliases or r.generics_in_scope.get(text)
    if r.kind == "<":
        generics, packs = yield read_type_arguments(r)
    elif declared:
        generics, packs = [], []
    elif text in r.names.primitive.index or text in _MORE_PRIMITIVES:
        return m.Type(primitive=m.TypePrimitive(kind=r.names.primitive(text)))
    else:
        return m.Type(class_=m.TypeClass(kind=r.names.class_(text)))
    name = m.Typename(index=r.names.type(text))
    return m.Type(literal=m.TypeLiteral(name=name, generics=generics, genericpacks=packs))


def typename(r: Reader, text: str) -> m.Typename:
    """The index of the token before this one as a type's name."""
    if text == "typeof":  # where a type is used, this is a keyword
        r.lose(r.index - 1, "type named `typeof`", "it is named `typeof_`")
        text = "typeof_"
    return m.Typename(index=r.names.type(text))


def read_generics(r: Reader, *, defaults: bool = False) -> Reading:
    """`<T, U...>`: their names, which are in scope now; those of types; those of packs."""
    opening = r.index
    r.advance()
    names: list[str] = []
    types: list[m.Typename] = []
    packs: list[m.Typename] = []
    has_default = False
    while True:
        index = r.index
        names.append(r.name("of a generic type"))
        name = typename(r, names[-1])
        r.generics_in_scope[names[-1]] = r.generics_in_scope.get(names[-1], 0) + 1
        if r.skip("..."):
            packs.append(name)
        elif packs:
            r.fail("`...` after the name of a generic pack, as after the one before it")
        else:
            types.append(name)
        if has_default and r.kind != "=":
            r.fail("`=` and a default, as the generic type before this one has")
        if defaults and r.skip("="):
            has_default = True
            r.lose(index, "default of a generic type", "left out")
            if at_pack(r):
                yield read_pack(r)
            elif not packs:
                yield read_type(r)
            else:
                parenthesis = r.index
                r.expect("(", "or `...` and a pack of types")
                yield _read_type_list(r)
                r.close(")", parenthesis)
        if not r.skip(","):
            r.close(">", opening)
            return names, types, packs


def shut_generics(r: Reader, names: list[str]) -> None:
    """End the scope of these generics."""
    for name in names:
        r.generics_in_scope[name] -= 1


def read_type_arguments(r: Reader) -> Reading:
    """`<types, packs>`: types, and names of generic packs."""
    opening = r.index
    r.advance()
    types: list[m.Type] = []
    packs: list[m.Typename] = []
    more = r.kind != ">"
    while more:
        if at_pack(r):
            pack = yield read_pack(r)
            if pack is not None:
                packs.append(pack)
        elif r.kind == "(":
            index = r.index
            found = yield _read_pack_or_type(r)
            if len(found) != 1:
                r.lose(index, "types in parentheses", "given one by one")
            types += found
        else:
            types.append((yield read_type(r)))
        more = r.skip(",")
    r.close(">", opening)
    return types, packs


def at_pack(r: Reader) -> bool:
    """Whether a variadic type `...T` or a generic pack `T...` is here."""
    if r.kind == "name":
        return r.kinds[r.index + 1] == "..."
    return r.kind == "..."


def read_pack(r: Reader) -> Reading:
    """A generic pack's name; None for a variadic type, which the schema does not have."""
    if r.kind == "name":
        name = typename(r, r.take())
        r.advance()
        return name
    r.lose(r.index, "variadic type", "left out")
    r.advance()
    yield read_type(r)
    return None


def _read_type_list(r: Reader) -> Reading:
    """Types up to a `)`; whether one had a name; whether a pack ended them."""
    types: list[m.Type] = []
    named = packed = False
    while r.kind != ")":
        index = r.index
        if at_pack(r):
            if (yield read_pack(r)) is not None:
                r.lose(index, "generic pack in a list of types", "left out")
            packed = True
            break
        if r.kind == "name" and r.kinds[index + 1] == ":":
            r.lose(index, "name of a parameter in a type", "left out")
            r.advance()
            r.advance()
            named = True
        types.append((yield read_type(r)))
        if not r.skip(","):
            break
        if r.kind == ")":
            r.fail("a type after `,`")
    return types, named, packed


def _read_pack_or_type(r: Reader) -> Reading:
    """`(types)` or a type that begins with `(`, where both may stand; as a list of types."""
    opening = r.index
    r.advance()
    types, named, packed = yield _read_type_list(r)
    r.close(")", opening)
    if r.kind == "->" or named:
        r.expect("->", "and the result of a function type")
        function = m.TypeFunction(args=types, rets=(yield read_results(r)))
        first = m.Type(function=function)
    elif len(types) == 1 and not packed:
        [first] = types
    else:
        return types
    return [(yield _read_alternatives(r, first))]


def read_results(r: Reader) -> Reading:
    """The result types of a function."""
    if at_pack(r):
        index = r.index
        if (yield read_pack(r)) is not None:
            r.lose(index, "generic pack as a result type", "left out")
        return []
    if r.kind == "(":
        return (yield _read_pack_or_type(r))
    return [(yield read_type(r))]


def _read_function_type(r: Reader) -> Reading:
    """A function type, or a type in parentheses."""
    generic: list[str] = []
    generics: list[m.Typename] = []
    packs: list[m.Typename] = []
    if r.kind == "<":
        generic, generics, packs = yield read_generics(r)
    opening = r.index
    r.expect("(", "and the parameters of a function type")
    args, named, packed = yield _read_type_list(r)
    r.close(")", opening)
    if r.kind != "->" and len(args) == 1 and not (named or packed or generic):
        return args[0]
    r.expect("->", "and the result of a function type")
    rets = yield read_results(r)
    shut_generics(r, generic)
    return m.Type(
        function=m.TypeFunction(generics=generics, genericpacks=packs, args=args, rets=rets)
    )


def _read_table_type(r: Reader) -> Reading:
    """A table type: properties and an indexer, or the type of an array's items."""
    opening = r.index
    r.advance()
    items: list[m.TypeTableItem] = []
    indexer: m.TypeTableIndexer | None = None
    while r.kind != "}":
        start = r.index
        following = r.kinds[start + 1]
        if r.kind == "name" and r.texts[start] in ("read", "write") and following != ":":
            r.lose(
                start,
                f"`{r.texts[start]}`",
                "left out: the property can be read and written",
            )
            r.advance()
            following = r.kinds[r.index + 1]
        if r.kind == "[" and following == "string" and r.kinds[r.index + 2] == "]":
            bracket = r.index
            r.advance()
            key = r.string()
            r.close("]", bracket)
            r.expect(":", "after the property's name")
            type_ = yield read_type(r)
            if _NAME.fullmatch(key) and key not in KEYWORDS:
                items.append(m.TypeTableItem(key=r.names.field(key), type=type_))
            else:
                r.lose(bracket, f"property {key!r:.40}, which is not a name", "left out")
        elif r.kind == "[":
            if indexer is not None:
                r.fail("one indexer only in a table type")
            bracket = r.index
            r.advance()
            key_type = yield read_type(r)
            r.close("]", bracket)
            r.expect(":", "after the indexer's key")
            indexer = m.TypeTableIndexer(key=key_type, value=(yield read_type(r)))
        elif items or indexer is not None or (r.kind == "name" and following == ":"):
            key_name = r.names.field(r.name("of a property"))
            r.expect(":", "after the property's name")
            items.append(m.TypeTableItem(key=key_name, type=(yield read_type(r))))
        else:
            number = m.Type(primitive=m.TypePrimitive(kind=r.names.primitive("number")))
            indexer = m.TypeTableIndexer(key=number, value=(yield read_type(r)))
            break
        if not r.skip(",") and not r.skip(";"):
            break
    r.close("}", opening)
    return m.Type(table=m.TypeTable(items=items, indexer=indexer))
