r"""Pretty-prints JSON and XML without changing their meaning.

Both printers work on tokens, in one pass and without recursion. Malformed text is returned
unchanged, because a response should not be repaired.

JSON (RFC 8259) is indented by two spaces. Duplicate keys, the order of keys and the spelling of
numbers are kept. Unnecessary escapes in strings are removed. Consecutive values are formatted
separately. Text after the last value is kept.

XML is indented by two spaces. A one-line element that contains text is broken only between adjacent
tags, as in restclient and Emacs's nxml-mode. An element with xml:space="preserve" is kept
unchanged. Entities and doctypes are not resolved.
"""

from __future__ import annotations

import io
import json
import re
from typing import TYPE_CHECKING

from orgrest import classes
from orgrest.regular import compiled

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_DEPTH = 500
_GROWTH = 8

_JSON = compiled(
    r"""[ \t\n\r]*+(?:
        ([\[\]{},:])
      | ("[^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*+")
      | (-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?(?![0-9.]))
      | (true|false|null)(?!\w)
      )""",
    re.VERBOSE,
)
# The beginning of a truncated token: nothing, a string, a number, a word.
_CUT_TOKEN = compiled(
    r"""[ \t\n\r]*+(?:"(?:[^"\\\x00-\x1f]|\\.)*+\\?|[0-9.eE+-]*+|[a-z]*+)""", re.DOTALL
)
_SPACE = compiled(r"[ \t\n\r]*+")
_NEEDS_ESCAPE = compiled('["\\\\\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]')
_SHORT_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
}

# Atomic groups, because Python 3.11.0 to 3.11.4 matches `(...)*+` wrongly if an iteration fails
# half-way, as in an attribute without its closing quote (gh-106052).
_XML = compiled(
    r"""
        (?P<comment><!--.*?-->)
      | (?P<cdata><!\[CDATA\[.*?\]\]>)
      | (?P<instruction><\?.*?\?>)
      | (?P<doctype><![A-Z](?>(?:[^<>"'\[\]]++|"[^"]*+"|'[^']*+'
                              |\[(?>(?:[^\]"']++|"[^"]*+"|'[^']*+')*)\])*)>)
      | </(?P<close>[^\s<>/]++)\s*+>
      | <(?P<open>[^\s<>/!?"'=&]++)(?P<rest>(?>(?:[^<>"']++|"[^"<]*+"|'[^'<]*+')*))>
      | (?P<text>[^<]++)
    """,
    re.VERBOSE | re.DOTALL,
)
_PRESERVE = compiled(r"xml:space\s*=\s*[\"']preserve")
# The characters that restclient allows between two tags when it breaks the line there. The t is a
# bug in restclient ("\\t" instead of a tab), but existing documents contain results made this way.
_BETWEEN_TAGS = compiled(r"[ \\t]*+")


class _NotUnderstoodError(Exception):
    """Raised if the text is malformed or would be too large when formatted."""


def _same(text: str) -> str:
    return text


@classes.frozen
class _Tokens:
    """The token patterns of a language.

    `value` matches a token where a value may begin, and `other` matches tokens elsewhere. `spelled`
    returns the text to write for a string token.
    """

    value: re.Pattern[str]
    other: re.Pattern[str]
    spelled: Callable[[str, Callable[[str], str]], str]


def _json_string(token: str, change: Callable[[str], str]) -> str:
    try:
        value = json.loads(token) if "\\" in token else token[1:-1]
    except ValueError:
        raise _NotUnderstoodError from None
    return f'"{_NEEDS_ESCAPE.sub(_json_escape, change(value))}"'


def _json_escape(match: re.Match[str]) -> str:
    return _SHORT_ESCAPES.get(match[0], f"\\u{ord(match[0]):04x}")


VARIABLE = r"\{\{[^{}\n]*\}\}"
STRING = rf'"(?>(?:{VARIABLE}|[^"\\\n]|\\.)*)"'  # a run of braces is matched in one way only
_ATOM = rf"""(?>(?:{VARIABLE}|[^\s\[\]{{}},:"])+)"""
_PLAIN = _Tokens(_JSON, _JSON, _json_string)
_TEMPLATE = _Tokens(
    compiled(
        rf"\s*+(?:((?!{VARIABLE})[\[\]{{}},])|({STRING}|(?::(?=[\w-]))?{_ATOM})|((?!))|((?!)))"
    ),
    compiled(rf"\s*+(?:((?!{VARIABLE})[\[\]{{}},:])|({STRING}|{_ATOM})|((?!))|((?!)))"),
    lambda token, _: token,
)


