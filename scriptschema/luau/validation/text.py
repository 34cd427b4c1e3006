"""Strings, and the text in interpolated strings."""

from __future__ import annotations

from typing import Any, Final

from scriptschema.luau.quoting import string_bytes
from scriptschema.luau.validation.traversal import Place, Traversal

RULES: Final = {
    "string": "a string is decoded as far as it is UTF-8, and a string type has no zero",
}


def visit_string(v: Traversal, node: Any, path: Place, *_: int) -> None:
    """Visit an ExprConstantString, or a TypeString."""
    if not node.val.isascii():
        decoded = string_bytes(node.val).decode("utf-8", "surrogateescape")
        if decoded != node.val:
            v.note(path, "string", "some bytes of the string are UTF-8, but not decoded")
            node.val = decoded
