"""Org's syntax as tables: patterns for keywords, items, drawers ..., and the kinds of blocks.

Source: Org 9.5's syntax description and `org-element.el`. Patterns are matched at the start of a
line if they begin with blanks themselves, otherwise at its first non-blank character.
"""

from __future__ import annotations

import re

HEADING = re.compile(r"\*+ ")
TAGS = re.compile(r"[ \t]:([\w@#%:]+):[ \t]*$")
KEYWORD = re.compile(r"[ \t]*#\+([^\s:\[]+)(?:\[(.*)\])?:[ \t]*(.*)")
END = re.compile(r"#\+end_(\S+)[ \t]*$", re.IGNORECASE)
DYNAMIC_END = re.compile(r"#\+end:?[ \t]*$", re.IGNORECASE)
DRAWER = re.compile(r":([\w-]+):[ \t]*$")
PROPERTY = re.compile(r"[ \t]*:(\S+):(?:[ \t](.*))?$")
SRC = re.compile(
    r"#\+begin_src(?:[ \t]+(\S+))?"
    r"((?:[ \t]+(?:-(?:l[ \t]+\".+?\"|[ikr])|[-+]n(?:[ \t]*[0-9]+)?)(?=[ \t]|$))*)(.*)$",
    re.IGNORECASE,
)
ITEM = re.compile(r"(?:[-+]|(?<=[ \t])\*|[0-9]+[.)])(?:[ \t]|$)")
FOOTNOTE = re.compile(r"\[fn:[-\w]+\]")
LATEX_BEGIN = re.compile(r"\\begin\{([A-Za-z0-9*]+)\}")
LATEX_END = re.compile(r"\\end\{([A-Za-z0-9*]+)\}[ \t]*$")
PLANNING = re.compile(r"[ \t]*(?:SCHEDULED|DEADLINE|CLOSED):")
LINK_LINE = re.compile(r"[ \t]*\[\[(?:[^\]\[\\]|\\.)+\](?:\[[^\n]+?\])?\][ \t]*$")
RULE = re.compile(r"-{5,}[ \t]*$")
COMMENT = re.compile(r"#(?: |$)")
SEPARATE = re.compile(
    r"$|\||:(?: |$)|:[-\w]+:[ \t]*$|#(?:[ +]|$)|-{5,}[ \t]*$|(?:[-+]|[0-9]+[.)])(?:[ \t]|$)"
    r"|\[fn:|\\begin\{"
)
TODO_WORD = re.compile(r"[^\s|(]+(?=\(|\s|$)")
FIXED = re.compile(r":(?: |$)")
CALL = re.compile(r"[ \t]*#\+call:[ \t]+([^()\[\]\n]+?)(\[[^\]\[\n]*\])?(?=\()", re.IGNORECASE)
HASH = re.compile(r"(?:\(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\)[ \t]*)?([0-9a-f]+)$", re.IGNORECASE)

# Old spellings of the affiliated keywords; either form may precede an element.
TODAY = {
    "data": "name",
    "label": "name",
    "resname": "name",
    "source": "name",
    "srcname": "name",
    "tblname": "name",
    "headers": "header",
    "result": "results",
}
NAME_KEYWORDS = frozenset({"name", *(key for key, today in TODAY.items() if today == "name")})
_AFFILIATED = frozenset({"caption", "header", "name", "plot", "results", *TODAY})

# Types of `#+begin_` that hold plain text, and types that hold elements; others are special.
VERBATIM_BLOCKS = frozenset({"src", "example", "export", "comment", "verse"})
PLAIN_CONTAINERS = frozenset({"quote", "center"})
# The types that Org treats as an old result, and removes, directly below a results keyword.
REMOVABLE = frozenset(
    {"src", "example", "export", "special", "fixed", "drawer", "table", "list", "latex"}
)


def is_affiliated(line: str) -> bool:
    """Return whether a line is a keyword that belongs to the element below it."""
    match = KEYWORD.match(line)
    if match is None:
        return False
    key = match[1].lower()
    return key in _AFFILIATED or key.startswith("attr_")


def closing(text: str) -> str | None:
    r"""Return the kind of element that a line, without leading blanks, closes.

    That is a type of block, ``#+end:``, ``:end:`` or ``\name`` of a LaTeX environment.
    """
    if text[:5].lower() == "#+end":
        if match := END.match(text):
            return match[1].lower()
        return "#+end:" if DYNAMIC_END.match(text) else None
    if text[:5].lower() == ":end:":
        return None if text[5:].strip(" \t") else ":end:"
    match = LATEX_END.match(text) if text[:1] == "\\" else None
    return f"\\{match[1]}" if match else None


def opening(text: str) -> tuple[str, str] | None:
    """Return the closing mark and the type of the element that a line opens, or None.

    `text` is the line without leading blanks.
    """
    first = text[:1]
    if first == "#":
        if text[:8].lower() == "#+begin_":
            words = text[8:].split(None, 1)
            if not words:
                return None
            name = words[0].lower()
            known = name in VERBATIM_BLOCKS or name in PLAIN_CONTAINERS
            return name, name if known else "special"
        if text[:9].lower() in ("#+begin:", "#+begin: "):
            return "#+end:", "dynamic"
    elif first == ":":
        match = DRAWER.match(text)
        if match and match[1].lower() != "end":
            return ":end:", "drawer"
    elif first == "\\" and (match := LATEX_BEGIN.match(text)):
        return f"\\{match[1]}", "latex"
    return None
