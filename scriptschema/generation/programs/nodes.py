"""Nodes: messages made without checks, fast, from parts that are known to be right.

`MAKE` has a function for each message, whose arguments are the message's slots in order; for a
message with a oneof the last two are the alternative's name and value. The functions below it make
what generators need most, with the messages around: an Expr, an ExprPrefix, a Stat.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from scriptschema.base import Message
from scriptschema.declaration import compile_source
from scriptschema.luau.names import DEFAULT
from scriptschema.messages import (
    MESSAGES,
    Expr,
    ExprCall,
    ExprConstantBool,
    ExprConstantNil,
    ExprConstantNumber,
    ExprConstantString,
    ExprGlobal,
    ExprGroup,
    ExprIndexExpr,
    ExprIndexName,
    ExprLocal,
    ExprPrefix,
    ExprTable,
    Local,
    Name,
    Stat,
    StatBlock,
    StatCall,
    TableItem,
)


def _makers() -> dict[type[Message], Callable[..., Any]]:
    scope: dict[str, Any] = {}
    lines = []
    for name, cls in MESSAGES.items():
        scope[name], scope[f"unchecked_{name}"] = cls, cls._unchecked
        lines += [f"def make_{name}({', '.join(cls._slots)}):", f"    node = unchecked_{name}()"]
        lines += [f"    node.{slot} = {slot}" for slot in cls._slots]
        lines += [f"    node.__class__ = {name}", "    return node"]
    compile_source("\n".join(lines), scope, "nodes")
    return {cls: scope[f"make_{name}"] for name, cls in MESSAGES.items()}


MAKE: Final[Mapping[type[Message], Callable[..., Any]]] = _makers()
"""A function for each message that makes one of its slots."""

_expr = MAKE[Expr]
_prefix = MAKE[ExprPrefix]
_number = MAKE[ExprConstantNumber]
_string = MAKE[ExprConstantString]
_bool = MAKE[ExprConstantBool]
_nil = MAKE[ExprConstantNil]
_local = MAKE[Local]
_expr_local = MAKE[ExprLocal]
_name = MAKE[Name]
_global = MAKE[ExprGlobal]
_call = MAKE[ExprCall]
_index_name = MAKE[ExprIndexName]
_index_expr = MAKE[ExprIndexExpr]
_group = MAKE[ExprGroup]
_item = MAKE[TableItem]
_table = MAKE[ExprTable]
_stat = MAKE[Stat]
_stat_call = MAKE[StatCall]
_block = MAKE[StatBlock]


def number(value: int) -> Expr:
    """Return the constant `value`, an int32."""
    return cast(Expr, _expr("number", _number(value)))


def string(value: str) -> Expr:
    """Return the constant `value`."""
    return cast(Expr, _expr("string", _string(value)))


def boolean(value: bool) -> Expr:
    """Return `true` or `false`."""
    return cast(Expr, _expr("bool", _bool(value)))


def nil() -> Expr:
    """Return `nil`."""
    return cast(Expr, _expr("nil", _nil()))


def expr(which: str, node: Message) -> Expr:
    """Return the Expr whose alternative `which` is `node`."""
    return cast(Expr, _expr(which, node))


def prefix(which: str, node: Message) -> ExprPrefix:
    """Return the ExprPrefix whose alternative `which` is `node`."""
    return cast(ExprPrefix, _prefix(which, node))


def stat(which: str, node: Message) -> Stat:
    """Return the Stat whose alternative `which` is `node`."""
    return cast(Stat, _stat(which, node))


def block(statements: list[Stat]) -> StatBlock:
    """Return the block of `statements`."""
    return cast(StatBlock, _block(statements))


def variable(index: int) -> ExprLocal:
    """Return what an Expr, an ExprPrefix and an LValue hold for the local `index`."""
    return cast(ExprLocal, _expr_local(_local(index)))


_PREFIXES: Final = frozenset(ExprPrefix.FIELDS)


def as_prefix(value: Expr) -> ExprPrefix:
    """Return an expression as a prefix, in parentheses if it needs them there."""
    which = value.which or ""
    if which in _PREFIXES:
        return cast(ExprPrefix, _prefix(which, value.alternative))
    return cast(ExprPrefix, _prefix("group", _group(value)))


def builtin(name: str) -> ExprGlobal:
    """Return the global `name` of the language."""
    return cast(ExprGlobal, _global(_name("builtin", _GLOBALS[name])))


def member(library: str, name: str) -> tuple[str, Message]:
    """Return `library.name`, the global `name` if `library` is empty: alternative and node."""
    if not library:
        return "global_", builtin(name)
    owner = _prefix("global_", _global(_name("builtin", _GLOBALS[library])))
    return "index_name", _index_name(owner, _name("builtin", _MEMBERS[library, name]))


def call(function: ExprPrefix, arguments: Sequence[Expr]) -> Expr:
    """Return `function(arguments)`."""
    return cast(Expr, _expr("call", _call(function, False, list(arguments))))


def call_builtin(name: str, *arguments: Expr) -> Expr:
    """Return a call of the global `name`."""
    return call(cast(ExprPrefix, _prefix("global_", builtin(name))), arguments)


def call_statement(expression: Expr) -> Stat:
    """Return the statement that is the call `expression`."""
    return cast(Stat, _stat("call", _stat_call(expression.alternative)))


def group(expression: Expr) -> Expr:
    """Return `(expression)`; what it holds must not need parentheses where it stands."""
    return cast(Expr, _expr("group", _group(expression)))


def index(table: ExprPrefix, key: Expr) -> Expr:
    """Return `table[key]`."""
    return cast(Expr, _expr("index_expr", _index_expr(table, key)))


def table(values: Sequence[Expr] = (), fields: Mapping[str, Expr] | None = None) -> Expr:
    """Return a table with `values`, and with `fields` by any string: `{1, ["a"] = 2}`."""
    items = [_item(value, None, None) for value in values]
    for key, value in (fields or {}).items():
        items.append(_item(value, "key_expr", string(key)))
    return cast(Expr, _expr("table", _table(items)))


_GLOBALS: Final = {name: index for index, name in enumerate(DEFAULT.globals)}
_MEMBERS: Final = {
    (library, name): index
    for library, names in DEFAULT.libraries.items()
    for index, name in enumerate(names)
}
