"""Rules about variables and names, which must be valid where they are used, and about strings."""

from __future__ import annotations

from typing import Any

from scriptschema import messages as m
from scriptschema.luau.quoting import string_bytes
from scriptschema.luau.validation.constants import assigned
from scriptschema.luau.validation.traversal import Place, Traversal


def visit_local(v: Traversal, node: Any, path: Place, *_: int) -> None:
    """Check and repair the ExprLocal in `node`, which is an Expr, ExprPrefix or LValue."""
    variable = node.alternative.var
    name = v.names.local(variable.name)
    binding = v.scope.locals.get(name)
    if v.scope.usable(binding):
        if node.__class__ is m.LValue:
            assigned(v, binding, path)
        return
    if binding is None:
        v.note(path, "local", f"no local {name} is in scope")
    elif binding.jumped_over:
        v.note(path, "until", f"a continue jumps over the declaration of {name}")
    elif binding.function.depth < v.scope.type_function:
        v.note(path, "type-function", f"{name} is a local declared outside the type function")
    else:
        v.note(
            path,
            "upvalues",
            f"{name} would exceed the limit of 200 upvalues (variables of enclosing functions)",
        )
    other = v.scope.pick_local(variable.name)
    if other is not None:
        variable.name = other.index
        if node.__class__ is m.LValue:
            assigned(v, other, path)
    else:
        builtin = node.__class__ is not m.LValue
        node.global_ = m.ExprGlobal(name=v.scope.free_global(variable.name, builtin=builtin))


def visit_global(v: Traversal, node: Any, path: Place, *_: int) -> None:
    """Check and repair the ExprGlobal in `node`, which is an Expr, ExprPrefix or LValue."""
    inner = node.alternative
    visit_name(v, inner.name, (path, "name", None))
    name = v.names.global_(inner.name)
    binding = v.scope.locals.get(name)
    if binding is None:
        return
    v.note(path, "hidden", f"the global {name} is shadowed by a local")
    if v.scope.usable(binding):
        node.local = m.ExprLocal(var=m.Local(name=binding.index))
        if node.__class__ is m.LValue:
            assigned(v, binding, path)
    else:
        inner.name = v.scope.free_global(inner.name.alternative, builtin=False)


def visit_name(v: Traversal, node: m.Name, path: Place, *_: int) -> None:
    """Check and repair a Name."""
    if node.which is None:
        v.note(path, "unset", "missing name")
        node.custom = 0


def visit_string(v: Traversal, node: Any, path: Place, *_: int) -> None:
    """Check and repair an ExprConstantString or a TypeString."""
    if not node.val.isascii():
        decoded = string_bytes(node.val).decode("utf-8", "surrogateescape")
        if decoded != node.val:
            v.note(
                path,
                "string",
                "surrogates in the string represent bytes of valid UTF-8 (write the characters "
                "instead), or do not represent bytes at all",
            )
            node.val = decoded
