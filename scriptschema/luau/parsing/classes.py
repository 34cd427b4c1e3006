"""Reads classes: the syntax that Luau accepts with the flag DebugLuauUserDefinedClasses."""

from __future__ import annotations

from typing import Any

from scriptschema import messages as m
from scriptschema.luau.parsing.expressions import as_prefix, read_expression
from scriptschema.luau.parsing.functions import read_function_body
from scriptschema.luau.parsing.reader import Reader, Reading
from scriptschema.luau.parsing.type_annotations import read_type


def read_class(r: Reader) -> Reading:
    """Read a class, including the keywords before `class`."""
    start = r.index
    stat = m.StatClass(name=m.Local(name=0))
    r.require(m.Stat, "class_", "a class", start)
    if r.texts[r.index] == "export":
        stat.is_exported = True
        r.advance()
    if r.texts[r.index] == "open":
        r.require(m.StatClass, "is_open", "an open class", r.index)
        stat.is_open = True
        r.advance()
    opening = r.advance()
    stat.name = r.declare(r.name("for the class"))
    if r.kind == "name" and r.texts[r.index] == "extends":
        r.require(m.StatClass, "extends", "`extends`", r.index)
        r.advance()
        stat.extends = yield _read_parent(r)
    while r.kind != "end":
        stat.members.append((yield _read_member(r)))
    r.close("end", opening)
    return m.Stat(class_=stat)


def _read_parent(r: Reader) -> Reading:
    name = r.name("of the class that is extended")
    node: Any = r.variable(name)
    owner = name if type(node) is m.ExprGlobal else None
    if r.skip("."):
        field = r.names.field(r.name("of a field"), owner)
        node = m.ExprIndexName(expr=as_prefix(node), index=field)
    elif r.kind == "[":
        opening = r.advance()
        key = yield read_expression(r)
        r.close("]", opening)
        node = m.ExprIndexExpr(expr=as_prefix(node), index=key)
    return as_prefix(node)


def _read_member(r: Reader) -> Reading:
    public = r.kind == "name" and r.texts[r.index] == "public"
    if public:
        r.advance()
    if r.kind == "function":
        opening = r.advance()
        name = r.names.field(r.name("of a method"))
        func = yield read_function_body(r, opening, [])
        access = m.ClassMethod.Access.PUBLIC if public else None
        return m.ClassMember(method=m.ClassMethod(access=access, name=name, func=func))
    if not public:
        r.fail("`function`, `end`, or `public` before a property")
    name = r.names.field(r.name("of a property"))
    type_ = (yield read_type(r)) if r.skip(":") else None
    return m.ClassMember(prop=m.ClassProp(name=name, type=type_))
