r"""Texts of strangers made harmless: control characters, Emacs's local variables, Org's structure.

Control characters, and characters that turn the direction of text, are shown as `\x1b` or
`\u202e`; bytes that are not of the charset as `\xe9`. `is_structure` says whether a text would be
taken for more than text in an Org document.
"""

from __future__ import annotations

import re

_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
# GNU Emacs manual, "Specifying File Variables".
_LOCAL_VARIABLES = re.compile(r"(local variables):", re.IGNORECASE)
_STRUCTURE = re.compile(
    r"^(?:\*+[ \t]|[ \t]*(?:#\+\S|:[\w-]+:[ \t]*$|\[fn:|\\begin\{)|%%\()"
    r"|<%%\(|(?:src|call)_[^\s\[({]{1,99}[\[({]|\{\{\{",
    re.MULTILINE,
)


def visible(text: str, *, one_line: bool = False) -> str:
    r"""`text` with control characters as `\x1b`; tabs stay, and newlines unless `one_line`.

    The marks of file-local variables lose their colon: Emacs would obey a document that ends so.
    """
    shown = _LOCAL_VARIABLES.sub(r"\1\\x3a", _INVISIBLE.sub(_show_character, text))
    return shown.replace("\n", "\\x0a") if one_line else shown


def _show_character(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xDC80 <= code <= 0xDCFF:  # a byte that was not UTF-8
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def is_structure(text: str) -> bool:
    """Whether Org would find a heading, keyword, block, drawer or inline code in `text`."""
    return _STRUCTURE.search(text) is not None
