"""The part of the parser that reads types."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import Final

from scriptschema.luau.names import KEYWORDS
from scriptschema.luau.parse_base import Reading, TokenReader
from scriptschema.messages import (
    Local,
    Type,
    TypeBoolean,
    TypeClass,
    TypeFunction,
    TypeIntersection,
    TypeLiteral,
    Typename,
    TypePrimitive,
    TypeRef,
    TypeString,
    TypeTable,
    TypeTableIndexer,
    TypeTableItem,
    TypeTypeof,
    TypeUnion,
)

_MORE_PRIMITIVES: Final = frozenset({"never", "unknown"})
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class TypeReader(TokenReader, ABC):
    """Reads types."""

    @abstractmethod
    def expression(self) -> Reading:
        """Read an expression, for `typeof`."""

    def type_(self) -> Reading:
        """A type: a union, an intersection or a simple one."""
        if self.kind in ("|", "&"):
            return (yield self.alternatives(None))
        first = yield self.simple_type()
        if self.kind in ("|", "&", "?"):
            return (yield self.alternatives(first))
        return first

    def alternatives(self, type_: Type | None) -> Reading:
        """What follows the first type of a union or an intersection; None: nothing is read yet."""
        signs: set[str] = set()
        while self.kind in ("|", "&", "?"):
            index = self.index
            sign = self.take()
            signs.add("&" if sign == "&" else "|")
            if len(signs) > 1:
                self.fail("parentheses where `|` or `?` and `&` meet in a type", index)
            if sign == "?":
                further = Type(primitive=TypePrimitive(kind=self.names.primitive("nil")))
            else:
                further = yield self.simple_type()
            if type_ is None:
                type_ = further
            elif sign == "&":
                type_ = Type(intersection=TypeIntersection(left=type_, right=further))
            else:
                type_ = Type(union=TypeUnion(left=type_, right=further))
        return type_

    def simple_type(self) -> Reading:
        """A type without `|`, `&` and `?` outside of brackets."""
        kind = self.kind
        if kind == "name":
            return (yield self.named_type())
        if kind == "{":
            return (yield self.table_type())
        if kind in ("(", "<"):
            return (yield self.function_type())
        if kind == "nil":
            self.advance()
            return Type(primitive=TypePrimitive(kind=self.names.primitive("nil")))
        if kind in ("true", "false"):
            return Type(boolean=TypeBoolean(val=self.take() == "true"))
        if kind == "string":
            return Type(string=TypeString(val=self.string()))
        self.fail("a type")

    def named_type(self) -> Reading:
        """A type that begins with a name."""
        start = self.index
        text = self.take()
        if text == "typeof":
            opening = self.index
            self.expect("(", "after `typeof`")
            expr = yield self.expression()
            self.close(")", opening)
            return Type(typeof=TypeTypeof(expr=expr))
        if self.skip("."):
            member = self.typename(self.name("of a type of the module"))
            if self.kind == "<":
                self.lose(self.index, "types given to a module's type", "left out")
                yield self.type_arguments()
            if not self.in_scope.get(text):
                self.lose(start, f"type of `{text}`, which is no local", "the type is `any`")
                return Type(primitive=TypePrimitive(kind=self.names.primitive("any")))
            prefix = Local(name=self.names.local(text))
            return Type(ref=TypeRef(prefix=prefix, index=member))
        declared = text in self.aliases or self.generics_in_scope.get(text)
        if self.kind == "<":
            generics, packs = yield self.type_arguments()
        elif declared:
            generics, packs = [], []
        elif text in self.names.primitive.index or text in _MORE_PRIMITIVES:
            return Type(primitive=TypePrimitive(kind=self.names.primitive(text)))
        else:
            return Type(class_=TypeClass(kind=self.names.class_(text)))
        name = Typename(index=self.names.type(text))
        return Type(literal=TypeLiteral(name=name, generics=generics, genericpacks=packs))

    def typename(self, text: str) -> Typename:
        """The index of the token before this one as a type's name."""
        if text == "typeof":  # where a type is used, this is a keyword
            self.lose(self.index - 1, "type named `typeof`", "it is named `typeof_`")
            text = "typeof_"
        return Typename(index=self.names.type(text))

    def generics(self, *, defaults: bool = False) -> Reading:
        """`<T, U...>`: their names, which are in scope now; those of types; those of packs."""
        opening = self.index
        self.advance()
        names: list[str] = []
        types: list[Typename] = []
        packs: list[Typename] = []
        has_default = False
        while True:
            index = self.index
            names.append(self.name("of a generic type"))
            name = self.typename(names[-1])
            self.generics_in_scope[names[-1]] = self.generics_in_scope.get(names[-1], 0) + 1
            if self.skip("..."):
                packs.append(name)
            elif packs:
                self.fail("`...` after the name of a generic pack, as after the one before it")
            else:
                types.append(name)
            if has_default and self.kind != "=":
                self.fail("`=` and a default, as the generic type before this one has")
            if defaults and self.skip("="):
                has_default = True
                self.lose(index, "default of a generic type", "left out")
                if self.at_pack():
                    yield self.pack()
                elif not packs:
                    yield self.type_()
                else:
                    parenthesis = self.index
                    self.expect("(", "or `...` and a pack of types")
                    yield self.type_list()
                    self.close(")", parenthesis)
            if not self.skip(","):
                self.close(">", opening)
                return names, types, packs

    def shut_generics(self, names: list[str]) -> None:
        """End the scope of these generics."""
        for name in names:
            self.generics_in_scope[name] -= 1

    def type_arguments(self) -> Reading:
        """`<types, packs>`: types, and names of generic packs."""
        opening = self.index
        self.advance()
        types: list[Type] = []
        packs: list[Typename] = []
        more = self.kind != ">"
        while more:
            if self.at_pack():
                pack = yield self.pack()
                if pack is not None:
                    packs.append(pack)
            elif self.kind == "(":
                index = self.index
                found = yield self.pack_or_type()
                if len(found) != 1:
                    self.lose(index, "types in parentheses", "given one by one")
                types += found
            else:
                types.append((yield self.type_()))
            more = self.skip(",")
        self.close(">", opening)
        return types, packs

    def at_pack(self) -> bool:
        """Whether a variadic type `...T` or a generic pack `T...` is here."""
        if self.kind == "name":
            return self.kinds[self.index + 1] == "..."
        return self.kind == "..."

    def pack(self) -> Reading:
        """A generic pack's name; None for a variadic type, which the schema does not have."""
        if self.kind == "name":
            name = self.typename(self.take())
            self.advance()
            return name
        self.lose(self.index, "variadic type", "left out")
        self.advance()
        yield self.type_()
        return None

    def type_list(self) -> Reading:
        """Types up to a `)`; whether one had a name; whether a pack ended them."""
        types: list[Type] = []
        named = packed = False
        while self.kind != ")":
            index = self.index
            if self.at_pack():
                if (yield self.pack()) is not None:
                    self.lose(index, "generic pack in a list of types", "left out")
                packed = True
                break
            if self.kind == "name" and self.kinds[index + 1] == ":":
                self.lose(index, "name of a parameter in a type", "left out")
                self.advance()
                self.advance()
                named = True
            types.append((yield self.type_()))
            if not self.skip(","):
                break
            if self.kind == ")":
                self.fail("a type after `,`")
        return types, named, packed

    def pack_or_type(self) -> Reading:
        """`(types)` or a type that begins with `(`, where both may stand; as a list of types."""
        opening = self.index
        self.advance()
        types, named, packed = yield self.type_list()
        self.close(")", opening)
        if self.kind == "->" or named:
            self.expect("->", "and the result of a function type")
            function = TypeFunction(args=types, rets=(yield self.results()))
            first = Type(function=function)
        elif len(types) == 1 and not packed:
            [first] = types
        else:
            return types
        return [(yield self.alternatives(first))]

    def results(self) -> Reading:
        """The result types of a function."""
        if self.at_pack():
            index = self.index
            if (yield self.pack()) is not None:
                self.lose(index, "generic pack as a result type", "left out")
            return []
        if self.kind == "(":
            return (yield self.pack_or_type())
        return [(yield self.type_())]

    def function_type(self) -> Reading:
        """A function type, or a type in parentheses."""
        generic: list[str] = []
        generics: list[Typename] = []
        packs: list[Typename] = []
        if self.kind == "<":
            generic, generics, packs = yield self.generics()
        opening = self.index
        self.expect("(", "and the parameters of a function type")
        args, named, packed = yield self.type_list()
        self.close(")", opening)
        if self.kind != "->" and len(args) == 1 and not (named or packed or generic):
            return args[0]
        self.expect("->", "and the result of a function type")
        rets = yield self.results()
        self.shut_generics(generic)
        return Type(
            function=TypeFunction(generics=generics, genericpacks=packs, args=args, rets=rets)
        )

    def table_type(self) -> Reading:
        """A table type: properties and an indexer, or the type of an array's items."""
        opening = self.index
        self.advance()
        items: list[TypeTableItem] = []
        indexer: TypeTableIndexer | None = None
        while self.kind != "}":
            start = self.index
            following = self.kinds[start + 1]
            if self.kind == "name" and self.texts[start] in ("read", "write") and following != ":":
                self.lose(
                    start,
                    f"`{self.texts[start]}`",
                    "left out: the property can be read and written",
                )
                self.advance()
                following = self.kinds[self.index + 1]
            if self.kind == "[" and following == "string" and self.kinds[self.index + 2] == "]":
                bracket = self.index
                self.advance()
                key = self.string()
                self.close("]", bracket)
                self.expect(":", "after the property's name")
                type_ = yield self.type_()
                if _NAME.fullmatch(key) and key not in KEYWORDS:
                    items.append(TypeTableItem(key=self.names.field(key), type=type_))
                else:
                    self.lose(bracket, f"property {key!r:.40}, which is no name", "left out")
            elif self.kind == "[":
                if indexer is not None:
                    self.fail("one indexer only in a table type")
                bracket = self.index
                self.advance()
                key_type = yield self.type_()
                self.close("]", bracket)
                self.expect(":", "after the indexer's key")
                indexer = TypeTableIndexer(key=key_type, value=(yield self.type_()))
            elif items or indexer is not None or (self.kind == "name" and following == ":"):
                key_name = self.names.field(self.name("of a property"))
                self.expect(":", "after the property's name")
                items.append(TypeTableItem(key=key_name, type=(yield self.type_())))
            else:
                number = Type(primitive=TypePrimitive(kind=self.names.primitive("number")))
                indexer = TypeTableIndexer(key=number, value=(yield self.type_()))
                break
            if not self.skip(",") and not self.skip(";"):
                break
        self.close("}", opening)
        return Type(table=TypeTable(items=items, indexer=indexer))
