"""Hover information about the language of request files, as opposed to restclient's language.

It describes directives, dynamic values, and the scripting API that `jetbrains.js` defines.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from orgrest.http import responses
from orgrest.http.parsing.directives import rule_of
from orgrest.http.values import dynamic
from orgrest.model import Span, end_of_line

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from orgrest.editor.analysis import Analysis
    from orgrest.editor.parsed_regions import ParsedRegion

DIRECTIVE: Final = re.compile(r"[ \t]*(?:#+|//)[ \t]*@([\w-]*)")
# Matches the references that `references` finds, but only within one line.
_BRACES = re.compile(r"\{\{(?!\{)[ \t]*((?:(?!\{\{)[^\n])+?)[ \t]*\}\}")
_DOTTED = re.compile(r"\$?[A-Za-z_][\w]*(?:\.\w+)*")

API: Final[Mapping[str, str]] = {
    "client.assert": (
        "client.assert(condition, message): fails the handler unless the condition is true."
    ),
    "client.exit": "client.exit(): ends the script.",
    "client.global.clear": "client.global.clear(name): removes a global variable.",
    "client.global.clearAll": "client.global.clearAll(): removes all variables of the run.",
    "client.global.get": "client.global.get(name): a variable of the run, or null.",
    "client.global.isEmpty": "client.global.isEmpty(): whether the run has no variables.",
    "client.global.set": "client.global.set(name, value): sets a variable for the rest of the run.",
    "client.isEnvironmentSelected": "client.isEnvironmentSelected(): whether an environment is "
    "selected.",
    "client.log": "client.log(text): prints text with the result.",
    "client.test": "client.test(name, function): a test, shown with the result.",
    "client.variables.environment.get": "A variable of the selected environment.",
    "client.variables.file.get": "A variable that the file defines with @name.",
    "client.variables.global.set": "The same as client.global.set.",
    "client.variables.request.set": "The same as request.variables.set.",
    "crypto.hmac.sha256": "crypto.hmac.sha256(): also md5, sha1, sha384, sha512.",
    "crypto.sha256": "crypto.sha256().updateWithText(text).digest().toHex(): a digest.",
    "jsonPath": "jsonPath(value, path): the values that a JSONPath matches.",
    "request.body.getRaw": "request.body.getRaw(): the body as written.",
    "request.body.tryGetSubstituted": (
        "request.body.tryGetSubstituted(): the body with its variables replaced."
    ),
    "request.environment.get": "request.environment.get(name): a variable of the environment.",
    "request.headers.findByName": "request.headers.findByName(name): a header, or null.",
    "request.iteration": "request.iteration(): the number of the current loop iteration.",
    "request.method": "The method.",
    "request.url.getRaw": "request.url.getRaw(): the URL as written.",
    "request.url.tryGetSubstituted": (
        "request.url.tryGetSubstituted(): the URL with its variables replaced."
    ),
    "request.variables.get": "request.variables.get(name): a variable of this request.",
    "request.variables.set": (
        "request.variables.set(name, value): sets a variable for this request."
    ),
    "response.body": "The body: the parsed value if it is JSON, otherwise a string.",
    "response.contentType.charset": "The character set of the Content-Type.",
    "response.contentType.mimeType": "The media type of the body.",
    "response.headers.valueOf": "response.headers.valueOf(name): a header's first value, or null.",
    "response.headers.valuesOf": "response.headers.valuesOf(name): all values of a header.",
    "response.status": "The status code, a number.",
}
"""The names in JetBrains' scripting API, with descriptions.

Source: JetBrains' HTTP Client reference.
"""


def referred(text: str, named: Collection[str]) -> str | None:
    """Return the name of the request in `named` that `{{text}}` refers to, or None."""
    for read in (responses.read, responses.read_short):
        reference = read(text)
        if reference is not None and reference.name in named:
            return reference.name
    return None


def about(part: ParsedRegion, offset: int, analysis: Analysis) -> tuple[str, Span] | None:
    """Return the hover text for an offset in a request file, and its span in the region.

    Returns None for variables, and for syntax that also exists in restclient's language.
    """
    text = part.region.text
    start = text.rfind("\n", 0, offset) + 1
    end = end_of_line(text, offset)
    match = DIRECTIVE.match(text, start, end)
    if match is not None and start <= offset <= match.end():
        rule = rule_of(match[1])
        if rule is None:
            return None
        span = Span(match.start(1) - 1, match.end())
        return f"**@{rule.name}** {rule.value}\n\n{rule.about}", span
    for match in _BRACES.finditer(text, start, end):
        if match.start() <= offset <= match.end():
            return _in_braces(part, match, analysis)
    if not any(script.span.reaches(offset) for script in part.reading.scripts):
        return None
    for match in _DOTTED.finditer(text, start, end):
        if match.start() <= offset <= match.end():
            descriptions = "\n\n".join(
                description
                for name, description in API.items()
                if name == match[0] or name.startswith(f"{match[0]}.")
            )
            return (
                (f"**{match[0]}**\n\n{descriptions}", Span(*match.span())) if descriptions else None
            )
    return None


def _in_braces(
    part: ParsedRegion, match: re.Match[str], analysis: Analysis
) -> tuple[str, Span] | None:
    name, span = match[1], Span(match.start(1), match.end(1))
    if name.startswith("$"):
        function = dynamic.find(name)
        if isinstance(function, str):
            return None if name.startswith(("$input", "$password", "$prompt")) else (function, span)
        return f"**{function[0].usage}**\n\n{function[0].description}", span
    request = referred(name, part.named)
    found_at = analysis.request_named(request, part.region.to_file(span.start)) if request else None
    if found_at is None:
        return None
    other, place = found_at
    description = f"of `{other.method} {other.target.text}`, {place}, which is sent first"
    return f"**{name}**\n\n{description}", span
