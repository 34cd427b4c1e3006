"""Members of a find: other programs that probably show its bug, in `finds/NAME/members/`.

A member is stored like a find, with its own signature and construct. Users can reproduce it to
check that it shows the same bug.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import attrs

from scriptschema.fuzzing.campaign import finds
from scriptschema.fuzzing.campaign.finds import Find, FindStore, Reduced, Suspect
from scriptschema.fuzzing.oracles.verdict import Verdict

FOLDER: Final = "members"


def load_all(folder: Path) -> Iterator[tuple[Path, Find]]:
    """Yield (folder, member) for each member of the find in `folder`. Raises FileError."""
    yield from finds.load_all(folder, FOLDER)


def add(store: FindStore, find: Find, suspect: Suspect, verdict: Verdict, reduced: Reduced) -> None:
    """Add a reduced suspect to a find as a member, unless its signature is already stored.

    Raises FileError.
    """
    member = store.find_of(suspect, verdict, apart=False)
    reduced.put_into(member)
    folder = store.folder(find)
    if member.name == find.signature.name or (folder / FOLDER / member.name).exists():
        return
    finds.add(folder, member, suspect.tree, reduced.tree, among=FOLDER)


def merge(store: FindStore, find: Find, into: Find, reduced: Reduced) -> list[tuple[Path, Find]]:
    """Turn a find that has just been reduced into a member of the find `into`.

    `into` also gets the members and the count of `find`. Programs whose signature is already in
    `into` do not become members. Return a (folder, member) pair for each former member of `find`
    that became a member of `into`. Raises FileError.
    """
    store.put_reduced(find, reduced)
    store.count(into, find.count)
    moved = []
    for path, member in [*load_all(store.folder(find))]:
        if place := _place(store, member, into):
            finds.save(path, _at(place, member))
            finds.move(path, place)
            moved.append((place, _at(place, member)))
    place = _place(store, find, into)
    if place is not None:
        finds.save(store.folder(find), _at(place, find))
    store.drop(find, into=place)
    return moved


def _place(store: FindStore, member: Find, find: Find) -> Path | None:
    """Return a member's folder in `find`, or None if `find` already has its signature."""
    place = store.folder(find) / FOLDER / member.signature.name
    return None if member.signature.name == find.signature.name or place.exists() else place


def _at(place: Path, member: Find) -> Find:
    return attrs.evolve(member, name=place.name)
