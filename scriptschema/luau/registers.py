"""Register pressure: what Luau's compiler allows in one function, and how much of it is used.

The limits are those of Luau's compiler (Compiler.cpp, BytecodeBuilder.h), or a little below.
"""

from __future__ import annotations

from typing import Any, Final

MAX_LOCALS: Final = 200
MAX_UPVALUES: Final = 200
MAX_REGISTERS: Final = 245  # Luau has 255; a single operation needs up to five temporarily
MAX_CLOSURES: Final = 32767
MAX_SIZE: Final = 2_000_000  # far below what the longest jump, and the constants, allow


class Usage:
    """The number of locals, registers, upvalues, closures and messages of a function so far."""

    __slots__ = ("closures", "locals", "registers", "size", "upvalues")

    def __init__(self) -> None:
        self.locals = 0
        self.registers = 0
        self.closures = 0
        self.size = 0
        self.upvalues: set[Any] = set()

    def room_for_locals(self) -> int:
        """Return how many more locals fit here; some registers are reserved for expressions."""
        return min(MAX_LOCALS - self.locals, MAX_REGISTERS - 25 - self.registers)

    def takes_another_closure(self) -> bool:
        """Count one more closure that the function creates; return whether the limit allows it."""
        self.closures += 1
        return self.closures <= MAX_CLOSURES

    def is_too_large(self) -> bool:
        """Return whether the function holds more messages than Luau certainly compiles."""
        return self.size > MAX_SIZE
