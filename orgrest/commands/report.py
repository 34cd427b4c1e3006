"""Output of a run: requests, responses and outcomes, as lines, text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import click

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orgrest.run.outcomes import Exchange, Outcome


def line(exchange: Exchange) -> str:
    """Summarize a request in one line: method, URL, status, time."""
    from orgrest.rendering.masking import masked
    from orgrest.rendering.sanitize import visible

    request, response = masked(exchange.request), exchange.response
    text = visible(f"{request.method} {request.url}", one_line=True)
    if response is None:
        return text
    color = "red" if response.status >= 400 else "green"
    status = click.style(str(response.status), fg=color)
    return f"{text}  {status}  {response.duration:.3f} s"


def wire(exchange: Exchange) -> str:
    """Return the text of a request on the wire, with secrets masked."""
    from orgrest.http.transport.wire import wire_headers
    from orgrest.rendering.masking import masked
    from orgrest.rendering.sanitize import visible

    sent = exchange.request
    request = masked(attrs.evolve(sent, headers=wire_headers(sent)))
    lines = [f"{request.method} {request.url}"]
    lines += (f"{name}: {value}" for name, value in request.headers)
    if request.body:
        body = request.body.decode("utf-8", "backslashreplace")
        lines += ["", body.replace("\r\n", "\n")]
    return visible("\n".join(lines)) + "\n"


def explain(exchange: Exchange) -> str:
    """Describe each variable of a request: its value, with secrets masked, and its source."""
    return "".join(
        f"# {one['name']} = {one['value']}  ({one['origin']})\n" for one in _used(exchange)
    )


def _used(exchange: Exchange) -> list[dict[str, str]]:
    from orgrest.rendering.masking import mask_value
    from orgrest.rendering.sanitize import visible

    return [
        {
            "name": visible(one.name, one_line=True),
            "value": visible(mask_value(one.value, exchange.request.secrets), one_line=True),
            "origin": visible(one.origin, one_line=True),
        }
        for one in exchange.variables
    ]


def print_response(exchange: Exchange) -> None:
    """Print the rendered response, if there is one."""
    rendered = exchange.rendered
    if rendered is None:
        return
    if rendered.is_cut:
        click.echo(f"[the beginning of {len(rendered.data or b'')} bytes: --limit shows more]")
    elif rendered.data is not None:
        click.echo(f"[{len(rendered.data)} bytes of binary data]")
    click.echo(attrs.evolve(rendered, tests=()).text)  # they are reported separately


def json_lines(
    file: str, outcome: Outcome, failed: bool, *, with_text: bool, explained: bool = False
) -> Iterator[str]:
    """Yield an outcome as JSON: a line for each request, or a single line without requests.

    `with_text` adds the rendered response, for runs that do not write it to a document, with a
    binary body in base64. `explained` adds the variables of a dry run.
    """
    import json
    from base64 import b64encode

    from orgrest.rendering.masking import mask, masked
    from orgrest.rendering.sanitize import visible

    common: dict[str, Any] = {
        "file": file,
        "line": outcome.line,
        "name": outcome.name,
        "outcome": "failed" if failed and outcome.verdict == "passed" else outcome.verdict,
    }
    exchanges: tuple[Exchange | None, ...] = outcome.exchanges or (None,)
    for exchange in exchanges:
        found = dict(common)
        if exchange is not None:
            request, response = exchange.request, exchange.response
            shown = masked(request)
            found |= {"method": shown.method, "url": shown.url}
            if response is not None:
                found |= {
                    "status": response.status,
                    "reason": mask(response.reason, request.secrets),
                    "duration": round(response.duration, 6),
                    "bytes": len(response.body),
                }
                if with_text and exchange.rendered is not None:
                    found |= {
                        "language": exchange.rendered.language,
                        "text": exchange.rendered.text,
                    }
                    if exchange.rendered.data is not None:
                        found["data"] = b64encode(exchange.rendered.data).decode()
            elif not failed:
                from orgrest.http.transport.wire import wire_headers

                shown = masked(attrs.evolve(request, headers=wire_headers(request)))
                found["headers"] = [list(pair) for pair in shown.headers]
                if shown.body is not None:
                    found["body"] = shown.body.decode("utf-8", "backslashreplace")
        if explained and exchange is not None:
            found["variables"] = _used(exchange)
        if outcome.change is not None:
            found["changed"] = outcome.change[0] != outcome.change[1]
        if outcome.reason is not None:
            found["error"] = visible(mask(outcome.reason.reason, outcome.secrets))
        if outcome.tests:
            found["tests"] = [
                {
                    "name": mask(one.name, outcome.secrets),
                    "held": one.held,
                    "line": one.line,
                    "reason": mask(one.reason, outcome.secrets),
                }
                for one in outcome.tests
            ]
        if outcome.notes:
            found["notes"] = [mask(note, outcome.secrets) for note in outcome.notes]
        yield json.dumps(found, ensure_ascii=False)
