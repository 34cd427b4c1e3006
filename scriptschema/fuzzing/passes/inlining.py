"""The reducer's passes that inline variables, functions and calls.

Code is easier to reduce without a function around it. These edits may change the meaning of the
program: the test decides whether the program is still interesting.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any, Final

import attrs

from scriptschema import messages as m
from scriptschema.base import Message
from scriptschema.codec.copying import copy
from scriptschema.fuzzing.editing import at
from scriptschema.fuzzing.index import Index, own_nodes
from scriptschema.fuzzing.passes.edits import AnyIndex, Edit, changing_tree, putting
from scriptschema.generation.programs import nodes
from scriptschema.luau.names import DEFAULT


def inline(index: AnyIndex) -> Iterator[Edit]:
    """Yield edits that replace all uses of a variable with the value that it is given.

    `local x = 1` and `f(x)` become `f(1)`. If the variable is used once, a second edit keeps the
    value hidden from the compiler: `f(y or 1)`.
    """
    uses: dict[Any, list[int]] = {}
    for cls in (m.ExprLocal, m.ExprGlobal):
        for number in index.of(cls):
            holder = index.parents[number]
            if index.nodes[holder].__class__ is not m.LValue:
                uses.setdefault(_variable(index.nodes[number]), []).append(holder)
    for number in (*index.of(m.StatLocal), *index.of(m.StatAssign)):
        given: Any = index.nodes[number]
        stat = index.parents[number]
        if len(given.vars) != len(given.values) or index.step(stat)[1] is None:
            continue
        start, stop = index.inside(stat).stop, index.inside(index.parents[stat]).stop
        for position, var in enumerate(given.vars):
            known = uses.get(_variable(var), [])
            replaced = known[bisect_left(known, start) : bisect_left(known, stop)]
            value = len(Index(given.values[position]))
            gone = index.sizes[stat] if len(given.vars) == 1 else value + len(Index(var))
            # An expression with a variable in it has three messages.
            gain = (value - 3) * len(replaced) - gone
            inline_into = partial(_inline, index, stat, position, replaced)
            if gain < 0:
                yield gain, changing_tree(index, partial(inline_into, hides=False))
            if len(replaced) == 1 and gain + HIDING < 0:
                yield gain + HIDING, changing_tree(index, partial(inline_into, hides=True))


def _variable(node: Any) -> Any:
    """Return what identifies the variable of a `Local`, a use, or an assignment's target."""
    if node.__class__ is m.LValue:
        node = node.alternative
    if node.__class__ is m.ExprLocal:
        node = node.var
    if node.__class__ is m.Local:
        return node.name
    return DEFAULT.global_(node.name) if node.__class__ is m.ExprGlobal else None


def _inline(
    index: AnyIndex,
    stat: int,
    position: int,
    uses: Sequence[int],
    edited: Message,
    *,
    hides: bool,
) -> None:
    used: list[Any] = [at(edited, index.path(use)) for use in uses]
    block: Any = at(edited, index.path(index.parents[stat]))
    given = block.body[index.step(stat)[1]].alternative
    value = given.values.pop(position)
    given.vars.pop(position)
    if not given.vars:
        block.body.pop(index.step(stat)[1])
    for node in used:
        _put(node, _hidden(index, value) if hides else value)


HIDING: Final = 5
"""The number of messages that `_hidden` adds."""


def _hidden(index: AnyIndex, value: m.Expr) -> m.Expr:
    """Return `x or value`, where `x` is a global variable that is not set."""
    unset = m.Expr(global_=m.ExprGlobal(name=next(_unused_names(index), m.Name(custom=0))))
    either = m.ExprBinary(op=m.ExprBinary.Op.Or, left=unset, right=copy(value))
    return m.Expr(binary=either)


def hide(index: AnyIndex) -> Iterator[Edit]:
    """Yield edits that replace an expression with `x or e`, where `e` is an expression inside it.

    `(function() return 1 end)()` and `({a = 1}).a` become `x or 1`. The global variable `x` is not
    set, so the value is the same, and the compiler does not know it either. If a call is what
    matters, a second edit yields `tonumber(1)`.
    """
    if len(index) > SMALL:
        return
    for number in index.of(m.Expr):
        outer: Any = index.nodes[number]
        for inner in index.inside(number) if outer.which in _COMPUTED else ():
            node: Any = index.nodes[inner]
            gain = index.sizes[inner] + HIDING - index.sizes[number]
            if node.__class__ is m.Expr and gain < 0 and node.which not in _UNHIDDEN:
                yield gain, putting(index, number, partial(_hidden, index, node))
                if outer.which == "call" and node.which == "number":
                    call = partial(nodes.call_builtin, "tonumber", copy(node))
                    yield gain, putting(index, number, call)


_COMPUTED: Final = frozenset(["call", "index_name", "index_expr"])
_UNHIDDEN: Final = frozenset(["call", "function", "local", "varargs", "nil"])


SMALL: Final = 60
"""Some passes have many edits, so that trees with more messages are first reduced by others."""


