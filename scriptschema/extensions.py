"""The messages that the seed's schema lacks: Luau that is newer, or that it never had.

They are declared as those of `messages.py` are, which stays the place to take them from
(`messages.ExprCast`). A tree of the seed's 57 messages comes to them only through extension fields:
those that say there, behind the seed's own, since which Luau they exist.

Tags are those of upstream's schema where the two say the same. What upstream's schema does not have
or says otherwise has tags from 1000 on, two bytes each: upstream's greatest is 20.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Annotated, Literal

import attrs
from pure_protobuf.annotations import Field
from pure_protobuf.one_of import OneOf

from scriptschema.base import Int64, Message, Since, Which
from scriptschema.declaration import message

if TYPE_CHECKING:
    from scriptschema.messages import (
        Expr,
        ExprConstantBool,
        ExprConstantNil,
        ExprConstantNumber,
        ExprConstantString,
        ExprFunction,
        ExprPrefix,
        Local,
        Name,
        Type,
        Typename,
    )

# Expressions


@message
class ExprConstantInteger(Message):
    """An integer constant: `val` with an `i` behind it, a negative one as its bits, in hexadecimal.

    Source: https://rfcs.luau.org/type-integer.html
    """

    val: Annotated[int, Field(1), Int64]


@message
class ExprCast(Message):
    """A cast: `expr :: type`.

    Source: https://luau.org/grammar
    """

    expr: Annotated[Expr, Field(1)]
    type: Annotated[Type, Field(2)]


@message
class ExprInstantiate(Message):
    """A generic function with its types: `expr<<types>>`.

    Source: https://luau.org/grammar
    """

    expr: Annotated[ExprPrefix, Field(1)]
    types: Annotated[TypeArguments, Field(2)]


# Attributes


@message
class ExprAttr(Message):
    """An attribute of a function: `@native`, or `@[deprecated(args)]` if `braced`.

    `name` is that of an attribute whose kind is Unknown. `joined` says that it stands in the
    brackets of the one before; `parenthesised`, that the arguments stand in parentheses though they
    need none: a single string or table, or no argument at all.

    Source: https://luau.org/grammar
    """

    class Kind(IntEnum):
        """The attributes that are known."""

        Checked = 1
        Native = 2
        Deprecated = 3
        Unknown = 4

    type: Annotated[Kind, Field(1)]
    name: Annotated[Name | None, Field(2)] = None
    args: Annotated[list[ExprLiteral], Field(3), Since("0.687")] = attrs.field(factory=list)
    braced: Annotated[bool | None, Field(4), Since("0.687")] = None
    joined: Annotated[bool | None, Field(1000), Since("0.687")] = None
    parenthesised: Annotated[bool | None, Field(1001), Since("0.687")] = None


@message
class ExprLiteral(Message):
    """An argument of an attribute.

    Source: https://luau.org/grammar
    """

    expr_oneof = OneOf[Message]()
    which = Which[Literal["nil", "bool", "number", "string", "table"]]()
    nil: Annotated[ExprConstantNil | None, Field(1, one_of=expr_oneof)] = None
    bool: Annotated[ExprConstantBool | None, Field(2, one_of=expr_oneof)] = None
    number: Annotated[ExprConstantNumber | None, Field(3, one_of=expr_oneof)] = None
    string: Annotated[ExprConstantString | None, Field(4, one_of=expr_oneof)] = None
    table: Annotated[ExprLiteralTable | None, Field(5, one_of=expr_oneof)] = None


@message
class LiteralTableItem(Message):
    """An item of an attribute's table: `key_name = value`, or without a key `value`.

    Source: https://luau.org/grammar
    """

    key_name: Annotated[Name | None, Field(1)] = None
    value: Annotated[ExprLiteral, Field(2)]


@message
class ExprLiteralTable(Message):
    """A table in an attribute: `{items}`.

    Source: https://luau.org/grammar
    """

    items: Annotated[list[LiteralTableItem], Field(1)] = attrs.field(factory=list)


# Statements


@message
class StatTypeFunction(Message):
    """A function of types: `type function name(args) body end`.

    Source: https://luau.org/types/type-functions
    """

    export: Annotated[bool, Field(1)]
    name: Annotated[Typename, Field(2)]
    func: Annotated[ExprFunction, Field(3)]


@message
class StatClass(Message):
    """A class: `class name members end`, with `open` before it and `extends` behind the name.

    `extends` is a name, or a field of one.

    Source: Luau's parser, `parseClassStat`, behind the flag DebugLuauUserDefinedClasses
    """

    name: Annotated[Local, Field(1)]
    is_exported: Annotated[bool | None, Field(6)] = None
    is_open: Annotated[bool | None, Field(8), Since("0.734")] = None
    members: Annotated[list[ClassMember], Field(1000)] = attrs.field(factory=list)
    extends: Annotated[ExprPrefix | None, Field(1001), Since("0.732")] = None


@message
class ClassMember(Message):
    """A member of a class: a property or a method.

    Source: Luau's parser, `parseClassStat`
    """

    member_oneof = OneOf[Message]()
    which = Which[Literal["prop", "method"]]()
    prop: Annotated[ClassProp | None, Field(1, one_of=member_oneof)] = None
    method: Annotated[ClassMethod | None, Field(2, one_of=member_oneof)] = None


@message
class ClassProp(Message):
    """A property of a class: `public name: type`.

    Source: Luau's parser, `parseClassStat`
    """

    name: Annotated[Name, Field(1)]
    type: Annotated[Type | None, Field(2)] = None


@message
class ClassMethod(Message):
    """A method of a class: `function name(args) body end`, with `public` before it if that is set.

    Source: Luau's parser, `parseClassStat`
    """

    class Access(IntEnum):
        """Who may call a method."""

        PUBLIC = 0

    access: Annotated[Access | None, Field(1)] = None
    name: Annotated[Name, Field(2)]
    func: Annotated[ExprFunction, Field(4)]


# Types


@message
class TypeOmitted(Message):
    """No type, where one may stand: before a name that has one, names without.

    Source: https://luau.org/grammar
    """


@message
class TypePack(Message):
    """Any number of types: `...variadic`, `generic...` or, in parentheses, a list.

    At the end of a list that is written anyway, a list says only that it is written, `()`.

    Source: https://luau.org/grammar
    """

    pack_oneof = OneOf[Message]()
    which = Which[Literal["variadic", "generic", "list"]]()
    variadic: Annotated[Type | None, Field(1, one_of=pack_oneof)] = None
    generic: Annotated[Typename | None, Field(2, one_of=pack_oneof)] = None
    list: Annotated[TypeList | None, Field(3, one_of=pack_oneof)] = None


@message
class TypeList(Message):
    """Types and what they end with: `types, tail`.

    Source: https://luau.org/grammar
    """

    types: Annotated[list[Type], Field(1)] = attrs.field(factory=list)
    tail: Annotated[TypePack | None, Field(2)] = None


@message
class TypeArgument(Message):
    """What stands for a generic: a type or a pack.

    Source: https://luau.org/grammar
    """

    argument_oneof = OneOf[Message]()
    which = Which[Literal["type", "pack"]]()
    type: Annotated[Type | None, Field(1, one_of=argument_oneof)] = None
    pack: Annotated[TypePack | None, Field(2, one_of=argument_oneof)] = None


@message
class TypeArguments(Message):
    """What stands for generics: `<items>`; without items, `<>`.

    Source: https://luau.org/grammar
    """

    items: Annotated[list[TypeArgument], Field(1)] = attrs.field(factory=list)


@message
class GenericDefaults(Message):
    """The defaults of a type's last generics and last generic packs: `<T = types, U... = packs>`.

    Source: https://luau.org/grammar
    """

    types: Annotated[list[Type], Field(1)] = attrs.field(factory=list)
    packs: Annotated[list[TypePack], Field(2)] = attrs.field(factory=list)
