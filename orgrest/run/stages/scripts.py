"""Runs the scripts of request files before and after a request.

The scripts run in a separate engine process (`http.scripts`), which is started for the first
script.
"""

from __future__ import annotations

import contextlib
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any

from orgrest import classes
from orgrest.http.parsing.request_file.scripts import find_import
from orgrest.http.transport.wire import parts_of
from orgrest.http.values import Values
from orgrest.http.values.context import Captured
from orgrest.http.values.global_variables import text_of
from orgrest.http.values.javascript import for_script, placeholders_for
from orgrest.http.values.secrets import in_made_part
from orgrest.model import OrgrestError, Request, TransportError, possible, to_bytes
from orgrest.run.job import Logged
from orgrest.run.outcomes import EvaluationError, Exchange
from orgrest.run.results import resolved
from orgrest.run.stages.bind import bound, without_secrets
from orgrest.run.stages.script_files import required
from orgrest.structured import json_or

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
    """Run the scripts above a request. They may change the request.

    Raises OrgrestError if a script fails or makes an invalid change. In a dry run with
    placeholders, the error becomes a note instead, and the remaining scripts are skipped. In a
    loop, the scripts have already run.
    """
    if job.task.prepared is not None:
        return
    job.defined = {}
    with _previewed(job):
        for own, script in _above(job):
            if script.runs == "once":
                cancels = yield from _once(own, script)
                job.scripts.cancelled |= cancels
                job.scripts.take(job.work.pending)
            else:
                yield from _change(job, script)
            if job.scripts.cancelled:
                break
    job.cancel()


def prepare(job: Job) -> Needing[None]:
    """Run the scripts whose `runs` is `once`, unless they have already run.

    The scripts of imported files run first. All log messages and tests are reported with the first
    request. Raises OrgrestError if a script fails.
    """
    for own, script in _above(job):
        if script.runs == "once":
            yield from _once(own, script)


def _above(job: Job) -> Iterator[tuple[Job, Script]]:
    """Yield (job, script) for each script before a request, those of imported files first.

    The job has the variables of the script's file.
    """
    for parsed, context in job.task.imported:
        own = copy(job)
        own.parsed, own.context, own.defined = parsed, context, {}
        for script in parsed.scripts:
            yield own, script
    for script in _scripts_at(job.parsed, "before"):
        yield job, script


def completed(job: Job) -> Needing[None]:
    """Run the scripts for a request that is ready to be sent. They may change the request.

    Raises OrgrestError if a script fails or makes an invalid change. In a dry run with
    placeholders, the error becomes a note instead, and the remaining scripts are skipped.
    """
    with _previewed(job):
        for script in _scripts_at(job.parsed, "request"):
            request = job.request
            if job.scripts.cancelled or request is None:
                break
            _, result, secrets = yield from _run(job, script, request, None)
            if result.request is not None:
                from orgrest.run.stages.script_changes import resent

                with _located(script, job.parsed):
                    changed = resent(request, result.request, job.context.secrets.texts)
                _hold(job, request, changed, secrets)
                job.request = classes.evolve(changed, held=request.held | job.held)
    job.cancel()


def after(job: Job) -> Needing[None]:
    """Run the scripts below a request. They can read its response.

    Raises OrgrestError if a script fails.
    """
    for script in _scripts_at(job.parsed, "response", "after", "end"):
        yield from _run(job, script, *job.sent)


def _once(job: Job, script: Script) -> Needing[bool]:
    """Run a script unless it has already run. Returns whether it cancels all requests.

    If the script failed, its error is raised for each request.
    """
    ran, key = job.work.ran, (job.parsed.source, script.span.start)
    if key not in ran:
        try:
            apart = copy(job)
            apart.scripts = Logged()
            yield from _run(apart, script, Request("", ""), None, sends=False)
            ran[key] = apart.scripts.cancelled
        except OrgrestError as error:
            ran[key] = error
        finally:
            job.work.pending.take(apart.scripts)
    result = ran[key]
    if isinstance(result, OrgrestError):
        raise result.with_traceback(None)
    return result


