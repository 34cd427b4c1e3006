"""Rules about a ModuleSet: a program and the module that it can require."""

from __future__ import annotations

from typing import Any, Final

from scriptschema import messages as m
from scriptschema.luau.scope import Function
from scriptschema.luau.validation.constants import add_return, ends_with_return, visit_exports
from scriptschema.luau.validation.traversal import HANDLERS, Place, Traversal

RULES: Final = {
    "require": "a require must name an existing module",
    "module": "a module must return one value",
}


def _visit_module_set(v: Traversal, node: m.ModuleSet, path: Place, depth: int) -> None:
    program = (_visit_program, node.program, (path, "program", None), depth + 1)
    module = node.module
    if module is None:
        v.module_reachable = False
        v.push(program)
        return
    here = (path, "module", None)
    if visit_exports(v, module, here):
        pass  # the module returns its exports
    elif not ends_with_return(module):
        v.note(here, "module", "the module does not end with a return")
        add_return(module)
    else:
        returned: Any = module.body[-1].alternative
        one_value(v, returned, here)
    v.scope.function.module = True
    v.module_reachable = False  # a module cannot require itself
    v.push((HANDLERS[m.StatBlock], module, here, depth + 1), program)


def one_value(v: Traversal, node: m.StatReturn, path: Place) -> None:
    """Make the module's return statement return exactly one value. A call counts as one value.

    The first value is kept. If it is missing, or is `...` (which is empty in a module), an empty
    table replaces it.
    """
    values = node.list
    holds_nothing = bool(values) and values[0].which == "varargs"
    if len(values) == 1 and not holds_nothing:
        return
    what = f"{len(values)} values" if len(values) != 1 else "`...`, which is empty in a module"
    v.note(path, "module", f"the module returns {what}")
    node.list = values[:1] if values and not holds_nothing else [m.Expr(table=m.ExprTable())]


def _visit_program(v: Traversal, node: m.StatBlock, path: Place, depth: int) -> None:
    v.scope.function = Function(None, vararg=True)
    v.module_reachable = isinstance(v.tree, m.ModuleSet) and v.tree.module is not None
    visit_exports(v, node, path)
    HANDLERS[m.StatBlock](v, node, path, depth)


def visit_require(v: Traversal, node: m.Stat, path: Place, depth: int) -> None:
    """Check and repair the StatRequireIntoLocalHelper in `node`."""
    inner: Any = node.alternative
    here = (path, "require_into_local", None)
    if not v.module_reachable:
        v.note(here, "require", "no module can be required here")
        values = [m.Expr(table=m.ExprTable())] if depth + 3 <= v.deepest else []
        node.local = m.StatLocal(vars=[inner.var], values=values)
    elif inner.modulenum != 0:
        v.note(here, "require", f"unknown module {inner.modulenum}; available: 0")
        inner.modulenum = 0
    v.scope.declare_locals([inner.var])


HANDLERS[m.ModuleSet] = _visit_module_set
