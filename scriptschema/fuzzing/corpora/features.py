"""The features of a tree, as the bits of an integer, and its shape: reasons to keep it.

A feature is a message in a field, skipping messages that only choose one of several messages
(`ExprBinary.left: ExprConstantNumber`); an alternative, optional field or list that is present; a
value of an enum; a flag that is set; and a global or a library's member by its built-in name
(`math.floor`).

Two trees have the same shape if they are equal up to names and constants. The built-in names of
globals and of libraries' members are part of the shape, since they are features.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterator
from functools import cache

from scriptschema.codec.scanning import parts
from scriptschema.luau.members import NEWER_MEMBERS
from scriptschema.luau.names import DEFAULT, look_up
from scriptschema.messages import schema
from scriptschema.versions import Version
from scriptschema.wire import Scan


class _Table:
    """All features: first the scanner's parts, then globals and libraries' members."""

    def __init__(self, luau: Version | None) -> None:
        self.names = [part.feature or "" for part in parts(schema(luau))]
        self.none = {number for number, name in enumerate(self.names) if not name}
        """The numbers of parts that are not features."""
        number = {name: number for number, name in enumerate(self.names)}
        self.builtin = number["Name.builtin"]
        self.name_of_global = number["ExprGlobal.name: Name"]
        self.name_of_member = number["ExprIndexName.index: Name"]
        self.owner_is_global = number["ExprIndexName.expr: ExprGlobal"]
        self.library: dict[tuple[str, str], int] = {}
        """The features of globals, under the owner "", and of members."""
        tables = [("", DEFAULT.globals), *DEFAULT.libraries.items()]
        for owner, name in [*((o, n) for o, table in tables for n in table), *NEWER_MEMBERS]:
            self.library[owner, name] = len(self.names)
            self.names.append(f"{owner}.{name}" if owner else name)

    def library_uses(self, scan: Scan) -> Iterator[int]:
        """Yield the features of the globals and members that a tree names, in their order."""
        numbers, builtin = scan.parts, self.builtin
        at = owner_at = 0
        owner = ""
        for value in scan.builtins:
            at = numbers.index(builtin, at)
            held = numbers[at - 1] if at else None
            if held == self.name_of_global:
                owner, owner_at = look_up(DEFAULT.globals, value), at
                found = self.library.get(("", owner))
            elif (
                held == self.name_of_member
                and owner_at == at - 2
                and numbers[at - 4] == self.owner_is_global
            ):
                member = look_up(DEFAULT.libraries.get(owner, DEFAULT.members), value)
                found = self.library.get((owner, member))
            else:
                found = None
            if found is not None:
                yield found
            at += 1


@cache
def _table(luau: Version | None) -> _Table:
    return _Table(luau)


def names(luau: Version | None = None) -> list[str]:
    """Return the name of each feature, by its number; empty for numbers that are not features.

    `luau` is the version of the scans that the numbers come from.
    """
    return _table(schema(luau).since).names


def numbers_of(scan: Scan) -> list[int]:
    """Return the features of a tree, each once, by their numbers: the indexes of `names`."""
    table = _table(scan.luau)
    return [*({*scan.parts, *table.library_uses(scan)} - table.none)]


def library_names(scan: Scan) -> list[str]:
    """Return the names of the globals and libraries' members that a tree names: `math.floor`."""
    table = _table(scan.luau)
    return [table.names[number] for number in table.library_uses(scan)]


def features_of(scan: Scan) -> int:
    """Return the features of a tree as bits; the position of each bit is the feature's number."""
    mask = 0
    for number in numbers_of(scan):
        mask |= 1 << number
    return mask


def shape_of(scan: Scan) -> bytes:
    """Return a hash of the shape: the same for trees that are equal up to names and constants."""
    shape = array("H", scan.parts)
    shape.append(len(names(scan.luau)))  # a separator: no part has this number
    shape.extend(_table(scan.luau).library_uses(scan))
    return hashlib.blake2b(shape.tobytes(), digest_size=16).digest()
