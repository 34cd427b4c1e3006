"""Evaluates the assertions of a request: those of its text, and those of `:expect`.

This module provides what they need: jq, the engine for JavaScript, RE2 for regular expressions, and
JSON Schemas out of files below the document's folder.
"""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import urldefrag, urljoin

import attrs

from orgrest.http import patterns
from orgrest.http.syntax import Template
from orgrest.http.values import Values
from orgrest.model import OrgrestError, Span
from orgrest.run.bound_secrets import without_secrets
from orgrest.run.outcomes import EvaluationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from orgrest.http.assertions import Tools
    from orgrest.http.scripts import Engine
    from orgrest.http.syntax import Assertion, ParsedRequest
    from orgrest.http.values import Scope
    from orgrest.model import Request, Response, Verdict
    from orgrest.org.arguments import Arguments

SAME = "same"
"""The value of `:expect` that requires the result to equal the one in the document."""
MOST_SCHEMAS = 100
"""The maximum number of files that a JSON Schema may refer to."""

_EXPECTED = re.compile(r"[1-5](?:\d\d|[xX]{2})")


def verdicts(
    parsed: ParsedRequest,
    scope: Scope,
    arguments: Arguments,
    line: int,
    exchange: tuple[Request, Response],
    started: Callable[[], Engine],
) -> Iterator[Verdict]:
    """Evaluate each assertion of a request on its response.

    `arguments` and `line` are those of the block around it. `started` returns the engine for
    JavaScript.
    """
    if not parsed.assertions and "expect" not in arguments:
        return
    from orgrest.http.assertions import Tools, judge
    from orgrest.http.assertions.judging import unjudged

    expected = expected_status(arguments, parsed.source.file, line)
    if expected is not None:
        verdict = judge(expected, expected.expected.text, exchange[1], Tools(), None)
        yield attrs.evolve(verdict, file=parsed.source.file, line=line)
    values, tools = Values(parsed, scope), _tools(scope, exchange, started)
    for assertion in parsed.assertions:
        try:
            wanted = values.text(assertion.expected)
        except OrgrestError as error:
            yield attrs.evolve(unjudged(assertion, parsed.source), reason=error.reason)
            continue
        yield judge(assertion, wanted, exchange[1], tools, parsed.source)


def expected_status(arguments: Arguments, file: str | None, line: int) -> Assertion | None:
    """Return the assertion of `:expect` about the status; None if there is none.

    Raises EvaluationError for anything but statuses and `same`.
    """
    words = re.split(r"[\s,]+", arguments.get("expect"))
    wanted = [word for word in words if word and word.lower() != SAME]
    for word in wanted:
        if not _EXPECTED.fullmatch(word):
            raise EvaluationError(
                f":expect takes statuses such as 200 or 2xx, or same, not {word}",
                file=file,
                line=line,
            )
    if not wanted:
        return None
    from orgrest.http.assertions.reading import read_assertion

    text = f"status == {wanted[0]}" if len(wanted) == 1 else f"status in {', '.join(wanted)}"
    found = read_assertion(Template(text, ((0, 0),)), Span(0, len(text)))
    if isinstance(found, str):
        raise EvaluationError(found, file=file, line=line)
    return found


def expects_same(arguments: Arguments) -> bool:
    """Tell whether `:expect` requires the result in the document."""
    return SAME in re.split(r"[\s,]+", arguments.get("expect").lower())


def _tools(
    scope: Scope, exchange: tuple[Request, Response], started: Callable[[], Engine]
) -> Tools:
    from orgrest.http.assertions import Tools
    from orgrest.http.scripts import Context

    def javascript(code: str, host: str) -> Any:
        variables = {
            name: one.made or one.value for name, one in scope.variables_of_scripts.items()
        }
        context = Context(variables, environment=scope.environment.values())
        request, response = exchange
        log = started().run(code, host, context, without_secrets(request), response).log
        return json.loads(log[-1])[0] if log else None  # in a list, undefined is null

    def evaluate(expression: str) -> Any:
        return javascript(f"console.log(JSON.stringify([({expression}\n)]))", "httpyac")

    def search(text: str, pattern: str) -> bool:
        found = f"new RegExp({json.dumps(pattern)}, 'u').test({json.dumps(text)})"
        return javascript(f"client.log([{found}])", "jetbrains") is True

    def jq(program: str, text: str) -> str:
        from orgrest.rendering.jq import run

        return run(program, text, "-c")

    return Tools(
        jq=jq,
        javascript=evaluate,
        matches=partial(_matches, search),
        wrong_by_schema=partial(_wrong_by_schema, scope, started),
    )


def _matches(search: Callable[[str, str], bool], text: str, pattern: str) -> bool:
    """Tell whether a pattern matches, by RE2, which takes linear time.

    Features of JavaScript only (look-around, back-references) are left to `search`, whose time is
    limited.
    """
    try:
        return patterns.matches(pattern, text)
    except patterns.PatternError as error:
        reason = error.reason
    try:
        return search(text, pattern)
    except OrgrestError as error:
        raise OrgrestError(f"{reason}; JavaScript: {error.reason}") from None


# ---------------------------------------------------------------------------------- JSON Schemas


def _wrong_by_schema(scope: Scope, started: Callable[[], Engine], value: Any, path: str) -> str:
    """Validate a value by the schema in a file; return the errors, "" if there are none."""
    schemas: dict[str, Any] = {}
    _read_schema(scope, path, schemas)
    found = started().validate(value, schemas, path)
    return "; ".join(f"{place}: {message[:200]}" for place, message in found)


def _read_schema(scope: Scope, path: str, schemas: dict[str, Any]) -> None:
    """Read a schema, and the files that it refers to."""
    if path in schemas:
        return
    if len(schemas) >= MOST_SCHEMAS:
        raise OrgrestError(f"{path}: the schema refers to more than {MOST_SCHEMAS} files")
    try:
        schemas[path] = json.loads(scope.read(path))
    except (ValueError, RecursionError) as error:
        raise OrgrestError(f"{path} is no JSON: {error}") from None
    for reference in _references(schemas[path]):
        target = urldefrag(reference).url
        if target and "://" not in target and not target.startswith("urn:"):
            _read_schema(scope, str(PurePosixPath(urljoin(path, target))), schemas)


def _references(schema: Any) -> Iterator[str]:
    left = [schema]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            reference = one.get("$ref")
            if isinstance(reference, str):
                yield reference
            left += one.values()
        elif isinstance(one, list):
            left += one
