r"""Neutralizes control characters, Emacs's local variables and Org syntax in untrusted text.

Control characters, and characters that change the direction of text, are shown as `\x1b` or
`\u202e`. Bytes that are invalid in the charset are shown as `\xe9`. `is_plain` returns whether Org
finds neither markup nor structure in a string. `verbatim` protects other strings.
"""

from __future__ import annotations

import re

from orgrest.regular import compiled

_INVISIBLE = compiled("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
# GNU Emacs manual, "Specifying File Variables".
_LOCAL_VARIABLES = compiled(r"(local variables):", re.IGNORECASE)

# The patterns below are compiled on first use, because most runs show no text inside of Org.
# Matches where Emacs and Vim read settings: GNU Emacs manual, "Specifying File Variables";
# Vim's "modeline".
_MODELINE = r"(?i)(?:(?<=-)\*(?=-))|(?<!\S)(vim?(?:[<=>]?\d+)?|ex):"
_LINK_TYPE = r"(?<![\w/])(?!https?:)([A-Za-z][\w+-]*:)(?=[^\s\d])"
_LINK = r"\[(?=\[)|<(?=[\w+-]+:)"

_END = r"(?=[ \t\n]|\Z)"
# Org Syntax, "Elements": the possible beginnings of a line of a paragraph.
_START = r"""(?imx)^(?!
        [ \t]*+(?:
            $
            | (?! (?:[0-9]++|[A-Za-z])[.)](?:[ \t]|$)            # an item
                | (?:SCHEDULED|DEADLINE|CLOSED|CLOCK):)[^\W_]
            | ["'{}\[\](),.;!?<>&`/=~$@%^_\\]                   # which `_LIVE` looks at
            | [-+][0-9] | \#[^\W_] | [^\x00-\x7f]
        )
    )"""
# Org Syntax, "Objects": matches a character that could begin an object, that is, any character not
# listed as allowed in its context.
_LIVE = rf"""(?x)(?!
        [^\W_] | [ \t\n"'}}\](),.;!?>&`#|*/+=~$-] | [^\x00-\x7f]
        | :{_END} | (?<=[ \t"'()\]}}=,;/?&.!-]):(?!:) | (?<=[0-9]):(?=[0-9])        # no link
        | [_^]{_END}                                            # no index
        | \\(?=["/]) | @(?!@) | %(?!%) | \{{(?!\{{)
        | \[(?: (?=[ \t\n"'\]{{]|\Z) | (?=(?:true|false|null)\b) | (?=-?[0-9]++[ \t\n,.\]]))
        | <(?: (?=[ \t\n/=!]|\Z) | (?=[A-Za-z][A-Za-z0-9]*+[ \t\n/>]))
    )[\s\S]"""
# The characters that open and close emphasis, by `org-emphasis-regexp-components`.
_OPENS = r"""(?m)(?:^|(?<=[-\s('"{])|(?<=[^\x00-\x7f]))[*/+=~](?=\S)"""
_CLOSES = r"""(?m)(?<=\S)[*/+=~](?=$|[-\s.,:!?;'")}\\\[]|[^\x00-\x7f])"""
_ENDS_VERBATIM = {sign: rf"^{sign}|{sign}(?![^\W_])" for sign in "=~"}


def visible(text: str, *, one_line: bool = False) -> str:
    r"""Return `text` with control characters, except tabs, shown as escapes such as `\x1b`.

    Newlines are kept unless `one_line` is True. The colon in markers of file-local variables is
    escaped, because Emacs would otherwise apply the variables.
    """
    if text.isascii() and text.isprintable() and "variables:" not in text.lower():
        return text
    shown = _LOCAL_VARIABLES.sub(r"\1\\x3a", _INVISIBLE.sub(_show_character, text))
    return shown.replace("\n", "\\x0a") if one_line else shown


def without_settings(line: str) -> str:
    """Return the line, changed so that editors do not read settings (modelines) from it."""
    return re.sub(
        _MODELINE,
        lambda match: f"{match[1]}\\x3a" if match[1] else "\\x2a",
        visible(line, one_line=True),
    )


def without_links(line: str) -> str:
    """Return a comment with Org links broken up, because Org opens links in comments, too."""
    return re.sub(_LINK_TYPE, r"\1 ", re.sub(_LINK, r"\g<0> ", line))


def with_escaped_links(string: str) -> str:
    """Return the content of a Lisp string literal with Org links escaped.

    The escapes do not change the value of the literal.
    """
    return re.sub(
        _LINK_TYPE, lambda match: f"{match[1][:-1]}\\:", re.sub(r"\[(?=\[)", r"[\\", string)
    )


def in_heading(text: str) -> str:
    """Return `text` for use in a heading or title, as verbatim text if it contains Org markup."""
    if not text or is_plain_inside(text):
        return text
    return verbatim(text) or re.sub(r"[^\w\s.,-]+", " ", text).strip()


def has_local_variables(text: str) -> bool:
    """Return whether Emacs might find local variables in `text`."""
    return _LOCAL_VARIABLES.search(text) is not None


def _show_character(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xDC80 <= code <= 0xDCFF:  # a byte that was not UTF-8
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def is_plain(text: str) -> bool:
    """Return whether Org finds only paragraphs without markup in `text`.

    If in doubt, returns False, even for some plain strings.
    """
    return re.search(_START, text) is None and is_plain_inside(text)


def is_plain_inside(text: str) -> bool:
    """Return whether Org treats `text` as plain text anywhere except at the start of a line."""
    if re.search(_LIVE, text) or text.count("$") > 1:
        return False
    opened: dict[str, int] = {}
    for match in re.finditer(_OPENS, text):
        opened.setdefault(match[0], match.start())
    return not opened or all(
        match.start() <= opened.get(match[0], len(text)) + 1 for match in re.finditer(_CLOSES, text)
    )


def verbatim(text: str) -> str | None:
    """Return a line as ``=verbatim=``, else as ``~code~``, or None if neither is possible.

    The line must not have leading or trailing blanks. Source: Org manual, "Emphasis and Monospace".
    """
    for sign, ends in _ENDS_VERBATIM.items():
        if not re.search(ends, text):
            return f"{sign}{text}{sign}"
    return None
