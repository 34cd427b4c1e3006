"""Rules about attributes of functions, and about the literals that are their arguments.

Source: Luau's parser, `parseAttrList`, `validateAttribute` and `deprecatedArgsValidator`.
"""

from __future__ import annotations

from typing import Any, Final

from scriptschema import messages as m
from scriptschema.luau.validation.references import visit_string
from scriptschema.luau.validation.traversal import Place, Traversal, filler

_KEYS: Final = frozenset(["use", "reason"])
"""The keys that the table of `@deprecated` may have. Their values are strings."""


def visit_attributes(v: Traversal, node: m.ExprFunction, path: Place) -> None:
    """Check and repair the attributes of a function, if it has any."""
    kept: list[m.ExprAttr] = []
    for index, attribute in enumerate(node.attributes):
        here = (path, "attributes", index)
        if attribute.type is m.ExprAttr.Kind.Unknown:
            v.note(here, "attribute", "unknown attribute")
        elif any(attribute.type is other.type for other in kept):
            v.note(here, "attribute", "the function already has this attribute")
        else:
            kept.append(attribute)
            _visit_arguments(v, attribute, here)
    if len(kept) < len(node.attributes):
        node.attributes = kept
    for attribute, before in zip(kept, [None, *kept], strict=False):
        if attribute.joined and not (attribute.braced and before is not None and before.braced):
            v.note(
                path,
                "attribute",
                "`joined` requires that this attribute and the one before it are in brackets",
            )
            attribute.joined = None


def no_attributes(v: Traversal, node: m.ExprFunction, path: Place) -> None:
    """Remove the attributes of a type function, which must not have any."""
    if node.attributes:
        v.note(path, "attribute", "a type function cannot have attributes")
        node.attributes = []


def _visit_arguments(v: Traversal, node: m.ExprAttr, path: Place) -> None:
    if not node.braced and (node.args or node.parenthesised):
        v.note(path, "argument", "only an attribute in brackets can have arguments")
        node.args, node.parenthesised = [], None
    if node.type is m.ExprAttr.Kind.Deprecated:
        if len(node.args) > 1 or any(argument.which != "table" for argument in node.args):
            v.note(path, "argument", "@deprecated takes exactly one table")
            node.args = [argument for argument in node.args if argument.which == "table"][:1]
        for argument in node.args:
            _visit_deprecated(v, argument.alternative, path)
    waiting = [(argument, (path, "args", n)) for n, argument in enumerate(node.args)]
    while waiting:
        literal, here = waiting.pop()
        inner: Any = literal.alternative
        match inner:
            case None:
                v.note(here, "unset", "missing literal")
                literal.nil = m.ExprConstantNil()
            case m.ExprConstantNumber() if inner.val < 0 or not (inner.double or 0) >= 0:
                v.note(here, "argument", "a negative number is not a literal")
                literal.number = filler()
            case m.ExprConstantString():
                visit_string(v, inner, here)
            case m.ExprLiteralTable():
                for item in inner.items:
                    if item.key_name is not None and item.key_name.which is None:
                        v.note(here, "unset", "missing name")
                        item.key_name.custom = 0
                    waiting.append((item.value, here))


def _visit_deprecated(v: Traversal, node: Any, path: Place) -> None:
    kept = [
        item
        for item in node.items
        if item.key_name is not None
        and item.value.which == "string"
        and item.key_name.which is not None
        and v.names.field(item.key_name) in _KEYS
    ]
    if len(kept) < len(node.items):
        v.note(
            path,
            "argument",
            "the table of @deprecated can only contain `use` and `reason`, which must be strings",
        )
        node.items = kept
