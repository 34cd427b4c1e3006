"""Finds the references to variables in a text, and the expressions of JavaScript among them.

An expression is recognized by its text: it calls, computes, compares, or is a literal. `a.b` and
`a[0]` are expressions if `a` has a value. Possible names of variables (`api-key`, `my name`), texts
that begin with `$`, and VS Code REST Client's references to responses are not.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs

from orgrest.http.syntax import HeaderLine

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from orgrest.http.syntax import ParsedRequest


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def unquote(literal: str) -> str:
    r"""Decode a literal in double quotes: `\n`, `\t`, `\r`, else the character after `\`."""
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), literal[1:-1], flags=re.DOTALL)


def short(text: str) -> str:
    """Return a text shortened for a message."""
    return text if len(text) <= 60 else f"{text[:57]}..."


REFERENCE = re.compile(r"\{\{[ \t]*([^\s{}:=\"'(),]+)[ \t]*\}\}|:(?=[^\s:=])")
# In request files, the content of the braces may be more than a name: `$randomInt 5 200`. It ends
# at the first }} of its line, which `references` searches once per line. After a backslash the
# braces are literal (`\{{name}}`, httpyac's `\{\{name\}\}`); two backslashes are an escaped
# backslash in JSON.
_COMMON = re.compile(
    r"(?P<escape>(?<!\\)\\)?\{\{(?!\{)|\\\{\\\{(?P<literal>[^{}\n]+?)\\\}\\\}|:(?=[^\s:=])"
)
_NAME_CHARACTER = re.compile(r"[\w-]")

UNKNOWN = "\ue000"
"""The placeholder in a check for a value that only a run provides: a private-use character."""


@attrs.frozen
class Reference:
    """A reference to a variable: `start` to `end` are replaced, the name starts at index `at`.

    A reference with `literal` is an escape instead, which is replaced by that text.
    """

    name: str
    start: int
    end: int
    at: int
    literal: str | None = None


def references(
    text: str,
    start: int,
    stop: int,
    lengths: Iterable[int],
    defined: Callable[[str], bool],
    *,
    restclient: bool = True,
) -> Iterator[Reference]:
    """Yield the references to variables between two indexes of `text`.

    `defined` returns whether a variable exists, which decides the meaning of `:name`; `lengths` are
    the lengths of all names, in descending order. If the language is not restclient's, everything
    in double braces is a reference.
    """
    at = start
    unclosed = start  # there is no }} before this index
    line_end = start - 1  # of the last reference: a line may have many
    pattern = REFERENCE if restclient else _COMMON
    while match := pattern.search(text, at, stop):
        at = match.end()
        if match.lastgroup == "literal":
            yield Reference("", match.start(), at, at, f"{{{{{match['literal']}}}}}")
        elif match[0].endswith("{{"):
            if at < unclosed:
                continue
            if at > line_end:
                newline = text.find("\n", at, stop)
                line_end = stop if newline < 0 else newline
            close = text.find("}}", at + 1, line_end)
            if close < 0:
                unclosed = line_end
                continue
            if match[0] != "{{":
                yield Reference("", match.start(), at, at, "{{")
                continue
            written = text[at:close]
            named = written.strip(" \t") or written
            yield Reference(named, match.start(), close + 2, at + written.index(named))
            at = close + 2
        elif match[0] != ":":
            yield Reference(match[1], match.start(), at, match.start(1))
        elif (name := defined_at(text, at, stop, lengths, defined)) is not None:
            yield Reference(name, match.start(), at + len(name), at)
            at += len(name)


def defined_at(
    text: str, start: int, stop: int, lengths: Iterable[int], defined: Callable[[str], bool]
) -> str | None:
    """Return the defined name that the `:` before `start` refers to, or None."""
    for length in lengths:
        end = start + length
        if end > stop or (end < stop and _NAME_CHARACTER.match(text, end)):
            continue
        name = text[start:end]
        if name[0].isdigit() and start > 1 and _NAME_CHARACTER.match(text, start - 2):
            continue
        if defined(name):
            return name
    return None


def names_in(parsed: ParsedRequest) -> Iterator[str]:
    """Yield the names that a request refers to, in order: in double braces, or as `:name`."""
    templates = [parsed.target]
    for item in parsed.headers:
        if isinstance(item, HeaderLine):
            templates += [item.name, item.value]
    if parsed.body is not None:
        templates.append(parsed.body.template)

    def defined(name: str) -> bool:
        found = parsed.definition(name)
        return found is not None and (parsed.restclient or found.mark == ":")

    lengths = sorted(parsed.known.lengths, reverse=True)
    for template in templates:
        text, restclient = template.text, parsed.restclient
        for one in references(text, 0, len(text), lengths, defined, restclient=restclient):
            if one.literal is None:
                yield one.name


# --------------------------------------------------------------------------------------- JavaScript

_COMPUTES = re.compile(r"[()+/%!?<>=&|`]|[\w\])]\s*\*|\s-\s|^['\"\[{]|^(?:new|typeof|await)\s")
_MEMBER = re.compile(r"([A-Za-z_$][\w$]*)(?:\?\.|\.|\[)")
_STRINGS = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_NAMES = re.compile(r"(?:(?<![\w$.])|(?<=\.\.\.))[A-Za-z_$][\w$]*")
GLOBALS = frozenset({"Array", "Date", "JSON", "Math", "Number", "Object", "String", "crypto"})
"""The built-in objects whose members may be used without a call or operator: `Math.PI`."""

OBJECTS = frozenset({"$global", "$random"})
"""Objects that expressions and scripts can use in addition to variables."""


def is_computed(text: str) -> bool:
    """Return whether a text in double braces is an expression, judged by its syntax alone."""
    if text.startswith("$") or "[?" in text:
        return False
    from orgrest.http import responses

    if responses.read(text) is not None:
        return False
    return _COMPUTES.search(text) is not None


def root_of(text: str) -> str | None:
    """Return the `a` of a plain `a.b` or `a[0]`; else None."""
    match = _MEMBER.match(text)
    if match is None or text.startswith("$"):
        return None
    from orgrest.http import responses

    return None if responses.read(text) is not None else match[1]


def is_expression(text: str, known: Collection[str]) -> bool:
    """Return whether a text is an expression, if the variables `known` are defined."""
    if text in known:
        return False
    first = None if is_computed(text) else root_of(text)
    return is_computed(text) or first in known or first in GLOBALS


def names_of(text: str) -> Iterator[tuple[str, int]]:
    """Yield the possible variables in an expression with their indexes, outside of strings."""
    blank = _STRINGS.sub(lambda match: " " * len(match[0]), text)
    for match in _NAMES.finditer(blank):
        yield match[0], match.start()
