"""Scope analysis: what is visible at each point of a traversal.

This includes locals, types, the enclosing function and loop, and varargs (`...`). The caller passes
declarations to `Scope` in program order, and `Scope` tracks what is currently visible.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from scriptschema import messages as m
from scriptschema.base import Message
from scriptschema.luau.names import DEFAULT, Names

MAX_LOCALS: Final = 200
MAX_UPVALUES: Final = 200
MAX_REGISTERS: Final = 245  # Luau has 255; a single operation needs up to five temporarily
MAX_CLOSURES: Final = 32768
MAX_SIZE: Final = 2_000_000  # far below the limits of the longest jump and of constants
"""The limits of Luau's compiler for one function (Compiler.cpp, BytecodeBuilder.h), or lower."""


class Loop:
    """A loop that encloses the current position. `continued` is set after its first `continue`."""

    __slots__ = ("continued", "outer")

    def __init__(self, outer: Loop | None) -> None:
        self.outer = outer
        self.continued = False


class Function:
    """A function that encloses the current position, and what it uses of what Luau limits.

    `outer` is the next enclosing function, or None for a main function. `loop` is the function's
    innermost loop around the current position, or None. `module` is true for the main function of
    the module. `depth` is the number of enclosing functions.

    `locals` and `registers` count those in use at the current position. `upvalues` contains the
    locals of outer functions that the function captures. `closures` counts the closures that the
    function creates, and `size` the messages that it consists of.
    """

    __slots__ = (
        *("depth", "loop", "module", "outer", "vararg"),
        *("closures", "locals", "registers", "size", "upvalues"),
    )

    def __init__(self, outer: Function | None, vararg: bool) -> None:
        self.outer: Any = outer
        self.vararg = vararg
        self.module = False
        self.depth: int = outer.depth + 1 if outer is not None else 0
        self.loop: Any = None
        self.locals = self.registers = self.closures = self.size = 0
        self.upvalues: set[Any] = set()

    def room_for_locals(self) -> int:
        """Return how many more locals are allowed. Some registers are kept free for expressions."""
        return min(MAX_LOCALS - self.locals, MAX_REGISTERS - 25 - self.registers)


class Binding:
    """A local variable: its name, the index it was declared with, and its function.

    `jumped_over` is true if a `continue` skips the declaration, so that the condition of the repeat
    loop cannot use the variable. `constant` is the declaration of a constant, or None for a
    variable.
    """

    __slots__ = ("constant", "function", "index", "jumped_over", "name")

    def __init__(self, name: str, index: int, function: Function) -> None:
        self.name = name
        self.index = index
        self.function = function
        self.jumped_over = False
        self.constant: Message | None = None


class NameTable:
    """The locals, or the types and generic packs, that are in scope.

    `visible` has each name once, in order of declaration. A local is bound to its Binding, a type
    or a generic pack to the index of its Typename.
    """

    __slots__ = ("bindings", "visible")

    def __init__(self) -> None:
        self.bindings: dict[str, list[Any]] = {}
        self.visible: list[str] = []

    def declare(self, name: str, binding: Any) -> None:
        """Bring a name into scope. It shadows earlier declarations of the same name."""
        hidden = self.bindings.setdefault(name, [])
        if not hidden:
            self.visible.append(name)
        hidden.append(binding)

    def forget(self, name: str) -> None:
        """End the scope of `name`, which must be the name that was declared last."""
        declarations = self.bindings[name]
        declarations.pop()
        if not declarations:
            self.visible.pop()  # names are forgotten in reverse order of declaration

    def get(self, name: str) -> Any:
        """Return the binding that a name has here, or None if it is not in scope."""
        declarations = self.bindings.get(name)
        return declarations[-1] if declarations else None

    def pick(self, index: int) -> Any:
        """Return a binding in scope, selected by `index`, or None if nothing is in scope."""
        if not self.visible:
            return None
        return self.bindings[self.visible[index % len(self.visible)]][-1]


class _Frame:
    """The declarations of a block, whose scope ends with the block.

    `loop` is the repeat loop whose body the block is: its condition can use the declarations.
    `late` contains the locals that are declared after a `continue` of that loop.
    """

    __slots__ = ("declared", "late", "loop", "registers")

    def __init__(self, loop: Loop | None = None) -> None:
        self.declared: list[tuple[NameTable, str]] = []
        self.loop = loop
        self.late: list[Binding] = []
        self.registers = 0


