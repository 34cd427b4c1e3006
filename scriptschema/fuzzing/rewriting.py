"""Rewrites programs without changing their meaning: any change in behaviour is a bug.

    rewritten = REWRITINGS["statements in functions"](tree)       None if it does not apply

Each function in `REWRITINGS` changes all suitable places in a tree. Its result depends only on the
tree, so reproducing and reducing a find requires only its program. The functions serve as a
metamorphic oracle (T. Y. Chen, S. C. Cheung and S. M. Yiu, "Metamorphic Testing", 1998), which
needs only one target at one optimization level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from scriptschema import messages as m
from scriptschema.base import Message
from scriptschema.codec.copying import copy
from scriptschema.fuzzing import encoding
from scriptschema.fuzzing.corpora.features import library_names
from scriptschema.fuzzing.index import Index, own_nodes
from scriptschema.generation.programs import nodes
from scriptschema.luau.library import SIGNATURES
from scriptschema.luau.names import DEFAULT, SELF
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
        free = index.unused_local()
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
    return any(isinstance(index.nodes[above], m.ExprFunction) for above in index.way(number))


def _at_run_time(tree: m.ModuleSet) -> m.ModuleSet | None:
    """Replace constants with `select(1, x)`, which compilers cannot fold, in a copy of the tree.

    Names of fields are constants, too: `t.k` becomes `t[select(1, "k")]`.
    """
    used = _used(tree)
    edited = copy(tree)
    index = Index(edited)
    if not _BY_LEVEL.isdisjoint(used) or _changes_globals(index):
        return None
    # Without constant names, calls are no longer fast calls, and tables may get other sizes.
    names = [] if _is_delicate(index, used) else [*_names(index)]
    parts = {id(part) for string in index.messages(m.ExprInterpString) for part in string.parts}
    constants = [
        node
        for node in index.messages(m.Expr)
        if node.which in ("number", "string") and id(node) not in parts
    ]
    for node in constants:
        node.call = _selected(m.Expr(**{node.which: node.alternative}))
    for node in names:
        field = node.alternative
        if isinstance(node, m.TableItem):
            node.key_expr = m.Expr(call=_selected(nodes.string(DEFAULT.field(field))))
        else:
            name = DEFAULT.field(field.index, DEFAULT.owner(field.expr))
            key = m.Expr(call=_selected(nodes.string(name)))
            node.index_expr = m.ExprIndexExpr(expr=field.expr, index=key)
    return edited if (constants or names) and is_valid(edited) else None


def _selected(constant: m.Expr) -> m.ExprCall:
    call: m.ExprCall = nodes.call_builtin("select", nodes.number(1), constant).alternative
    return call


def _names(index: Index[Any]) -> Iterator[Any]:
    """Yield the nodes that name a field, except the names of declared functions and of methods."""
    fixed = {id(call.func) for call in index.messages(m.ExprCall) if call.self_}
    for declaration in index.messages(m.StatFunction):
        name = declaration.var
        while name.which == "index_name":
            fixed.add(id(name))
            name = name.alternative.expr
    for number in index.of(m.ExprIndexName):
        node = index.nodes[index.parents[number]]
        if id(node) not in fixed:
            yield node
    yield from (item for item in index.messages(m.TableItem) if item.which == "key_name")


def _in_tables(tree: m.ModuleSet) -> m.ModuleSet | None:
    """Keep the value of each local variable in a separate table, in a copy of the tree.

    `local a = 1` becomes `local a = 1 a = {a}`, and `a += 1` becomes `a[1] += 1`. Parameters and
    loop variables get their tables at the start of the function or loop.
    """
    used = _used(tree)
    edited = copy(tree)
    index = Index(edited)
    if not _BY_LEVEL.isdisjoint(used) or _changes_globals(index) or index.of(m.StatClass):
        return None
    if _is_delicate(index, used):
        return None
    for stat in index.messages(m.Stat):
        if stat.which == "function":
            _declare_by_assignment(stat)
    uses = index.of(m.ExprLocal)
    for number in uses:
        use: Any = index.nodes[index.parents[number]]
        use.index_expr = _item_of(use.alternative)
    for cls, variables in _BODIES.items():
        for node in index.messages(cls):
            node.body.body[:0] = _into_tables(variables(node))
    for block in index.messages(m.StatBlock):
        block.body = [each for stat in block.body for each in _declared_in_table(stat)]
    return edited if uses and is_valid(edited) else None


_BODIES: Final[Mapping[type[Message], Callable[[Any], list[m.Local]]]] = {
    m.ExprFunction: lambda function: function.args,
    m.StatFor: lambda loop: [loop.var],
    m.StatForIn: lambda loop: loop.vars,
}
"""For each message whose body begins with new variables, a function that returns these."""


def _item_of(table: m.ExprLocal) -> m.ExprIndexExpr:
    """Return `table[1]`."""
    return m.ExprIndexExpr(expr=m.ExprPrefix(local=table), index=nodes.number(1))


def _into_tables(variables: list[m.Local]) -> list[m.Stat]:
    """Return the statement `a, b = {a}, {b}`, if there are variables."""
    if not variables:
        return []
    targets = [m.LValue(local=m.ExprLocal(var=copy(each))) for each in variables]
    values = [nodes.table([nodes.read(each.name)]) for each in variables]
    return [m.Stat(assign=m.StatAssign(vars=targets, values=values))]


def _declared_in_table(stat: m.Stat) -> list[m.Stat]:
    declaration: Any = stat.alternative
    if stat.which == "local":
        declaration.is_const = declaration.is_exported = None
        return [stat, *_into_tables(declaration.vars)]
    if stat.which == "require_into_local":
        return [stat, *_into_tables([declaration.var])]
    if stat.which == "local_function":
        variable = declaration.var
        target = m.LValue(index_expr=_item_of(m.ExprLocal(var=variable)))
        function = m.Expr(function=declaration.func)
        return [nodes.let(variable.name, nodes.table()), nodes.assign(target, function)]
    return [stat]


def _declare_by_assignment(stat: m.Stat) -> None:
    """Change `function a.f() end` to `a.f = function() end`."""
    declaration: Any = stat.alternative
    function = declaration.func
    if declaration.self_:
        function.args.insert(0, nodes.declared(SELF))
        function.types = []  # they correspond to the parameters by position
    stat.assign = m.StatAssign(vars=[declaration.var], values=[m.Expr(function=function)])


def _is_delicate(index: Index[Any], used: set[str]) -> bool:
    """Return whether a program may show the order of evaluation or the layout of its tables."""
    return _depends_on_order(index, used) or _depends_on_layout(index, used)


def _depends_on_order(index: Index[Any], used: set[str]) -> bool:
    """Return whether an expression may use a local variable that another part of it changes.

    In `a + f()`, Luau reads a local variable `a` after the call, but the item of a table before it.
    `used` contains the library members that the program uses.
    """
    targets = [each for each in index.messages(m.LValue) if each.which == "local"]
    changed = {DEFAULT.local(each.alternative.var.name) for each in targets}
    has_objects = not _OBJECTS.isdisjoint(used)

    def is_changed(node: Any) -> bool:
        while node.which in ("group", "cast"):
            node = node.alternative.expr
        return node.which == "local" and DEFAULT.local(node.alternative.var.name) in changed

    def runs_code(value: m.Expr) -> bool:
        for node in own_nodes(value):
            if isinstance(node, m.ExprCall):
                if has_objects or DEFAULT.member(node.func.alternative) not in _INERT:
                    return True
            elif has_objects and isinstance(node, _OPERATIONS):  # it may call a metamethod
                return True
        return False

    if has_objects and _assigns_in_steps(index):
        return True
    return any(
        any(map(is_changed, late)) and any(map(runs_code, before))
        for late, before in _operands(index)
    )


_INERT: Final = frozenset(
    str(each)
    for each in SIGNATURES
    if each.library in ("bit32", "buffer", "math", "string", "utf8", "vector")
    or str(each) in ("select", "tonumber", "type", "typeof")
) - {"string.gsub"}
"""The functions that call no other code of a program without metatables."""

_OBJECTS: Final = frozenset(["setmetatable", "newproxy", "_G"])
"""The globals that a program with metamethods uses."""

_OPERATIONS: Final = (
    *(m.ExprBinary, m.ExprUnary, m.ExprIndexName, m.ExprIndexExpr, m.ExprInterpString),
)


def _assigns_in_steps(index: Index[Any]) -> bool:
    """Return whether a metamethod may run between the parts of an assignment."""
    targets = [[each.var] for each in index.messages(m.StatCompoundAssign)]
    targets += [each.vars for each in index.messages(m.StatAssign) if len(each.vars) > 1]
    return any(True for variables in targets for _ in _parts(variables))


def _operands(index: Index[Any]) -> Iterator[tuple[list[Any], list[Any]]]:
    """Yield the operands of each operation that are used late, and those that run code before.

    Source: Luau's compiler, which uses the registers of local variables directly.
    """
    for binary in index.messages(m.ExprBinary):
        yield [binary.left], [binary.right]
    for indexed in index.messages(m.ExprIndexExpr):
        yield [indexed.expr], [indexed.index]
    for item in index.messages(m.TableItem):
        if item.which == "key_expr":
            yield [item.alternative], [item.value]
    for call in index.messages(m.ExprCall):
        callee = call.func.alternative
        if call.self_ and isinstance(callee, m.ExprIndexName):
            yield [callee.expr], call.args
        if _may_be_fast(callee):
            yield call.args[:-1], call.args[1:]
    for change in index.messages(m.StatCompoundAssign):
        yield [change.var, *_parts([change.var])], [change.value]
    for assignment in index.messages(m.StatAssign):
        variables, values = assignment.vars, assignment.values
        parts = [*_parts(variables)]
        several = variables if len(variables) + len(values) > 2 else []
        yield [*several, *parts], [*values, *(parts if several else [])]


def _may_be_fast(callee: Any) -> bool:
    """Return whether a call may be a fast call, which uses its arguments' registers directly."""
    if isinstance(callee, m.ExprIndexName):
        return callee.expr.which in ("global_", "local")
    return isinstance(callee, m.ExprLocal) or DEFAULT.member(callee) not in ("", "print")


