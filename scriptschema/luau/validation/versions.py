"""Removes everything that a version of Luau does not have yet, before other rules are checked."""

from __future__ import annotations

from typing import Any, Final

from scriptschema import messages as m
from scriptschema.base import Message, walk
from scriptschema.luau.literals import nearest_int32
from scriptschema.luau.validation.traversal import Problem, Traversal
from scriptschema.versions import Version

RULES: Final = {
    "version": "the tree must not contain anything newer than the requested version of Luau",
}

_SINCE: Final = {
    cls: tuple((name, field.since) for name, field in cls.ALL_FIELDS.items() if field.since)
    for cls in m.schema("today").messages.values()
}


def leave_out_newer(v: Traversal, luau: Version) -> None:
    """Remove everything from the tree that the version `luau` does not have."""
    newer: dict[type[Message], list[tuple[str, Version]]] = {
        cls: too_new
        for cls, fields in _SINCE.items()
        if (too_new := [(name, since) for name, since in fields if since > luau])
    }
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
