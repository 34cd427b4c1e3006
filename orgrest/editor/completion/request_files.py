"""Completion of syntax that only request files have: directives, names in braces, scripts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from orgrest.editor.completion.model import Context, Offer
from orgrest.editor.request_files import API, DIRECTIVE
from orgrest.http.parsing.directives import DIRECTIVES, rule_of
from orgrest.http.parsing.request_file import read_above
from orgrest.http.values.dynamic import DYNAMICS
from orgrest.http.values.sources import set_by

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from orgrest.editor.completion.cursor import Cursor

DEFINITION = re.compile(r"@[^\s=:{}\"']+[ \t]*:?=")
_DEFINITIONS = re.compile(
    r"^[ \t]*@(?:global\.)?(?P<name>[^\s=:{}\"']+)[ \t]*:?=[ \t]*(?P<value>.*)", re.MULTILINE
)
_REQUESTS = re.compile(r"^[ \t]*(?:#+|//+)[ \t]*@name[ \t:=]+(?P<name>\S+)", re.MULTILINE)
_SCRIPTS = re.compile(r"^[ \t]*[<>][ \t]*\{%(?P<code>.*?)%\}", re.MULTILINE | re.DOTALL)
_IMPORT = re.compile(
    r"[ \t]*(?:(?P<word>import|run)[ \t]+|(?:#+|//+)[ \t]*@import[ \t:=]+)(?P<what>[^(]*)"
)
_OPENED = re.compile(r"^[ \t]*[<>][ \t]*\{%", re.MULTILINE)
_NAME = re.compile(r"(?<![\w.$])[A-Za-z][\w.]*$")
_MAX_SHOWN = 60  # characters of a value
_PARTS = {
    "response.body": "the response's body; `.$.field` or `.//tag` selects a part",
    "response.headers": "a header of the response: `.headers.NAME`",
    "response.status": "the status code",
    "request.body": "the body that was sent",
    "request.headers": "a header that was sent: `.headers.NAME`",
}
_PROMPTS = {
    "$input": "$input QUESTION\n\nAsks for a value before sending (httpyac's syntax).",
    "$password": "$password QUESTION\n\nAsks for a secret before sending (httpyac's syntax).",
}


def context(cursor: Cursor) -> Context | None:
    """Return the context in a directive, an import or a script, or None elsewhere."""
    match = _IMPORT.fullmatch(cursor.before)
    if match is not None and (match["word"] is None or cursor.state.part == "start"):
        return _of_import(cursor, match)
    if match := DIRECTIVE.match(cursor.before):
        if match.end() == len(cursor.before):
            return cursor.here("directive", match[1], rest=r"[\w-]*")
        rule = rule_of(match[1])
        argument = re.fullmatch(r"[ \t]+(\S*)", cursor.before[match.end() :])
        if rule is not None and rule.names and rule.name != "name" and argument:
            return cursor.here("request", argument[1], rest=r"\S*")
        return None
    name = _NAME.search(cursor.before)
    if name is None:
        return None
    at = cursor.start + len(cursor.before)
    if "{%" not in cursor.code[:at]:
        return None
    opened = max((match.end() for match in _OPENED.finditer(cursor.code, 0, at)), default=-1)
    if opened < 0 or "%}" in cursor.code[opened:at]:
        return None
    return cursor.here("script", name[0], rest=r"[\w.]*")


def _of_import(cursor: Cursor, match: re.Match[str]) -> Context:
    """Return the context of a file path or request name after `import`, `run` or `# @import`."""
    if match["word"] == "run" and "#" in match["what"]:
        name = match["what"].partition("#")[2].lstrip()
        return cursor.here("request", name, rest=r"[^(]*")
    folder, slash, name = match["what"].rpartition("/")
    return cursor.here("file", name, folder + slash, r"[^\s/#]*")


def directives(_: Cursor, __: Context) -> Iterator[Offer]:
    """Yield the directives. Those that prevent a request from being sent come last."""
    for rule in DIRECTIVES.values():
        about = f"@{rule.name} {rule.value}".rstrip() + f"\n\n{rule.about}"
        insert = f"{rule.name} " if rule.value else rule.name
        yield Offer(rule.name, about, insert, 2 if rule.refused else 1)


def requests(cursor: Cursor, _: Context) -> Iterator[Offer]:
    """Yield the names of the requests in this file and in the files that it imports."""
    own = _named(cursor)
    for name, line in own.items():
        yield Offer(name, f"The request with this name, defined on line {line}.")
    for name, where in cursor.imported().requests.items():
        if name not in own:
            yield Offer(name, f"The request with this name, defined in {where}.")


def names_of_scripts(_: Cursor, __: Context) -> Iterator[Offer]:
    """Yield the names in the scripting API."""
    for name, about in API.items():
        yield Offer(name, about, f"{name}(" if about.startswith(f"{name}(") else None)


def in_braces(cursor: Cursor, known: Collection[str]) -> Iterator[Offer]:
    """Yield everything that can be written in double braces, except for the names in `known`."""
    seen = set(known)
    yield from _set_by_directives(cursor)
    matches = {match["name"]: match for match in _DEFINITIONS.finditer(cursor.code)}
    lines = cursor.lines(match.start("name") for match in matches.values())
    for (name, match), line in zip(matches.items(), lines, strict=True):
        yield variable(name, match["value"].strip(), f"line {line}")
    seen.update(matches)
    for script in _SCRIPTS.finditer(cursor.code):
        for name in sorted(set_by(script["code"]) - seen):
            seen.add(name)
            yield variable(name, "set when requests are sent", "set by a script")
    imported = cursor.imported()
    for variables in (imported.variables, cursor.settings()):
        for name, (value, where) in variables.items():
            if name not in seen:
                seen.add(name)
                yield variable(name, value, where)
    requests = {name: f"in {where}" for name, where in imported.requests.items()}
    requests.update((name, f"on line {line}") for name, line in _named(cursor).items())
    for name, where in requests.items():
        for part, about in _PARTS.items():
            yield Offer(f"{name}.{part}", f"For the request defined {where}: {about}.", rank=2)
    for name, paths in imported.answered.items():
        for path, about in paths.items():
            yield Offer(f"{name}.response.{path}", about, f"{name}.response.{path}}}}}", rank=2.5)
    for entry in DYNAMICS:
        insert = f"{entry.name}}}}}" if entry.usage == entry.name else entry.name
        yield Offer(entry.name, f"{entry.usage}\n\n{entry.description}", insert, rank=3)
    for name, about in _PROMPTS.items():
        yield Offer(name, about, rank=3)


def _set_by_directives(cursor: Cursor) -> Iterator[Offer]:
    """Yield the variables that the directives of the request at the cursor set before sending."""
    directives = read_above(cursor.code[: cursor.start + len(cursor.before)]).directives
    lines = cursor.lines(directive.span.start for directive in directives)
    for directive, line in zip(directives, lines, strict=True):
        names = ["$index"] if directive.name == "loop" else []
        if directive.sets and directive.name != "env-json-key":
            names.append(directive.sets[0])
        for name in names:
            yield variable(name, f"@{directive.name} {directive.value.text}", f"line {line}")


def variable(name: str, value: str, where: str, *, is_braced: bool = True) -> Offer:
    """Return the offer for a variable. `is_braced` is whether braces, which are closed, precede."""
    shown = value if len(value) <= _MAX_SHOWN else value[: _MAX_SHOWN - 3] + "..."
    return Offer(name, f"{shown}\n\n{where}", f"{name}}}}}" if is_braced else name)


def _named(cursor: Cursor) -> dict[str, int]:
    """Return the name of each request in the file, with the line that names it."""
    matches = {match["name"]: match.start("name") for match in _REQUESTS.finditer(cursor.code)}
    return dict(zip(matches, cursor.lines(matches.values()), strict=True))
