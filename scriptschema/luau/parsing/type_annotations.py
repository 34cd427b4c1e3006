"""Reads types, generics and type arguments."""

from __future__ import annotations

import re
from typing import Final

from scriptschema import messages as m
from scriptschema.luau.names import KEYWORDS, TYPE_FUNCTIONS
from scriptschema.luau.parsing.reader import Reader, Reading

_MORE_PRIMITIVES: Final = frozenset({"never", "unknown"})
_ACCESS: Final = {"read": m.TypeTableItem.Access.Read, "write": m.TypeTableItem.Access.Write}
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def read_type(r: Reader) -> Reading:
    """Read a type: a union, an intersection or a simple type."""
    if r.kind in ("|", "&"):
        return (yield _read_alternatives(r, None))
    first = yield _read_simple_type(r)
    if r.kind in ("|", "&", "?"):
        return (yield _read_alternatives(r, first))
    return first


def _read_alternatives(r: Reader, type_: m.Type | None) -> Reading:
    """Read a union or an intersection. `type_` is its first type, if that has been read."""
    signs: set[str] = set()
    while r.kind in ("|", "&", "?"):
        index = r.index
        sign = r.take()
        signs.add("&" if sign == "&" else "|")
        if len(signs) > 1:
            r.fail("parentheses, because a type cannot mix `&` with `|` or `?`", index)
        if sign == "?":
            further = primitive(r, "nil")
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
    """Read a type without `|`, `&` or `?` outside brackets."""
    kind = r.kind
    if kind == "name":
        return (yield _read_named_type(r))
    if kind == "{":
        return (yield _read_table_type(r))
    if kind in ("(", "<"):
        return (yield _read_function_type(r))
    if kind == "nil":
        r.advance()
        return primitive(r, "nil")
    if kind in ("true", "false"):
        return m.Type(boolean=m.TypeBoolean(val=r.take() == "true"))
    if kind == "string":
        return m.Type(string=m.TypeString(val=r.string()))
    r.fail("a type")


def primitive(r: Reader, name: str) -> m.Type:
    """Return the primitive type called `name`."""
    return m.Type(primitive=m.TypePrimitive(kind=r.names.primitive(name)))


def _read_named_type(r: Reader) -> Reading:
    """Read a type that begins with a name."""
    start = r.index
    text = r.take()
    if text == "typeof" and r.kind != ".":  # otherwise, a module in a local of this name
        opening = r.index
        r.expect("(", "after `typeof`")
        expr = yield r.expression(r)
        r.close(")", opening)
        return m.Type(typeof=m.TypeTypeof(expr=expr))
    if r.skip("."):
        member = typename(r, r.name("of a type of the module"))
        arguments = None
        if r.kind == "<":
            if not r.extended:
                r.lose(r.index, "type arguments of a module's type", "dropped")
            arguments = m.TypeArguments(items=[item for _, item in (yield read_type_arguments(r))])
        local = r.in_scope.get(text)
        if not local and not r.extended:
            r.lose(start, f"type of `{text}`, which is not a local", "the type is `any`")
            return primitive(r, "any")
        ref = m.TypeRef(prefix=m.Local(name=r.names.local(text) if local else 0), index=member)
        if r.extended:
            ref.arguments = arguments
            ref.prefix_global = None if local else r.names.global_(text)
        return m.Type(ref=ref)
    is_generic = r.generics_in_scope.get(text)
    literal = m.TypeLiteral(name=m.Typename(index=0))
    if r.kind == "<":
        arguments = yield read_type_arguments(r)
        _set_arguments(r, literal, arguments)
        if r.extended and not (text in r.aliases or is_generic) and text in TYPE_FUNCTIONS:
            literal.name.index = TYPE_FUNCTIONS.index(text)
            literal.name.kind = m.Typename.Kind.Builtin
            return m.Type(literal=literal)
    if is_generic or literal.generics or literal.genericpacks or literal.arguments is not None:
        literal.name.index = r.names.type(text)
        return m.Type(literal=literal)
    type_ = m.Type()
    if text in r.aliases:
        r.undecided.setdefault(text, []).append((r.index - 1, type_))
    else:
        set_undeclared(r, text, type_)
    return type_


def set_undeclared(r: Reader, text: str, type_: m.Type) -> None:
    """Set a type to the primitive type or class called `text`.

    No declared type of this name may be in scope.
    """
    if text in r.names.primitive or text in _MORE_PRIMITIVES:
        type_.primitive = m.TypePrimitive(kind=r.names.primitive(text))
    else:
        type_.class_ = m.TypeClass(kind=r.names.class_(text))


