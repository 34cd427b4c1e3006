"""Programs that grow towards a limit of Luau's compiler, and beyond it: `CASES[name](size)`."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from scriptschema.messages import (
    Expr,
    ExprBinary,
    ExprCall,
    ExprFunction,
    ExprGlobal,
    ExprGroup,
    ExprIfElse,
    ExprIndexExpr,
    ExprIndexName,
    ExprInterpString,
    ExprLocal,
    ExprPrefix,
    ExprTable,
    ExprUnary,
    Local,
    LValue,
    Name,
    Stat,
    StatAssign,
    StatBlock,
    StatCall,
    StatFor,
    StatForIn,
    StatIf,
    StatLocal,
    StatLocalFunction,
    StatRepeat,
    StatReturn,
    StatTypeAlias,
    StatWhile,
    TableItem,
    Type,
    TypeFunction,
    Typename,
    TypePrimitive,
    TypeTable,
    TypeTableItem,
    TypeTypeof,
    TypeUnion,
)

X = Name(custom=1)


def a_global() -> Expr:
    return Expr(global_=ExprGlobal(name=X))


def a_prefix() -> ExprPrefix:
    return ExprPrefix(global_=ExprGlobal(name=X))


def a_local(index: int) -> Expr:
    return Expr(local=ExprLocal(var=Local(name=index)))


def some_locals(*bounds: int) -> list[Local]:
    return [Local(name=index) for index in range(*bounds)]


def globals_(count: int) -> list[Expr]:
    return [a_global() for _ in range(count)]


def assign(value: Expr) -> Stat:
    target = LValue(global_=ExprGlobal(name=X))
    return Stat(assign=StatAssign(vars=[target], values=[value]))


def function(body: Iterable[Stat], args: Iterable[Local] = ()) -> ExprFunction:
    return ExprFunction(args=list(args), vararg=False, body=StatBlock(body=list(body)))


def call(args: list[Expr]) -> ExprCall:
    return ExprCall(func=a_prefix(), self_=False, args=args)


def block(statement: Stat) -> StatBlock:
    return StatBlock(body=[statement])


def binary(op: ExprBinary.Op, left: Expr, right: Expr) -> Expr:
    return Expr(binary=ExprBinary(op=op, left=left, right=right))


def nested_expression(wrap: Callable[[Expr], Expr]) -> Callable[[int], StatBlock]:
    def make(count: int) -> StatBlock:
        value = a_global()
        for _ in range(count):
            value = wrap(value)
        return block(assign(value))

    return make


def nested_statement(wrap: Callable[[Stat], Stat]) -> Callable[[int], StatBlock]:
    def make(count: int) -> StatBlock:
        statement = assign(a_global())
        for _ in range(count):
            statement = wrap(statement)
        return block(statement)

    return make


def nested_type(wrap: Callable[[Type], Type]) -> Callable[[int], StatBlock]:
    def make(count: int) -> StatBlock:
        kind = Type(primitive=TypePrimitive(kind=0))
        for _ in range(count):
            kind = wrap(kind)
        name = Typename(index=0)
        return block(Stat(type_alias=StatTypeAlias(export=False, name=name, type=kind)))

    return make


def nested_prefix(wrap: Callable[[ExprPrefix], ExprPrefix]) -> Callable[[int], StatBlock]:
    def make(count: int) -> StatBlock:
        prefix = a_prefix()
        for _ in range(count):
            prefix = wrap(prefix)
        return block(assign(Expr(call=ExprCall(func=prefix, self_=False))))

    return make


def locals_used(count: int) -> StatBlock:
    body = [
        Stat(local=StatLocal(vars=some_locals(index, index + 1), values=globals_(1)))
        for index in range(count)
    ]
    return StatBlock(body=[*body, Stat(return_=StatReturn(list=[a_local(count - 1)]))])


def upvalues(count: int) -> StatBlock:
    inner = function(assign(a_local(index)) for index in range(count))
    outer = function(
        [
            Stat(local=StatLocal(vars=some_locals(150, 300))),
            assign(Expr(function=inner)),
        ]
    )
    return StatBlock(
        body=[Stat(local=StatLocal(vars=some_locals(150))), assign(Expr(function=outer))]
    )


def elseif(count: int) -> StatBlock:
    statement = StatIf(cond=a_global(), then=StatBlock())
    for _ in range(count):
        statement = StatIf(cond=a_global(), then=StatBlock(), elseif=statement)
    return block(Stat(if_=statement))


def registers_behind_many_locals(count: int) -> StatBlock:
    tight = Stat(local=StatLocal(vars=some_locals(195)))
    makers = [
        CASES[name]
        for name in (
            "arguments", "assigned", "parts", "call in a call", "concat to the right",
            "table in a table", "for in a for", "locals at once", "results",
        )
    ]  # fmt: skip
    return StatBlock(body=[tight, *(s for make in makers for s in make(count).body)])


Op = ExprBinary.Op

CASES: dict[str, Callable[[int], StatBlock]] = {
    "locals one by one": locals_used,
    "locals at once": lambda n: block(
        Stat(local=StatLocal(vars=some_locals(n), values=globals_(n)))
    ),
    "local functions": lambda n: StatBlock(
        body=[
            Stat(local_function=StatLocalFunction(var=variable, func=function([])))
            for variable in some_locals(n)
        ]
    ),
    "parameters": lambda n: block(assign(Expr(function=function([], some_locals(n))))),
    "arguments": lambda n: block(Stat(call=StatCall(expr=call(globals_(n))))),
    "results": lambda n: block(Stat(return_=StatReturn(list=globals_(n)))),
    "assigned": lambda n: block(
        Stat(
            assign=StatAssign(
                vars=[
                    LValue(index_expr=ExprIndexExpr(expr=a_prefix(), index=a_global()))
                    for _ in range(n)
                ],
                values=globals_(n),
            )
        )
    ),
    "parts": lambda n: block(assign(Expr(interpstring=ExprInterpString(parts=globals_(n))))),
    "for variables": lambda n: block(
        Stat(for_in=StatForIn(vars=some_locals(n), values=globals_(1), body=StatBlock()))
    ),
    "upvalues": upvalues,
    "elseif": elseif,
    "plus to the left": nested_expression(lambda e: binary(Op.Add, e, a_global())),
    "plus to the right": nested_expression(lambda e: binary(Op.Add, a_global(), e)),
    "power to the right": nested_expression(lambda e: binary(Op.Pow, a_global(), e)),
    "concat to the left": nested_expression(lambda e: binary(Op.Concat, e, a_global())),
    "concat to the right": nested_expression(lambda e: binary(Op.Concat, a_global(), e)),
    "concat of concats": nested_expression(
        lambda e: binary(Op.Concat, e, binary(Op.Concat, a_global(), a_global()))
    ),
    "not": nested_expression(lambda e: Expr(unary=ExprUnary(op=ExprUnary.Op.Not, expr=e))),
    "group": nested_expression(lambda e: Expr(group=ExprGroup(expr=e))),
    "table in a table": nested_expression(
        lambda e: Expr(
            table=ExprTable(items=[TableItem(value=value) for value in [*globals_(17), e]])
        )
    ),
    "table in a key": nested_expression(
        lambda e: Expr(table=ExprTable(items=[TableItem(key_expr=e, value=a_global())]))
    ),
    "call in a call": nested_expression(lambda e: Expr(call=call([e, a_global(), a_global()]))),
    "index in an index": nested_expression(
        lambda e: Expr(index_expr=ExprIndexExpr(expr=a_prefix(), index=e))
    ),
    "if in a condition": nested_expression(
        lambda e: Expr(ifelse=ExprIfElse(cond=e, then=a_global(), else_=a_global()))
    ),
    "string in a string": nested_expression(
        lambda e: Expr(interpstring=ExprInterpString(parts=[e, a_global()]))
    ),
    "function in a function": nested_expression(
        lambda e: Expr(function=function([Stat(return_=StatReturn(list=[e]))]))
    ),
    "methods in a row": nested_prefix(
        lambda p: ExprPrefix(
            call=ExprCall(
                func=ExprPrefix(index_name=ExprIndexName(expr=p, index=X)),
                self_=True,
                args=globals_(2),
            )
        )
    ),
    "do in a do": nested_statement(lambda s: Stat(block=block(s))),
    "while in a while": nested_statement(
        lambda s: Stat(while_=StatWhile(cond=a_global(), body=block(s)))
    ),
    "repeat in a repeat": nested_statement(
        lambda s: Stat(repeat=StatRepeat(cond=a_global(), body=block(s)))
    ),
    "for in a for": nested_statement(
        lambda s: Stat(
            for_=StatFor(var=Local(name=1), from_=a_global(), to=a_global(), body=block(s))
        )
    ),
    "for-in in a for-in": nested_statement(
        lambda s: Stat(for_in=StatForIn(vars=some_locals(2), values=globals_(1), body=block(s)))
    ),
    "type of a function": nested_type(
        lambda t: Type(function=TypeFunction(args=[t], rets=[t.__class__(primitive=ANY)]))
    ),
    "type of a table": nested_type(
        lambda t: Type(table=TypeTable(items=[TypeTableItem(key=X, type=t)]))
    ),
    "union to the left": nested_type(
        lambda t: Type(union=TypeUnion(left=t, right=Type(primitive=ANY)))
    ),
    "union to the right": nested_type(
        lambda t: Type(union=TypeUnion(left=Type(primitive=ANY), right=t))
    ),
    "typeof": nested_type(
        lambda t: Type(
            typeof=TypeTypeof(
                expr=Expr(
                    function=ExprFunction(
                        args=some_locals(1), types=[t], vararg=False, body=StatBlock()
                    )
                )
            )
        )
    ),
    "registers behind many locals": registers_behind_many_locals,
}
ANY = TypePrimitive(kind=0)
