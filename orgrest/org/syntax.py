"""Tables of Org's syntax: patterns for keywords, items and so on, and types of blocks.

Source: Org 9.5's syntax description and `org-element.el`. Patterns that start with blanks match at
the start of a line, and others at its first non-blank character.
"""

from __future__ import annotations

import re

from orgrest.regular import compiled

HEADING = compiled(r"\*+ ")
TAGS = compiled(r"[ \t]:([\w@#%:]+):[ \t]*$")
KEYWORD = compiled(r"[ \t]*#\+([^\s:\[]+)(?:\[(.*)\])?:[ \t]*(.*)")
END = compiled(r"#\+end_(\S+)[ \t]*$", re.IGNORECASE)
DYNAMIC_END = compiled(r"#\+end:?[ \t]*$", re.IGNORECASE)
DRAWER = compiled(r":([\w-]+):[ \t]*$")
PROPERTY = compiled(r"[ \t]*:(\S+):(?:[ \t](.*))?$")
SRC = compiled(
    r"#\+begin_src(?:[ \t]+(\S+))?"
    r"((?:[ \t]+(?:-(?:l[ \t]+\".+?\"|[ikr])|[-+]n(?:[ \t]*[0-9]+)?)(?=[ \t]|$))*)(.*)$",
    re.IGNORECASE,
)
ITEM = compiled(r"(?:[-+]|(?<=[ \t])\*|[0-9]+[.)])(?:[ \t]|$)")
FOOTNOTE = compiled(r"\[fn:[-\w]+\]")
LATEX_BEGIN = compiled(r"\\begin\{([A-Za-z0-9*]+)\}")
LATEX_END = compiled(r"\\end\{([A-Za-z0-9*]+)\}[ \t]*$")
PLANNING = compiled(r"[ \t]*(?:SCHEDULED|DEADLINE|CLOSED):")
LINK_LINE = compiled(r"[ \t]*\[\[(?:[^\]\[\\]|\\.)+\](?:\[[^\n]+?\])?\][ \t]*$")
RULE = compiled(r"-{5,}[ \t]*$")
COMMENT = compiled(r"#(?: |$)")
SEPARATE = compiled(
    r"$|\||:(?: |$)|:[-\w]+:[ \t]*$|#(?:[ +]|$)|-{5,}[ \t]*$|(?:[-+]|[0-9]+[.)])(?:[ \t]|$)"
    r"|\[fn:|\\begin\{"
)
TODO_WORD = compiled(r"[^\s|(]+(?=\(|\s|$)")
FIXED = compiled(r":(?: |$)")
CALL = compiled(r"[ \t]*#\+call:[ \t]+([^()\[\]\n]+?)(\[[^\]\[\n]*\])?(?=\()", re.IGNORECASE)
HASH = compiled(r"(?:\(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\)[ \t]*)?([0-9a-f]+)$", re.IGNORECASE)

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
    r"""Return the kind of element that a line closes, or None.

    `text` is the line without leading blanks. The kind is a block type, ``#+end:``, ``:end:``, or
    ``\name`` for a LaTeX environment.
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
    """Return the kind and the type of the element that a line opens, or None.

    `text` is the line without leading blanks. `closing` returns the same kind for the line that
    closes the element.
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
