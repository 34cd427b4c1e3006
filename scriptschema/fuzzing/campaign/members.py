"""Members of a find: other programs that probably show its bug, in `finds/NAME/members/`.

A member is stored like a find, with its own signature and construct. Users can reproduce it to
check that it shows the same bug. If the find's signature is clear, its members have the same
signature, but each has another exception message.
"""

from __future__ import annotations

from pathlib import Path

import attrs

from scriptschema.fuzzing.campaign import finds
from scriptschema.fuzzing.campaign.finds import MEMBERS, Find, FindStore, Reduced, Suspect
from scriptschema.fuzzing.oracles.verdict import Verdict


def add(store: FindStore, find: Find, suspect: Suspect, verdict: Verdict, reduced: Reduced) -> None:
    """Add a reduced suspect to a find as a member, unless its signature is already stored.

    A suspect with an exception message is always added. Raises FileError.
    """
    member = store.find_of(suspect, verdict, apart=bool(suspect.exception))
    reduced.put_into(member)
    if _place(store, member, find) is not None:
        finds.add(store.folder(find), member, suspect.tree, reduced.tree, among=MEMBERS)


def keep(store: FindStore, find: Find) -> None:
    """Add the find's own programs as a member, before a smaller program replaces the reduced one.

    Raises FileError.
    """
    folder = store.folder(find)
    member = attrs.evolve(find, name=find.signature.name, count=1, bisection="")
    if not (folder / MEMBERS / member.name).exists():
        trees = finds.tree_of(folder), finds.tree_of(folder, finds.REDUCED)
        finds.add(folder, member, *trees, requests=finds.requests_of(folder), among=MEMBERS)


def merge(store: FindStore, find: Find, into: Find, reduced: Reduced) -> list[tuple[Path, Find]]:
    """Turn a find that has just been reduced into a member of the find `into`.

    `into` also gets the members and the count of `find`. Programs whose signature is already in
    `into` do not become members. Return a (folder, member) pair for each former member of `find`
    that became a member of `into`. Raises FileError.
    """
    store.put_reduced(find, reduced)
    store.count(into, find.count)
    moved = []
    for path, member in [*finds.load_all(store.folder(find), MEMBERS)]:
        if place := _place(store, member, into):
            finds.move(path, place)
            moved.append((place, member))
    renamed = attrs.evolve(find, name=find.signature.name)  # it was named before its reduction
    place = _place(store, renamed, into)
    if place is not None:
        finds.save(store.folder(find), renamed)
    store.drop(find, into=place)
    return moved


def _place(store: FindStore, member: Find, find: Find) -> Path | None:
    """Return a member's folder in `find`, or None if `find` already has its signature.

    A member with an exception message has its own name, because its signature is the find's.
    """
    place = store.folder(find) / MEMBERS / member.name
    return None if member.name == find.signature.name or place.exists() else place
