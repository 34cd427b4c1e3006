"""Scope: what makes a tree a valid program (`check`), and the change that makes it one (`repair`).

One traversal serves both. It goes through a copy of the tree in the order in which Luau's compiler
reads a program, knows at each message what is in scope there, and where a rule is broken it notes a
`Problem` and mends the copy at once, so that what follows is judged in the mended tree. `check`
returns the problems, `repair` the copy. So a tree without problems comes back equal, a repaired one
has none, and nothing else is changed.

What is mended keeps as much as it can: a `return` in the middle of a block becomes `do return end`,
a variable that is not in scope becomes one that is, always the same for the same tree. Where two
trees print alike, one form is canonical, and the other counts as a problem (rules `group`, `minus`,
`interpolation`, `string`), so that the text of a repaired tree reads back as that tree.

The traversal keeps its open messages on a stack of its own: depth costs memory, never a
RecursionError, and time is linear. A tree no deeper than protobuf's limit stays within it: what a
mended message has no room for gives way to the simplest thing that has (rule `depth`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias, TypeVar

import attrs

from scriptschema.base import Message, Path
from scriptschema.luau.names import DEFAULT, Names
from scriptschema.luau.render import BINARY, UNARY_PRIORITY, needs_parentheses, string_bytes
from scriptschema.messages import (
    MESSAGES,
    Expr,
    ExprBinary,
    ExprCall,
    ExprConstantNumber,
    ExprConstantString,
    ExprFunction,
    ExprGlobal,
    ExprGroup,
    ExprIfElse,
    ExprIndexExpr,
    ExprIndexName,
    ExprInterpString,
    ExprLocal,
    ExprPrefix,
    ExprTable,
    ExprUnary,
    ExprVarargs,
    Local,
    LValue,
    ModuleSet,
    Name,
    Stat,
    StatAssign,
    StatBlock,
    StatCall,
    StatCompoundAssign,
    StatFor,
    StatForIn,
    StatFunction,
    StatIf,
    StatLocal,
    StatLocalFunction,
    StatRepeat,
    StatReturn,
    StatTypeAlias,
    StatWhile,
    TableItem,
    Type,
    TypeFunction,
    TypeIntersection,
    TypeLiteral,
    TypePrimitive,
    TypeRef,
    TypeString,
    TypeTable,
    TypeTableIndexer,
    TypeTableItem,
    TypeTypeof,
    TypeUnion,
)

RULES: Final[Mapping[str, str]] = {
    "unset": "one of the alternatives must be set",
    "depth": "the tree must not be nested too deep",
    "empty": "the list must not be empty",
    "last": "return, break and continue end their block",
    "loop": "break and continue stand in a loop",
    "vararg": "... stands in a vararg function",
    "local": "a local variable is used where one of that name is in scope",
    "until": "until does not use a local that a continue jumps over",
    "hidden": "a global is not hidden by a local of the same name",
    "else": "an if-expression has an else",
    "self": "only a method has a self",
    "function-name": "a function statement's name is a variable and its fields",
    "duplicate": "parameters have different names, and so have generics",
    "type": "a type that is named is in scope",
    "types": "there are no more types than variables",
    "require": "a require names a module that is there",
    "module": "a module returns one value",
    "locals": "a function has at most 200 local variables at a time",
    "registers": "a function needs at most 245 registers",
    "upvalues": "a function uses at most 200 variables of the functions around it",
    "closures": "a function makes at most 32,767 functions",
    "size": "a function holds at most 2,000,000 messages",
    "group": "parentheses that the structure needs are not in the tree",
    "minus": "a number constant holds its sign itself",
    "interpolation": "text in an interpolated string is one part, and not an empty one",
    "string": "a string is decoded as far as it is UTF-8, and a string type has no zero",
}
"""The rules by name; the rule of each problem is one of these."""

MAX_DEPTH: Final = 100
"""How deep protobuf's runtimes take a message to be nested."""

DEEPEST: Final = 400
"""How deep a tree may be that is deeper than that: Luau's parser allows 1,000 levels of its own."""

_MAX_LOCALS: Final = 200
_MAX_UPVALUES: Final = 200
_MAX_REGISTERS: Final = 245  # Luau has 255; a single operation needs up to five by the way
_MAX_CLOSURES: Final = 32767
_MAX_SIZE: Final = 2_000_000  # far below what the longest jump, and the constants, allow

_TYPE_FUNCTIONS: Final = frozenset(
    ["keyof", "rawkeyof", "index", "rawget", "setmetatable", "getmetatable", "typeof"]
)
"""Generic types that Luau itself defines."""

_NOT_EMPTY: Final = {
    (StatLocal, "vars"), (StatForIn, "vars"), (StatForIn, "values"), (StatAssign, "vars"),
    (StatAssign, "values"), (ExprIfElse, "else_"),
}  # fmt: skip

_WRAPPERS: Final = (Expr, ExprPrefix, LValue, Stat, Type)
"""The messages that hold exactly one of several."""

_DECLARE: Final = {
    "local": 1, "local_function": 1, "require_into_local": 1, "for_": 1, "for_in": 1,
}  # fmt: skip
"""The statements that declare local variables, and how many at least."""

MessageT = TypeVar("MessageT", bound=Message)


@attrs.frozen
class Problem:
    """A rule that a tree breaks: where, which one (a key of RULES), and what is wrong there."""

    path: Path
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.path or 'tree'}: {self.message} [{self.rule}]"


def check(tree: Message, *, names: Names = DEFAULT) -> list[Problem]:
    """Return what keeps a tree from being a valid program, in the order of the program.

    `tree` may be a message of any kind: a ModuleSet is a program with its module, and anything else
    is judged as it would stand at the top of a program. `names` tells which indexes are one name.
    """
    return _Mender(tree, names).problems


def repair(tree: MessageT, *, names: Names = DEFAULT) -> MessageT:
    """Return a new tree that is `tree` without what `check` finds; `tree` stays as it is.

    The arguments are as in `check`. A ModuleSet, or a StatBlock, that comes back compiles.
    """
    repaired: MessageT = _Mender(tree, names).tree
    return repaired


