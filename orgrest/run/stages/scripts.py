"""The scripts before and after a request of a request file.

They run in a separate engine process (`http.scripts`), which starts with the first script.
"""

from __future__ import annotations

import contextlib
import json
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs

from orgrest.http.values import Values
from orgrest.http.values.context import Captured
from orgrest.http.values.global_variables import text_of
from orgrest.http.values.javascript import for_script
from orgrest.http.values.secrets import in_made_part
from orgrest.model import OrgrestError, Request, TransportError, possible, to_bytes
from orgrest.run.job import Logged
from orgrest.run.outcomes import EvaluationError, Exchange
from orgrest.run.results import resolved
from orgrest.run.stages.bind import bound, without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orgrest.http.scripts import Result
    from orgrest.http.syntax import ParsedRequest, Script
    from orgrest.http.transport.client import Hop
    from orgrest.http.values import Context
    from orgrest.model import Response, Secret
    from orgrest.run.job import Job
    from orgrest.run.results import Needing


_PARTS = ("method", "url", "body")


def before(job: Job) -> Needing[None]:
    """Run the scripts above a request, which may change it; in a dry run as far as possible.

    Raises ScriptError, or another OrgrestError if their changes cannot be sent.
    """
    job.defined = {}
    with _previewed(job):
        for script in _of(job.parsed, "before"):
            if script.runs == "once":
                cancels = yield from _once(job, script)
                job.scripts.cancelled |= cancels
                for one in job.work.pending:
                    job.scripts.take(one)
                job.work.pending.clear()
            else:
                yield from _change(job, script)
            if job.scripts.cancelled:
                break
    job.cancel()


def prepare(job: Job) -> Needing[None]:
    """Run the scripts of a request's document that run once. Raises their errors.

    Their log and tests are reported with the first request.
    """
    for script in _of(job.parsed, "before"):
        if script.runs == "once":
            yield from _once(job, script)


def completed(job: Job) -> Needing[None]:
    """Run the scripts for a completed request, which may change it; in a dry run as `before`.

    Raises ScriptError, or another OrgrestError if their changes cannot be sent.
    """
    with _previewed(job):
        for script in _of(job.parsed, "request"):
            request = job.request
            if job.scripts.cancelled or request is None:
                break
            _, result, made = yield from _run(job, script, request, None)
            if result.request is not None:
                from orgrest.run.stages.script_changes import resent

                with _located(script, job.parsed):
                    found = resent(request, result.request, job.context.secrets.texts)
                _hold(job, request, found, made)
                job.request = attrs.evolve(found, held=request.held | job.held)
    job.cancel()


def after(job: Job) -> Needing[None]:
    """Run the scripts below a request, with access to its response. Raises ScriptError."""
    for script in _of(job.parsed, "response", "after", "end"):
        yield from _run(job, script, *job.sent)


def _once(job: Job, script: Script) -> Needing[bool]:
    """Run a script that belongs to no request, unless it ran; if it fails, all requests fail.

    Returns whether it cancels all requests.
    """
    ran, key = job.work.ran, (job.parsed.source, script.span.start)
    if key not in ran:
        try:
            apart = copy(job)
            apart.scripts = Logged()
            yield from _run(apart, script, Request("", ""), None, sends=False)
            job.work.pending.append(apart.scripts)
            ran[key] = apart.scripts.cancelled
        except OrgrestError as error:
            ran[key] = error
    found = ran[key]
    if isinstance(found, OrgrestError):
        raise found.with_traceback(None)
    return found


def _change(job: Job, script: Script) -> Needing[None]:
    """Run a script above a request, which may change it."""
    from orgrest.run.stages.script_changes import as_written, rewritten

    before = as_written(job.parsed)
    code, result, made = yield from _run(job, script, before, None)
    if result.request is not None:
        with _located(script, job.parsed):
            job.parsed = rewritten(job.parsed, script, code, result.request)
        _hold(job, before, as_written(job.parsed), made)


def _hold(job: Job, before: Request, after: Request, made: frozenset[Secret]) -> None:
    """Record the secrets in the parts of the request that a script created."""
    parts = {name.lower() for name, _ in {*after.headers} - {*before.headers}}
    parts.update(one for one in _PARTS if getattr(after, one) != getattr(before, one))
    job.held.update((part, one) for part in parts for one in in_made_part(made))


@contextlib.contextmanager
def _previewed(job: Job) -> Iterator[None]:
    """Turn an error into a note in a dry run, which has no responses."""
    try:
        yield
    except OrgrestError as error:
        if not job.context.placeholders:
            raise
        job.notes.append(f"a script above this request fails without responses: {error}")


def _run(
    job: Job, script: Script, request: Request, response: Response | None, *, sends: bool = True
) -> Needing[tuple[str, Result, frozenset[Secret]]]:
    """Run a script, and record its results; return its code, its result, the secrets in that."""
    from orgrest.http import scripts

    parsed, context = job.parsed, job.context
    code, offset = _code(script, context)
    values, secrets = Values(parsed, context, defined=job.defined), context.secrets
    found = yield from resolved(job.context, lambda: for_script(code, values, script.span.start))
    variables, responses, read = found
    job.defined.update(values.defined)
    sent = frozenset(one for _, one in request.held)
    if response is None:
        read |= sent
    elif request.bound:
        request = without_secrets(request)
    else:
        read |= possible(sent)
    made = secrets.show_to_scripts(read | context.readable(code))
    everything = {
        name: one.made or _value(one.value or "") for name, one in dict(context.captures).items()
    }
    everything.update(variables)
    environment = context.environment.values()
    given = scripts.ScriptInput(
        variables=everything,
        globals_=context.globals.values,
        environment=environment,
        file={d.name: d.value.text for d in parsed.definitions},
        responses=responses,
        environment_selected=bool(environment),
        iteration=_turn(context),
        elements=tuple(v for name, v in context.literal.items() if name.startswith("$.")),
        seed=context.inputs.seed,
        name=parsed.name,
    )
    send = partial(_sent, job, made) if sends else None
    try:
        result = context.engine.run(
            code, script.host, given, request, response, job.work.sleep, send
        )
    except scripts.ScriptError as error:
        if error.result is not None:
            _take(job, script, request, error.result, made)
        raise _at_line(error, script, parsed, offset) from None
    _take(job, script, request, result, made)
    return code, result, made


