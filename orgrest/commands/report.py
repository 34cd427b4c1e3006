"""Prints the outcomes of a run: requests and responses as lines, as text and as JSON."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any

import click

from orgrest import classes
from orgrest.commands.console import complain, safe
from orgrest.rendering import content
from orgrest.rendering.masking import (
    displayed,
    mask,
    mask_bytes,
    mask_cut,
    mask_cut_bytes,
    mask_value,
)
from orgrest.rendering.sanitize import visible

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import SimpleNamespace

    from orgrest.model import Response
    from orgrest.run.outcomes import Exchange, Outcome


def show(
    outcome: Outcome, document: str, output: SimpleNamespace, *, plain: bool, fail: bool
) -> bool:
    """Print an outcome, and return whether it counts as a failure.

    `document` is the name of the document, and `plain` means that it is a request file. `output`
    contains the command's options and its mode. If `fail` is true, failed tests and unexpected
    statuses also count as failures.
    """
    failed = outcome.fails(strictly=fail)
    name = outcome.file or document
    if output.json:
        for line in _json_lines(name, outcome, failed, with_text=plain, explained=output.explain):
            click.echo(line)
    if outcome.reason is not None:
        prefix = "" if outcome.state == "failed" else "skipped: "
        complain(prefix + safe(str(outcome.reason), outcome.secrets))
    for note in outcome.notes:
        where = "" if note.startswith(name) else f"{name}:{outcome.line}: "
        complain(safe(f"note: {where}{note}", outcome.secrets))
    tests = [test for test in outcome.tests if not (output.quiet and test.held)]
    if tests and not output.json:
        from orgrest.rendering.results import test_line

        for test in tests:
            where = f"{name}:{test.line or outcome.line}"
            for line in (
                f"{where}: {test_line(test)}",
                *(f"  {difference}" for difference in test.difference),
            ):
                complain(safe(line, outcome.secrets))
    for exchange in outcome.own if not output.json else ():
        if output.mode == "dry run":
            explained = _explain(exchange) if output.explain else ""
            click.echo(explained + _wire(exchange))
        elif output.body and outcome.step is not None:  # not sent only because another needs it
            _print_body(exchange, outcome.secrets)
        elif plain and not output.body:
            _print_response(exchange)
    for exchange in outcome.own if output.mode != "dry run" else ():
        if not output.quiet or (fail and exchange.unexpected_status):
            click.echo(_line(exchange), err=True)
    return failed


def _line(exchange: Exchange) -> str:
    """Return a one-line summary of an exchange: method, URL, status, duration and attempts."""
    request, response = displayed(exchange.request), exchange.response
    text = visible(f"{request.method} {request.url}", one_line=True)
    if response is None:
        return text
    color = "red" if response.status >= 400 else "green"
    status = click.style(str(response.status), fg=color)
    attempts = f"  {exchange.attempts} attempts" if exchange.attempts > 1 else ""
    return f"{text}  {status}  {response.duration:.3f} s{attempts}"


def _wire(exchange: Exchange) -> str:
    """Return a request as the text that is sent, with secrets masked."""
    from orgrest.http.transport.wire import wire_headers

    sent = exchange.request
    request = displayed(classes.evolve(sent, headers=wire_headers(sent)), placeholders=True)
    lines = [f"{request.method} {request.url}"]
    lines += (f"{name}: {value}" for name, value in request.headers)
    if request.body:
        body = request.body.decode("utf-8", "backslashreplace")
        lines += ["", body.replace("\r\n", "\n")]
    return visible("\n".join(lines)) + "\n"


def _explain(exchange: Exchange) -> str:
    """Return a line for each variable of a request: its name, value and source.

    Secrets in the values are masked.
    """
    return "".join(
        f"# {variable['name']} = {variable['value']}  ({variable['origin']})\n"
        for variable in _used(exchange)
    )


def _used(exchange: Exchange) -> list[dict[str, str]]:
    return [
        {
            "name": visible(origin.name, one_line=True),
            "value": visible(mask_value(origin.value, exchange.request.secrets), one_line=True),
            "origin": visible(origin.origin, one_line=True),
        }
        for origin in exchange.variables
    ]


def _print_response(exchange: Exchange) -> None:
    """Print the rendered response of an exchange, if it has one."""
    rendered = exchange.rendered
    if rendered is None:
        return
    if rendered.is_cut:
        size = f"{len(rendered.data or b'')} bytes"
        read = f"only {size} were read" if rendered.unread else f"the whole body is {size}"
        click.echo(f"[truncated: {read}; use --limit to show more]")
    elif rendered.data is not None:
        click.echo(f"[{len(rendered.data)} bytes of binary data]")
    click.echo(classes.evolve(rendered, tests=()).text)  # the assertions are reported separately


def _print_body(exchange: Exchange, secrets: frozenset[str]) -> None:
    """Print the body of a response as received, except that secrets are masked.

    In a terminal, control characters are made visible.
    """
    response = exchange.response
    if response is None:
        return
    if response.unread:
        complain(response.unread)
    secrets, codec = secrets | exchange.request.secrets, response.codec[0]
    data = mask_bytes(response.body, secrets)
    if response.truncated:
        data = mask_cut_bytes(data, secrets)
    with contextlib.suppress(UnicodeError):  # in bytes, a secret is only found in UTF-8
        text = data.decode(codec)
        if (hidden := mask(text, secrets)) != text:
            data = hidden.encode(codec)
    if sys.stdout.isatty():
        text = data.decode(codec, "backslashreplace").replace("\r\n", "\n")
        click.echo(visible(text))
    else:
        click.echo(data, nl=False)


def _text_of(response: Response, secrets: frozenset[str]) -> str | None:
    """Return the body of a response if it is text, with secrets masked."""
    if content.is_binary(response, content.media_type(response)):
        return None
    text = mask(content.decode(response)[0], secrets)
    return mask_cut(text, secrets) if response.truncated else text


def _json_lines(
    file: str, outcome: Outcome, failed: bool, *, with_text: bool, explained: bool = False
) -> Iterator[str]:
    """Yield a line of JSON for each request of an outcome, or one line if there are no requests.

    `with_text` adds the rendered responses, with binary bodies in base64. `explained` adds the
    variables that each request uses.
    """
    import json
    from base64 import b64encode

    common: dict[str, Any] = {
        "file": file,
        "line": outcome.line,
        "name": outcome.name,
        "outcome": "failed" if failed and outcome.verdict == "passed" else outcome.verdict,
    }
    has_own = outcome.broken is not None and outcome.broken.reason is None
    broken = (outcome.broken,) if has_own else ()
    exchanges: tuple[Exchange | None, ...] = (*outcome.own, *broken) or (None,)
    for exchange in exchanges:
        data = dict(common)
        if exchange is not None:
            request, response = exchange.request, exchange.response
            if response is None and exchange.sent is not None:
                response = exchange.sent.response
            shown = displayed(request, placeholders=not exchange.number)
            data |= {"method": shown.method, "url": shown.url}
            if response is not None:
                data |= {
                    "status": response.status,
                    "reason": mask(response.reason, request.secrets),
                    "duration": round(response.duration, 6),
                    "bytes": len(response.body),
                    "body": _text_of(response, request.secrets | outcome.secrets),
                }
                if exchange.attempts > 1:
                    data["attempts"] = exchange.attempts
                if with_text and exchange.rendered is not None:
                    data |= {
                        "language": exchange.rendered.language,
                        "text": exchange.rendered.text,
                    }
                    if exchange.rendered.data is not None:
                        data["data"] = b64encode(exchange.rendered.data).decode()
            elif not failed:
                from orgrest.http.transport.wire import wire_headers

                request = classes.evolve(request, headers=wire_headers(request))
                shown = displayed(request)
                data["headers"] = [list(pair) for pair in shown.headers]
                if shown.body is not None:
                    data["body"] = shown.body.decode("utf-8", "backslashreplace")
        if explained and exchange is not None:
            data["variables"] = _used(exchange)
        if outcome.change is not None:
            data["changed"] = outcome.change[0] != outcome.change[1]
        if outcome.reason is not None:
            data["error"] = visible(mask(outcome.reason.reason, outcome.secrets))
        if outcome.tests:
            data["tests"] = [
                {
                    "name": mask(verdict.name, outcome.secrets),
                    "held": verdict.held,
                    "line": verdict.line,
                    "reason": mask(verdict.reason, outcome.secrets),
                }
                for verdict in outcome.tests
            ]
        if outcome.notes:
            data["notes"] = [mask(note, outcome.secrets) for note in outcome.notes]
        line = json.dumps(data, ensure_ascii=False)
        yield line if line.isprintable() else json.dumps(data)  # a terminal gets only text
