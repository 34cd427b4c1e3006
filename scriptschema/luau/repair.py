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

`RULES` describes the rules, which `luau.validation` applies. `luau.scope` tracks what is in scope.
Nesting costs only memory and never causes a RecursionError, and time is linear. A tree within
protobuf's depth limit stays within it (rule `depth`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, TypeVar

from scriptschema import messages as m
from scriptschema.base import Message, walk
from scriptschema.codec.copying import copy
from scriptschema.luau.literals import nearest_int32
from scriptschema.luau.names import DEFAULT, Names
from scriptschema.luau.validation import partial
from scriptschema.luau.validation import statements as _handlers  # noqa: F401 - registers them
from scriptschema.luau.validation.traversal import (
    DEEPEST,
    MAX_DEPTH,
    IncompleteError,
    InvalidError,
    Problem,
    Traversal,
)
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

RULES: Final[Mapping[str, str]] = {
    "depth": "the tree must not be nested more than 400 levels deep; Luau's own limits are higher",
    "unset": "one of the alternatives must be set",
    "empty": "the list must not be empty",
    "last": "return, break and continue must be the last statement of their block",
    "loop": "break and continue must be inside a loop",
    "self": "only a method can have a self",
    "class": "classes require a Luau flag that is off by default",
    "function-name": "the name of a function statement must be a variable, optionally followed by "
    "fields",
    "local": "a local variable must be in scope where it is used",
    "until": "a repeat's condition must not use a local if a `continue` jumps over its declaration",
    "hidden": "a global must not be shadowed by a local of the same name",
    "upvalues": "a function can have at most 200 upvalues (variables of enclosing functions)",
    "type-function": "a type function must not use locals declared outside it",
    "vararg": "`...` must be in a vararg function",
    "else": "an if-expression must have an else",
    "group": "a group must not contain an expression that is printed in parentheses even without "
    "the group",
    "minus": "the sign of a negative number must be part of its constant",
    "number": "a number constant cannot be NaN",
    "parentheses": "a call without parentheses must have one argument, a string or a table",
    "interpolation": "the text parts of an interpolated string must not be empty or adjacent",
    "string": "surrogates in a string must represent bytes that are not valid UTF-8; string types "
    "cannot contain zero bytes",
    "types": "there must not be more types than variables",
    "type": "a named type without arguments must be in scope",
    "pack": "a type pack in parentheses must not be the last item of a list of types",
    "default": "generics with defaults must come last",
    "indexer": "the position of an indexer must be from 0 to the number of properties",
    "require": "a require must name an existing module",
    "module": "a module must return one value",
    "locals": "a function can have at most 200 local variables at a time",
    "registers": "a function can use at most 245 registers; Luau's own limit is 255",
    "closures": "a function can create at most 32,768 functions",
    "size": "a function can contain at most 2,000,000 messages; Luau's own limits are higher",
    "attribute": (
        "an attribute must exist in Luau, be allowed for the function, and not be repeated"
    ),
    "argument": "arguments must be literals; @deprecated takes a table with `use` and `reason`",
    "const": "a declaration of constants must have one value for each constant, unless the last "
    "value is a call or `...`; constants cannot be assigned to",
    "export": "exports must be top-level and unique, and their source must not have a return "
    "outside of functions",
    "version": "the tree must not contain anything newer than the requested version of Luau",
}
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
        _leave_out_newer(run, Version.parse(luau))
    run.run()
    return run.problems


@cache
def _newer(luau: Version) -> Mapping[type[Message], Sequence[tuple[str, Version]]]:
    """Return the fields of each class that `luau` does not have, with the versions that added them.

    Classes without such fields are left out.
    """
    found = {
        cls: [(n, f.since) for n, f in cls.ALL_FIELDS.items() if f.since and f.since > luau]
        for cls in m.schema("today").messages.values()
    }
    return {cls: fields for cls, fields in found.items() if fields}


def _leave_out_newer(v: Traversal, luau: Version) -> None:
    """Remove everything from the tree that the version `luau` does not have."""
    newer = _newer(luau)
    if not newer:
        return
    for node, path in walk(v.tree):
        for name, since in newer.get(node.__class__, ()):
            value: Any = getattr(node, name)
            if value is None or value == []:
                continue
            v.problems.append(Problem(path, "version", f"{name.rstrip('_')} requires Luau {since}"))
            field = node.ALL_FIELDS[name]
            if not field.oneof:
                setattr(node, name, [] if field.rule == "repeated" else None)
            elif isinstance(value, m.ExprConstantInteger):
                node.number = m.ExprConstantNumber(val=nearest_int32(value.val))
            elif isinstance(value, m.ExprInstantiate):
                _take(node, value.expr)
            elif isinstance(node, m.Stat):
                node.block = m.StatBlock()
            else:
                setattr(node, name, None)


def _take(node: Any, prefix: m.ExprPrefix) -> None:
    """Copy the content of `prefix` to `node`, without explicit type arguments."""
    while isinstance(prefix.alternative, m.ExprInstantiate):
        prefix = prefix.alternative.expr
    setattr(node, prefix.which or node.which, prefix.alternative)


def repair_statements(
    way: Sequence[Message], statements: range, before: Sequence[m.Stat]
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