def _set_arguments(
    r: Reader, literal: m.TypeLiteral, arguments: list[tuple[int, m.TypeArgument]]
) -> None:
    """Store arguments in the lists of types and packs, or else in the field `arguments`."""
    rest: list[m.TypeArgument] = []
    for index, argument in arguments:
        pack = argument.pack
        if not r.extended and pack is not None and pack.list is not None:
            r.lose(index, "types in parentheses", "listed without the parentheses")
            literal.generics += pack.list.types
        elif not r.extended and pack is not None and pack.generic is None:
            pass  # a variadic type, which is already recorded as lost
        elif rest or (pack is not None and pack.generic is None):
            rest.append(argument)
        elif pack is not None and pack.generic is not None:
            literal.genericpacks.append(pack.generic)
        elif argument.type is not None:
            if r.extended and literal.genericpacks:
                rest.append(argument)
            else:
                literal.generics.append(argument.type)
    if r.extended and (rest or not arguments):
        literal.arguments = m.TypeArguments(items=rest)


def typename(r: Reader, text: str) -> m.Typename:
    """Return the Typename for `text`, the text of the previous token."""
    if text == "typeof":  # where a type is used, this is a keyword
        r.lose(r.index - 1, "type named `typeof`", "it is named `typeof_`")
        text = "typeof_"
    return m.Typename(index=r.names.type(text))


def read_generics(r: Reader, *, defaults: bool = False) -> Reading:
    """Read `<T, U...>`, if it is there, and declare the names.

    Returns four values: the names of types, the declarations of types and of packs, and the
    defaults.
    """
    if r.kind != "<":
        return [], [], [], None
    opening = r.advance()
    names: list[str] = []
    types: list[m.Typename] = []
    packs: list[m.Typename] = []
    default = m.GenericDefaults()
    has_default = False
    while True:
        index = r.index
        text = r.name("of a generic type")
        name = typename(r, text)
        if r.skip("..."):
            packs.append(name)
        elif packs:
            r.fail("`...` after the name, because only packs can follow a generic pack")
        else:
            types.append(name)
            names.append(text)
            r.generics_in_scope[text] = r.generics_in_scope.get(text, 0) + 1
        if has_default and r.kind != "=":
            r.fail("`=` and a default, because the generic type before this one has a default")
        if defaults and r.skip("="):
            has_default = True
            if not r.extended:
                r.lose(index, "default of a generic type", "dropped")
            if packs and not at_pack(r):
                parenthesis = r.index
                r.expect("(", "or `...` of a type pack")
                listed, named, tail = yield _read_type_list(r)
                r.close(")", parenthesis)
                if named:
                    r.fail("a type pack without parameter names", parenthesis)
                default.packs.append(m.TypePack(list=m.TypeList(types=listed, tail=tail)))
            elif at_pack(r):
                default.packs.append((yield read_pack(r)))
            else:
                default.types.append((yield read_type(r)))
        if not r.skip(","):
            r.close(">", opening)
            return names, types, packs, default if has_default and r.extended else None


def shut_generics(r: Reader, names: list[str]) -> None:
    """End the scope of these generics."""
    for name in names:
        r.generics_in_scope[name] -= 1


def read_type_arguments(r: Reader) -> Reading:
    """Read `<types, packs>`. Return (index of the first token, argument) for each argument."""
    opening = r.advance()
    arguments: list[tuple[int, m.TypeArgument]] = []
    more = r.kind != ">"
    while more:
        index = r.index
        if at_pack(r):
            argument = m.TypeArgument(pack=(yield read_pack(r)))
        elif r.kind == "(":
            types, tail, is_list = yield _read_list_or_function(r)
            in_parentheses = len(types) == 1 and tail is None and r.kind in ("|", "&", "?")
            if is_list and not in_parentheses:
                # Luau reads even `(T)` as a pack
                pack = m.TypePack(list=m.TypeList(types=types, tail=tail if r.extended else None))
                argument = m.TypeArgument(pack=pack)
            else:
                argument = m.TypeArgument(type=(yield _read_alternatives(r, types[0])))
        else:
            argument = m.TypeArgument(type=(yield read_type(r)))
        arguments.append((index, argument))
        more = r.skip(",")
    r.close(">", opening)
    return arguments


def at_pack(r: Reader) -> bool:
    """Return whether the current token begins a variadic type `...T` or a generic pack `T...`."""
    if r.kind == "name":
        return r.kinds[r.index + 1] == "..."
    return r.kind == "..."


def read_pack(r: Reader) -> Reading:
    """Read a generic pack, or a variadic type, which is not in the original schema."""
    if r.kind == "name":
        name = typename(r, r.take())
        r.advance()
        return m.TypePack(generic=name)
    if not r.extended:
        r.lose(r.index, "variadic type", "dropped")
    r.advance()
    return m.TypePack(variadic=(yield read_type(r)))


def _read_type_list(r: Reader) -> Reading:
    """Read types up to `)`. Return (types, names of parameters, final pack or None)."""
    types: list[m.Type] = []
    names: list[m.Name] = []
    tail: m.TypePack | None = None
    while r.kind != ")":
        index = r.index
        if at_pack(r):
            tail = yield read_pack(r)
            if tail.generic is not None and not r.extended:
                r.lose(index, "generic pack in a list of types", "dropped")
            break
        if r.kind == "name" and r.kinds[index + 1] == ":":
            if not r.extended:
                r.lose(index, "name of a parameter in a type", "dropped")
            names += (m.Name() for _ in range(len(types) - len(names)))
            name = r.take()
            names.append(r.names.field(name) if r.extended else m.Name())
            r.advance()
        types.append((yield read_type(r)))
        if not r.skip(","):
            break
        if r.kind == ")":
            r.fail("a type after `,`")
    return types, names, tail


