"""Calls of library members by their signatures, and the printing of their results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from scriptschema.generation.programs import nodes
from scriptschema.generation.programs.arguments import right
from scriptschema.generation.programs.maker import LEAF, Maker
from scriptschema.luau.library import SIGNATURES, Signature
from scriptschema.messages import Expr, ExprFunction, Stat, StatReturn

PRINTABLE: Final = frozenset(
    ["number", "integer", "int64", "string", "boolean", "optional", "vector", "nil", "scalar"]
)
"""The kinds that print the same in every run; tables, functions etc. print as addresses."""

_OPEN: Final = frozenset(["any", "value", "scalar"])
"""The kinds of parameters that accept every argument."""

_TEXTS_OF_ANYTHING: Final = frozenset(["tostring", "format", "print", "error", "select", "assert"])
"""Members that convert any argument to text, or return it."""

_CAUGHT: Final = 17
"""The maximum number of levels down to the arguments of a call whose errors are caught."""

_GENERAL: Final = frozenset(
    [
        *_OPEN,
        "array",
        "strings",
        "map",
        "row",
        "record",
        "object",
        "optional",
        "callable",
        "function",
    ]
)
"""The kinds of parameters that have a generic type."""

_PLAIN: Final = frozenset(
    name for name, count in Counter(map(str, SIGNATURES)).items() if count == 1
) - {
    str(signature)
    for signature in SIGNATURES
    for each in signature.parameters or ()
    if each.optional or each.repeated or each.kind in _GENERAL
}
"""The members whose type has the number and the types of their arguments."""

_HEAD: Final = 7
"""The number of nodes counted for a call of a library's member without its arguments. It is one too
small, but with another number every seed number would give another program."""


def call(maker: Maker, signature: Signature, size: int, room: int) -> Expr:
    """Return a call of a member with valid arguments; or the member, if it is a field."""
    maker.made += _HEAD if signature.library else nodes.CALL
    if signature.parameters is None:
        return nodes.expr(*nodes.member(signature.library, signature.name))
    callee = nodes.prefix(*nodes.member(signature.library, signature.name))
    return nodes.call(callee, arguments(maker, signature, size - _HEAD, room - 2))


def arguments(maker: Maker, signature: Signature, size: int, room: int) -> list[Expr]:
    """Return arguments for a call; occasionally they are invalid, too few or too many by one."""
    parameters = signature.parameters or ()
    made: list[Expr] = []
    risky = maker.grammar.wrong > 0
    loose = risky and signature.name not in _TEXTS_OF_ANYTHING
    share = max(1, size // max(1, len(parameters)))
    for parameter in parameters:
        if parameter.repeated:
            for _ in range(maker.below(3)):
                made += right(maker, parameter, share // 2, room, risky=loose)
        elif parameter.optional and maker.below(2) == 0:
            break
        elif parameter.function:
            made.append(function(maker, parameter.function, room))
        else:
            made += right(
                maker, parameter, share, room, risky=loose and parameter.kind not in _OPEN
            )
    if risky and maker.wrong():
        if made and maker.below(2) == 0:
            made.pop()
        else:
            made.append(maker.expression("scalar", 1, room))
    return made


def function(maker: Maker, signature: Signature, room: int) -> Expr:
    """Return a function with that signature; a comparison sorts up or down."""
    result = signature.results[0]
    made = maker.grammar.callbacks[result, len(signature.parameters or ())]
    found: Expr = made[maker.below(len(made))](maker, 12, room)
    return found


def of_kind(
    signatures: Sequence[tuple[float, Signature]],
) -> tuple[Sequence[Signature], list[float]]:
    """Return signatures with the running sums of their weights."""
    total = 0.0
    sums = []
    for weight, _ in signatures:
        total += weight
        sums.append(total)
    return [signature for _, signature in signatures], sums


def any_statement(maker: Maker, size: int, room: int) -> list[Stat]:
    """Return a call of any library member, or nothing if none may be used."""
    signatures, sums = maker.grammar.calls[""]
    if not signatures:
        return []
    return statement(maker, signatures[maker.pick(sums)], size, room)


def statement(maker: Maker, signature: Signature, size: int, room: int) -> list[Stat]:
    """Return a statement that calls a member and prints the results that never vary."""
    results = signature.results
    # In the worst case it is print(type((f(...)))).
    caught = signature.parameters is not None and room > _CAUGHT + LEAF and maker.chance(96)
    if caught:
        value = call_caught(maker, signature, size - 6, room - 8)
    else:
        value = call(maker, signature, size - 6, room - 8)
        if not results:
            maker.made += 1
            return [nodes.call_statement(value)]
    varies = maker.grammar.deterministic and "varies" in signature.marks
    maker.made += 7
    if not varies and PRINTABLE.issuperset(results):
        return [nodes.call_statement(nodes.call_builtin("print", value))]
    maker.made += 7
    # In parentheses, since `type` of no value at all is an error.
    kind = nodes.call_builtin("type", nodes.group(value))
    return [nodes.call_statement(nodes.call_builtin("print", kind))]


def call_caught(maker: Maker, signature: Signature, size: int, room: int) -> Expr:
    """Return `pcall(f, ...)`, which also calls members that the compiler would inline in `f(...)`.

    With sound types, it is `pcall(function() return f(...) end)` for a member whose type does not
    have the number and the types of its arguments.
    """
    if maker.grammar.typed and str(signature) not in _PLAIN:
        return _caught_inside(maker, signature, size, room)
    function = maker.scope.function
    guarded, function.guarded = function.guarded, True
    maker.made += _HEAD + 3
    made = arguments(maker, signature, size - _HEAD, room - 2)
    function.guarded = guarded
    member = nodes.expr(*nodes.member(signature.library, signature.name))
    return nodes.call_builtin("pcall", member, *made)


def _caught_inside(maker: Maker, signature: Signature, size: int, room: int) -> Expr:
    def inside() -> ExprFunction:
        returned = nodes.MAKE[StatReturn]([call(maker, signature, size - _INSIDE, room - 7)])
        made: ExprFunction = nodes.MAKE[ExprFunction](
            [], [], [], False, nodes.block([nodes.stat("return_", returned)]), [], []
        )
        return made

    made, cost = maker.function(inside, vararg=False, results=None, guarded=True)
    maker.afford(cost)
    maker.made += _INSIDE
    return nodes.call_builtin("pcall", nodes.expr("function", made))


_INSIDE: Final = 8
"""The nodes of such a function and its call, without the call inside it."""
