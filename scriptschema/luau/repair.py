"""Repair: what keeps a tree from being a valid program (`check`), and the change that makes it one.

One traversal serves both. It goes through a copy of the tree in the order in which Luau's compiler
reads a program, knows at each message what is in scope there, and where a rule is broken it notes a
`Problem` and repairs the copy at once, so that what follows is judged in the repaired tree. `check`
returns the problems, `repair` the copy. So a tree without problems comes back equal, a repaired one
has none, and nothing else is changed.

Repair keeps as much as it can: a `return` in the middle of a block becomes `do return end`,
a variable that is not in scope becomes one that is, always the same for the same tree. Where two
trees print alike, one form is canonical, and the other counts as a problem (rules `group`, `minus`,
`interpolation`, `string`), so that the text of a repaired tree reads back as that tree.

The rules stand in `luau.validation`, each beside the code that applies it; what is in scope is
known by `luau.scope`. Depth costs memory, never a RecursionError, and time is linear. A tree no
deeper than protobuf's limit stays within it (rule `depth`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeVar

from scriptschema.base import Message
from scriptschema.codec.copying import copy
from scriptschema.luau.names import DEFAULT, Names
from scriptschema.luau.validation import (
    attributes,
    constants,
    expressions,
    functions,
    limits,
    modules,
    partial,
    references,
    statements,
    text,
    traversal,
    type_annotations,
    versions,
)
from scriptschema.luau.validation.traversal import (
    DEEPEST,
    MAX_DEPTH,
    IncompleteError,
    Problem,
    Traversal,
)
from scriptschema.messages import Stat
from scriptschema.versions import Version

__all__ = [
    "DEEPEST",
    "MAX_DEPTH",
    "RULES",
    "Problem",
    "check",
    "repair",
    "repair_in_place",
    "repair_statements",
]

RULES: Final[Mapping[str, str]] = MappingProxyType(
    traversal.RULES
    | statements.RULES
    | references.RULES
    | expressions.RULES
    | text.RULES
    | functions.RULES
    | type_annotations.RULES
    | modules.RULES
    | limits.RULES
    | attributes.RULES
    | constants.RULES
    | versions.RULES
)
"""The rules by name, and what each demands; the rule of each problem is one of these."""

MessageT = TypeVar("MessageT", bound=Message)


def check(
    tree: Message, *, names: Names = DEFAULT, luau: str | Version | None = None
) -> list[Problem]:
    """Return what keeps a tree from being a valid program, in the order of the program.

    `tree` may be a message of any kind: a ModuleSet is a program with its module, and anything else
    is judged as it would stand at the top of a program. `names` tells which indexes are one name.
    `luau` is the version of Luau that is to take it, as in `Version.parse`; by default the newest.
    Raises ValueError for a version that is not known.
    """
    return repair_in_place(copy(tree), names=names, luau=luau)


def repair(
    tree: MessageT, *, names: Names = DEFAULT, luau: str | Version | None = None
) -> MessageT:
    """Return a new tree that is `tree` without what `check` finds; `tree` stays as it is.

    The arguments are as in `check`. A ModuleSet, or a StatBlock, that comes back compiles.
    """
    repaired = copy(tree)
    repair_in_place(repaired, names=names, luau=luau)
    return repaired


def repair_in_place(
    tree: Message, *, names: Names = DEFAULT, luau: str | Version | None = None
) -> list[Problem]:
    """Repair a tree that no one else holds; return what `check` would have found in it."""
    run = Traversal(tree, names)
    if luau is not None:
        versions.leave_out_newer(run, Version.parse(luau))
    run.run()
    return run.problems


def repair_statements(
    way: Sequence[Message], statements: range, before: Sequence[Stat]
) -> list[Problem] | None:
    """Repair some statements of a block in place; return what `check` would have found.

    The result is that of `repair_in_place` for the whole tree, but only the statements are visited,
    and what follows them if they declare something else. `way` has the messages from the tree to
    the block, which no one else holds. In it, `statements` took the place of `before`; the tree was
    valid before, has at most MAX_CLOSURES messages, and is at most MAX_DEPTH deep.

    Returns None if the whole tree has to be repaired: then some of it may be repaired already.
    """
    run = Traversal(way[0], DEFAULT, partial=True)
    try:
        partial.repair_statements(run, way, statements, before)
    except IncompleteError:
        return None
    return run.problems
