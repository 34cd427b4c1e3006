"""The schema: messages and enums that describe a Luau program as a tree.

Tags, field names, rules and types are defined only here. The codec, the `.proto` file, the
generator and the paths in errors are derived from them, so a change here changes the format.

The first 57 messages, their fields without a `Since`, and the 3 `Op` enums are the original schema.
Nothing else is read or written unless a version of Luau is requested. A field with a `Since` is an
extension: `Since` is the first Luau version that accepts the field's syntax. Within a message,
extensions follow the other fields. Messages that only extensions refer to are declared last.

If upstream's schema has the same field, the extension has the same tag. Other extensions have tags
from 1000 on, which take two bytes each. Upstream's largest tag is 20.

Each message is a class, in the specification's order and with its names. A field whose name is a
Python keyword or `self` gets a trailing underscore (`else_`, `self_`). A field is

- required:  `left: Annotated[Expr, Field(2)]`
- optional:  `step: Annotated[Expr | None, Field(4)] = None`
- repeated:  `args: Annotated[list[Expr], Field(3)] = attrs.field(factory=list)`
- one of several: `nil: Annotated[ExprConstantNil | None, Field(2, one_of=expr_oneof)] = None`

An `int` is an int32 unless it is annotated with Int64. A `float` is a double.

Names of variables, types and globals are int32 indexes, which the consumer maps to real names. The
classes' methods are in `base.py`. `Which` repeats the possible values of `which`, since type
checkers cannot derive them. A test compares them with the fields.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Mapping
from enum import IntEnum
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal

import attrs
from pure_protobuf.annotations import Field

import scriptschema
from scriptschema.base import FieldInfo, Int64, Message, OneOf, Since, Which
from scriptschema.declaration import complete, message
from scriptschema.versions import Version

# Expressions (specification 2.1)


@message
class Expr(Message):
    """An expression. Exactly one of its alternatives is set, or none in an incomplete tree."""

    expr_oneof = OneOf()
    which = Which[
        Literal[
            "group",
            "nil",
            "bool",
            "number",
            "string",
            "local",
            "global_",
            "varargs",
            "call",
            "index_name",
            "index_expr",
            "function",
            "table",
            "unary",
            "binary",
            "ifelse",
            "interpstring",
            "integer",
            "cast",
            "instantiate",
        ]
    ]()
    group: Annotated[ExprGroup | None, Field(1, one_of=expr_oneof)] = None
    nil: Annotated[ExprConstantNil | None, Field(2, one_of=expr_oneof)] = None
    bool: Annotated[ExprConstantBool | None, Field(3, one_of=expr_oneof)] = None
    number: Annotated[ExprConstantNumber | None, Field(4, one_of=expr_oneof)] = None
    string: Annotated[ExprConstantString | None, Field(5, one_of=expr_oneof)] = None
    local: Annotated[ExprLocal | None, Field(6, one_of=expr_oneof)] = None
    global_: Annotated[ExprGlobal | None, Field(7, one_of=expr_oneof)] = None
    varargs: Annotated[ExprVarargs | None, Field(8, one_of=expr_oneof)] = None
    call: Annotated[ExprCall | None, Field(9, one_of=expr_oneof)] = None
    index_name: Annotated[ExprIndexName | None, Field(10, one_of=expr_oneof)] = None
    index_expr: Annotated[ExprIndexExpr | None, Field(11, one_of=expr_oneof)] = None
    function: Annotated[ExprFunction | None, Field(12, one_of=expr_oneof)] = None
    table: Annotated[ExprTable | None, Field(13, one_of=expr_oneof)] = None
    unary: Annotated[ExprUnary | None, Field(14, one_of=expr_oneof)] = None
    binary: Annotated[ExprBinary | None, Field(15, one_of=expr_oneof)] = None
    ifelse: Annotated[ExprIfElse | None, Field(16, one_of=expr_oneof)] = None
    interpstring: Annotated[ExprInterpString | None, Field(17, one_of=expr_oneof)] = None
    integer: Annotated[ExprConstantInteger | None, Field(18, one_of=expr_oneof), Since("0.715")] = (
        None
    )
    cast: Annotated[ExprCast | None, Field(1000, one_of=expr_oneof), Since("0.677")] = None
    instantiate: Annotated[
        ExprInstantiate | None, Field(1001, one_of=expr_oneof), Since("0.701")
    ] = None


@message
class ExprPrefix(Message):
    """An expression that can be called or indexed: `f` in `f(x)`, `t` in `t.k`."""

    expr_oneof = OneOf()
    which = Which[
        Literal["group", "local", "global_", "call", "index_name", "index_expr", "instantiate"]
    ]()
    group: Annotated[ExprGroup | None, Field(1, one_of=expr_oneof)] = None
    local: Annotated[ExprLocal | None, Field(2, one_of=expr_oneof)] = None
    global_: Annotated[ExprGlobal | None, Field(3, one_of=expr_oneof)] = None
    call: Annotated[ExprCall | None, Field(4, one_of=expr_oneof)] = None
    index_name: Annotated[ExprIndexName | None, Field(5, one_of=expr_oneof)] = None
    index_expr: Annotated[ExprIndexExpr | None, Field(6, one_of=expr_oneof)] = None
    instantiate: Annotated[
        ExprInstantiate | None, Field(1001, one_of=expr_oneof), Since("0.701")
    ] = None


@message
class Local(Message):
    """A local variable, given by the index of its name."""

    name: Annotated[int, Field(1)]


@message
class Typename(Message):
    """The name of a type, a generic or a generic pack (see `kind`), given by its index."""

    class Kind(IntEnum):
        """The kinds of type names: a type, a generic, or a type function that Luau defines."""

        Regular = 0
        Generic = 1
        Builtin = 2

    index: Annotated[int, Field(1)]
    kind: Annotated[Kind | None, Field(1000), Since("0.677")] = None


@message
class Name(Message):
    """The name of a global, a field or a method.

    `builtin` is an index into the names that the language and its library define. `custom` is an
    index into the program's own names.
    """

    name_oneof = OneOf()
    which = Which[Literal["builtin", "custom"]]()
    builtin: Annotated[int | None, Field(1, one_of=name_oneof)] = None
    custom: Annotated[int | None, Field(2, one_of=name_oneof)] = None


@message
class ExprGroup(Message):
    """An expression in parentheses: `(expr)`, which also truncates several values to one."""

    expr: Annotated[Expr, Field(1)]


@message
class ExprConstantNil(Message):
    """The constant `nil`."""


@message
class ExprConstantBool(Message):
    """The constants `true` and `false`."""

    val: Annotated[bool, Field(1)]


@message
class ExprConstantNumber(Message):
    """A number constant. In the original schema, it is a 32-bit integer.

    `double`, if set, is the number. `val` is then the nearest int32, for readers without
    extensions.
    """

    val: Annotated[int, Field(1)]
    double: Annotated[float | None, Field(1000), Since("0.677")] = None


@message
class ExprConstantString(Message):
    """A string constant.

    Bytes that are not valid UTF-8 become lone surrogates (Python's `surrogateescape`), and are
    written back unchanged.
    """

    val: Annotated[str, Field(1)]


@message
class ExprLocal(Message):
    """A local variable's value: `var`."""

    var: Annotated[Local, Field(1)]


@message
class ExprGlobal(Message):
    """The value of the global variable `name`."""

    name: Annotated[Name, Field(1)]


@message
class ExprVarargs(Message):
    """The variable arguments of the enclosing function: `...`."""


@message
class ExprCall(Message):
    """A call: `func(args)`.

    If `self` is true and `func` is `expr.index`, possibly with explicit type arguments, this is the
    method call `expr:index(args)`. If `parenless` is true, the only argument, a string or a table,
    is written without parentheses: `func "x"`.
    """

    func: Annotated[ExprPrefix, Field(1)]
    self_: Annotated[bool, Field(2)]
    args: Annotated[list[Expr], Field(3)] = attrs.field(factory=list)
    parenless: Annotated[bool | None, Field(1000), Since("0.677")] = None


@message
class ExprIndexName(Message):
    """A field selected by name: `expr.index`."""

    expr: Annotated[ExprPrefix, Field(1)]
    index: Annotated[Name, Field(2)]


@message
class ExprIndexExpr(Message):
    """A field selected by a value: `expr[index]`."""

    expr: Annotated[ExprPrefix, Field(1)]
    index: Annotated[Expr, Field(2)]


@message
class ExprFunction(Message):
    """A function: `function<generics, genericpacks...>(args, ...) body end`.

    `types` has the parameters' types by position, followed by the type of `...`. If the source has
    `...: T...`, this type is the generic pack `vararg_pack` instead. `rettypes` has the results'
    types, and `rettail` is the pack that follows them. `vararg` is true if the parameters end with
    `...`.
    """

    generics: Annotated[list[Typename], Field(1)] = attrs.field(factory=list)
    genericpacks: Annotated[list[Typename], Field(2)] = attrs.field(factory=list)
    args: Annotated[list[Local], Field(3)] = attrs.field(factory=list)
    vararg: Annotated[bool, Field(4)]
    body: Annotated[StatBlock, Field(5)]
    types: Annotated[list[Type], Field(6)] = attrs.field(factory=list)
    rettypes: Annotated[list[Type], Field(7)] = attrs.field(factory=list)
    attributes: Annotated[list[ExprAttr], Field(8), Since("0.677")] = attrs.field(factory=list)
    vararg_pack: Annotated[Typename | None, Field(1000), Since("0.677")] = None
    rettail: Annotated[TypePack | None, Field(1001), Since("0.677")] = None


@message
class TableItem(Message):
    """An item of a table: `key_name = value`, `[key_expr] = value`, or `value` without a key."""

    item_oneof = OneOf()
    which = Which[Literal["key_name", "key_expr"]]()
    key_name: Annotated[Name | None, Field(1, one_of=item_oneof)] = None
    key_expr: Annotated[Expr | None, Field(2, one_of=item_oneof)] = None
    value: Annotated[Expr, Field(3)]


@message
class ExprTable(Message):
    """A table: `{items}`."""

    items: Annotated[list[TableItem], Field(1)] = attrs.field(factory=list)


@message
class ExprUnary(Message):
    """A unary operation: the operator `op` before `expr`."""

    class Op(IntEnum):
        """The unary operators."""

        Not = 0
        Minus = 1
        Len = 2

    op: Annotated[Op, Field(1)]
    expr: Annotated[Expr, Field(2)]


@message
class ExprBinary(Message):
    """A binary operation: `left op right`."""

    class Op(IntEnum):
        """The binary operators."""

        Add = 0
        Sub = 1
        Mul = 2
        Div = 3
        FloorDiv = 4
        Mod = 5
        Pow = 6
        Concat = 7
        CompareNe = 8
        CompareEq = 9
        CompareLt = 10
        CompareLe = 11
        CompareGt = 12
        CompareGe = 13
        And = 14
        Or = 15

    op: Annotated[Op, Field(1)]
    left: Annotated[Expr, Field(2)]
    right: Annotated[Expr, Field(3)]


@message
class ExprIfElse(Message):
    """A conditional expression: `if <cond> then <then> else <else>`.

    `elseif` holds the nested ExprIfElse of an `elseif` branch, in place of `else`.
    """

    else_oneof = OneOf()
    which = Which[Literal["else_", "elseif"]]()
    cond: Annotated[Expr, Field(1)]
    then: Annotated[Expr, Field(2)]
    else_: Annotated[Expr | None, Field(3, one_of=else_oneof)] = None
    elseif: Annotated[ExprIfElse | None, Field(4, one_of=else_oneof)] = None


@message
class ExprInterpString(Message):
    """An interpolated string: `` `a{b}` ``.

    Parts that are string constants are printed as text, and all other parts in braces.
    """

    parts: Annotated[list[Expr], Field(1)] = attrs.field(factory=list)


@message
class LValue(Message):
    """An expression that can be assigned to."""

    lvalue_oneof = OneOf()
    which = Which[Literal["local", "global_", "index_name", "index_expr"]]()
    local: Annotated[ExprLocal | None, Field(1, one_of=lvalue_oneof)] = None
    global_: Annotated[ExprGlobal | None, Field(2, one_of=lvalue_oneof)] = None
    index_name: Annotated[ExprIndexName | None, Field(3, one_of=lvalue_oneof)] = None
    index_expr: Annotated[ExprIndexExpr | None, Field(4, one_of=lvalue_oneof)] = None


# Statements (specification 2.2)


@message
class Stat(Message):
    """A statement. Exactly one of its alternatives is set, or none in an incomplete tree."""

    stat_oneof = OneOf()
    which = Which[
        Literal[
            "block",
            "if_",
            "while_",
            "repeat",
            "break_",
            "continue_",
            "return_",
            "call",
            "local",
            "for_",
            "for_in",
            "assign",
            "compound_assign",
            "function",
            "local_function",
            "type_alias",
            "require_into_local",
            "type_function",
            "class_",
        ]
    ]()
    block: Annotated[StatBlock | None, Field(1, one_of=stat_oneof)] = None
    if_: Annotated[StatIf | None, Field(2, one_of=stat_oneof)] = None
    while_: Annotated[StatWhile | None, Field(3, one_of=stat_oneof)] = None
    repeat: Annotated[StatRepeat | None, Field(4, one_of=stat_oneof)] = None
    break_: Annotated[StatBreak | None, Field(5, one_of=stat_oneof)] = None
    continue_: Annotated[StatContinue | None, Field(6, one_of=stat_oneof)] = None
    return_: Annotated[StatReturn | None, Field(7, one_of=stat_oneof)] = None
    call: Annotated[StatCall | None, Field(8, one_of=stat_oneof)] = None
    local: Annotated[StatLocal | None, Field(9, one_of=stat_oneof)] = None
    for_: Annotated[StatFor | None, Field(10, one_of=stat_oneof)] = None
    for_in: Annotated[StatForIn | None, Field(11, one_of=stat_oneof)] = None
    assign: Annotated[StatAssign | None, Field(12, one_of=stat_oneof)] = None
    compound_assign: Annotated[StatCompoundAssign | None, Field(13, one_of=stat_oneof)] = None
    function: Annotated[StatFunction | None, Field(14, one_of=stat_oneof)] = None
    local_function: Annotated[StatLocalFunction | None, Field(15, one_of=stat_oneof)] = None
    type_alias: Annotated[StatTypeAlias | None, Field(16, one_of=stat_oneof)] = None
    require_into_local: Annotated[
        StatRequireIntoLocalHelper | None, Field(17, one_of=stat_oneof)
    ] = None
    type_function: Annotated[
        StatTypeFunction | None, Field(18, one_of=stat_oneof), Since("0.677")
    ] = None
    class_: Annotated[StatClass | None, Field(19, one_of=stat_oneof), Since("0.721")] = None


@message
class StatBlock(Message):
    """Statements in order. A block that is itself a statement is `do body end`."""

    body: Annotated[list[Stat], Field(1)] = attrs.field(factory=list)


@message
class StatIf(Message):
    """`if <cond> then <then> else <else> end`.

    `elseif` holds the nested StatIf of an `elseif` branch, in place of `else`.
    """

    else_oneof = OneOf()
    which = Which[Literal["else_", "elseif"]]()
    cond: Annotated[Expr, Field(1)]
    then: Annotated[StatBlock, Field(2)]
    else_: Annotated[StatBlock | None, Field(3, one_of=else_oneof)] = None
    elseif: Annotated[StatIf | None, Field(4, one_of=else_oneof)] = None


@message
class StatWhile(Message):
    """`while cond do body end`."""

    cond: Annotated[Expr, Field(1)]
    body: Annotated[StatBlock, Field(2)]


@message
class StatRepeat(Message):
    """`repeat body until cond`; `cond` sees the locals of `body`."""

    body: Annotated[StatBlock, Field(1)]
    cond: Annotated[Expr, Field(2)]


@message
class StatBreak(Message):
    """`break`: leaves the innermost loop."""


@message
class StatContinue(Message):
    """`continue`: starts the next iteration of the innermost loop."""


@message
class StatReturn(Message):
    """`return list`: leaves the function with the values in `list`."""

    list: Annotated[builtins.list[Expr], Field(1)] = attrs.field(factory=builtins.list)


@message
class StatCall(Message):
    """A call as a statement."""

    expr: Annotated[ExprCall, Field(1)]


@message
class StatLocal(Message):
    """`local vars: types = values`; `types` correspond to `vars` by position.

    If `is_const` is true, the statement is `const vars = values`. If `is_exported` is true, it
    begins with `export`.
    """

    vars: Annotated[list[Local], Field(1)] = attrs.field(factory=list)
    values: Annotated[list[Expr], Field(2)] = attrs.field(factory=list)
    types: Annotated[list[Type], Field(3)] = attrs.field(factory=list)
    is_const: Annotated[bool | None, Field(4), Since("0.711")] = None
    is_exported: Annotated[bool | None, Field(5), Since("0.723")] = None


@message
class StatFor(Message):
    """`for var: type = from, to, step do body end`."""

    var: Annotated[Local, Field(1)]
    from_: Annotated[Expr, Field(2)]
    to: Annotated[Expr, Field(3)]
    step: Annotated[Expr | None, Field(4)] = None
    body: Annotated[StatBlock, Field(5)]
    type: Annotated[Type | None, Field(1000), Since("0.677")] = None


@message
class StatForIn(Message):
    """`for vars: types in values do body end`; `types` correspond to `vars` by position."""

    vars: Annotated[list[Local], Field(1)] = attrs.field(factory=list)
    values: Annotated[list[Expr], Field(2)] = attrs.field(factory=list)
    body: Annotated[StatBlock, Field(5)]
    types: Annotated[list[Type], Field(1000), Since("0.677")] = attrs.field(factory=list)


@message
class StatAssign(Message):
    """`vars = values`."""

    vars: Annotated[list[LValue], Field(1)] = attrs.field(factory=list)
    values: Annotated[list[Expr], Field(2)] = attrs.field(factory=list)


@message
class StatCompoundAssign(Message):
    """`var op= value`, or `var //= value` if `floor` is true.

    If `floor` is true, the parser sets `op` to Div, and the printer ignores `op`.
    """

    class Op(IntEnum):
        """The operators of a compound assignment."""

        Add = 0
        Sub = 1
        Mul = 2
        Div = 3
        Mod = 4
        Pow = 5
        Concat = 6

    op: Annotated[Op, Field(1)]
    var: Annotated[LValue, Field(2)]
    value: Annotated[Expr, Field(3)]
    floor: Annotated[bool | None, Field(1000), Since("0.677")] = None


@message
class StatFunction(Message):
    """`function var(args) body end`.

    If `self` is true and `var` is `expr.index`, this is a method:
    `function expr:index(args) body end`.
    """

    var: Annotated[LValue, Field(1)]
    func: Annotated[ExprFunction, Field(2)]
    self_: Annotated[bool, Field(3)]


@message
class StatLocalFunction(Message):
    """`local function var(args) body end`; `body` can refer to `var`.

    If `is_const` is true, the statement begins with `const function`. If `is_exported` is true, it
    begins with `export function`, and the function is also constant.
    """

    var: Annotated[Local, Field(1)]
    func: Annotated[ExprFunction, Field(2)]
    is_const: Annotated[bool | None, Field(3), Since("0.711")] = None
    is_exported: Annotated[bool | None, Field(4), Since("0.723")] = None


@message
class StatTypeAlias(Message):
    """`export type name<generics, genericpacks...> = type`.

    Trailing generics and generic packs may have `defaults`.
    """

    export: Annotated[bool, Field(1)]
    name: Annotated[Typename, Field(2)]
    type: Annotated[Type, Field(3)]
    generics: Annotated[list[Typename], Field(4)] = attrs.field(factory=list)
    genericpacks: Annotated[list[Typename], Field(5)] = attrs.field(factory=list)
    defaults: Annotated[GenericDefaults | None, Field(1000), Since("0.677")] = None


@message
class StatRequireIntoLocalHelper(Message):
    """`local var = require(module)`.

    `modulenum` is the index of the module. Only 0 is valid, because a ModuleSet has at most one
    module.
    """

    var: Annotated[Local, Field(1)]
    modulenum: Annotated[int, Field(2)]


# Types (specification 2.3)


@message
class Type(Message):
    """A type. Exactly one of its alternatives is set, or none in an incomplete tree."""

    type_oneof = OneOf()
    which = Which[
        Literal[
            "primitive",
            "literal",
            "table",
            "function",
            "typeof",
            "union",
            "intersection",
            "class_",
            "ref",
            "boolean",
            "string",
            "omitted",
        ]
    ]()
    primitive: Annotated[TypePrimitive | None, Field(1, one_of=type_oneof)] = None
    literal: Annotated[TypeLiteral | None, Field(2, one_of=type_oneof)] = None
    table: Annotated[TypeTable | None, Field(3, one_of=type_oneof)] = None
    function: Annotated[TypeFunction | None, Field(4, one_of=type_oneof)] = None
    typeof: Annotated[TypeTypeof | None, Field(5, one_of=type_oneof)] = None
    union: Annotated[TypeUnion | None, Field(6, one_of=type_oneof)] = None
    intersection: Annotated[TypeIntersection | None, Field(7, one_of=type_oneof)] = None
    class_: Annotated[TypeClass | None, Field(8, one_of=type_oneof)] = None
    ref: Annotated[TypeRef | None, Field(9, one_of=type_oneof)] = None
    boolean: Annotated[TypeBoolean | None, Field(10, one_of=type_oneof)] = None
    string: Annotated[TypeString | None, Field(11, one_of=type_oneof)] = None
    omitted: Annotated[TypeOmitted | None, Field(1000, one_of=type_oneof), Since("0.677")] = None


@message
class TypePrimitive(Message):
    """A primitive type (`number`, `boolean` ...), given by an index."""

    kind: Annotated[int, Field(1)]


@message
class TypeLiteral(Message):
    """A named type: `name<generics, genericpacks..., arguments>`."""

    name: Annotated[Typename, Field(1)]
    generics: Annotated[list[Type], Field(2)] = attrs.field(factory=list)
    genericpacks: Annotated[list[Typename], Field(3)] = attrs.field(factory=list)
    arguments: Annotated[TypeArguments | None, Field(1000), Since("0.677")] = None


@message
class TypeTableItem(Message):
    """A property of a table type: `key: type`.

    If the key is not a name, `key_string` replaces `key`: `["key_string"]: type`.
    """

    class Access(IntEnum):
        """The access to a property or an indexer: read-only, write-only or both."""

        Read = 1
        Write = 2

    key: Annotated[Name, Field(1)]
    type: Annotated[Type, Field(2)]
    access: Annotated[Access | None, Field(1000), Since("0.677")] = None
    key_string: Annotated[str | None, Field(1001), Since("0.677")] = None


@message
class TypeTableIndexer(Message):
    """The indexer of a table type: `[key]: value`."""

    key: Annotated[Type, Field(1)]
    value: Annotated[Type, Field(2)]
    access: Annotated[TypeTableItem.Access | None, Field(1000), Since("0.677")] = None


@message
class TypeTable(Message):
    """A table type: `{items, indexer}`; `indexer_position` items precede the indexer."""

    items: Annotated[list[TypeTableItem], Field(1)] = attrs.field(factory=list)
    indexer: Annotated[TypeTableIndexer | None, Field(2)] = None
    indexer_position: Annotated[int | None, Field(1000), Since("0.677")] = None


@message
class TypeFunction(Message):
    """A function type: `<generics, genericpacks...>(args) -> rets`.

    `argtail` is the pack that follows `args`, and `rettail` is the pack that follows `rets`.
    `argnames` has the names of `args` by position. A parameter without a name has an unset Name.

    In the original schema, function types cannot be variadic. The specification lists this as an
    open item.
    """

    generics: Annotated[list[Typename], Field(1)] = attrs.field(factory=list)
    genericpacks: Annotated[list[Typename], Field(2)] = attrs.field(factory=list)
    args: Annotated[list[Type], Field(3)] = attrs.field(factory=list)
    rets: Annotated[list[Type], Field(4)] = attrs.field(factory=list)
    argtail: Annotated[TypePack | None, Field(1000), Since("0.677")] = None
    rettail: Annotated[TypePack | None, Field(1001), Since("0.677")] = None
    argnames: Annotated[list[Name], Field(1002), Since("0.677")] = attrs.field(factory=list)


@message
class TypeTypeof(Message):
    """The type of an expression: `typeof(expr)`."""

    expr: Annotated[Expr, Field(1)]


@message
class TypeUnion(Message):
    """A union: `left | right`."""

    left: Annotated[Type, Field(1)]
    right: Annotated[Type, Field(2)]


@message
class TypeIntersection(Message):
    """An intersection: `left & right`."""

    left: Annotated[Type, Field(1)]
    right: Annotated[Type, Field(2)]


@message
class TypeClass(Message):
    """A class of the host (`Instance`, `Vector3` ...), given by an index."""

    kind: Annotated[int, Field(1)]


@message
class TypeRef(Message):
    """A type that a required module exports: `prefix.index<arguments>`.

    `prefix` is the local variable that holds the module. `prefix_global`, if set, replaces it.
    """

    prefix: Annotated[Local, Field(1)]
    index: Annotated[Typename, Field(2)]
    arguments: Annotated[TypeArguments | None, Field(1000), Since("0.677")] = None
    prefix_global: Annotated[Name | None, Field(1001), Since("0.677")] = None


@message
class TypeBoolean(Message):
    """The singleton types `true` and `false`."""

    val: Annotated[bool, Field(1)]


@message
class TypeString(Message):
    """A string singleton type. `val` can contain arbitrary bytes, as in ExprConstantString."""

    val: Annotated[str, Field(1)]


# Top level (specification 2.4)


@message
class ModuleSet(Message):
    """A program and, if `module` is set, the module that it can require."""

    module: Annotated[StatBlock | None, Field(1)] = None
    program: Annotated[StatBlock, Field(2)]


# Extensions: expressions


@message
class ExprConstantInteger(Message):
    """An integer constant: `val` with the suffix `i`. A negative value is in hexadecimal."""

    val: Annotated[int, Field(1), Int64]


@message
class ExprCast(Message):
    """A cast: `expr :: type`."""

    expr: Annotated[Expr, Field(1)]
    type: Annotated[Type, Field(2)]


@message
class ExprInstantiate(Message):
    """A generic function with explicit type arguments: `expr<<types>>`."""

    expr: Annotated[ExprPrefix, Field(1)]
    types: Annotated[TypeArguments, Field(2)]


# Extensions: attributes


@message
class ExprAttr(Message):
    """An attribute of a function: `@native` or, if `braced` is true, `@[deprecated(args)]`.

    `name` is the name of an attribute of type Unknown. `joined` is true if the attribute shares the
    previous attribute's brackets. `parenthesised` is true if the source has optional parentheses:
    `()`, or a pair around a single string or table.
    """

    class Kind(IntEnum):
        """The attributes that Luau defines."""

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
    """An argument of an attribute."""

    expr_oneof = OneOf()
    which = Which[Literal["nil", "bool", "number", "string", "table"]]()
    nil: Annotated[ExprConstantNil | None, Field(1, one_of=expr_oneof)] = None
    bool: Annotated[ExprConstantBool | None, Field(2, one_of=expr_oneof)] = None
    number: Annotated[ExprConstantNumber | None, Field(3, one_of=expr_oneof)] = None
    string: Annotated[ExprConstantString | None, Field(4, one_of=expr_oneof)] = None
    table: Annotated[ExprLiteralTable | None, Field(5, one_of=expr_oneof)] = None


@message
class LiteralTableItem(Message):
    """An item of an attribute's table: `key_name = value`, or just `value` without a key."""

    key_name: Annotated[Name | None, Field(1)] = None
    value: Annotated[ExprLiteral, Field(2)]


@message
class ExprLiteralTable(Message):
    """A table in an attribute: `{items}`."""

    items: Annotated[list[LiteralTableItem], Field(1)] = attrs.field(factory=list)


# Extensions: statements


@message
class StatTypeFunction(Message):
    """A type function: `type function name(args) body end`."""

    export: Annotated[bool, Field(1)]
    name: Annotated[Typename, Field(2)]
    func: Annotated[ExprFunction, Field(3)]


@message
class StatClass(Message):
    """A class: `class name members end`. `open` may precede it, and `extends` may follow the name.

    `extends` is a variable, or a field of a variable.
    """

    name: Annotated[Local, Field(1)]
    is_exported: Annotated[bool | None, Field(6)] = None
    is_open: Annotated[bool | None, Field(8), Since("0.734")] = None
    members: Annotated[list[ClassMember], Field(1000)] = attrs.field(factory=list)
    extends: Annotated[ExprPrefix | None, Field(1001), Since("0.732")] = None


@message
class ClassMember(Message):
    """A member of a class: a property or a method."""

    member_oneof = OneOf()
    which = Which[Literal["prop", "method"]]()
    prop: Annotated[ClassProp | None, Field(1, one_of=member_oneof)] = None
    method: Annotated[ClassMethod | None, Field(2, one_of=member_oneof)] = None


@message
class ClassProp(Message):
    """A property of a class: `public name: type`."""

    name: Annotated[Name, Field(1)]
    type: Annotated[Type | None, Field(2)] = None


@message
class ClassMethod(Message):
    """A method of a class: `function name(args) body end`, after `public` if `access` is set."""

    class Access(IntEnum):
        """The access modifiers of a method."""

        PUBLIC = 0

    access: Annotated[Access | None, Field(1)] = None
    name: Annotated[Name, Field(2)]
    func: Annotated[ExprFunction, Field(4)]


# Extensions: types


@message
class TypeOmitted(Message):
    """A placeholder for a missing type annotation.

    It is only used if a later name in the same list has a type annotation.
    """


@message
class TypePack(Message):
    """Any number of types: `...variadic`, `generic...` or, in parentheses, a list of types.

    If the source has the explicit return type `()`, the `rettail` of the ExprFunction is an empty
    list.
    """

    pack_oneof = OneOf()
    which = Which[Literal["variadic", "generic", "list"]]()
    variadic: Annotated[Type | None, Field(1, one_of=pack_oneof)] = None
    generic: Annotated[Typename | None, Field(2, one_of=pack_oneof)] = None
    list: Annotated[TypeList | None, Field(3, one_of=pack_oneof)] = None


@message
class TypeList(Message):
    """A list of types, and the pack that follows them: `types, tail`."""

    types: Annotated[list[Type], Field(1)] = attrs.field(factory=list)
    tail: Annotated[TypePack | None, Field(2)] = None


@message
class TypeArgument(Message):
    """An argument for a generic: a type or a pack."""

    argument_oneof = OneOf()
    which = Which[Literal["type", "pack"]]()
    type: Annotated[Type | None, Field(1, one_of=argument_oneof)] = None
    pack: Annotated[TypePack | None, Field(2, one_of=argument_oneof)] = None


@message
class TypeArguments(Message):
    """The arguments for generics: `<items>`; without items, `<>`."""

    items: Annotated[list[TypeArgument], Field(1)] = attrs.field(factory=list)


@message
class GenericDefaults(Message):
    """The defaults of a type's trailing generics and generic packs: `<T = types, U... = packs>`."""

    types: Annotated[list[Type], Field(1)] = attrs.field(factory=list)
    packs: Annotated[list[TypePack], Field(2)] = attrs.field(factory=list)


SOURCES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Expr": "specification 2.1.",
        "Stat": "specification 2.2.",
        "Type": "specification 2.3.",
        "ModuleSet": "specification 2.4.",
        "ExprConstantInteger": "https://rfcs.luau.org/type-integer.html",
        "ExprCast": "https://luau.org/grammar",
        "StatTypeFunction": "https://luau.org/types/type-functions",
        "StatClass": "Luau's parser, `parseClassStat`, with the flag DebugLuauUserDefinedClasses",
        "ClassMember": "Luau's parser, `parseClassStat`",
        "TypeOmitted": "https://luau.org/grammar",
    }
)
"""The sources of messages. A message that is not listed here has the source of the last listed
message declared before it. The source becomes part of each class's docstring."""