def _change(job: Job, script: Script) -> Needing[None]:
    from orgrest.run.stages.script_changes import as_written, rewritten

    before = as_written(job.parsed)
    code, result, secrets = yield from _run(job, script, before, None)
    if result.request is not None:
        with _located(script, job.parsed):
            job.parsed = rewritten(job.parsed, script, code, result.request)
        _hold(job, before, as_written(job.parsed), secrets)


def _hold(job: Job, before: Request, after: Request, secrets: frozenset[Secret]) -> None:
    """Record that the parts of the request that a script changed may contain `secrets`."""
    parts = {name.lower() for name, _ in {*after.headers} - {*before.headers}}
    parts.update(part for part in _PARTS if getattr(after, part) != getattr(before, part))
    job.held.update((part, secret) for part in parts for secret in in_made_part(secrets))
    for text in parts_of(after.url) - parts_of(before.url):
        job.context.secrets.computed(text, secrets)  # the server may return it in a header


@contextlib.contextmanager
def _previewed(job: Job) -> Iterator[None]:
    """Turn an error into a note in a dry run, where scripts may fail for lack of responses."""
    try:
        yield
    except OrgrestError as error:
        if not job.context.placeholders:
            raise
        job.notes.append(
            "a script before this request failed, perhaps because a dry run has no responses: "
            f"{error}"
        )


def _run(
    job: Job, script: Script, request: Request, response: Response | None, *, sends: bool = True
) -> Needing[tuple[str, Result, frozenset[Secret]]]:
    """Run a script. Returns its source, its result, and the secrets that the result may contain."""
    from orgrest.http import scripts
    from orgrest.run.stages.script_changes import as_written

    parsed, context = job.parsed, job.context
    values, secrets = Values(parsed, context, defined=job.defined), context.secrets
    path = ""
    if script.file is not None:
        path = yield from resolved(context, partial(values.text, script.file))
    code, offset = _code(script, path, context)
    with _located(script, parsed):
        if script.file is not None and (imported := find_import(code)):
            raise OrgrestError(imported[1], line=code.count("\n", 0, imported[0]) + 1)
        requires, files = required(code, context)
    answer = yield from resolved(job.context, lambda: for_script(code, values, script.span.start))
    variables, responses, secrets_read = answer
    placeholders: dict[str, dict[str, Any]] = {}
    own = (file.source for path, file in files.items() if "node_modules/" not in path)
    everywhere = "\n".join((code, *own))
    if response is None and "tryGetSubstituted" in everywhere:
        placeholders = yield from resolved(
            job.context, lambda: placeholders_for(values, script.span.start)
        )
        secrets_read |= secrets.within_all(one.get("text", "") for one in placeholders.values())
    job.defined.update(values.defined)
    sent = frozenset(secret for _, secret in request.held)
    if response is None:
        secrets_read |= sent
    elif request.bound:
        request = without_secrets(request)
    else:
        secrets_read |= possible(sent)
    secrets_shown = secrets.show_to_scripts(secrets_read | context.readable(everywhere))
    everything = {
        name: captured.made or _value(captured.value or "")
        for name, captured in context.every_capture.items()
    }
    everything.update(variables)
    script_input = scripts.ScriptInput(
        variables=everything,
        globals_=context.globals.values,
        environment=context.environment.values(),
        file={d.name: d.value.text for d in parsed.definitions},
        responses=responses,
        environment_selected=bool(context.environment.chosen),
        iteration=_iteration_index(context),
        elements=tuple(v for name, v in context.iteration.items() if name.startswith("$.")),
        seed=context.inputs.seed,
        name=parsed.name,
        written=as_written(parsed) if response is not None and "getRaw" in everywhere else None,
        placeholders=placeholders,
        requires=requires,
        files=files,
    )
    send = partial(_sent, job, secrets_shown, code) if sends else None
    try:
        result = context.engine.run(
            code, script.host, script_input, request, response, job.work.sleep, send
        )
    except scripts.ScriptError as error:
        if error.result is not None:
            _take(job, script, request, error.result, secrets_shown)
        raise _at_line(error, script, parsed, offset) from None
    _take(job, script, request, result, secrets_shown)
    return code, result, secrets_shown


