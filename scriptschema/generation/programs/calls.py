"""Generates calls to library members from their signatures, and statements that print results."""

from __future__ import annotations

from collections import Counter
from typing import Final

from scriptschema.generation.programs import nodes
from scriptschema.generation.programs.arguments import right
from scriptschema.generation.programs.maker import LEAF, Maker
from scriptschema.luau.library import SIGNATURES, Signature
from scriptschema.messages import Expr, ExprFunction, Stat

PRINTABLE: Final = frozenset(
    ["number", "integer", "int64", "string", "boolean", "optional", "vector", "nil", "scalar"]
)
"""The kinds whose values are printed as the same text in every run. Others, such as tables, are
printed as addresses."""

_OPEN: Final = frozenset(["any", "value", "scalar"])
"""The kinds of parameters that accept any argument."""

_TEXTS_OF_ANYTHING: Final = frozenset(["tostring", "format", "print", "error", "select", "assert"])
"""The members that convert any argument to a string, or return the argument."""

_CAUGHT: Final = 17
"""The maximum number of levels from a statement down to the arguments of a call in `pcall`."""

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
"""The members that are always called with exactly the arguments that their types declare."""

_HEAD: Final = 7
"""The number of nodes counted for a call to a library member without its arguments.

The number is one too small, but correcting it would change the program of every seed.
"""


def call(maker: Maker, signature: Signature, size: int, room: int) -> Expr:
    """Return a call to a member with valid arguments, or the member itself if it is a field."""
    maker.made += _HEAD if signature.library else nodes.CALL
    if signature.parameters is None:
        return nodes.expr(*nodes.member(signature.library, signature.name))
    callee = nodes.prefix(*nodes.member(signature.library, signature.name))
    return nodes.call(callee, arguments(maker, signature, size - _HEAD, room - 2))


def arguments(maker: Maker, signature: Signature, size: int, room: int) -> list[Expr]:
    """Return arguments for a call. Occasionally one is invalid, missing or extra."""
    parameters = signature.parameters or ()
    values: list[Expr] = []
    risky = maker.grammar.wrong > 0
    loose = risky and signature.name not in _TEXTS_OF_ANYTHING
    share = max(1, size // max(1, len(parameters)))
    for parameter in parameters:
        if parameter.repeated:
            for _ in range(maker.below(3)):
                values += right(maker, parameter, share // 2, room, risky=loose)
        elif parameter.optional and maker.below(2) == 0:
            break
        elif parameter.function:
            values.append(function(maker, parameter.function, room))
        else:
            values += right(
                maker, parameter, share, room, risky=loose and parameter.kind not in _OPEN
            )
    if risky and maker.wrong():
        if values and maker.below(2) == 0:
            values.pop()
        else:
            values.append(maker.expression("scalar", 1, room))
    return values


def function(maker: Maker, signature: Signature, room: int) -> Expr:
    """Return a callback with this signature, such as a comparison function for `table.sort`."""
    result = signature.results[0]
    producers = maker.grammar.callbacks[result, len(signature.parameters or ())]
    callback: Expr = producers[maker.below(len(producers))](maker, 12, room)
    return callback


def any_statement(maker: Maker, size: int, room: int) -> list[Stat]:
    """Return a statement that calls a random library member and prints its results.

    If the results vary between runs, or would print as addresses, only the first result's type is
    printed. The list is empty if no member may be used.
    """
    signatures, sums = maker.grammar.calls[""]
    if not signatures:
        return []
    signature = signatures[maker.pick(sums)]
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
        return [nodes.print_([value])]
    maker.made += 7
    # In parentheses, since `type` of no value at all is an error.
    kind = nodes.call_builtin("type", nodes.group(value))
    return [nodes.print_([kind])]


def call_caught(maker: Maker, signature: Signature, size: int, room: int) -> Expr:
    """Return `pcall(f, ...)`, which calls `f` even if the compiler would inline `f(...)`.

    With sound types, the result is `pcall(function() return f(...) end)`, unless the type of `f`
    exactly describes its arguments.
    """
    if maker.grammar.typed and str(signature) not in _PLAIN:
        return _caught_inside(maker, signature, size, room)
    function = maker.scope.function
    guarded, function.guarded = function.guarded, True
    maker.made += _HEAD + 3
    values = arguments(maker, signature, size - _HEAD, room - 2)
    function.guarded = guarded
    member = nodes.expr(*nodes.member(signature.library, signature.name))
    return nodes.call_builtin("pcall", member, *values)


def _caught_inside(maker: Maker, signature: Signature, size: int, room: int) -> Expr:
    def inside() -> ExprFunction:
        value = call(maker, signature, size - _INSIDE, room - 7)
        return nodes.function([], [nodes.return_([value])])

    wrapper, cost = maker.function(inside, vararg=False, results=None, guarded=True)
    maker.afford(cost)
    maker.made += _INSIDE
    return nodes.call_builtin("pcall", nodes.expr("function", wrapper))


_INSIDE: Final = 8
"""The number of nodes of `pcall(function() return f(...) end)`, not counting `f(...)`."""