def _read_list_or_function(r: Reader) -> Reading:
    """Read `(types)`, or a function type that begins with `(`.

    Returns (types, final pack or None, is_list). A function type is returned as the only type.
    """
    opening = r.advance()
    types, names, tail = yield _read_type_list(r)
    r.close(")", opening)
    if r.kind != "->" and not names:
        return types, tail, True
    function = yield _read_rest_of_function(r, types, names, tail)
    return [m.Type(function=function)], None, False


def _read_rest_of_function(
    r: Reader, args: list[m.Type], names: list[m.Name], tail: m.TypePack | None
) -> Reading:
    r.expect("->", "and the result of a function type")
    rets, rettail = yield read_results(r)
    function = m.TypeFunction(args=args, rets=rets)
    if r.extended:
        function.argnames = names
        function.argtail = tail
        function.rettail = rettail
    return function


def read_results(r: Reader) -> Reading:
    """Read the return types of a function. Return the types, and the pack at the end or None."""
    if at_pack(r):
        index = r.index
        tail = yield read_pack(r)
        if r.extended:
            return [], tail
        if tail.generic is not None:
            r.lose(index, "generic pack as a return type", "dropped")
        return [], None
    if r.kind == "(":
        types, tail, is_list = yield _read_list_or_function(r)
        if is_list and len(types) == 1:
            # Luau reads `(T, ...U) | V` as `(T | V, ...U)`
            types = [(yield _read_alternatives(r, types[0]))]
        return types, tail if r.extended else None
    return [(yield read_type(r))], None


def _read_function_type(r: Reader) -> Reading:
    """Read a function type, or a type in parentheses."""
    is_generic = r.kind == "<"
    generic, generics, packs, _ = yield read_generics(r)
    opening = r.index
    r.expect("(", "and the parameters of a function type")
    args, names, tail = yield _read_type_list(r)
    r.close(")", opening)
    if r.kind != "->" and len(args) == 1 and tail is None and not (names or is_generic):
        return args[0]
    function = yield _read_rest_of_function(r, args, names, tail)
    shut_generics(r, generic)
    function.generics, function.genericpacks = generics, packs
    return m.Type(function=function)


def _read_table_type(r: Reader) -> Reading:
    """Read a table type: properties and at most one indexer, or `{T}` for an array of `T`."""
    opening = r.advance()
    items: list[m.TypeTableItem] = []
    indexer: m.TypeTableIndexer | None = None
    before: int | None = None
    while r.kind != "}":
        start = r.index
        following = r.kinds[start + 1]
        access = None
        if r.kind == "name" and r.texts[start] in _ACCESS and following != ":":
            access = _ACCESS[r.texts[start]]
            if not r.extended:
                how = "dropped: the property can be read and written"
                r.lose(start, f"`{r.texts[start]}`", how)
                access = None
            r.advance()
            following = r.kinds[r.index + 1]
        if r.kind == "[" and following == "string" and r.kinds[r.index + 2] == "]":
            bracket = r.advance()
            key = r.string()
            r.close("]", bracket)
            r.expect(":", "after the property's name")
            type_ = yield read_type(r)
            if r.extended:
                item = m.TypeTableItem(key=m.Name(), type=type_, access=access, key_string=key)
                items.append(item)
            elif _NAME.fullmatch(key) and key not in KEYWORDS:
                items.append(m.TypeTableItem(key=r.names.field(key), type=type_))
            else:
                r.lose(bracket, f"property {key!r:.40}, which is not a name", "dropped")
        elif r.kind == "[":
            if indexer is not None:
                r.fail("at most one indexer in a table type")
            bracket = r.advance()
            key_type = yield read_type(r)
            r.close("]", bracket)
            r.expect(":", "after the indexer's key")
            value = yield read_type(r)
            indexer = m.TypeTableIndexer(key=key_type, value=value, access=access)
            before = len(items)
        elif items or indexer is not None or (r.kind == "name" and following == ":"):
            key_name = r.names.field(r.name("of a property"))
            r.expect(":", "after the property's name")
            type_ = yield read_type(r)
            items.append(m.TypeTableItem(key=key_name, type=type_, access=access))
        else:
            number = primitive(r, "number")
            value = yield read_type(r)
            indexer = m.TypeTableIndexer(key=number, value=value, access=access)
            break
        if not r.skip(",") and not r.skip(";"):
            break
    r.close("}", opening)
    table = m.TypeTable(items=items, indexer=indexer)
    if r.extended and before is not None and before < len(items):
        table.indexer_position = before
    return m.Type(table=table)