_ALL_MESSAGES: Final = complete(sys.modules[__name__], SOURCES)
_VERSIONS: Final = sorted(
    {
        field.since
        for cls in _ALL_MESSAGES.values()
        for field in cls.ALL_FIELDS.values()
        if field.since
    }
)
"""The versions of Luau that added something to the schema."""


@attrs.frozen(eq=False)
class Schema:
    """The messages, fields and enums that trees may contain.

    They belong to the original schema or, if `since` is set, to the extensions up to that Luau
    version. `messages` has the messages by name, beginning with the original 57. `fields` has each
    message's fields by attribute name, in tag order. `enums` has the schema's enums by name.
    """

    since: Version | None
    messages: Mapping[str, type[Message]]
    fields: Mapping[type[Message], Mapping[str, FieldInfo]]
    enums: Mapping[str, type[IntEnum]]

    def __contains__(self, field: FieldInfo) -> builtins.bool:
        """Return whether the schema has a field. The field's message must be in the schema."""
        return field.since is None or (self.since is not None and field.since <= self.since)

    def lacks(self, cls: type) -> str:
        """Return the error text for a message class that the schema lacks."""
        what = "the original schema" if self.since is None else f"the schema of Luau {self.since}"
        since = next((each for each in _VERSIONS if cls in _schema(each).fields), None)
        hint = f": it requires luau='{since}' or newer" if since else ""
        return f"{cls.__qualname__} is not a message of {what}{hint}"

    def require(self, cls: Any) -> None:
        """Raise TypeError unless `cls` is a message class that the schema has."""
        if not isinstance(cls, type) or cls not in self.fields:
            raise TypeError(
                self.lacks(cls)
                if cls in _ALL_MESSAGES.values()
                else f"not a message class: {getattr(cls, '__qualname__', cls)}"
            )