def _heights() -> dict[type[Message], int]:
    """How high a valid message of each kind is at least."""
    heights = dict.fromkeys(MESSAGES.values(), 1)
    changed = True
    while changed:
        changed = False
        for cls in heights:
            fields = [field for field in cls.FIELDS.values() if field.is_message]
            height = 1 + max(
                (
                    heights[field.type]
                    for field in fields
                    if (field.rule == "required" and not field.oneof)
                    or (cls, field.name) in _NOT_EMPTY
                ),
                default=0,
            )
            if cls in _WRAPPERS:
                height = 1 + min(heights[field.type] for field in fields)
            if height != heights[cls]:
                heights[cls] = height
                changed = True
    return heights


_HEIGHTS: Final = _heights()


def _copy(tree: MessageT) -> tuple[MessageT, int]:
    """Return a copy of the tree that shares nothing with it, and how deep the tree is."""
    put = object.__setattr__
    copied = object.__new__(tree.__class__)
    deepest = 1
    pairs: list[tuple[Any, Any, int]] = [(tree, copied, 1)]
    while pairs:
        old, new, depth = pairs.pop()
        if depth > deepest:
            deepest = depth
        for slot in old._slots:
            value = getattr(old, slot)
            if value.__class__ in _HEIGHTS:
                child = object.__new__(value.__class__)
                pairs.append((value, child, depth + 1))
                value = child
            elif value.__class__ is list:
                items = []
                for item in value:
                    child = object.__new__(item.__class__)
                    pairs.append((item, child, depth + 1))
                    items.append(child)
                value = items
            put(new, slot, value)
    return copied, deepest


class _Function:
    """What is known of the function whose body is being read."""

    __slots__ = ("closures", "locals", "loop", "outer", "registers", "size", "upvalues", "vararg")

    def __init__(self, outer: _Function | None, vararg: bool) -> None:
        self.outer: Any = outer
        self.vararg = vararg
        self.locals = 0
        self.registers = 0
        self.closures = 0
        self.size = 0
        self.upvalues: set[_Binding] = set()
        self.loop: Any = None


class _Loop:
    """A loop around: `continued` once a continue of it has been read."""

    __slots__ = ("continued", "outer")

    def __init__(self, outer: _Loop | None) -> None:
        self.outer = outer
        self.continued = False


class _Binding:
    """A local variable: the index it was declared with, and its function."""

    __slots__ = ("function", "index", "jumped_over", "name")

    def __init__(self, name: str, index: int, function: _Function) -> None:
        self.name = name
        self.index = index
        self.function = function
        self.jumped_over = False


class _Names:
    """The names in scope of one kind; `visible` has each once, in the order of declaration."""

    def __init__(self) -> None:
        self.bindings: dict[str, list[Any]] = {}
        self.visible: list[str] = []

    def declare(self, name: str, binding: Any) -> None:
        found = self.bindings.setdefault(name, [])
        if not found:
            self.visible.append(name)
        found.append(binding)

    def forget(self, name: str) -> None:
        found = self.bindings[name]
        found.pop()
        if not found:
            self.visible.pop()  # the one declared first is forgotten last

    def get(self, name: str) -> Any:
        found = self.bindings.get(name)
        return found[-1] if found else None

    def pick(self, index: int) -> Any:
        """One that is in scope, None if none is; `index` decides."""
        if not self.visible:
            return None
        return self.bindings[self.visible[index % len(self.visible)]][-1]


_Task: TypeAlias = tuple[Any, ...]
"""A method of _Mender and its arguments: a message, its path, its depth ..., or no message."""


class _Scope:
    """What is declared between two braces, so to say: forgotten together.

    `loop` is set for the body of a repeat, whose condition sees what the body declares; `late` are
    the locals that are declared behind a continue of that loop.
    """

    __slots__ = ("declared", "late", "loop", "registers")

    def __init__(self, loop: _Loop | None = None) -> None:
        self.declared: list[tuple[_Names, str]] = []
        self.loop = loop
        self.late: list[_Binding] = []
        self.registers = 0


def _filler() -> ExprConstantNumber:
    """What stands for a missing expression: a program of numbers runs further than one of nils.

    It is 0, and not 1, because `-1` would be a constant of its own.
    """
    return ExprConstantNumber(val=0)