def _parts(variables: list[Any]) -> Iterator[Any]:
    """Yield the tables and keys of variables such as `a[b]`."""
    for variable in variables:
        if variable.which.startswith("index"):
            yield variable.alternative.expr
        if variable.which == "index_expr":
            yield variable.alternative.index


def _depends_on_layout(index: Index[Any], used: set[str]) -> bool:
    """Return whether a program may print something that depends on the sizes of its tables.

    For named fields that are assigned or listed in a table, the compiler predicts these sizes, on
    which the order of an iteration depends.
    """
    names_fields = any(each.which == "index_name" for each in index.messages(m.LValue)) or any(
        each.which == "key_name" for each in index.messages(m.TableItem)
    )
    iterates = not used.isdisjoint(["next", "pairs"]) or not all(
        each.values[0].which == "call"
        and DEFAULT.member(each.values[0].alternative.func.alternative) in _ORDERED
        for each in index.messages(m.StatForIn)
    )
    return names_fields and iterates


_ORDERED: Final = frozenset(["ipairs", "string.gmatch", "utf8.codes", "coroutine.wrap"])
"""The functions whose results are iterated over in an order that does not vary."""


def _changes_globals(index: Index[Any]) -> bool:
    return any(
        value.which == "global_" and value.alternative.name.which == "builtin"
        for value in index.messages(m.LValue)
    )


def _used(tree: m.ModuleSet) -> set[str]:
    return {*library_names(encoding.listed(tree))}


REWRITINGS: Final[Mapping[str, Callable[[m.ModuleSet], m.ModuleSet | None]]] = MappingProxyType(
    {
        "statements in functions": _moving(in_function, _BY_LEVEL, into_functions=True),
        "statements in loops": _moving(in_loop, frozenset(), into_functions=True),
        "statements in coroutines": _moving(
            in_coroutine, _BY_LEVEL | _BY_THREAD, into_functions=False
        ),
        "constants at run time": _at_run_time,
        "variables in tables": _in_tables,
    }
)
"""The functions that rewrite programs, by name, such as "statements in functions". They return None
if they do not apply."""
