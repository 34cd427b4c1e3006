"""Rewrites programs without changing their meaning: any change in behaviour is a bug.

    rewritten = REWRITINGS["statements in functions"](tree)       None if it does not apply

Each function in `REWRITINGS` changes all suitable places in a tree. Its result depends only on the
tree, so reproducing and reducing a find requires only its program. The functions serve as a
metamorphic oracle (T. Y. Chen, S. C. Cheung and S. M. Yiu, "Metamorphic Testing", 1998), which
needs only one target at one optimization level.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from scriptschema import messages as m
from scriptschema.fuzzing import encoding
from scriptschema.fuzzing.corpora.features import library_names
from scriptschema.fuzzing.editing import copy
from scriptschema.fuzzing.index import Index, own_nodes
from scriptschema.generation.programs import nodes
from scriptschema.luau.names import DEFAULT
from scriptschema.luau.repair import is_valid

Wrap = Callable[[m.Stat, int], m.Stat]
"""Wraps a statement in another. The second argument is the name index of an unused local."""

_MOVED: Final = frozenset(["call", "assign", "compound_assign"])
"""Kinds of statements that declare nothing and do not jump to other code."""

_BY_LEVEL: Final = frozenset(
    ["getfenv", "setfenv", *(f"debug.{name}" for name in DEFAULT.libraries["debug"])]
)
"""Globals and library members whose results depend on the function call stack."""

_BY_THREAD: Final = frozenset(
    f"coroutine.{name}" for name in ("yield", "running", "isyieldable", "status")
)
"""Library members whose results depend on the coroutine that calls them."""


def in_function(stat: m.Stat, _: int) -> m.Stat:
    """Return the statement `(function() stat end)()`."""
    return nodes.call_statement(nodes.call(nodes.as_prefix(function(stat)), []))


def in_coroutine(stat: m.Stat, _: int) -> m.Stat:
    """Return the statement `coroutine.wrap(function() stat end)()`."""
    wrapped = nodes.call_member("coroutine", "wrap", function(stat))
    return nodes.call_statement(nodes.call(nodes.as_prefix(wrapped), []))


def in_loop(stat: m.Stat, name: int, times: int = 1) -> m.Stat:
    """Return the statement `for name = 1, times do stat end`.

    `name` is the name index of a local.
    """
    body, variable = m.StatBlock(body=[stat]), m.Local(name=name)
    loop = m.StatFor(var=variable, from_=nodes.number(1), to=nodes.number(times), body=body)
    return m.Stat(for_=loop)


def function(stat: m.Stat) -> m.Expr:
    """Return the function `function() stat end`."""
    return nodes.expr("function", nodes.function([], [stat]))


def unwrapped(stat: m.Stat) -> m.Stat | None:
    """Return the inner statement of a call, coroutine or loop that runs it once, or None."""
    inner: Any = stat.alternative
    if stat.which == "for_":
        once = all(bound == nodes.number(1) for bound in (inner.from_, inner.to))
        return _only_movable(inner.body) if once and inner.step is None else None
    if stat.which != "call" or inner.expr.args or inner.expr.self_:
        return None
    called = inner.expr.func
    call: Any = called.alternative
    if called.which == "call" and DEFAULT.member(call.func.alternative) == "coroutine.wrap":
        arguments = call.args
        function = arguments[0] if len(arguments) == 1 else None
    else:
        function = called.alternative.expr if called.which == "group" else None
    if function is None or function.which != "function" or function.alternative.args:
        return None
    return _only_movable(function.alternative.body)


def _only_movable(block: m.StatBlock) -> m.Stat | None:
    statement = block.body[0] if len(block.body) == 1 else None
    return statement if statement is not None and is_movable(statement) else None


def is_movable(stat: m.Stat) -> bool:
    """Return whether a statement keeps its meaning when it is moved into a function."""
    return stat.which in _MOVED and not any(
        isinstance(node, m.ExprVarargs) for node in own_nodes(stat)
    )


def _moving(
    wrap: Wrap, unsuited: frozenset[str], *, into_functions: bool
) -> Callable[[m.ModuleSet], m.ModuleSet | None]:
    """Return a function for `REWRITINGS` that wraps all movable statements with `wrap`.

    The function does not apply to programs that use any of the names in `unsuited`.
    """

    def rewrite(tree: m.ModuleSet) -> m.ModuleSet | None:
        if not unsuited.isdisjoint(_used(tree)):
            return None
        edited = copy(tree)
        index = Index(edited)
        variables: list[Any] = [index.nodes[number] for number in index.of(m.Local)]
        used = {DEFAULT.local(variable.name) for variable in variables}
        free = next((n for n, name in enumerate(DEFAULT.locals) if name not in used), None)
        if free is None:
            return None
        count = 0
        for number in index.of(m.StatBlock):
            if into_functions or not _is_in_function(index, number):
                block: Any = index.nodes[number]
                movable = [is_movable(stat) for stat in block.body]
                count += sum(movable)
                block.body = [
                    wrap(stat, free) if moves else stat
                    for stat, moves in zip(block.body, movable, strict=True)
                ]
        return edited if count and is_valid(edited) else None

    return rewrite


def _is_in_function(index: Index[Any], number: int) -> bool:
    while number > 0:
        number = index.parents[number]
        if isinstance(index.nodes[number], m.ExprFunction):
            return True
    return False


def _at_run_time(tree: m.ModuleSet) -> m.ModuleSet | None:
    """Replace constants with `select(1, x)`, which compilers cannot fold, in a copy of the tree."""
    used = _used(tree)
    edited = copy(tree)
    index = Index(edited)
    if not _BY_LEVEL.isdisjoint(used) or _changes_globals(index):
        return None
    count = 0
    for number in index.of(m.Expr):
        node: Any = index.nodes[number]
        above = index.nodes[index.parents[number]]
        if node.which in ("number", "string") and not isinstance(above, m.ExprInterpString):
            count += 1
            constant = m.Expr(**{node.which: node.alternative})
            node.call = nodes.call_builtin("select", nodes.number(1), constant).alternative
    return edited if count and is_valid(edited) else None


def _changes_globals(index: Index[Any]) -> bool:
    values: list[Any] = [index.nodes[number] for number in index.of(m.LValue)]
    return any(
        value.which == "global_" and value.alternative.name.which == "builtin" for value in values
    )


def _used(tree: m.ModuleSet) -> set[str]:
    return {*library_names(encoding.scan(m.ModuleSet, encoding.encode(tree)))}


REWRITINGS: Final[Mapping[str, Callable[[m.ModuleSet], m.ModuleSet | None]]] = MappingProxyType(
    {
        "statements in functions": _moving(in_function, _BY_LEVEL, into_functions=True),
        "statements in loops": _moving(in_loop, frozenset(), into_functions=True),
        "statements in coroutines": _moving(
            in_coroutine, _BY_LEVEL | _BY_THREAD, into_functions=False
        ),
        "constants at run time": _at_run_time,
    }
)
"""The functions that rewrite programs, by name, such as "statements in functions". They return None
if they do not apply."""