class _Mender:
    """One traversal: `tree` is the mended copy, `problems` what was found on the way."""

    def __init__(self, tree: Message, names: Names) -> None:
        self.names = names
        self.problems: list[Problem] = []
        self.locals = _Names()
        self.types = _Names()
        self.packs = _Names()
        self.scopes: list[_Scope] = []
        self.function = _Function(None, vararg=True)
        self.module_reachable = True
        self.self_index = names.locals.index("self") if "self" in names.locals else None
        self.any = names.primitives.index("any") if "any" in names.primitives else 0
        self.tree: Any
        self.tree, depth = _copy(tree)
        self.deepest = MAX_DEPTH if depth <= MAX_DEPTH else DEEPEST
        self.stack: list[_Task] = []
        self.open()
        self.push((_VISIT[tree.__class__], self.tree, Path(), 1))
        self.run()

    def run(self) -> None:
        stack = self.stack
        tight = self.deepest - max(_HEIGHTS.values())
        while stack:
            task = stack.pop()
            if len(task) > 3:  # a message, its path and its depth: others are about the scope
                self.function.size += 1
                if task[3] > tight:
                    self.fit(*task[1:4])
            task[0](self, *task[1:])

    def push(self, *tasks: _Task) -> None:
        self.stack.extend(reversed(tasks))

    def note(self, path: Path, rule: str, message: str) -> None:
        self.problems.append(Problem(path, rule, message))

    def fit(self, node: Message, path: Path, depth: int) -> None:
        """Take out of a message what leads too deep; it holds what must be there."""
        cls = node.__class__
        room = self.deepest - depth
        for field in cls.FIELDS.values():
            value = getattr(node, field.name)
            if not field.is_message or not value or _HEIGHTS[field.type] <= room:
                continue
            if field.rule == "repeated":
                setattr(node, field.name, [])
            elif cls in _WRAPPERS:
                self.simplify(node)
            elif field.oneof or field.rule == "optional":
                setattr(node, field.name, None)
            else:
                continue
            self.note(path, "depth", f"nested more than {self.deepest} deep below {field.name}")

    def simplify(self, node: Any) -> None:
        """Set a message that holds one of several to its simplest alternative."""
        match node:
            case Expr():
                node.number = _filler()
            case Stat():
                node.block = StatBlock()
            case Type():
                node.primitive = TypePrimitive(kind=self.any)
            case _:
                node.global_ = ExprGlobal(name=self.free_global(0, builtin=False))

    # Scopes

    def open(self, loop: _Loop | None = None) -> None:
        self.scopes.append(_Scope(loop))

    def close(self) -> None:
        scope = self.scopes.pop()
        for table, name in reversed(scope.declared):
            table.forget(name)
            if table is self.locals:
                self.function.locals -= 1
        self.function.registers -= scope.registers

    def declare(self, table: _Names, name: str, binding: Any) -> None:
        table.declare(name, binding)
        self.scopes[-1].declared.append((table, name))

    def declare_locals(self, variables: list[Local]) -> None:
        for variable in variables:
            self.bind(self.names.local(variable.name), variable.name)

    def bind(self, name: str, index: int) -> None:
        scope = self.scopes[-1]
        binding = _Binding(name, index, self.function)
        self.declare(self.locals, name, binding)
        self.function.locals += 1
        self.take_registers(1)
        if scope.loop is not None and scope.loop.continued:
            scope.late.append(binding)

    def take_registers(self, count: int) -> None:
        self.function.registers += count
        self.scopes[-1].registers += count

    def room_for_locals(self) -> int:
        function = self.function
        return min(_MAX_LOCALS - function.locals, _MAX_REGISTERS - 25 - function.registers)

    def enter_function(self, method: bool, node: ExprFunction) -> None:
        self.function = _Function(self.function, node.vararg)
        if method:
            if self.self_index is not None:
                self.bind("self", self.self_index)
            else:
                self.take_registers(1)
        self.declare_locals(node.args)

    def leave_function(self) -> None:
        self.close()
        self.function = self.function.outer

    def enter_loop(self) -> None:
        self.function.loop = _Loop(self.function.loop)

    def leave_loop(self) -> None:
        self.function.loop = self.function.loop.outer

    # References

    def usable(self, binding: _Binding | None) -> bool:
        """Whether a local can be used here; if so, every function between here and it holds it."""
        if binding is None or binding.jumped_over:
            return False
        function: Any = self.function
        while function is not binding.function and binding not in function.upvalues:
            if len(function.upvalues) >= _MAX_UPVALUES:
                return False
            function = function.outer
        function = self.function
        while function is not binding.function and binding not in function.upvalues:
            function.upvalues.add(binding)
            function = function.outer
        return True

    def pick_local(self, index: int) -> _Binding | None:
        """A local that can be used here, None if none can; `index` decides."""
        visible = self.locals.visible
        for step in range(len(visible)):
            binding: _Binding = self.locals.bindings[visible[(index + step) % len(visible)]][-1]
            if self.usable(binding):
                return binding
        return None

    def free_global(self, index: int, *, builtin: bool) -> Name:
        """A global that no local hides; `index` decides."""
        table = self.names.globals if builtin else self.names.customs
        for step in range(len(table)):
            if self.locals.get(table[(index + step) % len(table)]) is None:
                index = (index + step) % len(table) if step else index
                break
        return Name(builtin=index) if builtin else Name(custom=index)

    def local(self, node: Any, path: Path, *_: int) -> None:
        """An ExprLocal in what holds it: an Expr, ExprPrefix or LValue."""
        variable = node.alternative.var
        name = self.names.local(variable.name)
        binding = self.locals.get(name)
        if self.usable(binding):
            return
        if binding is None:
            self.note(path, "local", f"no local {name} is in scope")
        elif binding.jumped_over:
            self.note(path, "until", f"a continue jumps over the declaration of {name}")
        else:
            self.note(path, "upvalues", f"{name} would be the function's upvalue 201")
        other = self.pick_local(variable.name)
        if other is not None:
            variable.name = other.index
        else:
            builtin = node.__class__ is not LValue
            node.global_ = ExprGlobal(name=self.free_global(variable.name, builtin=builtin))

    def global_(self, node: Any, path: Path, *_: int) -> None:
        """An ExprGlobal in what holds it."""
        inner = node.alternative
        self.name(inner.name, Path(path, "name"))
        name = self.names.global_(inner.name)
        binding = self.locals.get(name)
        if binding is None:
            return
        self.note(path, "hidden", f"the global {name} is hidden by a local")
        if self.usable(binding):
            node.local = ExprLocal(var=Local(name=binding.index))
        else:
            inner.name = self.free_global(inner.name.alternative, builtin=False)

    def name(self, node: Name, path: Path, *_: int) -> None:
        if node.which is None:
            self.note(path, "unset", "no name is set")
            node.custom = 0

    # Expressions. `registers` is how many are taken where the expression's value goes.

    def expr(
        self,
        node: Expr,
        path: Path,
        depth: int,
        registers: int | None = None,
        limit: int = 0,
        after: int = 0,
        *chain: int,
    ) -> None:
        if registers is None:
            registers = self.function.registers
        while True:
            inner: Any = node.alternative
            if inner is None:
                self.note(path, "unset", "no expression is set")
                node.number = _filler()
                return
            if inner.__class__ is ExprGroup and (limit or after):
                content = inner.expr.alternative
                if content is not None and needs_parentheses(content, limit, after):
                    path = Path(path, "group")
                    self.note(path, "group", "these parentheses are there without the group")
                    path = Path(path, "expr")
                    setattr(node, inner.expr.which or "", content)
                    continue
            elif inner.__class__ is ExprUnary and inner.op == ExprUnary.Op.Minus:
                content = inner.expr.alternative
                if content.__class__ is ExprConstantNumber and content.val > 0:
                    self.note(path, "minus", f"-{content.val} is a constant of its own")
                    node.number = ExprConstantNumber(val=-content.val)
                    return
            break
        handler = _EXPRESSIONS.get(inner.__class__)
        if handler is None:
            return
        if registers > _MAX_REGISTERS:
            self.note(path, "registers", f"more than {_MAX_REGISTERS} registers are needed")
            node.number = _filler()
        elif handler in (_Mender.local, _Mender.global_, _Mender.varargs):
            handler(self, node, Path(path, node.which or ""))
        elif inner.__class__ is ExprFunction and not self.may_hold_closure(path):
            node.number = _filler()
        else:
            path = Path(path, node.which or "")
            if chain and not (inner.__class__ is ExprBinary and inner.op == ExprBinary.Op.Concat):
                chain = ()
            self.push((handler, inner, path, depth + 1, registers, limit, after, *chain))

    def prefix(self, node: Any, path: Path, depth: int, registers: int | None = None) -> None:
        """An ExprPrefix or an LValue."""
        if registers is None:
            registers = self.function.registers
        inner = node.alternative
        if inner is None:
            self.note(path, "unset", "no expression is set")
            other = self.pick_local(0)
            if other is not None:
                node.local = ExprLocal(var=Local(name=other.index))
            else:
                node.global_ = ExprGlobal(name=self.free_global(0, builtin=True))
            return
        handler = _EXPRESSIONS[inner.__class__]
        path = Path(path, node.which)
        if handler in (_Mender.local, _Mender.global_):
            handler(self, node, path)
        elif registers > _MAX_REGISTERS:
            self.note(path, "registers", f"more than {_MAX_REGISTERS} registers are needed")
            self.simplify(node)
        else:
            self.push((handler, inner, path, depth + 1, registers))

    def expressions(
        self, items: list[Expr], path: Path, name: str, depth: int, registers: int
    ) -> list[_Task]:
        """Tasks for expressions whose values go side by side: their registers are taken first."""
        registers += len(items)
        return [
            (_Mender.expr, item, Path(path, name, index), depth, registers)
            for index, item in enumerate(items)
        ]

    def shorten(self, node: Message, name: str, room: int, path: Path, rule: str) -> None:
        """Leave no more items in a list than there is room for."""
        items = getattr(node, name)
        room = max(room, 0)
        if len(items) > room:
            self.note(path, rule, f"{name} has {len(items)} items, but there is room for {room}")
            setattr(node, name, items[:room])

    def varargs(self, node: Expr, path: Path, *_: int) -> None:
        if not self.function.vararg:
            self.note(path, "vararg", "the function around has no ...")
            node.number = _filler()

    def group(self, node: ExprGroup, path: Path, depth: int, registers: int = 0, *_: int) -> None:
        self.expr_at(node.expr, Path(path, "expr"), depth + 1, registers)

    def expr_at(self, *arguments: Any) -> None:
        self.push((_Mender.expr, *arguments))

    def type_string(self, node: TypeString, path: Path, *_: int) -> None:
        if "\0" in node.val:
            self.note(path, "string", "a string type cannot hold a zero byte")
            node.val = node.val.replace("\0", "")
        self.string(node, path)

    def string(self, node: Any, path: Path, *_: int) -> None:
        if not node.val.isascii():
            decoded = string_bytes(node.val).decode("utf-8", "surrogateescape")
            if decoded != node.val:
                self.note(path, "string", "some bytes of the string are UTF-8, but not decoded")
                node.val = decoded

    def call(self, node: ExprCall, path: Path, depth: int, registers: int = 0, *_: int) -> None:
        if node.self_ and node.func.which != "index_name":
            self.note(path, "self", "a call with self calls a field by name")
            node.self_ = False
        first = registers + 1 + node.self_
        self.shorten(node, "args", _MAX_REGISTERS - first, path, "registers")
        self.push(
            (_Mender.prefix, node.func, Path(path, "func"), depth + 1, registers + 1),
            *self.expressions(node.args, path, "args", depth + 1, first),
        )

    def index_name(
        self, node: ExprIndexName, path: Path, depth: int, registers: int = 0, *_: int
    ) -> None:
        self.name(node.index, Path(path, "index"))
        self.push((_Mender.prefix, node.expr, Path(path, "expr"), depth + 1, registers + 1))

    def index_expr(
        self, node: ExprIndexExpr, path: Path, depth: int, registers: int = 0, *_: int
    ) -> None:
        self.push(
            (_Mender.prefix, node.expr, Path(path, "expr"), depth + 1, registers + 1),
            (_Mender.expr, node.index, Path(path, "index"), depth + 1, registers + 2),
        )

    def table(self, node: ExprTable, path: Path, depth: int, registers: int = 0, *_: int) -> None:
        # Luau moves the items without a key into the table 16 at a time
        without_key = sum(item.which is None for item in node.items)
        registers += 1 + min(without_key, 16)
        self.push(
            *(
                (_Mender.table_item, item, Path(path, "items", index), depth + 1, registers)
                for index, item in enumerate(node.items)
            )
        )

    def table_item(self, node: TableItem, path: Path, depth: int, registers: int = 0) -> None:
        if node.which == "key_name":
            self.name(node.alternative, Path(path, "key_name"))
        elif node.which == "key_expr":
            key = Path(path, "key_expr")
            self.push((_Mender.expr, node.alternative, key, depth + 1, registers + 1))
            registers += 1
        self.push((_Mender.expr, node.value, Path(path, "value"), depth + 1, registers + 1))

    def unary(
        self,
        node: ExprUnary,
        path: Path,
        depth: int,
        registers: int = 0,
        _: int = 0,
        after: int = 0,
    ) -> None:
        self.expr_at(node.expr, Path(path, "expr"), depth + 1, registers + 1, UNARY_PRIORITY, after)

    def binary(
        self,
        node: ExprBinary,
        path: Path,
        depth: int,
        registers: int = 0,
        _: int = 0,
        after: int = 0,
        chain: int = 0,
    ) -> None:
        left, right = BINARY[node.op][1:]
        for_left, for_right = registers + 1, registers + 2
        if node.op in (ExprBinary.Op.And, ExprBinary.Op.Or):
            for_right = registers  # the result goes where the right operand's value goes
        if node.op == ExprBinary.Op.Concat:
            # `a .. b .. c` is one operation, which takes the registers of its operands first
            if not chain:
                chain = self.concatenated(node, path, registers)
                registers += chain
            for_left = for_right = registers
        self.push(
            (_Mender.expr, node.left, Path(path, "left"), depth + 1, for_left, 0, left),
            (_Mender.expr, node.right, Path(path, "right"), depth + 1, for_right, right, after)
            + ((chain,) if chain else ()),
        )

    def concatenated(self, node: ExprBinary, path: Path, registers: int) -> int:
        """How many operands a chain of concatenations has, of which no more are left than fit."""
        room = _MAX_REGISTERS - registers
        count = 2
        while True:
            inner: Any = node.right.alternative
            if inner.__class__ is not ExprBinary or inner.op != ExprBinary.Op.Concat:
                return count
            if count >= room:
                self.note(path, "registers", f"the {count + 1}th operand has no register left")
                self.simplify(node.right)
                return count
            node = inner
            count += 1

    def if_else(
        self, node: ExprIfElse, path: Path, depth: int, registers: int = 0, *_: int
    ) -> None:
        if node.which is None:
            self.note(path, "else", "the if-expression has no else")
            node.else_ = Expr(number=_filler())
        handler = _Mender.expr if node.which == "else_" else _Mender.if_else
        other = Path(path, node.which or "")
        self.push(
            (_Mender.expr, node.cond, Path(path, "cond"), depth + 1, registers + 1),
            (_Mender.expr, node.then, Path(path, "then"), depth + 1, registers),
            (handler, node.alternative, other, depth + 1, registers),
        )

    def interpolation(
        self, node: ExprInterpString, path: Path, depth: int, registers: int = 0, *_: int
    ) -> None:
        parts: list[Expr] = []
        tasks: list[_Task] = []
        first = registers + 3
        texts: list[str] = []

        def end_text() -> None:
            if len(texts) > 1:
                text: Any = parts[-1].alternative
                text.val = "".join(texts)
                self.string(text, path)
            texts.clear()

        for index, part in enumerate(node.parts):
            here = Path(path, "parts", index)
            if part.which == "string":
                text: Any = part.alternative
                self.string(text, here)
                if not text.val or texts:
                    what = "comes right after text" if texts else "is empty"
                    self.note(here, "interpolation", f"the text {what}")
                else:
                    parts.append(part)
                texts += [text.val] if text.val else []
            elif first + len(tasks) >= _MAX_REGISTERS:
                self.note(here, "registers", "the string has more values than registers are left")
            else:
                end_text()
                parts.append(part)
                tasks.append((_Mender.expr, part, here, depth + 1))
        end_text()
        if len(parts) < len(node.parts):
            node.parts = parts
        registers = first + len(tasks)
        self.push(*((*task, registers) for task in tasks))

    # Functions

    def may_hold_closure(self, path: Path) -> bool:
        self.function.closures += 1
        if self.function.closures <= _MAX_CLOSURES:
            return True
        self.note(path, "closures", f"the function makes more than {_MAX_CLOSURES} functions")
        return False

    def expr_function(self, node: ExprFunction, path: Path, depth: int, *_: int) -> None:
        self.function_body(node, path, depth)

    def function_body(
        self, node: ExprFunction, path: Path, depth: int, method: bool = False
    ) -> None:
        self.open()
        self.generics(node, path)
        self.shorten(node, "args", _MAX_LOCALS - method, path, "locals")
        self.distinct(node, "args", "name", self.names.locals, path, {"self"} if method else set())
        self.shorten(node, "types", len(node.args) + node.vararg, path, "types")
        self.push(
            *self.types_of(node.types, path, "types", depth + 1),
            *self.types_of(node.rettypes, path, "rettypes", depth + 1),
            (_Mender.enter_function, method, node),
            (_Mender.block, node.body, Path(path, "body"), depth + 1),
            (_Mender.leave_function,),
        )

    def generics(self, node: Any, path: Path) -> None:
        """Declare the generics and the generic packs of a function, a type or a function type."""
        seen: set[str] = set()
        for field, table in (("generics", self.types), ("genericpacks", self.packs)):
            self.distinct(node, field, "index", self.names.types, path, seen)
            for variable in getattr(node, field):
                self.declare(table, self.names.type(variable.index), variable.index)

    def distinct(
        self,
        node: Message,
        field: str,
        attribute: str,
        table: tuple[str, ...],
        path: Path,
        seen: set[str],
    ) -> None:
        """Give the variables of a list different names, none that was seen, and see them."""
        kept = []
        free = iter(range(len(table)))
        variables = getattr(node, field)
        taken = {table[getattr(variable, attribute) % len(table)] for variable in variables}
        for position, variable in enumerate(variables):
            name = table[getattr(variable, attribute) % len(table)]
            if name in seen:
                self.note(Path(path, field, position), "duplicate", f"{name} is there already")
                index = next(
                    (i for i in free if table[i] not in seen and table[i] not in taken), None
                )
                if index is None:
                    continue
                setattr(variable, attribute, index)
                name = table[index]
            seen.add(name)
            kept.append(variable)
        if len(kept) < len(variables):
            setattr(node, field, kept)

    # Statements

    def block(
        self, node: StatBlock, path: Path, depth: int, loop: _Loop | None = None, *after: _Task
    ) -> None:
        """Visit the statements in a scope of their own, and then what `after` says, in it too.

        `loop` is the repeat whose body the block is.
        """
        self.open(loop)
        body = node.body
        for statement in body:
            if statement.which == "type_alias":
                index = statement.alternative.name.index
                self.declare(self.types, self.names.type(index), index)
        last = len(body) - 1
        self.push(
            *(
                (_Mender.stat, statement, Path(path, "body", index), depth + 1, index == last)
                for index, statement in enumerate(body)
            ),
            *after,
            (_Mender.close,),
        )

    def stat(self, node: Stat, path: Path, depth: int, last: bool = True) -> None:
        function = self.function
        which = node.which
        inner: Any = node.alternative
        if which is None:
            self.note(path, "unset", "no statement is set")
            node.block = StatBlock()
            return
        if function.size > _MAX_SIZE:
            self.note(path, "size", f"the function holds more than {_MAX_SIZE} messages")
            node.block = StatBlock()
            return
        inside = Path(path, which)
        depth += 1
        if which in ("break_", "continue_", "return_"):
            if which != "return_" and function.loop is None:
                self.note(path, "loop", f"no loop is around this {which[:-1]}")
                node.block = StatBlock()
                return
            if which == "continue_" and function.loop is not None:
                function.loop.continued = True
            if not last:
                self.note(path, "last", f"statements follow this {which[:-1]}")
                if depth + 1 + _HEIGHTS[inner.__class__] > self.deepest:
                    node.block = StatBlock()
                    return
                node.block = StatBlock(body=[Stat(**{which: inner})])
                depth += 2
            if which != "return_":
                return
        elif which in _DECLARE and self.room_for_locals() < _DECLARE[which]:
            inner = self.without_locals(node, path)
            if inner is None:
                return
            inside = Path(path, node.which or "")
        if which == "require_into_local":
            self.require(node, path, depth - 1)
            return
        handler = _STATEMENTS[inner.__class__]
        if handler in (_Mender.function_statement, _Mender.local_function) and (
            not self.may_hold_closure(path)
        ):
            node.block = StatBlock()
            return
        self.push((handler, inner, inside, depth))

    def without_locals(self, node: Stat, path: Path) -> Message | None:
        """Mend a declaration where the function can hold no more locals."""
        self.note(path, "locals", "the function has as many local variables as it can have")
        inner: Any = node.alternative
        match inner:
            case StatFor() | StatForIn():
                node.block = inner.body
            case StatLocal() if inner.vars and inner.values:
                node.assign = StatAssign(
                    vars=[
                        LValue(global_=ExprGlobal(name=Name(custom=variable.name)))
                        for variable in inner.vars
                    ],
                    values=inner.values,
                )
            case StatLocalFunction():
                name = Name(custom=inner.var.name)
                node.function = StatFunction(
                    var=LValue(global_=ExprGlobal(name=name)), func=inner.func, self_=False
                )
            case _:
                node.block = StatBlock()
                return None
        instead: Message = node.alternative
        return instead

    def in_loop(self, node: StatBlock, path: Path, depth: int) -> tuple[_Task, ...]:
        return (
            (_Mender.enter_loop,),
            (_Mender.block, node, Path(path, "body"), depth + 1),
            (_Mender.leave_loop,),
        )

    def if_(self, node: StatIf, path: Path, depth: int) -> None:
        tasks: list[_Task] = [
            (_Mender.expr, node.cond, Path(path, "cond"), depth + 1),
            (_Mender.block, node.then, Path(path, "then"), depth + 1),
        ]
        if node.which is not None:
            handler = _Mender.block if node.which == "else_" else _Mender.if_
            tasks.append((handler, node.alternative, Path(path, node.which), depth + 1))
        self.push(*tasks)

    def while_(self, node: StatWhile, path: Path, depth: int) -> None:
        self.push(
            (_Mender.expr, node.cond, Path(path, "cond"), depth + 1),
            *self.in_loop(node.body, path, depth),
        )

    def repeat(self, node: StatRepeat, path: Path, depth: int) -> None:
        self.enter_loop()
        end: list[_Task] = [
            (_Mender.end_repeat,),
            (_Mender.expr, node.cond, Path(path, "cond"), depth + 1),
        ]
        body = Path(path, "body")
        self.push((_Mender.block, node.body, body, depth + 1, self.function.loop, *end))

    def end_repeat(self) -> None:
        """Between the body of a repeat and its condition."""
        self.leave_loop()
        scope = self.scopes[-1]
        scope.loop = None
        for binding in scope.late:
            binding.jumped_over = True

    def return_(self, node: StatReturn, path: Path, depth: int) -> None:
        registers = self.function.registers
        self.shorten(node, "list", _MAX_REGISTERS - registers, path, "registers")
        self.push(*self.expressions(node.list, path, "list", depth + 1, registers))

    def call_statement(self, node: StatCall, path: Path, depth: int) -> None:
        registers = self.function.registers
        self.push((_Mender.call, node.expr, Path(path, "expr"), depth + 1, registers))

    def not_empty(self, items: list[Any], filler: Message, path: Path, name: str) -> None:
        if not items:
            self.note(path, "empty", f"{name} is empty")
            items.append(filler)

    def local_statement(self, node: StatLocal, path: Path, depth: int) -> None:
        self.not_empty(node.vars, Local(name=0), path, "vars")
        self.shorten(node, "vars", self.room_for_locals(), path, "locals")
        self.shorten(node, "types", len(node.vars), path, "types")
        registers = self.function.registers
        room = max(_MAX_REGISTERS - registers - len(node.vars), len(node.vars))
        self.shorten(node, "values", room, path, "registers")
        self.push(
            *self.types_of(node.types, path, "types", depth + 1),
            *self.expressions(node.values, path, "values", depth + 1, registers + len(node.vars)),
            (_Mender.declare_locals, node.vars),
        )

    def for_(self, node: StatFor, path: Path, depth: int) -> None:
        bounds = [(node.from_, "from_"), (node.to, "to")]
        bounds += [] if node.step is None else [(node.step, "step")]
        registers = self.function.registers
        self.push(
            *(
                (_Mender.expr, bound, Path(path, name), depth + 1, registers + index)
                for index, (bound, name) in enumerate(bounds)
            ),
            *self.loop_over([node.var], node.body, path, depth),
        )

    def for_in(self, node: StatForIn, path: Path, depth: int) -> None:
        self.not_empty(node.vars, Local(name=0), path, "vars")
        self.not_empty(node.values, Expr(table=ExprTable()), path, "values")
        self.shorten(node, "vars", self.room_for_locals(), path, "locals")
        registers = self.function.registers
        self.shorten(node, "values", _MAX_REGISTERS - registers, path, "registers")
        self.push(
            *self.expressions(node.values, path, "values", depth + 1, registers),
            *self.loop_over(node.vars, node.body, path, depth),
        )

    def loop_over(
        self, variables: list[Local], body: StatBlock, path: Path, depth: int
    ) -> tuple[_Task, ...]:
        return (
            (_Mender.open,),
            (_Mender.take_registers, 3),  # Luau's own: the bounds, or the iterator and its state
            (_Mender.declare_locals, variables),
            *self.in_loop(body, path, depth),
            (_Mender.close,),
        )

    def assign(self, node: StatAssign, path: Path, depth: int) -> None:
        self.not_empty(node.vars, LValue(), path, "vars")
        self.not_empty(node.values, Expr(number=_filler()), path, "values")
        room = _MAX_REGISTERS - self.function.registers
        self.shorten(node, "vars", room // 3, path, "registers")
        self.shorten(node, "values", max(room - 3 * len(node.vars), 1), path, "registers")
        registers = self.function.registers
        self.push(
            *(
                (_Mender.prefix, var, Path(path, "vars", index), depth + 1, registers + 3 * index)
                for index, var in enumerate(node.vars)
            ),
            *self.expressions(
                node.values, path, "values", depth + 1, registers + 3 * len(node.vars)
            ),
        )

    def compound_assign(self, node: StatCompoundAssign, path: Path, depth: int) -> None:
        registers = self.function.registers
        self.push(
            (_Mender.prefix, node.var, Path(path, "var"), depth + 1, registers),
            (_Mender.expr, node.value, Path(path, "value"), depth + 1, registers + 3),
        )

    def function_statement(self, node: StatFunction, path: Path, depth: int) -> None:
        self.function_name(node.var, Path(path, "var"))
        if node.self_ and node.var.which != "index_name":
            self.note(path, "self", "a method's name is a field")
            node.self_ = False
        self.push(
            (_Mender.prefix, node.var, Path(path, "var"), depth + 1),
            (_Mender.function_body, node.func, Path(path, "func"), depth + 1, node.self_),
        )

    def function_name(self, node: Any, path: Path) -> None:
        """Leave variables and fields in the name of a function statement."""
        while node.which is not None and node.which not in ("local", "global_"):
            inner: Any = node.alternative
            match inner:
                case ExprIndexName():
                    path = Path(Path(path, "index_name"), "expr")
                    node = inner.expr
                    continue
                case ExprIndexExpr():
                    node.index_name = ExprIndexName(expr=inner.expr, index=Name(custom=0))
                case ExprCall():
                    self.replace(node, inner.func)
                case _:
                    self.replace(node, inner.expr)
            self.note(path, "function-name", "a function's name is a variable and its fields")

    def replace(self, node: Any, other: Any) -> None:
        """Let `node` hold what `other` holds, nothing if it cannot hold that."""
        if other.which in node.FIELDS:
            setattr(node, other.which, other.alternative)
        else:
            setattr(node, node.which, None)

    def local_function(self, node: StatLocalFunction, path: Path, depth: int) -> None:
        self.declare_locals([node.var])
        self.push((_Mender.function_body, node.func, Path(path, "func"), depth + 1))

    def type_alias(self, node: StatTypeAlias, path: Path, depth: int) -> None:
        self.open()
        self.generics(node, path)
        self.push((_Mender.type_, node.type, Path(path, "type"), depth + 1), (_Mender.close,))

    # Types

    def types_of(self, types: Iterable[Type], path: Path, name: str, depth: int) -> list[_Task]:
        return [
            (_Mender.type_, item, Path(path, name, index), depth)
            for index, item in enumerate(types)
        ]

    def type_(self, node: Type, path: Path, depth: int) -> None:
        inner: Any = node.alternative
        if inner is None:
            self.note(path, "unset", "no type is set")
            self.simplify(node)
            return
        here = Path(path, node.which or "")
        if inner.__class__ is TypeLiteral:
            self.type_literal(node, inner, here, depth + 1)
        elif inner.__class__ is TypeRef:
            self.type_ref(node, inner, here)
        elif inner.__class__ in _TYPES:
            self.push((_TYPES[inner.__class__], inner, here, depth + 1))

    def type_literal(self, node: Type, inner: TypeLiteral, path: Path, depth: int) -> None:
        name = self.names.type(inner.name.index)
        if self.types.get(name) is None and name not in _TYPE_FUNCTIONS:
            self.note(path, "type", f"no type {name} is in scope")
            index = self.types.pick(inner.name.index)
            if index is None:
                self.simplify(node)
                return
            inner.name.index = index
        packs = []
        for position, pack in enumerate(inner.genericpacks):
            name = self.names.type(pack.index)
            if self.packs.get(name) is None:
                here = Path(path, "genericpacks", position)
                self.note(here, "type", f"no generic pack {name} is in scope")
                index = self.packs.pick(pack.index)
                if index is None:
                    continue
                pack.index = index
            packs.append(pack)
        if len(packs) < len(inner.genericpacks):
            inner.genericpacks = packs
        self.push(*self.types_of(inner.generics, path, "generics", depth + 1))

    def type_ref(self, node: Type, inner: TypeRef, path: Path) -> None:
        name = self.names.local(inner.prefix.name)
        if self.locals.get(name) is None:
            self.note(path, "local", f"no local {name} is in scope")
            other = self.locals.pick(inner.prefix.name)
            if other is None:
                self.simplify(node)
            else:
                inner.prefix.name = other.index

    def type_table(self, node: TypeTable, path: Path, depth: int) -> None:
        tasks: list[_Task] = [
            (_Mender.type_item, item, Path(path, "items", index), depth + 1)
            for index, item in enumerate(node.items)
        ]
        if node.indexer is not None:
            here = Path(path, "indexer")
            tasks.append((_Mender.type_indexer, node.indexer, here, depth + 1))
        self.push(*tasks)

    def type_item(self, node: TypeTableItem, path: Path, depth: int) -> None:
        self.name(node.key, Path(path, "key"))
        self.push((_Mender.type_, node.type, Path(path, "type"), depth + 1))

    def type_indexer(self, node: TypeTableIndexer, path: Path, depth: int) -> None:
        self.push(
            (_Mender.type_, node.key, Path(path, "key"), depth + 1),
            (_Mender.type_, node.value, Path(path, "value"), depth + 1),
        )

    def type_function(self, node: TypeFunction, path: Path, depth: int) -> None:
        self.open()
        self.generics(node, path)
        self.push(
            *self.types_of(node.args, path, "args", depth + 1),
            *self.types_of(node.rets, path, "rets", depth + 1),
            (_Mender.close,),
        )

    def typeof(self, node: TypeTypeof, path: Path, depth: int) -> None:
        self.push((_Mender.expr, node.expr, Path(path, "expr"), depth + 1))

    def junction(self, node: TypeUnion | TypeIntersection, path: Path, depth: int) -> None:
        self.push(
            (_Mender.type_, node.left, Path(path, "left"), depth + 1),
            (_Mender.type_, node.right, Path(path, "right"), depth + 1),
        )

    # The top

    def module_set(self, node: ModuleSet, path: Path, depth: int) -> None:
        program = (_Mender.program, node.program, Path(path, "program"), depth + 1)
        module = node.module
        if module is None:
            self.module_reachable = False
            self.push(program)
            return
        here = Path(path, "module")
        last = module.body[-1].alternative if module.body else None
        if not isinstance(last, StatReturn):
            self.note(here, "module", "the module does not end with a return")
            module.body.append(Stat(return_=StatReturn(list=[Expr(table=ExprTable())])))
        elif len(last.list) != 1:
            self.note(here, "module", f"the module returns {len(last.list)} values")
            last.list = last.list[:1] or [Expr(table=ExprTable())]
        self.module_reachable = False  # from within itself
        self.push((_Mender.block, module, here, depth + 1), program)

    def program(self, node: StatBlock, path: Path, depth: int) -> None:
        self.function = _Function(None, vararg=True)
        self.module_reachable = isinstance(self.tree, ModuleSet) and self.tree.module is not None
        self.block(node, path, depth)

    def require(self, node: Stat, path: Path, depth: int) -> None:
        """A StatRequireIntoLocalHelper in its Stat."""
        inner: Any = node.alternative
        here = Path(path, "require_into_local")
        if not self.module_reachable:
            self.note(here, "require", "no module can be reached from here")
            values = [Expr(table=ExprTable())] if depth + 3 <= self.deepest else []
            node.local = StatLocal(vars=[inner.var], values=values)
        elif inner.modulenum != 0:
            self.note(here, "require", f"there is no module {inner.modulenum}, only 0")
            inner.modulenum = 0
        self.declare_locals([inner.var])


_EXPRESSIONS: Final[Mapping[type, Callable[..., None]]] = {
    ExprLocal: _Mender.local,
    ExprGlobal: _Mender.global_,
    ExprVarargs: _Mender.varargs,
    ExprConstantString: _Mender.string,
    ExprGroup: _Mender.group,
    ExprCall: _Mender.call,
    ExprIndexName: _Mender.index_name,
    ExprIndexExpr: _Mender.index_expr,
    ExprFunction: _Mender.expr_function,
    ExprTable: _Mender.table,
    ExprUnary: _Mender.unary,
    ExprBinary: _Mender.binary,
    ExprIfElse: _Mender.if_else,
    ExprInterpString: _Mender.interpolation,
}

_STATEMENTS: Final[Mapping[type, Callable[..., None]]] = {
    StatBlock: _Mender.block,
    StatIf: _Mender.if_,
    StatWhile: _Mender.while_,
    StatRepeat: _Mender.repeat,
    StatReturn: _Mender.return_,
    StatCall: _Mender.call_statement,
    StatLocal: _Mender.local_statement,
    StatFor: _Mender.for_,
    StatForIn: _Mender.for_in,
    StatAssign: _Mender.assign,
    StatCompoundAssign: _Mender.compound_assign,
    StatFunction: _Mender.function_statement,
    StatLocalFunction: _Mender.local_function,
    StatTypeAlias: _Mender.type_alias,
}

_TYPES: Final[Mapping[type, Callable[..., None]]] = {
    TypeTable: _Mender.type_table,
    TypeFunction: _Mender.type_function,
    TypeTypeof: _Mender.typeof,
    TypeUnion: _Mender.junction,
    TypeIntersection: _Mender.junction,
    TypeString: _Mender.type_string,
}

_VISIT: Final[Mapping[type, Callable[..., None]]] = {
    **dict.fromkeys(MESSAGES.values(), lambda *_: None),
    **_STATEMENTS,
    **_TYPES,
    **{
        cls: handler
        for cls, handler in _EXPRESSIONS.items()
        if cls not in (ExprLocal, ExprGlobal, ExprVarargs)
    },
    Expr: _Mender.expr,
    ExprPrefix: _Mender.prefix,
    LValue: _Mender.prefix,
    TableItem: _Mender.table_item,
    Name: _Mender.name,
    Stat: _Mender.stat,
    Type: _Mender.type_,
    TypeTableItem: _Mender.type_item,
    TypeTableIndexer: _Mender.type_indexer,
    ModuleSet: _Mender.module_set,
}
"""How to begin at a message of each kind; what can only be judged in a message around it, or holds
nothing that could be wrong, is left."""