def _take(
    job: Job, script: Script, request: Request, result: Result, secrets: frozenset[Secret]
) -> None:
    """Record the variables, output and tests of a script, even if it failed afterwards."""
    context, known = job.context, job.context.secrets
    for name in result.removed:
        context.captures.pop(name, None)
    for name, made in result.variables.items():
        text = None if made.text is None else known.computed(made.text, secrets)
        context.captures[name] = Captured(text, None, 0, made)
    for _, value in result.request["headers"] if result.request is not None else ():
        if value not in (one for _, one in request.headers):
            known.computed(value, secrets)
    for name, value in result.globals_.items():
        if context.globals.values.get(name) != value:
            known.computed(text_of(value), secrets)
    keep = not any(one.bound for one in known.read_by_scripts)
    context.globals.replace(result.globals_, known.texts, keep=keep)
    _keep(result, script, job.parsed, job.scripts)


def _sent(job: Job, made: frozenset[Secret], given: dict[str, Any]) -> Response | str:
    """Send a script's request, which may contain the secrets in `made`, and record it."""
    from orgrest.http.transport.limits import BrokenOffError

    work, parsed, secrets = job.work, job.parsed, job.context.secrets
    if work.settings.dry_run:
        raise EvaluationError("pm.sendRequest: nothing is sent in a dry run")
    body = given["body"]
    headers = tuple((name, value) for name, value in given["headers"])
    parts = {*_PARTS, *(name.lower() for name, _ in headers)}
    request = Request(
        given["method"],
        given["url"],
        headers,
        None if body is None else to_bytes(body),
        secrets=secrets.texts,
        file=parsed.source.file,
        line=parsed.source.position(parsed.target.offset(0)).line,
        held=frozenset((part, one) for part in parts for one in possible(made)),
    )
    hops: list[Hop] = []
    try:
        return work.sending.send(
            bound(request, secrets),
            cookies=work.cookies,
            hops=hops,
            numbers=work.numbers,
            timeout=work.settings.timeout,
        )
    except BrokenOffError:
        raise
    except TransportError as error:
        return error.reason
    finally:
        job.asked += (
            Exchange(
                attrs.evolve(hop.request, secrets=request.secrets),
                hop.response,
                number=hop.number,
                started=hop.started,
                reason="script",
            )
            for hop in hops
        )


def _of(parsed: ParsedRequest, *moments: str) -> Iterator[Script]:
    """Yield a request's scripts for these moments, in their order."""
    for moment in moments:
        for script in (*parsed.shared_scripts, *parsed.scripts):
            if script.when == moment:
                yield script


def _keep(result: Result, script: Script, parsed: ParsedRequest, results: Logged) -> None:
    """Record the results of a script; its tests get the script's position."""
    results.notes += (f"log: {line}" for line in result.log)
    place = parsed.source.position(script.span.start)
    results.tests += (
        attrs.evolve(one, file=parsed.source.file, line=place.line, column=place.column)
        for one in result.tests
    )
    results.cancelled |= result.cancelled


def _code(script: Script, context: Context) -> tuple[str, int | None]:
    """Return a script's code and its offset in the source, None for a script in a file."""
    if script.text is not None:
        return script.text.text, script.text.offset(0)
    if script.file is None:
        return "", None
    data = context.read(script.file.text)
    try:
        return data.decode("utf-8-sig"), None
    except UnicodeDecodeError as error:
        raise OrgrestError(f"{script.file.text} is not UTF-8: byte {error.start}") from None


def _at_line(
    error: OrgrestError, script: Script, parsed: ParsedRequest, offset: int | None
) -> OrgrestError:
    """Return the error of a script with its position in the document."""
    source = parsed.source
    place = source.position(script.span.start if offset is None else offset)
    if script.file is not None:
        where = f" (line {error.line})" if error.line else ""
        reason = f"{script.file.text}{where}: {error.reason}"
        return EvaluationError(reason, file=source.file, line=place.line)
    line = place.line + (error.line - 1 if error.line else 0)
    return EvaluationError(error.reason, file=source.file, line=line)


@contextlib.contextmanager
def _located(script: Script, parsed: ParsedRequest) -> Iterator[None]:
    """Add the script's position in the document to errors about its changes."""
    try:
        yield
    except OrgrestError as error:
        raise _at_line(error, script, parsed, None) from None


def _turn(context: Context) -> int:
    """Return the number of the turn of a loop, or of an element, from 0."""
    given = context.literal.get("$index", "0")
    return int(given) if given.isdecimal() else 0


def _value(text: str) -> Any:
    """Return a variable as a script sees it: parsed if it is JSON other than a string."""
    if text[:1] not in "{[":
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
