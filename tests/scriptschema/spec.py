"""The specification's tables (sections 2.1 to 2.4), typed independently of `scriptschema.messages`.

The messages are compared with them, and protobuf's own runtime, the reference for the codec, gets
its descriptors from them. So a mistake in `messages.py` cannot go unnoticed.

A row has a message, a field, its rule (`req`, `opt`, `rep`, or the name of the oneof that the field
is an alternative of), its type and its tag. The row of a message without fields has only its name.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from google.protobuf import descriptor_pb2, message_factory

TABLES = """\
Expr group expr_oneof ExprGroup 1
Expr nil expr_oneof ExprConstantNil 2
Expr bool expr_oneof ExprConstantBool 3
Expr number expr_oneof ExprConstantNumber 4
Expr string expr_oneof ExprConstantString 5
Expr local expr_oneof ExprLocal 6
Expr global expr_oneof ExprGlobal 7
Expr varargs expr_oneof ExprVarargs 8
Expr call expr_oneof ExprCall 9
Expr index_name expr_oneof ExprIndexName 10
Expr index_expr expr_oneof ExprIndexExpr 11
Expr function expr_oneof ExprFunction 12
Expr table expr_oneof ExprTable 13
Expr unary expr_oneof ExprUnary 14
Expr binary expr_oneof ExprBinary 15
Expr ifelse expr_oneof ExprIfElse 16
Expr interpstring expr_oneof ExprInterpString 17
ExprPrefix group expr_oneof ExprGroup 1
ExprPrefix local expr_oneof ExprLocal 2
ExprPrefix global expr_oneof ExprGlobal 3
ExprPrefix call expr_oneof ExprCall 4
ExprPrefix index_name expr_oneof ExprIndexName 5
ExprPrefix index_expr expr_oneof ExprIndexExpr 6
Local name req int32 1
Typename index req int32 1
Name builtin name_oneof int32 1
Name custom name_oneof int32 2
ExprGroup expr req Expr 1
ExprConstantNil
ExprConstantBool val req bool 1
ExprConstantNumber val req int32 1
ExprConstantString val req string 1
ExprLocal var req Local 1
ExprGlobal name req Name 1
ExprVarargs
ExprCall func req ExprPrefix 1
ExprCall self req bool 2
ExprCall args rep Expr 3
ExprIndexName expr req ExprPrefix 1
ExprIndexName index req Name 2
ExprIndexExpr expr req ExprPrefix 1
ExprIndexExpr index req Expr 2
ExprFunction generics rep Typename 1
ExprFunction genericpacks rep Typename 2
ExprFunction args rep Local 3
ExprFunction vararg req bool 4
ExprFunction body req StatBlock 5
ExprFunction types rep Type 6
ExprFunction rettypes rep Type 7
TableItem key_name item_oneof Name 1
TableItem key_expr item_oneof Expr 2
TableItem value req Expr 3
ExprTable items rep TableItem 1
ExprUnary op req ExprUnary.Op 1
ExprUnary expr req Expr 2
ExprBinary op req ExprBinary.Op 1
ExprBinary left req Expr 2
ExprBinary right req Expr 3
ExprIfElse cond req Expr 1
ExprIfElse then req Expr 2
ExprIfElse else else_oneof Expr 3
ExprIfElse elseif else_oneof ExprIfElse 4
ExprInterpString parts rep Expr 1
LValue local lvalue_oneof ExprLocal 1
LValue global lvalue_oneof ExprGlobal 2
LValue index_name lvalue_oneof ExprIndexName 3
LValue index_expr lvalue_oneof ExprIndexExpr 4
Stat block stat_oneof StatBlock 1
Stat if stat_oneof StatIf 2
Stat while stat_oneof StatWhile 3
Stat repeat stat_oneof StatRepeat 4
Stat break stat_oneof StatBreak 5
Stat continue stat_oneof StatContinue 6
Stat return stat_oneof StatReturn 7
Stat call stat_oneof StatCall 8
Stat local stat_oneof StatLocal 9
Stat for stat_oneof StatFor 10
Stat for_in stat_oneof StatForIn 11
Stat assign stat_oneof StatAssign 12
Stat compound_assign stat_oneof StatCompoundAssign 13
Stat function stat_oneof StatFunction 14
Stat local_function stat_oneof StatLocalFunction 15
Stat type_alias stat_oneof StatTypeAlias 16
Stat require_into_local stat_oneof StatRequireIntoLocalHelper 17
StatBlock body rep Stat 1
StatIf cond req Expr 1
StatIf then req StatBlock 2
StatIf else else_oneof StatBlock 3
StatIf elseif else_oneof StatIf 4
StatWhile cond req Expr 1
StatWhile body req StatBlock 2
StatRepeat body req StatBlock 1
StatRepeat cond req Expr 2
StatBreak
StatContinue
StatReturn list rep Expr 1
StatCall expr req ExprCall 1
StatLocal vars rep Local 1
StatLocal values rep Expr 2
StatLocal types rep Type 3
StatFor var req Local 1
StatFor from req Expr 2
StatFor to req Expr 3
StatFor step opt Expr 4
StatFor body req StatBlock 5
StatForIn vars rep Local 1
StatForIn values rep Expr 2
StatForIn body req StatBlock 5
StatAssign vars rep LValue 1
StatAssign values rep Expr 2
StatCompoundAssign op req StatCompoundAssign.Op 1
StatCompoundAssign var req LValue 2
StatCompoundAssign value req Expr 3
StatFunction var req LValue 1
StatFunction func req ExprFunction 2
StatFunction self req bool 3
StatLocalFunction var req Local 1
StatLocalFunction func req ExprFunction 2
StatTypeAlias export req bool 1
StatTypeAlias name req Typename 2
StatTypeAlias type req Type 3
StatTypeAlias generics rep Typename 4
StatTypeAlias genericpacks rep Typename 5
StatRequireIntoLocalHelper var req Local 1
StatRequireIntoLocalHelper modulenum req int32 2
Type primitive type_oneof TypePrimitive 1
Type literal type_oneof TypeLiteral 2
Type table type_oneof TypeTable 3
Type function type_oneof TypeFunction 4
Type typeof type_oneof TypeTypeof 5
Type union type_oneof TypeUnion 6
Type intersection type_oneof TypeIntersection 7
Type class type_oneof TypeClass 8
Type ref type_oneof TypeRef 9
Type boolean type_oneof TypeBoolean 10
Type string type_oneof TypeString 11
TypePrimitive kind req int32 1
TypeLiteral name req Typename 1
TypeLiteral generics rep Type 2
TypeLiteral genericpacks rep Typename 3
TypeTableItem key req Name 1
TypeTableItem type req Type 2
TypeTableIndexer key req Type 1
TypeTableIndexer value req Type 2
TypeTable items rep TypeTableItem 1
TypeTable indexer opt TypeTableIndexer 2
TypeFunction generics rep Typename 1
TypeFunction genericpacks rep Typename 2
TypeFunction args rep Type 3
TypeFunction rets rep Type 4
TypeTypeof expr req Expr 1
TypeUnion left req Type 1
TypeUnion right req Type 2
TypeIntersection left req Type 1
TypeIntersection right req Type 2
TypeClass kind req int32 1
TypeRef prefix req Local 1
TypeRef index req Typename 2
TypeBoolean val req bool 1
TypeString val req string 1
ModuleSet module opt StatBlock 1
ModuleSet program req StatBlock 2
"""

ENUMS = {
    "ExprUnary.Op": "Not Minus Len",
    "ExprBinary.Op": "Add Sub Mul Div FloorDiv Mod Pow Concat CompareNe CompareEq CompareLt"
    " CompareLe CompareGt CompareGe And Or",
    "StatCompoundAssign.Op": "Add Sub Mul Div Mod Pow Concat",
}
"""The names of each enum's values, in order: the first name has the value 0."""