def json_text(text: str, change: Callable[[str], str] = _same, *, cut: bool = False) -> str:
    """Return `text` with its JSON values pretty-printed.

    Text from the first part that is not JSON is returned unchanged. `change` is applied to each
    number and decoded string before it is written. `cut` means that the text was truncated.
    """
    out: list[str] = []
    at = 0
    budget = _GROWTH * len(text) + 2**16
    while at < len(text):
        space = _SPACE.match(text, at)
        start = space.end() if space else at
        if start == len(text):
            break
        try:
            value, end = _json_value(text, start, change, budget, cut=cut)
        except _NotUnderstoodError:
            break
        out += [text[at:start], value]
        budget -= len(value)
        at = end
    return "".join(out) + text[at:]


def json_template(text: str) -> str | None:
    """Return a JSON value with placeholders, pretty-printed, or None if `text` is something else.

    Numbers, strings and escapes stay as written. `{{name}}` and `:name` may occur anywhere.
    """
    try:
        value, end = _json_value(text, 0, _same, _GROWTH * len(text) + 2**16, tokens=_TEMPLATE)
    except _NotUnderstoodError:
        return None
    return None if text[end:].strip() else value


def _json_value(
    text: str,
    at: int,
    change: Callable[[str], str],
    budget: int,
    *,
    cut: bool = False,
    tokens: _Tokens = _PLAIN,
) -> tuple[str, int]:
    """Return the formatted value at offset `at`, and the offset at which the value ends.

    If `cut` is True and the value is truncated, only its complete tokens are formatted.
    """
    out = io.StringIO()  # a list would need a string of sixty bytes for each token
    closers: list[str] = []
    # What may come next: a value, a key, the colon after a key, a comma or the end. After an
    # opening bracket, the closing bracket may come, too.
    state, may_close = "value", False
    size, last = 0, ""
    while True:
        token = (tokens.value if state == "value" else tokens.other).match(text, at)
        if token is None:
            if cut and size and _CUT_TOKEN.fullmatch(text, at):
                return out.getvalue(), at
            raise _NotUnderstoodError
        at = token.end()
        mark, string, number, word = token.groups()
        piece = ""
        if string and state in ("value", "key"):
            piece = tokens.spelled(string, change)
            state = "colon" if state == "key" else "after"
        elif (number or word) and state == "value":
            piece, state = change(number) if number else word, "after"
        elif mark and mark in "[{" and state == "value":
            closers.append("]" if mark == "[" else "}")
            piece, state = mark, "value" if mark == "[" else "key"
        elif mark == ":" and state == "colon":
            piece, state = ": ", "value"
        elif mark == "," and state == "after" and closers:
            piece, state = ",", "value" if closers[-1] == "]" else "key"
        elif mark and closers and mark == closers[-1] and (state == "after" or may_close):
            closers.pop()
            piece = mark if may_close else f"\n{'  ' * len(closers)}{mark}"
            state = "after"
        else:
            raise _NotUnderstoodError
        if (may_close and mark not in ("]", "}")) or last == ",":
            depth = len(closers) - (mark in ("[", "{"))  # brackets are indented less
            piece = f"\n{'  ' * depth}{piece}"
        may_close = mark in ("[", "{") if mark else False
        out.write(piece)
        last = piece
        size += len(piece)
        if size > budget or len(closers) > MAX_DEPTH:
            raise _NotUnderstoodError
        if state == "after" and not closers:
            return out.getvalue(), at


def xml_text(text: str) -> str:
    """Return the XML document `text`, pretty-printed.

    `text` is returned unchanged if it is malformed, or if its pretty-printed form would be too
    large or too deep.
    """
    try:
        return _xml(text)
    except _NotUnderstoodError:
        return text


