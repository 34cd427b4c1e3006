"""Recognises finds that have different signatures but are caused by the same faulty operation.

For example, a faulty `<` in native code can change results, select the wrong branch and make loops
hang. Two completely reduced programs have the same cause if they share an operation that their bug
needs (see `needed`), and if their runs fail in the same variant or in variants that share an
option. If both need library members or `...`, they must share one of these, because almost all
programs share an operator.

A new program is compared with what all programs of a find have in common. Otherwise, a chain of
similar programs could give quite different programs the same cause.
"""

from __future__ import annotations

from typing import Final

import attrs

from scriptschema.fuzzing.oracles import differential
from scriptschema.fuzzing.oracles.construct import ANY, VARARGS, is_member
from scriptschema.fuzzing.oracles.verdict import Signature
from scriptschema.fuzzing.targets import outcome

KINDS: Final = frozenset([differential.KIND, outcome.HANG, outcome.MEMORY, outcome.CRASH])
"""The kinds of signatures that may have a common cause. Only crashes without stack frames are
compared. For these, the signal and the message are compared instead of the variant."""


@attrs.define
class _Cause:
    """What all programs of a find have in common. If `blamed` is None, any variant matches."""

    blamed: frozenset[str] | None
    operations: frozenset[str]


class Causes:
    """The causes of the finds in a campaign, by the names of the finds."""

    def __init__(self) -> None:
        self._causes: dict[str, _Cause] = {}

    def add(self, name: str, signature: Signature, operations: frozenset[str]) -> None:
        """Add a find, or another program of a find, with its signature and operations.

        `operations` are those that the bug needs (`needed.needed_operations`).
        """
        if signature.kind not in KINDS or not operations:
            return
        operations = compared(signature, operations)
        blamed = differential.blamed_by(signature)
        known = self._causes.setdefault(name, _Cause(blamed, operations))
        known.operations = known.operations & operations or known.operations
        if known.blamed is None or blamed is None:
            known.blamed = known.blamed or blamed
        else:
            known.blamed = known.blamed & blamed or known.blamed

    def drop(self, name: str) -> None:
        """Remove a find."""
        self._causes.pop(name, None)

    def find_of(
        self, signature: Signature, operations: frozenset[str], *, is_smallest: bool
    ) -> str | None:
        """Return the name of the find that has the same cause as a program, or None.

        `is_smallest` is true if the program is completely reduced. Otherwise, its operations must
        include all of the find's operations, or vice versa.
        """
        if signature.kind not in KINDS:
            return None
        operations = compared(signature, operations)
        blamed = differential.blamed_by(signature)
        for name, cause in self._causes.items():
            common = cause.operations & operations
            if cause.blamed and blamed and cause.blamed.isdisjoint(blamed):
                continue
            specific = _specific(cause.operations), _specific(operations)
            if all(specific) and specific[0].isdisjoint(specific[1]):
                continue
            if common and (is_smallest or common in (operations, cause.operations)):
                return name
        return None


def compared(signature: Signature, operations: frozenset[str]) -> frozenset[str]:
    """Return the operations to compare. In crashes, all accesses to buffers are one operation."""
    if signature.kind != outcome.CRASH:
        return operations
    kinds = ("buffer.read", "buffer.write")
    accesses = {name for name in operations if name.removeprefix(ANY).startswith(kinds)}
    return operations - accesses | ({"buffer.read"} if accesses else set())


def _specific(operations: frozenset[str]) -> frozenset[str]:
    return frozenset(name for name in operations if is_member(name) or name == VARARGS)
