"""Creates messages fast, without checks, from parts that are known to be valid.

`MAKE` maps each message class to a function that takes the values of the message's slots in order.
Extension fields are optional. For a message with a oneof, the last two arguments are the
alternative's name and value.

`MAKERS` has the same functions by name, such as `make_ExprCall`. It also has functions such as
`make_Expr_call`, which create an Expr together with its ExprCall.

The functions below create the nodes that generators need most often, including the Expr, ExprPrefix
or Stat around them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeVar

from scriptschema import messages as m
from scriptschema.base import Message, walk
from scriptschema.declaration import compile_source
from scriptschema.luau.library import SIGNATURES
from scriptschema.luau.members import LINES
from scriptschema.luau.names import DEFAULT, NameReader
from scriptschema.luau.validation.traversal import WRAPPERS
from scriptschema.versions import TODAY

MessageT = TypeVar("MessageT", bound=Message, covariant=True)


def _parameters(cls: type[Message]) -> str:
    """Return a message's slots as a parameter list, optional from the first extension on."""
    newer = dict(cls._newer_slots)
    first = next((n for n, slot in enumerate(cls._slots) if slot in newer), len(cls._slots))
    return ", ".join(f"{slot}=None" if n >= first else slot for n, slot in enumerate(cls._slots))


def _lines(variable: str, cls: type[Message], values: Sequence[str]) -> list[str]:
    """Return source lines that create a message from the values of its slots."""
    newer = dict(cls._newer_slots)
    return [
        f"    {variable} = unchecked_{cls.__name__}()",
        *(
            f"    {variable}.{slot} = {value}" + (" or []" if newer.get(slot) else "")
            for slot, value in zip(cls._slots, values, strict=True)
        ),
        f"    {variable}.__class__ = {cls.__name__}",
    ]


def _makers() -> dict[str, Callable[..., Any]]:
    scope: dict[str, Any] = {}
    names = []
    lines = []
    for name, cls in m.schema(TODAY).messages.items():
        scope[name], scope[f"unchecked_{name}"] = cls, cls._unchecked
        names.append(f"make_{name}")
        lines.append(f"def make_{name}({_parameters(cls)}):")
        lines += [*_lines("node", cls, cls._slots), "    return node"]
        for field in cls.ALL_FIELDS.values() if cls in WRAPPERS else ():
            names.append(f"make_{name}_{field.name}")
            held: type[Message] = field.type
            lines.append(f"def make_{name}_{field.name}({_parameters(held)}):")
            lines += _lines("inner", held, held._slots)
            lines += [*_lines("node", cls, [repr(field.name), "inner"]), "    return node"]
    compile_source("\n".join(lines), scope, "nodes")
    return {name: scope[name] for name in names}


MAKERS: Final[Mapping[str, Callable[..., Any]]] = _makers()
"""The functions by name. For example, `make_ExprCall` creates an ExprCall, and `make_Expr_call`
creates an Expr that contains an ExprCall."""


class _Make(Protocol):
    def __getitem__(self, cls: type[MessageT], /) -> Callable[..., MessageT]: ...


MAKE: Final[_Make] = {cls: MAKERS[f"make_{name}"] for name, cls in m.schema(TODAY).messages.items()}
"""For each message, the function that creates it from its slots."""

_expr_local = MAKE[m.ExprLocal]
_name = MAKE[m.Name]
_global = MAKE[m.ExprGlobal]
_call: Final[Callable[..., m.Expr]] = MAKERS["make_Expr_call"]
_index_name = MAKE[m.ExprIndexName]
_group = MAKE[m.ExprGroup]
_item = MAKE[m.TableItem]
_table: Final[Callable[..., m.Expr]] = MAKERS["make_Expr_table"]
_stat_call: Final[Callable[..., m.Stat]] = MAKERS["make_Stat_call"]

number: Final[Callable[[int], m.Expr]] = MAKERS["make_Expr_number"]
"""Returns a number constant with an int32 value."""

int64: Final[Callable[[int], m.Expr]] = MAKERS["make_Expr_integer"]
"""Returns a 64-bit integer constant."""

string: Final[Callable[[str], m.Expr]] = MAKERS["make_Expr_string"]
"""Returns a string constant."""

boolean: Final[Callable[[bool], m.Expr]] = MAKERS["make_Expr_bool"]
"""Returns the constant `true` or `false`."""

nil: Final[Callable[[], m.Expr]] = MAKERS["make_Expr_nil"]
"""Returns the constant `nil`."""

expr: Final[Callable[[str, Message], m.Expr]] = MAKE[m.Expr]
"""Returns an Expr. The arguments are the name and the node of its alternative."""

prefix: Final[Callable[[str, Message], m.ExprPrefix]] = MAKE[m.ExprPrefix]
"""Returns an ExprPrefix. The arguments are the name and the node of its alternative."""

stat: Final[Callable[[str, Message], m.Stat]] = MAKE[m.Stat]
"""Returns a Stat. The arguments are the name and the node of its alternative."""

block: Final[Callable[[list[m.Stat]], m.StatBlock]] = MAKE[m.StatBlock]
"""Returns a block of statements."""

index: Final[Callable[[m.ExprPrefix, m.Expr], m.Expr]] = MAKERS["make_Expr_index_expr"]
"""Returns `table[key]`."""

declared: Final[Callable[[int], m.Local]] = MAKE[m.Local]
"""Returns the declaration of the local with this name index."""


def variable(index: int) -> m.ExprLocal:
    """Return a reference to the local with this name index."""
    return _expr_local(declared(index))


_PREFIXES: Final = frozenset(m.ExprPrefix.FIELDS)