def _put(node: Any, value: m.Expr) -> None:
    """Set an Expr or ExprPrefix to a copy of `value`, in parentheses where a call follows."""
    content: Any = copy(value)
    if content.which not in node.ALL_FIELDS:
        content = m.Expr(group=m.ExprGroup(expr=content))
    setattr(node, content.which, content.alternative)


def inline_functions(index: AnyIndex) -> Iterator[Edit]:
    """Yield edits that move a local function to its only use.

    `local function f(a) ... end` and `f(1)` become `(function(a) ... end)(1)`.
    """
    uses: dict[int, list[int]] = {}
    for number in index.of(m.ExprLocal):
        used: Any = index.nodes[number]
        uses.setdefault(used.var.name, []).append(index.parents[number])
    for number in index.of(m.StatLocalFunction):
        declared: Any = index.nodes[number]
        stat = index.parents[number]
        stop = index.inside(index.parents[stat]).stop
        known = uses.get(declared.var.name, [])
        replaced = known[bisect_left(known, number) : bisect_left(known, stop)]
        if len(replaced) == 1 and replaced[0] > index.inside(stat).stop - 1:
            yield -3, changing_tree(index, partial(_move_function, index, stat, replaced[0]))


def _move_function(index: AnyIndex, stat: int, use: int, edited: Message) -> None:
    node: Any = at(edited, index.path(use))
    block: Any = at(edited, index.path(index.parents[stat]))
    function = block.body.pop(index.step(stat)[1]).alternative.func
    if isinstance(node, m.Expr):
        node.function = function
    elif isinstance(node, m.ExprPrefix):
        node.group = m.ExprGroup(expr=m.Expr(function=function))


@attrs.frozen
class _Called:
    """A call's function expression and the arguments it receives, as message numbers."""

    function: int
    arguments: Sequence[int]


_CATCHING: Final = {"pcall": 1, "xpcall": 2}
"""Globals that call their first argument. The number is how many leading arguments are not passed
on."""


def inline_calls(index: AnyIndex) -> Iterator[Edit]:
    """Yield edits that replace a call to a function expression with the function's body.

    Calls through `pcall`, `coroutine.wrap` and the like are included. For example,
    `pcall(function(a) g(a) end, 1)` becomes `g(1)`.

    A second edit declares local variables for the arguments and results: `local a = 1 g(a)`. A
    third assigns them to global variables, which hides their values from the compiler:
    `x = 1 g(x)`.
    """
    for number in index.of(m.ExprCall):
        called = _called(index, number)
        stat = number
        while stat > 0 and index.nodes[stat].__class__ is not m.Stat:
            stat = index.parents[stat]
        if called is not None and stat > 0 and index.step(stat)[0] == "body":
            put_body = partial(_put_body, index, stat, number, called)
            yield -6, changing_tree(index, put_body)
            if called.arguments or index.nodes[index.parents[number]].__class__ is not m.StatCall:
                yield -4, changing_tree(index, partial(put_body, keep=_declared))
                yield -4, changing_tree(index, partial(put_body, keep=_assigned))


def drop_arguments(index: AnyIndex) -> Iterator[Edit]:
    """Yield edits that remove a parameter of a function, together with its argument.

    `pcall(function(a, b) f(b) end, 1, 2)` becomes `pcall(function(b) f(b) end, 2)`.
    """
    for number in index.of(m.ExprCall):
        called = _called(index, number)
        if called is not None:
            function: Any = index.nodes[called.function]
            for position, argument in enumerate(called.arguments[: len(function.args)]):
                change = partial(_drop_argument, index, called, number, position)
                yield -1 - index.sizes[argument], changing_tree(index, change)


def _drop_argument(
    index: AnyIndex, called: _Called, number: int, position: int, edited: Message
) -> None:
    function: Any = at(edited, index.path(called.function))
    call: Any = at(edited, index.path(number))
    del call.args[position - len(called.arguments)]
    del function.args[position]
    del function.types[position : position + 1]


def _called(index: AnyIndex, number: int) -> _Called | None:
    """Return the function expression that a call runs, directly or through `pcall` and the like."""
    call: Any = index.nodes[number]
    prefix, arguments = call.func, call.args
    if prefix.which == "group":
        function = prefix.alternative.expr
    elif prefix.which == "global_" and prefix.alternative.name.which == "builtin":
        count = _CATCHING.get(DEFAULT.global_(prefix.alternative.name), 0)
        if not count or len(arguments) < count:
            return None
        function, arguments = arguments[0], arguments[count:]
    elif arguments and _is_made_coroutine(prefix, arguments[0]):  # coroutine.resume
        function, arguments = arguments[0].alternative.args[0], arguments[1:]
    elif prefix.which == "call" and len(prefix.alternative.args) == 1:  # coroutine.wrap
        function = prefix.alternative.args[0]
    else:
        return None
    if function.which != "function":
        return None
    numbers = {id(index.nodes[each]): each for each in index.inside(number)}
    return _Called(
        numbers[id(function.alternative)], [numbers[id(argument)] for argument in arguments]
    )