class Scope:
    """The names that are visible at the current position of a traversal.

    `locals` and `types` are the names in scope. `function` is the enclosing function. `names`
    determines which indexes have the same name.
    """

    def __init__(self, names: Names = DEFAULT) -> None:
        self.names = names
        self.locals = NameTable()
        self.types = NameTable()
        self.function = Function(None, vararg=True)
        self.type_function = 0
        """The depth of the innermost type function, or 0 outside of type functions."""
        self._typeofs = 0
        self._frames: list[_Frame] = []
        self._self = names.locals.index("self") if "self" in names.locals else None
        self.open()

    # Frames

    def open(self, loop: Loop | None = None) -> None:
        """Begin a scope. If the scope is the body of a repeat loop, `loop` is that loop."""
        self._frames.append(_Frame(loop))

    def close(self) -> None:
        """End the innermost scope. Its declarations are no longer visible."""
        frame = self._frames.pop()
        for table, name in reversed(frame.declared):
            table.forget(name)
            if table is self.locals:
                self.function.locals -= 1
        self.function.registers -= frame.registers

    def take_registers(self, count: int) -> None:
        """Reserve `count` registers of the function until the end of the innermost scope."""
        self.function.registers += count
        self._frames[-1].registers += count

    @property
    def in_chunk(self) -> bool:
        """Return whether the current block is the top level of a source."""
        return len(self._frames) <= 2 and self.function.outer is None

    # Declarations

    def declare_local(self, name: str, index: int) -> Binding:
        """Bring a local into scope. Return its binding."""
        frame = self._frames[-1]
        binding = Binding(name, index, self.function)
        self.locals.declare(name, binding)
        frame.declared.append((self.locals, name))
        self.function.locals += 1
        self.take_registers(1)
        if frame.loop is not None and frame.loop.continued:
            frame.late.append(binding)
        return binding

    def declare_locals(self, variables: Iterable[m.Local]) -> None:
        """Bring locals into scope, in order."""
        for variable in variables:
            self.declare_local(self.names.local(variable.name), variable.name)

    def declare_type(self, index: int) -> None:
        """Bring a type alias or a generic type into scope."""
        name = self.names.type(index)
        self.types.declare(name, index)
        self._frames[-1].declared.append((self.types, name))

    def declare_aliases(self, block: m.StatBlock) -> None:
        """Bring all type aliases of a block into scope. Called at the beginning of the block."""
        for statement in block.body:
            if statement.which in ("type_alias", "type_function"):
                self.declare_type(statement.alternative.name.index)

    # Functions and loops

    def enter_function(self, node: m.ExprFunction, method: bool) -> None:
        """Enter a function's body, in the scope that was opened for its generics."""
        self.function = Function(self.function, node.vararg)
        if method:
            if self._self is not None:
                self.declare_local("self", self._self)
            else:
                self.take_registers(1)
        self.declare_locals(node.args)

    def leave_function(self) -> None:
        """Leave a function's body and end its scope."""
        self.close()
        self.function = self.function.outer

    def enter_loop(self) -> None:
        """Enter a loop's body."""
        self.function.loop = Loop(self.function.loop)

    def leave_loop(self) -> None:
        """Leave a loop's body."""
        self.function.loop = self.function.loop.outer

    def end_repeat_body(self) -> None:
        """Go from the body of a repeat to its condition, which is still in the body's scope."""
        self.leave_loop()
        frame = self._frames[-1]
        frame.loop = None
        for binding in frame.late:
            binding.jumped_over = True

    # References

    def enter_typeof(self) -> None:
        """Enter the expression of a `typeof` type, which is used only for its type."""
        self._typeofs += 1

    def leave_typeof(self) -> None:
        """Leave the expression of a `typeof` type."""
        self._typeofs -= 1

    def usable(self, binding: Binding | None) -> bool:
        """Return whether a local can be used here. If so, make it an upvalue where necessary."""
        if binding is None or binding.function.depth < self.type_function:
            return False
        if self._typeofs:  # the compiler ignores types
            return True
        if binding.jumped_over:
            return False
        function: Any = self.function
        while function is not binding.function and binding not in function.upvalues:
            if len(function.upvalues) >= MAX_UPVALUES:
                return False
            function = function.outer
        function = self.function
        while function is not binding.function and binding not in function.upvalues:
            function.upvalues.add(binding)
            function = function.outer
        return True

    def pick_local(self, index: int) -> Binding | None:
        """Return a usable local, selected by `index`, or None if no local is usable here."""
        visible = self.locals.visible
        for step in range(len(visible)):
            binding: Binding = self.locals.bindings[visible[(index + step) % len(visible)]][-1]
            if self.usable(binding):
                return binding
        return None

    def free_global(self, index: int, *, builtin: bool) -> m.Name:
        """Return the name of a global, selected by `index`. If possible, no local shadows it."""
        table = self.names.globals if builtin else self.names.customs
        for step in range(len(table)):
            if self.locals.get(table[(index + step) % len(table)]) is None:
                index = (index + step) % len(table) if step else index
                break
        return m.Name(builtin=index) if builtin else m.Name(custom=index)
