"""Finds references to variables in a string, and recognizes JavaScript expressions among them.

An expression is recognized by its syntax: it is a call, a computation, a comparison or a literal.
`a.b` and `a[0]` are expressions if `a` has a value. These are not expressions: possible variable
names (`api-key`, `my name`), strings that begin with `$` (except for `$index`), and VS Code REST
Client's references to responses.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from orgrest import classes
from orgrest.regular import compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from orgrest.http.syntax import ParsedRequest


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def unquote(literal: str) -> str:
    r"""Return the content of a string in double quotes, with its escape sequences decoded.

    `\n`, `\t` and `\r` are control characters. A backslash before any other character is dropped.
    """
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), literal[1:-1], flags=re.DOTALL)


REFERENCE = compiled(r"\{\{[ \t]*([^\s{}:=\"'(),]+)[ \t]*\}\}|:(?=[^\s:=])")
# Dynamic values such as `$randomInt 5 200` are references so that they can be reported.
_RESTCLIENT = compiled(rf"{REFERENCE.pattern}|\{{\{{[ \t]*(?P<dynamic>\$[A-Za-z][^{{}}\n]*)\}}\}}")
# In request files, the content of the braces may be more than a name: `$randomInt 5 200`. It ends
# at the first }} in the same line, which `references` searches for once per line. After a backslash
# the braces are literal (`\{{name}}`, or httpyac's `\{\{name\}\}`); two backslashes are an escaped
# backslash in JSON.
_COMMON = compiled(
    r"(?P<escape>(?<!\\)\\)?\{\{(?!\{)|\\\{\\\{(?P<literal>[^{}\n]+?)\\\}\\\}|:(?=[^\s:=])"
)
_NAME_CHARACTER = compiled(r"[\w-]")

UNKNOWN = "\ue000"
"""In checks, this private-use character replaces each value that only a run provides."""


@classes.frozen
class VariableReference:
    """A reference to a variable, whose value replaces the text from `start` to `end`.

    `at` is the index where the name starts. If `literal` is set, the text is not a reference but an
    escape sequence for `literal`.
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
) -> Iterator[VariableReference]:
    """Yield the references to variables in `text` between the indexes `start` and `stop`.

    `:name` is a reference only if `defined(name)` is true. `lengths` are the lengths of all
    variable names, in descending order. If the language is not restclient's, everything in double
    braces is a reference. In restclient's language, only names and dynamic values are; the latter
    have no value.
    """
    at = start
    unclosed = start  # there is no }} before this index
    line_end = start - 1  # the end of the last reference's line, which may have many references
    pattern = _RESTCLIENT if restclient else _COMMON
    while match := pattern.search(text, at, stop):
        at = match.end()
        if match.lastgroup == "literal":
            yield VariableReference("", match.start(), at, at, f"{{{{{match['literal']}}}}}")
        elif match.lastgroup == "dynamic":
            from orgrest.http.values.dynamic import is_known

            if is_known(match["dynamic"]):
                name = match["dynamic"].rstrip()
                yield VariableReference(name, match.start(), at, match.start("dynamic"))
            else:
                at = match.start("dynamic")
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
                yield VariableReference("", match.start(), at, at, "{{")
                continue
            written = text[at:close]
            named = written.strip(" \t") or written
            yield VariableReference(named, match.start(), close + 2, at + written.index(named))
            at = close + 2
        elif match[0] != ":":
            yield VariableReference(match[1], match.start(), at, match.start(1))
        elif (name := defined_at(text, at, stop, lengths, defined)) is not None:
            yield VariableReference(name, match.start(), at + len(name), at)
            at += len(name)


def references_in(text: str) -> Iterator[VariableReference]:
    """Yield the references `{{name}}` in a text of a request file."""
    found = references(text, 0, len(text), (), bool, restclient=False)
    return (reference for reference in found if reference.literal is None)


