"""Rules about strings and the text in interpolated strings."""

from __future__ import annotations

from typing import Any, Final

from scriptschema.luau.quoting import string_bytes
from scriptschema.luau.validation.traversal import Place, Traversal

RULES: Final = {
    "string": "surrogates in a string must represent bytes that are not valid UTF-8; string types "
    "cannot contain zero bytes",
}


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