def as_prefix(value: m.Expr) -> m.ExprPrefix:
    """Return an expression as a prefix, in parentheses if necessary."""
    which = value.which or ""
    if which in _PREFIXES:
        return prefix(which, value.alternative)
    return prefix("group", _group(value))


def builtin(name: str) -> m.ExprGlobal:
    """Return a reference to Luau's global `name`."""
    return _global(_name("builtin", _GLOBALS[name]))


def member(library: str, name: str) -> tuple[str, Message]:
    """Return (alternative, node) for `library.name`, or for a global if `library` is ""."""
    if not library:
        return "global_", builtin(name)
    owner = prefix("global_", _global(_name("builtin", _GLOBALS[library])))
    return "index_name", _index_name(owner, _name("builtin", _MEMBERS[library, name]))


def call(function: m.ExprPrefix, arguments: Sequence[m.Expr]) -> m.Expr:
    """Return `function(arguments)`."""
    return _call(function, False, list(arguments))


def call_method(value: m.Expr, name: m.Name, arguments: Sequence[m.Expr]) -> m.Expr:
    """Return `value:name(arguments)`."""
    function = prefix("index_name", _index_name(as_prefix(value), name))
    return _call(function, True, list(arguments))


def call_builtin(name: str, *arguments: m.Expr) -> m.Expr:
    """Return a call to Luau's global `name`."""
    return call(prefix("global_", builtin(name)), arguments)


def call_statement(expression: m.Expr) -> m.Stat:
    """Return the call `expression` as a statement."""
    return _stat_call(expression.alternative)


def group(expression: m.Expr) -> m.Expr:
    """Return `expression` in parentheses."""
    return expr("group", _group(expression))


def table(values: Sequence[m.Expr] = (), fields: Mapping[str, m.Expr] | None = None) -> m.Expr:
    """Return a table with values and fields, such as `{1, ["a"] = 2}`. Keys can be any strings."""
    items = [_item(value, None, None) for value in values]
    for key, value in (fields or {}).items():
        items.append(_item(value, "key_expr", string(key)))
    return _table(items)


def read(index: int) -> m.Expr:
    """Return an expression for the value of the local with name index `index`."""
    return expr("local", variable(index))


def let(index: int, value: m.Expr | None) -> m.Stat:
    """Return `local x = value`, or `local x` if the value is None."""
    return stat("local", MAKE[m.StatLocal]([declared(index)], [] if value is None else [value], []))


def assign(target: m.LValue, value: m.Expr) -> m.Stat:
    """Return `target = value`."""
    return stat("assign", MAKE[m.StatAssign]([target], [value]))


def function(
    parameters: Sequence[int],
    body: list[m.Stat],
    *,
    vararg: bool = False,
    types: Sequence[m.Type] = (),
    native: bool = False,
) -> m.ExprFunction:
    """Return a function. The first parameters have the types in `types`; the others are untyped."""
    attributes = [MAKE[m.ExprAttr](m.ExprAttr.Kind.Native, None)] if native else None
    return MAKE[m.ExprFunction](
        [], [], [*map(declared, parameters)], vararg, block(body), [*types], [], attributes
    )


def local_function(index: int, value: m.ExprFunction) -> m.Stat:
    """Return `local function x() ... end`."""
    return stat("local_function", MAKE[m.StatLocalFunction](declared(index), value))


def call_local(index: int, arguments: Sequence[m.Expr]) -> m.Expr:
    """Return a call to the local with name index `index`."""
    return call(prefix("local", variable(index)), arguments)


def call_member(library: str, name: str, *arguments: m.Expr) -> m.Expr:
    """Return a call to `library.name`, or to a global if `library` is empty."""
    return call(prefix(*member(library, name)), arguments)


def return_(values: Sequence[m.Expr]) -> m.Stat:
    """Return `return values`."""
    return stat("return_", MAKE[m.StatReturn]([*values]))


def print_(values: Sequence[m.Expr]) -> m.Stat:
    """Return `print(values)`."""
    return call_statement(call_builtin("print", *values))


def target(index: int) -> m.LValue:
    """Return the local with name index `index` as the target of an assignment."""
    return MAKE[m.LValue]("local", variable(index))


def custom(index: int) -> m.Name:
    """Return the name with this index in the table of the program's own names."""
    return MAKE[m.Name]("custom", index)


def method(name: str) -> m.Name:
    """Return the Name of the library member `name`, for a method call such as `text:upper()`."""
    return MAKE[m.Name]("builtin", _METHODS[name])


def own_global(index: int) -> m.ExprGlobal:
    """Return the global whose name has this index in the table of the program's own names."""
    return MAKE[m.ExprGlobal](custom(index))


def field(index: int) -> m.ExprIndexName:
    """Return `x.field`, where `x` is the local with name index `index`.

    The name of the field is the first of the program's own names.
    """
    owner = prefix("local", variable(index))
    return MAKE[m.ExprIndexName](owner, custom(0))


_READER: Final = NameReader(luau=TODAY)
_GLOBALS: Final = {
    name: _READER.global_(name).alternative for name in {*DEFAULT.globals, *LINES} if name
}
_MEMBERS: Final = {
    (signature.library, signature.name): _READER.field(
        signature.name, signature.library
    ).alternative
    for signature in SIGNATURES
}
_METHODS: Final = {name: _READER.field(name).alternative for _, name in _MEMBERS}


def size(tree: Message) -> int:
    """Return the number of nodes of a tree."""
    return sum(1 for _ in walk(tree))


# The sizes of the most frequent nodes, so that they need not be counted by hand.
CONSTANT: Final = size(number(0))
VARIABLE: Final = size(expr("local", variable(0)))
MEMBER: Final = size(expr(*member("math", "pi")))
CALL: Final = size(call_builtin("print"))
"""The number of nodes of a call to a global or a local function, without its arguments."""
