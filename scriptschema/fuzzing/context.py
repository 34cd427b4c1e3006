"""The context of a node for the mutator: variables in scope and their kinds, loops, and `...`.

Kinds are names from `luau.library.KINDS`. They are derived from declarations and the form of
expressions. The mutator does not replace values whose kind is unknown (None) with values of the
same kind.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import attrs

from scriptschema import messages as m
from scriptschema.fuzzing.index import Index
from scriptschema.luau.library import SIGNATURES
from scriptschema.luau.names import DEFAULT, SELF

Kinds = dict[int, str | None]

_RESULTS: Final = {
    (signature.library, signature.name): signature.results[0]
    for signature in SIGNATURES
    if signature.parameters is not None and signature.results and not signature.marks
}
_TAKEN: Final = frozenset(["number", "string", "boolean", "any", "value", "scalar"])
"""The kinds of parameters that restrict only the type of a value. A parameter of another kind, such
as `pattern`, accepts only some values of a type."""

_KNOWN: Final = frozenset(["number", "integer", "string", "boolean", "vector", "buffer"])
_ARITHMETIC: Final = frozenset(
    [
        *(m.ExprBinary.Op.Add, m.ExprBinary.Op.Sub, m.ExprBinary.Op.Mul, m.ExprBinary.Op.Div),
        *(m.ExprBinary.Op.FloorDiv, m.ExprBinary.Op.Mod, m.ExprBinary.Op.Pow),
    ]
)
_LOGIC: Final = frozenset([m.ExprBinary.Op.And, m.ExprBinary.Op.Or])
NUMBERS: Final = frozenset(["number", "integer"])
_ENTERED: Final = frozenset(
    [
        *(m.StatBlock, m.StatFor, m.StatForIn, m.StatWhile, m.StatRepeat, m.StatLocalFunction),
        *(m.StatFunction, m.ExprFunction),
    ]
)
_DECLARING: Final = frozenset(["local", "local_function", "require_into_local"])
_SMALL: Final = 100
"""Constants up to this value are of kind `integer`, because they may be counts or positions. Larger
constants are of kind `number`."""


@attrs.define
class Context:
    """The context of a node: the variables in scope with their kinds, and the surrounding loops.

    `variables` maps the index of each variable's name to its kind, in the order of declaration.
    `loop` is true inside a loop, and `vararg` where `...` is allowed. `repeats` is true inside a
    `while` or `repeat` loop, which may be endless. `condition` is true in the condition of such a
    loop. `method` is true for the function of a method.
    """

    variables: Kinds = attrs.field(factory=dict)
    loop: bool = False
    vararg: bool = True
    repeats: bool = False
    condition: bool = False
    method: bool = False

    def enter(self, node: Any, name: str, position: int | None) -> None:
        """Update the context for field `name` of `node`, or for the field's item at `position`."""
        match node:
            case m.StatBlock():
                for statement in node.body[:position]:
                    if statement.which in _DECLARING:
                        _declare(self.variables, statement.alternative)
            case m.StatFor() | m.StatForIn() if name == "body":
                self.loop = True
                variables = node.vars if isinstance(node, m.StatForIn) else [node.var]
                for variable in variables:
                    kind = "integer" if isinstance(node, m.StatFor) else None
                    _bind(self.variables, variable.name, kind)
            case m.StatWhile() | m.StatRepeat():
                self.repeats = True
                self.loop = self.loop or name == "body"
                self.condition = self.condition or name == "cond"
                if isinstance(node, m.StatRepeat) and name == "cond":
                    for statement in node.body.body:
                        _declare(self.variables, statement.alternative)
            case m.StatLocalFunction():
                _bind(self.variables, node.var.name, None)
            case m.StatFunction() if name == "func":
                self.method = node.self_
            case m.ExprFunction():
                is_method, self.method = self.method, False
                if name != "body":
                    return  # the types are outside the function's scope
                self.loop = self.repeats = False
                self.vararg = node.vararg
                if is_method:
                    _bind(self.variables, SELF, None)
                for variable in node.args:
                    _bind(self.variables, variable.name, None)


def context_of(index: Index[Any], number: int) -> Context:
    """Return the context of the message that has the given number in the index."""
    context = Context()
    for inner in index.way(number):
        node = index.nodes[index.parents[inner]]
        if node.__class__ in _ENTERED:
            context.enter(node, *index.step(inner))
    return context


def _bind(variables: Kinds, name: int, kind: str | None) -> None:
    variables.pop(name, None)
    variables[name] = kind


def _declare(variables: Kinds, statement: Any) -> None:
    match statement:
        case m.StatLocal():
            values = [kind_of(value, variables) for value in statement.values]
            for position, variable in enumerate(statement.vars):
                kind = values[position] if position < len(values) else None
                _bind(variables, variable.name, kind)
        case m.StatLocalFunction() | m.StatRequireIntoLocalHelper():
            _bind(variables, statement.var.name, None)


def kind_of(expression: m.Expr, variables: Kinds) -> str | None:
    """Return the kind of an expression's value, or None if it is not obvious."""
    inner: Any = expression.alternative
    match inner:
        case m.ExprConstantNumber():
            return "integer" if abs(inner.val) <= _SMALL else "number"
        case m.ExprConstantString() | m.ExprInterpString():
            return "string"
        case m.ExprConstantBool():
            return "boolean"
        case m.ExprLocal():
            return variables.get(inner.var.name)
        case m.ExprGroup():
            return kind_of(inner.expr, variables)
        case m.ExprUnary():
            if inner.op == m.ExprUnary.Op.Not:
                return "boolean"
            return "integer" if inner.op == m.ExprUnary.Op.Len else kind_of(inner.expr, variables)
        case m.ExprBinary():
            return _of_binary(inner, variables)
        case m.ExprIfElse():
            return kind_of(inner.then, variables)
        case m.ExprCall():
            return _of_call(inner)
    return None


def _of_binary(inner: m.ExprBinary, variables: Kinds) -> str | None:
    if inner.op in _ARITHMETIC:
        kind = kind_of(inner.left, variables)
        return "number" if kind in NUMBERS else kind
    if inner.op == m.ExprBinary.Op.Concat:
        return "string"
    if inner.op in _LOGIC:
        kind = kind_of(inner.left, variables)
        return kind if kind == kind_of(inner.right, variables) else None
    return "boolean"


def _of_call(call: m.ExprCall) -> str | None:
    member = _member_of(call)
    kind = _RESULTS.get(member) if member else None
    return kind if kind in _KNOWN else None


def taken_by(call: m.ExprCall, position: int) -> str | None:
    """Return the kind of values that the called library member accepts as an argument.

    `position` is the argument's index. Returns None if the member does not accept every value of
    that kind, or if no library member is called.
    """
    member = _member_of(call)
    return _taken_by(*member, position) if member else None


def _member_of(call: m.ExprCall) -> tuple[str, str] | None:
    library, _, name = DEFAULT.member(call.func.alternative).rpartition(".")
    return (library, name) if library and not call.self_ else None


@cache
def _taken_by(library: str, name: str, position: int) -> str | None:
    kinds = set()
    for signature in SIGNATURES:
        if (signature.library, signature.name) == (library, name):
            parameters = signature.parameters or ()
            last = parameters[-1:]
            parameter = (parameters[position:] or last)[:1]
            if parameter and (position < len(parameters) or last[0].repeated):
                free = not parameter[0].bounds and not parameter[0].function
                kinds.add(parameter[0].kind if free else "")
    kind = kinds.pop() if len(kinds) == 1 else None
    return kind if kind in _TAKEN else None
