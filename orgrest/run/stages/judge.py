"""Checks a response against its request's assertions, `:expect` and an OpenAPI description.

This module provides what assertions need: jq, a JavaScript engine, RE2 for regular expressions, and
JSON Schemas from files in or below the document's folder.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import urldefrag, urljoin

from orgrest import classes
from orgrest.http import patterns
from orgrest.http.assertions import Tools
from orgrest.http.assertions import judge as judged
from orgrest.http.assertions.judging import verdict_on
from orgrest.http.values import Values
from orgrest.http.values.global_variables import text_of
from orgrest.http.values.values import place_in
from orgrest.model import OrgrestError
from orgrest.run.documents.expect import expected_status
from orgrest.run.results import resolved
from orgrest.run.stages.bind import without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from orgrest.http.syntax import Assertion
    from orgrest.http.values import Context
    from orgrest.model import Request, Response, Secret, Verdict
    from orgrest.run.job import Job
    from orgrest.run.results import Needing

MOST_SCHEMAS = 100
"""The maximum number of files that a JSON Schema may refer to, directly or indirectly."""


def judge(job: Job) -> Needing[None]:
    """Add the verdicts on the response to the job."""
    arguments, tests = job.task.arguments, job.scripts.tests
    if "expect" in arguments:
        file, line = job.parsed.source.file, job.task.line
        expected = expected_status(arguments, file, line)
        if expected is not None:
            text, place = expected.expected.text, (file, line, None)
            tests.append(judged(expected, text, job.sent[1], Tools(), place))
    if job.parsed.assertions:
        tests += yield from verdicts(job, job.parsed.assertions, job.sent[1])
    if "described" in job.features:
        described, unchecked = job.work.services.descriptions.verdict(
            job.parsed, job.context, arguments, job.sent
        )
        job.notes += unchecked
        tests += () if described is None else (described,)


def verdicts(
    job: Job, assertions: tuple[Assertion, ...], response: Response
) -> Needing[list[Verdict]]:
    """Check a response against `assertions` of the job's request, and return the verdicts."""
    assert job.request is not None  # noqa: S101 - the order of the stages
    source = job.parsed.source
    values = Values(job.parsed, job.context)
    tools = _tools(job, values, (job.request, response))
    prefixes: dict[str, str] = {}
    for directive in job.parsed.directives:
        if directive.name == "xpath_ns":
            definition = yield from resolved(job.context, partial(values.text, directive.value))
            prefix, _, namespace = definition.partition("=")
            prefixes[prefix.strip()] = namespace.strip().strip('"')
    if prefixes:
        tools = classes.evolve(tools, prefixes=prefixes)
    results: list[Verdict] = []
    for assertion in assertions:
        place = place_in(source, assertion.span.start)
        try:
            expected = yield from resolved(job.context, partial(values.text, assertion.expected))
        except OrgrestError as error:
            results.append(verdict_on(assertion, place, reason=error.reason))
        else:
            judge_it = partial(judged, assertion, expected, response, tools, place)
            results.append((yield from resolved(job.context, judge_it)))
    return results


def _tools(job: Job, values: Values, exchange: tuple[Request, Response]) -> Tools:
    context = job.context

    def javascript(code: str, host: str) -> list[Any]:
        from orgrest.http.scripts import ScriptInput

        variables = {
            name: captured.made or captured.value
            for name, captured in context.every_capture.items()
        }
        read: frozenset[Secret] = frozenset()
        if host == "httpyac":
            from orgrest.http.values.javascript import for_script

            named, _, read = for_script(code, values, job.parsed.span.start)
            variables.update(named)
        held = context.secrets.show_to_scripts(read | context.readable(code))
        script_input = ScriptInput(variables, environment=context.environment.values())
        request, response = exchange
        log = context.engine.run(code, host, script_input, without_secrets(request), response).log
        found: list[Any] = json.loads(log[-1]) if log else []
        for text in _texts(found):  # the reason for a failure shows them
            context.secrets.computed(text, held)
        return found

    def evaluate(expression: str) -> list[Any]:
        defined = f"[({expression}\n)].filter((value) => value !== undefined)"
        return javascript(f"console.log(JSON.stringify({defined}))", "httpyac")

    def search(text: str, pattern: str) -> bool:
        test = f"new RegExp({json.dumps(pattern)}, 'u').test({json.dumps(text)})"
        return javascript(f"client.log([{test}])", "jetbrains") == [True]

    def hide(text: str) -> str:
        from orgrest.rendering.masking import mask, mask_cut

        secrets = context.secrets.texts
        return mask_cut(mask(text, secrets), secrets)

    def jq(program: str, text: str) -> str:
        from orgrest.rendering.jq import run

        return run(program, text, "-c")

    return Tools(
        jq=jq,
        javascript=evaluate,
        matches=partial(_matches, search),
        wrong_by_schema=partial(_wrong_by_schema, context, hide),
        hide=hide,
    )


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif value is not None and not isinstance(value, bool):
        yield text_of(value)


def _matches(search: Callable[[str, str], bool], text: str, pattern: str) -> bool:
    """Match with RE2, or with `search` if only JavaScript has the pattern's features."""
    try:
        return patterns.matches(pattern, text)
    except patterns.PatternError as error:
        reason = error.reason
    try:
        return search(text, pattern)
    except OrgrestError as error:
        raise OrgrestError(f"{reason}; JavaScript: {error.reason}", code=error.code) from None


# ---------------------------------------------------------------------------------- JSON Schemas


def _wrong_by_schema(context: Context, hide: Callable[[str], str], value: Any, path: str) -> str:
    """Return the errors in `value` according to the JSON Schema in the file `path`, or ""."""
    schemas: dict[str, Any] = {}
    _read_schema(context, path, schemas)
    errors = context.engine.validate(value, schemas, path)
    return "; ".join(f"{place}: {hide(message[:200])}" for place, message in errors)


def _read_schema(context: Context, path: str, schemas: dict[str, Any]) -> None:
    if path in schemas:
        return
    if len(schemas) >= MOST_SCHEMAS:
        raise OrgrestError(
            f"{path}: the schema refers to too many files (the maximum is {MOST_SCHEMAS})"
        )
    try:
        schemas[path] = json.loads(context.read(path))
    except (ValueError, RecursionError) as error:
        raise OrgrestError(f"{path} is not valid JSON: {error}") from None
    for reference in _references(schemas[path]):
        target = urldefrag(reference).url
        if target and "://" not in target and not target.startswith("urn:"):
            _read_schema(context, str(PurePosixPath(urljoin(path, target))), schemas)


def _references(schema: Any) -> Iterator[str]:
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            reference = part.get("$ref")
            if isinstance(reference, str):
                yield reference
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