@cache
def schema(luau: str | Version | None = None) -> Schema:
    """Return the schema for a version of Luau, or the original schema for None.

    Raises ValueError for an invalid version (see `Version.parse`).
    """
    if luau is None:
        return _schema(None)
    requested = Version.parse(luau)
    return _schema(max(version for version in _VERSIONS if version <= requested))


@cache
def _schema(since: Version | None) -> Schema:
    reachable: dict[type[Message], Mapping[str, FieldInfo]] = {}
    waiting: list[type[Message]] = [ModuleSet]
    for cls in waiting:
        if cls in reachable:
            continue
        reachable[cls] = MappingProxyType(
            {
                name: field
                for name, field in cls.ALL_FIELDS.items()
                if field.since is None or (since is not None and field.since <= since)
            }
        )
        waiting += [field.type for field in reachable[cls].values() if field.is_message]
    messages = {name: cls for name, cls in _ALL_MESSAGES.items() if cls in reachable}
    fields = {cls: reachable[cls] for cls in messages.values()}
    enums = {
        field.type_name: field.type
        for cls in messages.values()
        for field in fields[cls].values()
        if issubclass(field.type, IntEnum)
    }
    return Schema(
        since, MappingProxyType(messages), MappingProxyType(fields), MappingProxyType(enums)
    )


SEED: Final = schema()
"""The original schema, without extensions: ModuleSet, and every message that its fields lead to."""

for _cls in _ALL_MESSAGES.values():
    _cls.FIELDS = SEED.fields.get(_cls, _cls.ALL_FIELDS)
del _cls

MESSAGES: Final[Mapping[str, type[Message]]] = SEED.messages
"""The original schema's messages by name, in schema order."""

ENUMS: Final[Mapping[str, type[IntEnum]]] = SEED.enums
"""The original schema's enums by their schema names, such as `ExprUnary.Op`, in schema order."""

scriptschema.announce(MESSAGES)
