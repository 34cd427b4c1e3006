"""Derives upstream's schema from ours. Upstream's is Luau's own `luau.proto`, release 0.735.

The tables here list the fields and enums that upstream declares differently, and those that exist
only in upstream's schema. The `upstream` module converts trees.

Source: https://github.com/luau-lang/luau, `fuzz/luau.proto` at tag 0.735.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from scriptschema import messages as m
from scriptschema.interop.descriptors import PACKAGE, add_enum, add_field, file_descriptor
from scriptschema.versions import TODAY

if TYPE_CHECKING:
    from google.protobuf import descriptor_pb2

RELEASE: Final = "0.735"
"""The release of Luau that the schema comes from."""

_OUR_OWN: Final = 1000
"""Tags from this one on belong to fields that exist only in our schema: see `messages`."""

_REMOVED: Final = ["ExprCall.func", "ExprCall.self", "ExprCall.args", "Type.class"]
_FIELDS: Final = """
    Expr builtin_ref 19 expr_oneof ExprBuiltinRef
    Expr classinst 20 expr_oneof ExprClassInst
    ExprPrefix builtin_ref 7 expr_oneof ExprBuiltinRef
    ExprPrefix classinst 8 expr_oneof ExprClassInst
    RegularTypeName index 1 required int32
    GenericTypeName index 1 required int32
    BuiltinTypeName index 1 required int32
    TypeName regular 1 expr_oneof RegularTypeName
    TypeName generic 2 expr_oneof GenericTypeName
    TypeName builtin 3 expr_oneof BuiltinTypeName
    ParenCall func 1 required ExprPrefix
    ParenCall self 2 required bool
    ParenCall args 3 repeated Expr
    ParenlessCall func 1 required ExprPrefix
    ParenlessCall string 2 arg_oneof ExprConstantString
    ParenlessCall table 3 arg_oneof ExprTable
    ExprCall paren 1 call_oneof ParenCall
    ExprCall parenless 2 call_oneof ParenlessCall
    ExprBuiltinRef library 1 required ExprBuiltinRef.Library
    ExprBuiltinRef method 2 required int32
    ExprClassInst index 1 required int32
    ExprClassInst firstArg 2 required Expr
    ExprClassInst otherArgs 3 repeated Expr
    StatTypeAlias name 2 required RegularTypeName
    StatTypeFunction name 2 required RegularTypeName
    ClassMetamethodName index 1 required int32
    ClassMethod access 1 optional Modifier
    ClassMethod name 2 name_oneof Name
    ClassMethod metamethod 3 name_oneof ClassMetamethodName
    StatClass props 2 repeated ClassProp
    StatClass methods 3 repeated ClassMethod
    StatClass inst 4 required ExprClassInst
    StatClass local 5 required Local
    StatClass extends 7 optional int32
    StatClass is_open 8 required bool
    TypeExtern kind 1 required int32
    Type extern 8 type_oneof TypeExtern
    TypeLiteral name 1 required TypeName
    TypeTableItem access 1 optional TableFieldAccess
    TypeTableItem key 2 required Name
    TypeTableItem type 3 required Type
    TypeTableIndexer access 1 optional TableFieldAccess
    TypeTableIndexer key 2 required Type
    TypeTableIndexer value 3 required Type
    TypeFunction attributes 5 repeated ExprAttr
    TypeRef index 2 required TypeName
    ExprLiteral integer 6 expr_oneof ExprConstantInteger
    ExprAttr type 1 required AttrType
"""
"""Fields that our schema lacks or declares differently. Each line lists the message, name, tag,
rule or oneof, and type."""
_ENUMS: Final = {
    "Modifier": m.ClassMethod.Access,
    "TableFieldAccess": m.TypeTableItem.Access,
    "AttrType": m.ExprAttr.Kind,
}
"""Enums that are nested in a message in our schema but top-level in upstream's."""
_LIBRARIES: Final = (
    *("Math", "Bit32", "String", "Table", "Buffer"),
    *("Coroutine", "Os", "Utf8", "Vector", "Integer"),
)
_DEFAULTS: Final = ("is_const", "is_exported")
"""The fields whose default value in upstream's schema is false."""


def file(*, strings: bool = True) -> descriptor_pb2.FileDescriptorProto:
    """Return upstream's schema: ours, changed according to the tables here.

    `strings` has the same meaning as in `file_descriptor`.
    """
    descriptor = file_descriptor(m.schema(TODAY), strings=strings)
    descriptor.name = "luau.proto"
    changed = [line.split() for line in _FIELDS.split("\n") if line.strip()]
    removed = {*_REMOVED, *(f"{message}.{name}" for message, name, *_ in changed)}
    enums = {enum.__qualname__ for enum in _ENUMS.values()}
    by_name: dict[str, Any] = {}
    for message in descriptor.message_type:
        by_name[message.name] = message
        kept = [
            field
            for field in message.field
            if field.number < _OUR_OWN and f"{message.name}.{field.name}" not in removed
        ]
        for field in kept:
            if field.type_name == f".{PACKAGE}.Typename":
                field.type_name = f".{PACKAGE}.GenericTypeName"
            if field.name in _DEFAULTS:
                field.default_value = "false"
        _replace(message.field, kept)
        _replace(
            message.enum_type,
            [enum for enum in message.enum_type if f"{message.name}.{enum.name}" not in enums],
        )
    for name, field_name, tag, rule, type_name in changed:
        if name not in by_name:
            by_name[name] = descriptor.message_type.add(name=name)
        is_enum = type_name in _ENUMS or "." in type_name
        add_field(by_name[name], field_name, int(tag), rule, type_name, is_enum)
    library = by_name["ExprBuiltinRef"].enum_type.add(name="Library")
    for number, name in enumerate(_LIBRARIES):
        library.value.add(name=name, number=number)
    for name, members in _ENUMS.items():
        add_enum(descriptor, name, members)
    _replace(descriptor.message_type, _reached(by_name))
    return descriptor


def _reached(by_name: Mapping[str, Any]) -> list[Any]:
    waiting = [name for name in m.MESSAGES if name not in ("Typename", "TypeClass")]
    reached = dict.fromkeys(waiting)
    for name in waiting:
        for field in by_name[name].field:
            held = field.type_name.removeprefix(f".{PACKAGE}.")
            if held in by_name and held not in reached:
                reached[held] = None
                waiting.append(held)
    return [by_name[name] for name in reached]


def _replace(items: Any, kept: list[Any]) -> None:
    copies = [type(item).FromString(item.SerializeToString()) for item in kept]
    del items[:]
    items.extend(copies)


@cache
def classes(*, strings: bool) -> dict[str, Any]:
    """Return upstream's messages as protobuf runtime classes.

    `strings` has the same meaning as in `file()`.
    """
    from google.protobuf import message_factory

    by_full_name = message_factory.GetMessages([file(strings=strings)])
    return {name.removeprefix(f"{PACKAGE}."): cls for name, cls in by_full_name.items()}