def _xml(text: str) -> str:
    tokens: list[re.Match[str]] = []
    at = 0
    while at < len(text):
        token = _XML.match(text, at)
        if token is None:
            raise _NotUnderstoodError
        tokens.append(token)
        at = token.end()
    verbatim, ends = _xml_structure(tokens)
    lines: list[str] = []
    depth = size = index = 0
    while index < len(tokens):
        token = tokens[index]
        if token["text"] is not None:
            index += 1
            continue
        if token["close"]:
            depth -= 1
        piece = token[0]
        opens = token["open"] and not token["rest"].endswith("/")
        if opens and index in verbatim:
            last = ends[index]
            piece = text[token.start() : tokens[last].end()]
            if "\n" not in piece and not _PRESERVE.search(piece):
                piece = _broken(tokens[index : last + 1], depth, _GROWTH * len(text) + 2**16)
            index = last
        lines.append("  " * depth + piece)
        size += len(lines[-1])
        if opens and piece == token[0]:
            depth += 1
        if depth > MAX_DEPTH or size > _GROWTH * len(text) + 2**16:
            raise _NotUnderstoodError
        index += 1
    trailing = text[len(text.rstrip(" \t\r\n")) :].count("\n")
    return "\n".join(lines) + "\n" * trailing


def _xml_structure(tokens: list[re.Match[str]]) -> tuple[set[int], dict[int, int]]:
    """Return the start tags of the elements to keep unchanged, and the end tag of each start tag.

    Tags are given as token indexes.
    """
    verbatim: set[int] = set()
    ends: dict[int, int] = {}
    opened: list[int] = []
    roots = 0
    for index, token in enumerate(tokens):
        if (token["text"] is not None and token["text"].strip()) or token["cdata"]:
            if not opened:
                raise _NotUnderstoodError
            verbatim.add(opened[-1])
        elif token["close"]:
            if not opened or tokens[opened[-1]]["open"] != token["close"]:
                raise _NotUnderstoodError
            ends[opened.pop()] = index
        elif token["open"]:
            roots += not opened
            if not token["rest"].endswith("/"):
                opened.append(index)
                if _PRESERVE.search(token["rest"]):
                    verbatim.add(index)
    if opened or roots != 1:
        raise _NotUnderstoodError
    return verbatim, ends


def _broken(tokens: list[re.Match[str]], depth: int, budget: int) -> str:
    """Return an element that contains text, broken between adjacent tags into indented lines.

    The rules are those of `nxml-compute-indent` in Emacs 28. A line that ends with an end tag is
    aligned with its start tag if an earlier line begins with the start tag. The indentation of
    other lines depends on their tokens and on the line above.
    """
    lines: list[list[re.Match[str]]] = [[]]
    for index, token in enumerate(tokens):
        after = index - 1
        if after > 0 and tokens[after]["text"] and _BETWEEN_TAGS.fullmatch(tokens[after][0]):
            after -= 1
        if index and token["text"] is None and tokens[after]["text"] is None:
            lines.append([])
        lines[-1].append(token)
    opened: list[tuple[int, bool]] = []  # of open elements: line, whether first in it
    widths: list[int] = []
    for number, line in enumerate(lines):
        closed = (number, False)
        for token in line:
            if token["close"]:
                closed = opened.pop()
            elif token["open"] and not token["rest"].endswith("/"):
                opened.append((number, token is line[0]))
        last = next(token for token in reversed(line) if token[0].strip(" "))
        if not number:
            widths.append(2 * depth)
        elif last["close"] and closed[0] < number and closed[1]:
            widths.append(widths[closed[0]])
        else:
            above, here = _context(lines[number - 1]), _context(line)
            shift = (here != "end") if above == "start" else -(here == "end")
            widths.append(max(widths[-1] + 2 * shift, 0))
        budget -= widths[-1]
        if len(opened) > MAX_DEPTH or budget < 0:
            raise _NotUnderstoodError
    texts = ("".join(token[0] for token in line) for line in lines)
    return "\n".join(" " * width + text for width, text in zip(widths, texts, strict=True)).lstrip(
        " "
    )


def _context(line: list[re.Match[str]]) -> str:
    """Return the combined type of a line's tokens, like `nxml-merge-indent-context-type`."""
    context = ""
    for token in line:
        if token["close"]:
            context = "end" if context in ("", "end", "comment") else "mixed"
        elif token["open"] and not token["rest"].endswith("/"):
            context = "start" if context in ("", "start", "comment") else "mixed"
        elif token["comment"]:
            context = context or "comment"
            context = "mixed" if context == "markup" else context
        elif token[0].strip(" \t"):
            context = "mixed" if context else "markup"
    return context
