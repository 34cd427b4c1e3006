"""A tree's features and its shape, which decide whether a corpus keeps the tree.

A tree's features are the bits of an integer. A feature is one of the following:

- a message in a field, such as `ExprBinary.left: ExprConstantNumber` (a message that consists only
  of alternatives does not count, but the alternative in it does);
- an alternative, optional field or list that is present;
- a value of an enum, or a flag that is set;
- a global or library member by its built-in name (`math.floor`).

Two trees have the same shape if they differ only in names and constants. The built-in names of
globals and library members are part of the shape, because they are features.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterator
from functools import cache

from scriptschema.codec.scanning import Listing, parts
from scriptschema.luau.members import NEWER_MEMBERS
from scriptschema.luau.names import DEFAULT, look_up
from scriptschema.messages import schema
from scriptschema.versions import Version


class _Table:
    """Numbers and names all features: parts of the schema, globals and library members."""

    def __init__(self, luau: Version | None) -> None:
        self.names = [part.feature or "" for part in parts(schema(luau))]
        self.none = {number for number, name in enumerate(self.names) if not name}
        """The numbers of the parts that are not features."""
        number = {name: number for number, name in enumerate(self.names)}
        self.builtin = number["Name.builtin"]
        self.name_of_global = number["ExprGlobal.name: Name"]
        self.name_of_member = number["ExprIndexName.index: Name"]
        self.owner_is_global = number["ExprIndexName.expr: ExprGlobal"]
        self.library: dict[tuple[str, str], int] = {}
        """The feature number of each (library, member) pair. The library of a global is ""."""
        tables = [("", DEFAULT.globals), *DEFAULT.libraries.items()]
        for owner, name in [*((o, n) for o, table in tables for n in table), *NEWER_MEMBERS]:
            self.library[owner, name] = len(self.names)
            self.names.append(f"{owner}.{name}" if owner else name)

    def library_uses(self, listing: Listing) -> Iterator[int]:
        """Yield the feature number of each use of a global or library member."""
        numbers, builtin = listing.parts, self.builtin
        at = owner_at = 0
        owner = ""
        for value in listing.builtins:
            at = numbers.index(builtin, at)
            held = numbers[at - 1] if at else None
            if held == self.name_of_global:
                owner, owner_at = look_up(DEFAULT.globals, value), at
                feature = self.library.get(("", owner))
            elif (
                held == self.name_of_member
                and owner_at == at - 2
                and numbers[at - 4] == self.owner_is_global
            ):
                member = look_up(DEFAULT.libraries.get(owner, DEFAULT.members), value)
                feature = self.library.get((owner, member))
            else:
                feature = None
            if feature is not None:
                yield feature
            at += 1


_table = cache(_Table)


def names(luau: Version | None = None) -> list[str]:
    """Return the names of the features, indexed by feature number.

    A number that is not a feature has an empty name. `luau` is the Luau version of the scans that
    contain the numbers.
    """
    return _table(schema(luau).since).names


def numbers_of(listing: Listing) -> list[int]:
    """Return the numbers of a tree's features, without duplicates.

    They are indexes into `names(listing.luau)`.
    """
    table = _table(listing.luau)
    return [*({*listing.parts, *table.library_uses(listing)} - table.none)]


def library_names(listing: Listing) -> list[str]:
    """Return the names of globals and library members that a tree uses, such as `math.floor`."""
    table = _table(listing.luau)
    return [table.names[number] for number in table.library_uses(listing)]


def features_of(listing: Listing) -> int:
    """Return the features of a tree as bits. A feature's number is the position of its bit."""
    mask = 0
    for number in numbers_of(listing):
        mask |= 1 << number
    return mask


def shape_of(listing: Listing) -> bytes:
    """Return a hash of a tree's shape, equal for trees that differ only in names and constants."""
    shape = array("H", listing.parts)
    shape.append(len(names(listing.luau)))  # a separator: no part has this number
    shape.extend(_table(listing.luau).library_uses(listing))
    return hashlib.blake2b(shape.tobytes(), digest_size=16).digest()
