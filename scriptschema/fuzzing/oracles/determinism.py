"""Decides whether a program prints the same output in every correct run.

The output may vary if the program

- uses the result of a library member that varies, such as `os.clock()`. Only the type of the result
  is certain: `print(type(os.clock()))` prints the same output each time. A program that passes such
  a member on (`pcall(os.clock)`), or its whole library (`local o = os`), may use the result;
- has weak tables, whose contents depend on garbage collection;
- needs the length of a table with holes: any border is a valid length (Lua 5.1 manual, section
  2.5.5). `ipairs` is not affected, because it ends at the first nil;
- adds keys to a table while iterating over it (section 5.1, `next`);
- changes the environment of a caller (`setfenv(2, ...)`). Inlining determines which function this
  is, and the optimization level determines when a call looks up its function.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from scriptschema.base import Message, walk
from scriptschema.fuzzing.targets.base import Sources
from scriptschema.luau.library import SIGNATURES
from scriptschema.luau.names import DEFAULT
from scriptschema.luau.parse import ParseError, parse
from scriptschema.messages import (
    Expr,
    ExprCall,
    ExprGlobal,
    ExprIndexExpr,
    ExprIndexName,
    ExprLocal,
    ExprTable,
    ExprUnary,
    LValue,
    StatCall,
    StatForIn,
)
from scriptschema.versions import TODAY

_VARYING: Final = frozenset(
    str(signature)
    for signature in SIGNATURES
    if "varies" in signature.marks and signature.name != "tostring"
)
_BY_TARGET: Final = frozenset(["_VERSION", "coroutine.isyieldable", "vector.magnitude"])
"""Library members and globals whose results differ between targets, but not between the runs on one
target."""
_BY_LEVEL: Final = frozenset(["debug.info"])
"""Library members that may return nothing or fail, depending on the optimization level, because
inlining removes functions from the call stack."""
_LENGTH: Final = frozenset(
    ["rawlen", "unpack", *(f"table.{name}" for name in ("concat", "foreachi", "getn", "insert"))]
    + [f"table.{name}" for name in ("remove", "sort", "unpack")]
)
"""Globals and library members that need the length of a table."""
_TYPES: Final = ("type", "typeof")
_HIDING: Final = frozenset([*_TYPES, "pcall"])
_name: Final = DEFAULT.member
_ITEMS: Final = (ExprIndexExpr, ExprIndexName)


def is_determined(sources: Sources, *, one_target: bool = False) -> bool:
    """Return whether a program prints the same output in every correct implementation of Luau.

    If `one_target` is true, only runs on the same target must agree.
    """
    texts = [text for text in (sources.module, sources.program) if text is not None]
    if any("__mode" in text for text in texts):
        return False
    try:
        trees = [parse(text, luau=TODAY).tree for text in texts]
    except ParseError:  # a bug in scriptschema, which the round-trip oracle reports
        return True
    nodes = [node for tree in trees for node, _ in walk(tree)]
    varying = _VARYING - _BY_TARGET if one_target else _VARYING
    members = [(name, node) for node in nodes if (name := _name(node))]
    harmless = {id(member) for node in nodes for member in _harmless(node)}
    if any(isinstance(node, LValue) and _name(node.alternative) in _HIDING for node in nodes):
        harmless.clear()  # the program has its own function `type`, for example
    if any(name in varying and id(node) not in harmless for name, node in members):
        return False
    libraries = {name.partition(".")[0] for name in varying if "." in name}
    owners = {id(node.expr.alternative) for _, node in members if isinstance(node, ExprIndexName)}
    if any(name in libraries and id(node) not in owners for name, node in members):
        return False
    if any(isinstance(node, ExprTable) and _has_hole(node) for node in nodes) and (
        any(name in _LENGTH for name, _ in members)
        or any(isinstance(node, ExprUnary) and node.op == ExprUnary.Op.Len for node in nodes)
    ):
        return False
    if any(isinstance(node, ExprCall) and _changes_caller(node) for node in nodes):
        return False
    return not any(isinstance(node, StatForIn) and _adds_keys(node) for node in nodes)


def _harmless(node: Message) -> Iterator[Message]:
    """Yield the called functions whose results, even if they vary, do not affect the output."""
    # Functions in `_BY_LEVEL` may fail in some runs and not in others.
    if isinstance(node, StatCall):  # discards the results
        yield from (member for member, _ in _calls(node.expr) if _name(member) not in _BY_LEVEL)
    if isinstance(node, ExprCall):
        if _name(node.func.alternative) in _TYPES and node.args:  # only the type matters
            yield from (m for m in _called(node.args[0]) if _name(m) not in _BY_LEVEL)
        yield from (member for member, args in _calls(node) if _is_given_time(_name(member), args))


def _is_given_time(name: str, args: list[Expr]) -> bool:
    if name == "os.time":
        return bool(args) and args[0].table is not None
    return name == "os.date" and len(args) > 1 and args[1].which in ("number", "binary")


def _changes_caller(call: ExprCall) -> bool:
    return any(
        _name(member) == "setfenv" and args and args[0].number and args[0].number.val > 1
        for member, args in _calls(call)
    )


def _called(expr: Expr) -> Iterator[Message]:
    """Yield the function that an expression calls, directly and through `pcall`."""
    value: Any = expr.alternative
    while value is not None and expr.group is not None:
        expr = expr.group.expr
        value = expr.alternative
    if isinstance(value, ExprCall):
        yield from (member for member, _ in _calls(value))


def _calls(call: ExprCall) -> Iterator[tuple[Message, list[Expr]]]:
    """Yield the called function, and the function that `pcall` calls, with their arguments."""
    function: Any = call.func.alternative
    yield function, call.args
    if _name(function) == "pcall" and call.args:
        passed: Any = call.args[0].alternative
        yield passed, call.args[1:]


def _has_hole(table: ExprTable) -> bool:
    items = [item for item in table.items if item.which != "key_name"]
    while items and items[-1].which is None and items[-1].value.nil is not None:
        items.pop()  # the length does not depend on it
    return any(item.value.nil is not None for item in items)


def _adds_keys(loop: StatForIn) -> bool:
    """Return whether a loop may add keys to the table that it iterates over."""
    tables: list[Any] = [value.alternative for value in loop.values]
    tables += [arg.alternative for value in loop.values if value.call for arg in value.call.args]
    tables = [table for table in tables if isinstance(table, ExprLocal | ExprGlobal)]
    for target, _ in walk(loop.body):
        if isinstance(target, LValue) and isinstance(target.alternative, _ITEMS):
            index = target.alternative.index
            is_own = isinstance(index, Expr) and index.local and index.local.var == loop.vars[0]
            if target.alternative.expr.alternative in tables and not is_own:
                return True
    return False
