"""Nodes: messages made without checks, fast, from parts that are known to be right.

`MAKE` has a function for each message, whose arguments are the message's slots in order; for a
message with a oneof the last two are the alternative's name and value. The functions below it make
what generators need most, with the messages around: an Expr, an ExprPrefix, a Stat.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from scriptschema import messages as m
from scriptschema.base import Message, walk
from scriptschema.declaration import compile_source
from scriptschema.luau.names import DEFAULT


def _makers() -> dict[type[Message], Callable[..., Any]]:
    scope: dict[str, Any] = {}
    lines = []
    for name, cls in m.MESSAGES.items():
        scope[name], scope[f"unchecked_{name}"] = cls, cls._unchecked
        lines += [f"def make_{name}({', '.join(cls._slots)}):", f"    node = unchecked_{name}()"]
        lines += [f"    node.{slot} = {slot}" for slot in cls._slots]
        lines += [f"    node.__class__ = {name}", "    return node"]
    compile_source("\n".join(lines), scope, "nodes")
    return {cls: scope[f"make_{name}"] for name, cls in m.MESSAGES.items()}


MAKE: Final[Mapping[type[Message], Callable[..., Any]]] = _makers()
"""A function for each message that makes one of its slots."""

_expr = MAKE[m.Expr]
_prefix = MAKE[m.ExprPrefix]
_number = MAKE[m.ExprConstantNumber]
_string = MAKE[m.ExprConstantString]
_bool = MAKE[m.ExprConstantBool]
_nil = MAKE[m.ExprConstantNil]
_local = MAKE[m.Local]
_expr_local = MAKE[m.ExprLocal]
_name = MAKE[m.Name]
_global = MAKE[m.ExprGlobal]
_call = MAKE[m.ExprCall]
_index_name = MAKE[m.ExprIndexName]
_index_expr = MAKE[m.ExprIndexExpr]
_group = MAKE[m.ExprGroup]
_item = MAKE[m.TableItem]
_table = MAKE[m.ExprTable]
_stat = MAKE[m.Stat]
_stat_call = MAKE[m.StatCall]
_block = MAKE[m.StatBlock]


def number(value: int) -> m.Expr:
    """Return the constant `value`, an int32."""
    return cast(m.Expr, _expr("number", _number(value)))


def string(value: str) -> m.Expr:
    """Return the constant `value`."""
    return cast(m.Expr, _expr("string", _string(value)))


def boolean(value: bool) -> m.Expr:
    """Return `true` or `false`."""
    return cast(m.Expr, _expr("bool", _bool(value)))


def nil() -> m.Expr:
    """Return `nil`."""
    return cast(m.Expr, _expr("nil", _nil()))


def expr(which: str, node: Message) -> m.Expr:
    """Return the Expr whose alternative `which` is `node`."""
    return cast(m.Expr, _expr(which, node))


def prefix(which: str, node: Message) -> m.ExprPrefix:
    """Return the ExprPrefix whose alternative `which` is `node`."""
    return cast(m.ExprPrefix, _prefix(which, node))


def stat(which: str, node: Message) -> m.Stat:
    """Return the Stat whose alternative `which` is `node`."""
    return cast(m.Stat, _stat(which, node))


def block(statements: list[m.Stat]) -> m.StatBlock:
    """Return the block of `statements`."""
    return cast(m.StatBlock, _block(statements))


def variable(index: int) -> m.ExprLocal:
    """Return what an Expr, an ExprPrefix and an LValue hold for the local `index`."""
    return cast(m.ExprLocal, _expr_local(_local(index)))


_PREFIXES: Final = frozenset(m.ExprPrefix.FIELDS)


def as_prefix(value: m.Expr) -> m.ExprPrefix:
    """Return an expression as a prefix, in parentheses if it needs them there."""
    which = value.which or ""
    if which in _PREFIXES:
        return cast(m.ExprPrefix, _prefix(which, value.alternative))
    return cast(m.ExprPrefix, _prefix("group", _group(value)))


def builtin(name: str) -> m.ExprGlobal:
    """Return the global `name` of the language."""
    return cast(m.ExprGlobal, _global(_name("builtin", _GLOBALS[name])))


def member(library: str, name: str) -> tuple[str, Message]:
    """Return `library.name`, the global `name` if `library` is empty: alternative and node."""
    if not library:
        return "global_", builtin(name)
    owner = _prefix("global_", _global(_name("builtin", _GLOBALS[library])))
    return "index_name", _index_name(owner, _name("builtin", _MEMBERS[library, name]))


def call(function: m.ExprPrefix, arguments: Sequence[m.Expr]) -> m.Expr:
    """Return `function(arguments)`."""
    return cast(m.Expr, _expr("call", _call(function, False, list(arguments))))


def call_builtin(name: str, *arguments: m.Expr) -> m.Expr:
    """Return a call of the global `name`."""
    return call(cast(m.ExprPrefix, _prefix("global_", builtin(name))), arguments)


def call_statement(expression: m.Expr) -> m.Stat:
    """Return the statement that is the call `expression`."""
    return cast(m.Stat, _stat("call", _stat_call(expression.alternative)))


def group(expression: m.Expr) -> m.Expr:
    """Return `(expression)`; what it holds must not need parentheses where it stands."""
    return cast(m.Expr, _expr("group", _group(expression)))


def index(table: m.ExprPrefix, key: m.Expr) -> m.Expr:
    """Return `table[key]`."""
    return cast(m.Expr, _expr("index_expr", _index_expr(table, key)))


def table(values: Sequence[m.Expr] = (), fields: Mapping[str, m.Expr] | None = None) -> m.Expr:
    """Return a table with `values`, and with `fields` by any string: `{1, ["a"] = 2}`."""
    items = [_item(value, None, None) for value in values]
    for key, value in (fields or {}).items():
        items.append(_item(value, "key_expr", string(key)))
    return cast(m.Expr, _expr("table", _table(items)))


_GLOBALS: Final = {name: index for index, name in enumerate(DEFAULT.globals)}
_MEMBERS: Final = {
    (library, name): index
    for library, names in DEFAULT.libraries.items()
    for index, name in enumerate(names)
}


def size(tree: Message) -> int:
    """Return how many nodes a tree has."""
    return sum(1 for _ in walk(tree))


# The nodes of what is made most, so that nobody counts them by hand.
CONSTANT: Final = size(number(0))
VARIABLE: Final = size(expr("local", variable(0)))
MEMBER: Final = size(expr(*member("math", "pi")))
CALL: Final = size(call_builtin("print"))
"""A call of a global or of a local function, without its arguments."""
