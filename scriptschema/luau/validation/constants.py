"""Rules about constants, exported values and modules.

Source: Luau's parser, `parseLocal`, `isExprLValue`, `parseExportValue` and `parseReturn`.
"""

from __future__ import annotations

from typing import Any

from scriptschema import messages as m
from scriptschema.luau.scope import Binding, Function
from scriptschema.luau.validation.traversal import HANDLERS, IncompleteError, Place, Traversal


def declare(v: Traversal, node: m.StatLocal, path: Place, _: int) -> None:
    """Declare the variables of a StatLocal, after its values have been visited."""
    _visit_export(v, node, path)
    last = node.values[-1].which if node.values else None
    if node.is_const and len(node.values) != len(node.vars) and last not in ("call", "varargs"):
        v.note(path, "const", f"{len(node.vars)} names, but {len(node.values)} values")
        node.is_const = None
    for variable in node.vars:
        binding = v.scope.declare_local(v.names.local(variable.name), variable.name)
        binding.constant = node if node.is_const else None


def declare_function(v: Traversal, node: m.StatLocalFunction, path: Place) -> None:
    """Declare the variable of a StatLocalFunction."""
    _visit_export(v, node, path)
    binding = v.scope.declare_local(v.names.local(node.var.name), node.var.name)
    binding.constant = node if node.is_const or node.is_exported else None


def _visit_export(v: Traversal, node: m.StatLocal | m.StatLocalFunction, path: Place) -> None:
    if node.is_exported and not v.scope.in_chunk:
        v.note(path, "export", "only top-level statements can be exported")
        node.is_exported = None


def assigned(v: Traversal, binding: Binding, path: Place) -> None:
    """Turn a constant into a variable, because the program assigns to it."""
    declaration: Any = binding.constant
    if declaration is None:
        return
    if v.partial:
        raise IncompleteError
    v.note(path, "const", f"assignment to the constant {binding.name}")
    declaration.is_const = None
    binding.constant = None
    if isinstance(declaration, m.StatLocalFunction):
        declaration.is_exported = None
        module = v.tree.module if isinstance(v.tree, m.ModuleSet) else None
        if module and not (exported_declarations(module) or ends_with_return(module)):
            add_return(module)


def ends_with_return(block: m.StatBlock) -> bool:
    """Return whether the last statement of a block is a return."""
    return bool(block.body) and block.body[-1].which == "return_"


def add_return(module: m.StatBlock) -> None:
    """Add a return of an empty table to a module that exports nothing."""
    module.body.append(m.Stat(return_=m.StatReturn(list=[m.Expr(table=m.ExprTable())])))


def variables_of(declaration: m.StatLocal | m.StatLocalFunction) -> list[m.Local]:
    """Return the variables that a statement declares."""
    return declaration.vars if isinstance(declaration, m.StatLocal) else [declaration.var]


def exported_declarations(block: m.StatBlock) -> list[tuple[Any, int]]:
    """Return the top-level statements that export values, each with its index in the block."""
    return [
        (statement.alternative, index)
        for index, statement in enumerate(block.body)
        if statement.which in ("local", "local_function") and statement.alternative.is_exported
    ]


def visit_exports(v: Traversal, block: m.StatBlock, path: Place) -> bool:
    """Check the exports of a source before it is visited. Return whether it exports anything."""
    exporting = exported_declarations(block)
    if not exporting:
        return False
    has_return = returns(block)
    seen: set[str] = set()
    kept = False
    for node, index in exporting:
        here = (path, "body", index)
        names = [v.names.local(variable.name) for variable in variables_of(node)]
        is_new = seen.isdisjoint(names) and len({*names}) == len(names)
        if names and is_new and not has_return:
            seen.update(names)
            kept = True
            continue
        if v.partial:
            raise IncompleteError
        if not names:
            v.note(here, "export", "there is no name to export")
        elif has_return:
            v.note(
                here, "export", "a source with exports cannot have a return outside of functions"
            )
        else:
            v.note(here, "export", "this name is already exported")
        node.is_exported = None
    return kept


def returns(block: m.StatBlock) -> bool:
    """Return whether a source has a return statement outside of functions, at any depth."""
    waiting = [*block.body]
    while waiting:
        statement = waiting.pop()
        inner: Any = statement.alternative
        match inner:
            case m.StatReturn():
                return True
            case m.StatBlock():
                waiting += inner.body
            case m.StatWhile() | m.StatRepeat() | m.StatFor() | m.StatForIn():
                waiting += inner.body.body
            case m.StatIf():
                branch: Any = inner
                while isinstance(branch, m.StatIf):
                    waiting += branch.then.body
                    branch = branch.alternative
                waiting += branch.body if branch is not None else []
    return False


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
