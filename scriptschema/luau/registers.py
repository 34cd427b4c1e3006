"""The limits of Luau's compiler for one function, such as the maximum number of registers.

`Usage` counts what a function uses. The limits are those of Luau's compiler (Compiler.cpp,
BytecodeBuilder.h), or lower.
"""

from __future__ import annotations

from typing import Any, Final

MAX_LOCALS: Final = 200
MAX_UPVALUES: Final = 200
MAX_REGISTERS: Final = 245  # Luau has 255; a single operation needs up to five temporarily
MAX_CLOSURES: Final = 32768
MAX_SIZE: Final = 2_000_000  # far below the limits of the longest jump and of constants


class Usage:
    """Counts what a function uses, to compare it with the limits.

    `locals` and `registers` count those in use at the current position. `upvalues` contains the
    locals of outer functions that the function captures. `closures` counts the closures that the
    function creates, and `size` the messages that it consists of.
    """

    __slots__ = ("closures", "locals", "registers", "size", "upvalues")

    def __init__(self) -> None:
        self.locals = 0
        self.registers = 0
        self.closures = 0
        self.size = 0
        self.upvalues: set[Any] = set()

    def room_for_locals(self) -> int:
        """Return how many more locals are allowed. Some registers are kept free for expressions."""
        return min(MAX_LOCALS - self.locals, MAX_REGISTERS - 25 - self.registers)

    def takes_another_closure(self) -> bool:
        """Count another closure that the function creates. Return whether the limit allows it."""
        self.closures += 1
        return self.closures <= MAX_CLOSURES

    def is_too_large(self) -> bool:
        """Return whether the function has so many messages that Luau may fail to compile it."""
        return self.size > MAX_SIZE
