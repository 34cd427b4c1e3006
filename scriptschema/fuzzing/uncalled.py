"""Programs whose code is only compiled, because all of it is in a function that is never called.

    tree = uncalled(copy(tree))   local function f(...) ... end
    runs_nothing(tree)            True
    body_of(tree)                 the code in the function

Such programs end immediately when run, so targets and finds need no special option for them.
"""

from __future__ import annotations

from typing import Final

from scriptschema import messages as m
from scriptschema.luau.repair import MAX_DEPTH, repair_in_place
from scriptschema.luau.validation.constants import exported_declarations

DEEPEST: Final = MAX_DEPTH - 4
"""The maximum depth of a program that can be moved into the function."""

_DECLARATIONS: Final = frozenset(["local_function", "type_alias", "type_function"])


def uncalled(tree: m.ModuleSet, *, is_valid: bool = False) -> m.ModuleSet:
    """Return a program with the code of `tree` in a function that is never called.

    The code is moved and repaired, not copied, so do not use `tree` afterwards. `tree.module` is
    left out. If `is_valid` is true, `tree` is a generated program, of which only the exports are
    not valid in a function.
    """
    function = m.ExprFunction(vararg=True, body=tree.program)
    declared = m.StatLocalFunction(var=m.Local(name=0), func=function)
    moved = m.ModuleSet(program=m.StatBlock(body=[m.Stat(local_function=declared)]))
    if is_valid:
        for statement, _ in exported_declarations(tree.program):
            statement.is_exported = None
    else:
        repair_in_place(moved)
    return moved


def runs_nothing(tree: m.ModuleSet) -> bool:
    """Return whether a program only declares functions and types, so that it executes no code."""
    if tree.module is not None:
        return False
    return all(statement.which in _DECLARATIONS for statement in tree.program.body)


def body_of(tree: m.ModuleSet) -> m.ModuleSet:
    """Return the code in the function that `uncalled` added, as a program.

    Statements that a mutation added after the function are appended. If a program does not begin
    with a local function, the result is the program itself.
    """
    body = tree.program.body
    if not body or body[0].local_function is None:
        return tree
    inside = body[0].local_function.func.body
    return m.ModuleSet(program=m.StatBlock(body=[*inside.body, *body[1:]]))