def _is_made_coroutine(prefix: m.ExprPrefix, first: m.Expr) -> bool:
    """Return whether a call looks like `coroutine.resume(coroutine.create(f), ...)`."""
    inner: Any = first.alternative
    return prefix.which == "index_name" and first.which == "call" and len(inner.args) == 1


def _put_body(
    index: AnyIndex,
    stat: int,
    call: int,
    called: _Called,
    edited: Message,
    *,
    keep: Callable[..., tuple[list[m.Expr], list[m.Stat]]] | None = None,
) -> None:
    """Replace a call with the body of the function it runs.

    If `keep` is given, it stores the arguments and results in variables.
    """
    block: Any = at(edited, index.path(index.parents[stat]))
    function: Any = at(edited, index.path(called.function))
    arguments: list[Any] = [at(edited, index.path(each)) for each in called.arguments]
    body = function.body.body
    last = body.pop().alternative if body and body[-1].which == "return_" else None
    values = list(last.list) if last is not None else []
    is_all = index.nodes[index.parents[call]].__class__ is m.StatCall
    before: list[m.Stat] = []
    if keep is not None:
        is_local = keep is _declared
        names: Iterator[Any] = _unused_locals(index) if is_local else _unused_names(index)
        own = [each.name for each in function.args] if is_local else []  # they may be assigned to
        arguments, before = keep(arguments, chain(own, names))
    for node in (*body, *values):
        _put_arguments(node, function.args, arguments)
    if keep is not None and not is_all:
        values, after = keep(values, names)
        body += after
    body[:0] = before
    _put_values(index, edited, call, values)
    position = index.step(stat)[1] or 0  # not None: the statement is in a body
    block.body[position : position + 1] = [*body, *([] if is_all else [block.body[position]])]


def _unused_locals(index: AnyIndex) -> Iterator[int]:
    used = {DEFAULT.local(node.name) for node in index.messages(m.Local)}
    return (number for number, name in enumerate(DEFAULT.locals) if name not in used)


def _declared(values: Sequence[m.Expr], names: Iterator[int]) -> tuple[list[m.Expr], list[m.Stat]]:
    """Return new local variables for `values`, and the statement that declares them, if any."""
    if not values:
        return [], []
    variables = [m.Local(name=next(names, 0)) for _ in values]
    declare = m.StatLocal(vars=variables, values=[copy(value) for value in values])
    uses = [m.Expr(local=m.ExprLocal(var=copy(each))) for each in variables]
    return uses, [m.Stat(local=declare)]


def _unused_names(index: AnyIndex) -> Iterator[m.Name]:
    used = {DEFAULT.global_(node) for node in index.messages(m.Name)}
    numbers = (number for number, name in enumerate(DEFAULT.customs) if name not in used)
    return (m.Name(custom=number) for number in numbers)


def _assigned(
    values: Sequence[m.Expr], names: Iterator[m.Name]
) -> tuple[list[m.Expr], list[m.Stat]]:
    """Return global variables for `values`, and the statement that assigns them, if any."""
    if not values:
        return [], []
    # If there are not enough names, several values get the same variable.
    variables = [m.ExprGlobal(name=next(names, m.Name(custom=0))) for _ in values]
    targets = [m.LValue(global_=copy(variable)) for variable in variables]
    assign = m.StatAssign(vars=targets, values=[copy(value) for value in values])
    return [m.Expr(global_=each) for each in variables], [m.Stat(assign=assign)]


def _put_arguments(node: Any, parameters: Sequence[m.Local], arguments: Sequence[m.Expr]) -> None:
    """Replace parameters with arguments or nil, and `...` with the first extra argument."""
    given: dict[int, Any] = {}
    for position, parameter in enumerate(parameters):
        is_given = position < len(arguments)
        given[parameter.name] = arguments[position] if is_given else m.Expr(nil=m.ExprConstantNil())
    rest = arguments[len(parameters)] if len(arguments) > len(parameters) else None
    own = {id(each) for each in own_nodes(node)}  # a function inside has its own `...`
    for each in Index(node).nodes:
        inner: Any = each
        if each.__class__ in (m.Expr, m.ExprPrefix) and inner.which in ("local", "varargs"):
            if inner.which == "local":
                value = given.get(inner.alternative.var.name)
            else:
                value = rest if id(each) in own else None
            if value is not None:
                _put(inner, value)


def _put_values(index: AnyIndex, edited: Message, call: int, values: list[m.Expr]) -> None:
    holder = index.parents[call]
    node: Any = at(edited, index.path(holder))
    if node.__class__ is m.ExprPrefix:
        node.group = m.ExprGroup(expr=values[0] if values else m.Expr(nil=m.ExprConstantNil()))
    elif node.__class__ is m.Expr:
        name, position = index.step(holder)
        above: Any = at(edited, index.path(index.parents[holder]))
        if position is not None and above.__class__ in (m.ExprCall, m.StatReturn):
            getattr(above, name)[position : position + 1] = values
        else:
            value = values[0] if values else m.Expr(nil=m.ExprConstantNil())
            setattr(node, value.which or "", value.alternative)