def defined_at(
    text: str, start: int, stop: int, lengths: Iterable[int], defined: Callable[[str], bool]
) -> str | None:
    """Return the name of the defined variable that begins at `start`, after a `:`, or None."""
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
    """Yield, in order, the names that a request refers to with `{{name}}` or `:name`."""
    templates = [parsed.target]
    for line in parsed.header_lines:
        templates += [line.name, line.value]
    if parsed.body is not None:
        templates.append(parsed.body.template)

    def defined(name: str) -> bool:
        definition = parsed.definition(name)
        return definition is not None and (parsed.restclient or definition.mark == ":")

    lengths = sorted(parsed.known.lengths, reverse=True)
    for template in templates:
        text, restclient = template.text, parsed.restclient
        for reference in references(text, 0, len(text), lengths, defined, restclient=restclient):
            if reference.literal is None:
                yield reference.name


# --------------------------------------------------------------------------------------- JavaScript

_COMPUTES = compiled(
    r"[()+/%!?<>=&|`]|[\w\])]\s*\*|\s-\s|^['\"\[{]|^(?:new|typeof|await)\s|"
    r"^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?)$"
)
_INDEX = compiled(r"\$index(?![\w$])")
_MEMBER = compiled(r"([A-Za-z_$][\w$]*)(?:\?\.|\.|\[)")
_STRINGS = compiled(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_NAMES = compiled(r"(?:(?<![\w$.])|(?<=\.\.\.))(?!(?:true|false|null)(?![\w$]))[A-Za-z_$][\w$]*")
_WORDS = compiled(
    r"(?<!:)//[^\n]*|/\*.*?(?:\*/|\Z)|(?<=\()\s*(?P<argument>'[^'\n]*'|\"[^\"\n]*\")|"
    r"'(?:[^'\\\n$]|\\.|\$(?!\{)){0,500}'|\"(?:[^\"\\\n$]|\\.|\$(?!\{)){0,500}\"|"
    r"(?<![\w$])(?:exports\.|(?<!\.)|(?<=\.\.\.))"
    r"(?P<name>[A-Za-z_$][\w$]*)",
    re.DOTALL,
)
GLOBALS = frozenset({"Array", "Date", "JSON", "Math", "Number", "Object", "String", "crypto"})
"""Built-in objects with members that may be used without a call or operator: `Math.PI`."""

RESERVED = compiled(
    "arguments|await|break|case|catch|class|const|continue|debugger|default|delete|do|else|enum|eval|"
    "export|extends|false|finally|for|function|if|implements|import|in|instanceof|interface|let|new|"
    "null|package|private|protected|public|return|static|super|switch|this|throw|true|try|typeof|"
    "undefined|var|void|while|with|yield"
)
"""Matches the words that cannot be names of variables in JavaScript (ECMAScript 2025, 12.7.2)."""

OBJECTS = frozenset({"$global", "$random"})
"""Objects that expressions and scripts can use in addition to variables."""


def is_computed(text: str) -> bool:
    """Return whether the text in double braces is an expression, judging by its syntax only."""
    if index := _INDEX.match(text):
        return index[0] != text
    if text.startswith("$") or "[?" in text:
        return False
    from orgrest.http import responses

    if responses.read(text) is not None:
        return False
    return _COMPUTES.search(text) is not None


def root_of(text: str) -> str | None:
    """Return the name `a` in `a.b` or `a[0]`, or None for other strings."""
    match = _MEMBER.match(text)
    if match is None or text.startswith("$"):
        return None
    from orgrest.http import responses

    return None if responses.read(text) is not None else match[1]


def is_expression(text: str, known: Collection[str]) -> bool:
    """Return whether a string is an expression, given that the variables in `known` are defined."""
    if text in known:
        return False
    first = None if is_computed(text) else root_of(text)
    return is_computed(text) or first in known or first in GLOBALS


def names_of(text: str) -> Iterator[tuple[str, int]]:
    """Yield (name, index) for each possible variable name in an expression, except in strings."""
    blank = _STRINGS.sub(lambda match: " " * len(match[0]), text)
    for match in _NAMES.finditer(blank):
        yield match[0], match.start()


def used_in(script: str, names: Collection[str]) -> int | None:
    """Return the index of the first possible use of a variable in `names` in a script, or None.

    A use is an identifier, a member of `exports`, or the first argument of a call, as in
    `client.global.get("name")`.
    """
    for match in _WORDS.finditer(script):
        if match["name"] in names:
            return match.start("name")
        if match["argument"] is not None and match["argument"][1:-1] in names:
            return match.start("argument") + 1
    return None