class Row(NamedTuple):
    message: str
    field: str
    rule: str
    type: str
    tag: int


ROWS = [
    Row(*cells[:4], int(cells[4]))
    for line in TABLES.splitlines()
    if len(cells := line.split()) == 5
]
MESSAGES = list(dict.fromkeys(line.split()[0] for line in TABLES.splitlines()))


@cache
def runtime_classes(package: str = "script") -> dict[str, Any]:
    """Return the messages as classes of protobuf's runtime, by name."""
    file = descriptor_pb2.FileDescriptorProto(
        name=f"{package}.proto", package=package, syntax="proto2"
    )
    made = {name: file.message_type.add(name=name) for name in MESSAGES}
    kind = descriptor_pb2.FieldDescriptorProto
    for enum, names in ENUMS.items():
        message, _, name = enum.partition(".")
        added = made[message].enum_type.add(name=name)
        for number, value in enumerate(names.split()):
            added.value.add(name=value, number=number)
    scalars = {"int32": kind.TYPE_INT32, "bool": kind.TYPE_BOOL, "string": kind.TYPE_STRING}
    labels = {"req": kind.LABEL_REQUIRED, "rep": kind.LABEL_REPEATED}
    for row in ROWS:
        message = made[row.message]
        field = message.field.add(name=row.field, number=row.tag)
        field.label = labels.get(row.rule, kind.LABEL_OPTIONAL)
        if row.type in scalars:
            field.type = scalars[row.type]
        else:
            field.type = kind.TYPE_ENUM if row.type in ENUMS else kind.TYPE_MESSAGE
            field.type_name = f".{package}.{row.type}"
        if row.rule not in ("req", "opt", "rep"):
            if not message.oneof_decl:
                message.oneof_decl.add(name=row.rule)
            field.oneof_index = 0
    classes = message_factory.GetMessages([file])
    return {name.removeprefix(f"{package}."): cls for name, cls in classes.items()}
