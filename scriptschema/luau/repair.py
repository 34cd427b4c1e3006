"""Lists the rules that a tree breaks (`check`), and turns it into a valid program (`repair`).

Both functions visit a copy of the tree in the order in which Luau's compiler reads a program, and
track what is in scope. For each broken rule, they record a `Problem` and repair the copy
immediately, so that the rest is checked in the repaired tree. `check` returns the problems, and
`repair` returns the copy. So a tree without problems is returned unchanged, and a repaired tree
does not have problems.

Repair keeps as much as it can. A `return` in the middle of a block becomes `do return end`. A
variable that is not in scope becomes a variable in scope, always the same for a given tree. If two
trees are printed as the same source, only one of them is canonical. The other has a problem (rules
`group`, `minus`, `interpolation`, `string`), so that the source of a repaired tree is parsed as
that tree.

The rules are in `luau.validation`, each next to the code that applies it. `luau.scope` tracks what
is in scope. Nesting costs only memory and never causes a RecursionError, and time is linear. A tree
within protobuf's depth limit stays within it (rule `depth`).
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
    InvalidError,
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
    "is_valid",
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
"""The description of each rule, by its name. `Problem.rule` is one of these names."""

MessageT = TypeVar("MessageT", bound=Message)


def check(
    tree: Message, *, names: Names = DEFAULT, luau: str | Version | None = None
) -> list[Problem]:
    """Return the problems that keep a tree from being a valid program, in program order.

    A program without problems compiles. The limits on depth, registers and size are lower than
    Luau's, so a program may compile even though it exceeds these limits.

    `tree` may be any message. A ModuleSet is checked as a program together with its module, if any.
    Anything else is checked as if it were at the top of a program. `names` determines which indexes
    have the same name. `luau` is the version for which the program must be valid, by default the
    newest. Problems with the rule `version` come first. Raises ValueError for an unknown version.
    """
    return repair_in_place(copy(tree), names=names, luau=luau)


def is_valid(tree: Message, *, names: Names = DEFAULT) -> bool:
    """Return whether `check` would return an empty list.

    This function stops at the first problem, and copies nothing.
    """
    try:
        Traversal(tree, names, strict=True).run()
    except InvalidError:
        return False
    return True


def repair(
    tree: MessageT, *, names: Names = DEFAULT, luau: str | Version | None = None
) -> MessageT:
    """Return a copy of `tree` without the problems that `check` reports.

    The arguments have the same meaning as in `check`. A returned ModuleSet or StatBlock compiles.
    """
    repaired = copy(tree)
    repair_in_place(repaired, names=names, luau=luau)
    return repaired


def repair_in_place(
    tree: Message, *, names: Names = DEFAULT, luau: str | Version | None = None
) -> list[Problem]:
    """Repair `tree` itself, and return the problems that `check` would have reported.

    No part of the tree may be shared with another tree.
    """
    run = Traversal(tree, names)
    if luau is not None:
        versions.leave_out_newer(run, Version.parse(luau))
    run.run()
    return run.problems


def repair_statements(
    way: Sequence[Message], statements: range, before: Sequence[Stat]
) -> list[Problem] | None:
    """Repair statements of a block in place. Return the problems that `check` would have reported.

    The result is the same as that of `repair_in_place` for the whole tree, but only these
    statements are visited. If they no longer declare the same names, all later statements in the
    block are also visited.

    `way` is the list of messages from the root of the tree to the block. These messages must not be
    shared. `statements` is a range of indexes in the block: those of the statements that replaced
    `before`. Before the replacement, the tree must have been valid, with at most MAX_CLOSURES
    messages and a depth of at most MAX_DEPTH.

    Returns None if the whole tree has to be repaired. Parts of it may then already be repaired.
    """
    run = Traversal(way[0], DEFAULT, partial=True)
    try:
        partial.repair_statements(run, way, statements, before)
    except IncompleteError:
        return None
    return run.problems
