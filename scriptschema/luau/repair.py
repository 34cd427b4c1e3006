"""Repair: what keeps a tree from being a valid program (`check`), and its conversion to a program.

One traversal does both. It goes through a copy of the tree in the order in which Luau's compiler
reads a program, and tracks what is in scope. If a rule is broken, it records a `Problem` and
repairs the copy immediately, so that the rest is checked in the repaired tree. `check` returns the
problems, `repair` the copy. So a tree without problems is returned unchanged, a repaired tree has
no problems, and nothing else is changed.

Repair keeps as much as it can: a `return` in the middle of a block becomes `do return end`, a
variable that is not in scope becomes a variable that is, always the same for the same tree. If two
trees have the same text, one form is canonical, and the other counts as a problem (rules `group`,
`minus`, `interpolation`, `string`), so that the text of a repaired tree is parsed as that tree.

The rules are in `luau.validation`, each next to the code that applies it; `luau.scope` tracks what
is in scope. Depth costs memory, never a RecursionError, and time is linear. A tree no deeper than
protobuf's limit stays within it (rule `depth`).
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
"""The rules by name, and what each requires; the rule of each problem is one of these."""

MessageT = TypeVar("MessageT", bound=Message)


def check(
    tree: Message, *, names: Names = DEFAULT, luau: str | Version | None = None
) -> list[Problem]:
    """Return what keeps a tree from being a valid program, in the order of the program.

    `tree` may be a message of any kind: a ModuleSet is a program with its module, and anything else
    is checked as if it were at the top of a program. `names` determines which indexes have the same
    name. `luau` is the version of Luau for which the program must be valid, as in `Version.parse`;
    by default the newest. Raises ValueError for an unknown version.
    """
    return repair_in_place(copy(tree), names=names, luau=luau)


def repair(
    tree: MessageT, *, names: Names = DEFAULT, luau: str | Version | None = None
) -> MessageT:
    """Return a copy of `tree` without the problems that `check` reports; `tree` is not changed.

    The arguments are as in `check`. A returned ModuleSet or StatBlock compiles.
    """
    repaired = copy(tree)
    repair_in_place(repaired, names=names, luau=luau)
    return repaired


def repair_in_place(
    tree: Message, *, names: Names = DEFAULT, luau: str | Version | None = None
) -> list[Problem]:
    """Repair a tree that is not shared; return the problems that `check` would have reported."""
    run = Traversal(tree, names)
    if luau is not None:
        versions.leave_out_newer(run, Version.parse(luau))
    run.run()
    return run.problems


def repair_statements(
    way: Sequence[Message], statements: range, before: Sequence[Stat]
) -> list[Problem] | None:
    """Repair some statements of a block in place; return the problems `check` would have reported.

    The result is that of `repair_in_place` for the whole tree, but only the statements are visited,
    and those after them if they declare something else. `way` has the messages from the tree to the
    block, which are not shared. In the block, `statements` have replaced `before`; the tree was
    valid before, has at most MAX_CLOSURES messages, and is at most MAX_DEPTH deep.

    Returns None if the whole tree has to be repaired; parts of it may already be repaired then.
    """
    run = Traversal(way[0], DEFAULT, partial=True)
    try:
        partial.repair_statements(run, way, statements, before)
    except IncompleteError:
        return None
    return run.problems