def _take(
    job: Job, script: Script, request: Request, result: Result, secrets: frozenset[Secret]
) -> None:
    context, all_secrets = job.context, job.context.secrets
    for name in (*result.removed, *result.variables, *result.own):
        context.own.pop(name, None)
    for name in result.removed:
        context.captures.pop(name, None)
    for captures, variables in (context.captures, result.variables), (context.own, result.own):
        for name, variable in variables.items():
            if variable is not None:
                text = variable.text and all_secrets.computed(variable.text, secrets)
                captures[name] = Captured(text, None, 0, variable)
    for _, value in result.request["headers"] if result.request is not None else ():
        if value not in (old_value for _, old_value in request.headers):
            all_secrets.computed(value, secrets)
    for name, value in result.globals_.items():
        if context.globals.values.get(name) != value:
            all_secrets.computed(text_of(value), secrets)
    keep = not any(secret.bound for secret in all_secrets.read_by_scripts)
    context.globals.replace(result.globals_, all_secrets.texts, keep=keep)
    _keep(result, script, job.parsed, job.scripts)


def _sent(
    job: Job, known_secrets: frozenset[Secret], code: str, options: dict[str, Any]
) -> Response | str:
    """Send a script's request and record it. Returns the response, or an error message."""
    from orgrest.http.transport.limits import BrokenOffError

    work, parsed, secrets = job.work, job.parsed, job.context.secrets
    if work.settings.dry_run:
        raise EvaluationError("pm.sendRequest: nothing is sent in a dry run")
    for part_of_url in parts_of(options["url"]):
        if part_of_url not in code:
            secrets.computed(part_of_url, known_secrets)
    body = options["body"]
    headers = tuple((name, value) for name, value in options["headers"])
    parts = {*_PARTS, *(name.lower() for name, _ in headers)}
    request = Request(
        options["method"],
        options["url"],
        headers,
        None if body is None else to_bytes(body),
        secrets=secrets.texts,
        file=parsed.source.file,
        line=parsed.source.position(parsed.target.offset(0)).line,
        held=frozenset((part, secret) for part in parts for secret in in_made_part(known_secrets)),
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
            Exchange.of_hop(
                hop, classes.evolve(hop.request, secrets=request.secrets), reason="script"
            )
            for hop in hops
        )


def _scripts_at(parsed: ParsedRequest, *moments: str) -> Iterator[Script]:
    for moment in moments:
        for script in (*parsed.shared_scripts, *parsed.scripts):
            if script.when == moment:
                yield script


def _keep(result: Result, script: Script, parsed: ParsedRequest, results: Logged) -> None:
    results.notes += (f"log: {line}" for line in result.log)
    place = parsed.source.position(script.span.start)
    results.tests += (
        classes.evolve(test, file=parsed.source.file, line=place.line, column=place.column)
        for test in result.tests
    )
    results.cancelled |= result.cancelled


def _code(script: Script, path: str, context: Context) -> tuple[str, int | None]:
    """Return a script's code, and its offset in the document, or None if the code is in `path`."""
    if script.text is not None:
        return script.text.text, script.text.offset(0)
    if script.file is None:
        return "", None
    data = context.read(path)
    try:
        return data.decode("utf-8-sig"), None
    except UnicodeDecodeError as error:
        raise OrgrestError(f"{path} is not UTF-8 (byte {error.start})") from None


def _at_line(
    error: OrgrestError, script: Script, parsed: ParsedRequest, offset: int | None
) -> OrgrestError:
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
    try:
        yield
    except OrgrestError as error:
        raise _at_line(error, script, parsed, None) from None


def _iteration_index(context: Context) -> int:
    index = context.iteration.get("$index", "0")
    return int(index) if index.isdecimal() else 0


def _value(text: str) -> Any:
    return json_or(text, text) if text[:1] in "{[" else text
