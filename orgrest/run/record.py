"""The record of a request in a run, as JSON data without secrets.

All reports are generated from records, so secrets are masked in one place only. A report that is
generated later from a `.jsonl` file is identical to one that the run itself writes.
docs/orgrest/reference/tests.md describes the fields. Bodies are cut at `BODY` bytes.
"""

from __future__ import annotations

import codecs
import contextlib
import hashlib
import json
from base64 import b64decode, b64encode
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from orgrest import classes
from orgrest.model import OrgrestError, Request, Response, to_bytes
from orgrest.rendering import content
from orgrest.rendering.masking import (
    displayed,
    mask,
    mask_bytes,
    mask_cut,
    mask_cut_bytes,
    mask_message,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from orgrest.model import Headers, Verdict
    from orgrest.run.outcomes import Exchange, Outcome
    from orgrest.run.plan import Step

Record: TypeAlias = dict[str, Any]
BODY = 64 * 1024
"""The maximum number of bytes of a body to keep for reports."""
CUT: Final = "only the beginning"
"""The comment in a HAR file on a body of which only the beginning is included."""
OUTCOMES: Final = ("passed", "failed", "error", "skipped")
_TEXT: Final = (str, None)
_NUMBER: Final = (int, float)
_SECONDS: Final = (int, float, None)
_HEADERS: Final = [[str, str], ...]
_ANY_BODY: Final = {"type": str, "size": int, "cut": bool, "sha256?": str}
_BODY: Final = ({**_ANY_BODY, "text": str}, {**_ANY_BODY, "base64": str})
_REQUEST: Final = {"method": str, "url": str, "headers": _HEADERS, "body": (None, *_BODY)}
_RESPONSE: Final = {
    "status": int,
    "reason": str,
    "version": str,
    "url": str,
    "headers": _HEADERS,
    "body": _BODY,
    "redirects": [{"status": int, "url": str}, ...],
}
_PHASES: Final = ("resolve", "connect", "tls", "wait", "download")
_SENT: Final = {
    "request": _REQUEST,
    "number": int,
    "started": str,
    "duration": _SECONDS,
    "timing": (None, dict.fromkeys(_PHASES, _SECONDS)),
}
_EXCHANGE: Final[dict[str, object]] = {
    **_SENT,
    "response": (None, _RESPONSE),
    "attempts": int,
    "reason": _TEXT,
    "sent": (None, _SENT),
    "error": _TEXT,
    "failed?": bool,
}
_EXCHANGE["earlier"] = [_EXCHANGE, ...]
_ASSERTION: Final = {
    "name": str,
    "passed": bool,
    "reason": str,
    "line": (int, None),
    "expected": _TEXT,
    "actual": _TEXT,
    "difference": [str, ...],
}
OUTCOME: Final = {
    "order": [int, int],
    "document": str,
    "file": str,
    "line": (int, None),
    "name": _TEXT,
    "title": _TEXT,
    "part": ("setup", "request", "teardown"),
    "tags": [str, ...],
    "outcome": OUTCOMES,
    "reason": _TEXT,
    "started": str,
    "duration": _NUMBER,
    "assertions": [_ASSERTION, ...],
    "exchanges": [_EXCHANGE, ...],
    "notes": [str, ...],
}
"""The structure of records in the history, for `structured.matches`."""
RECORD: Final = {**OUTCOME, "turn": int, "row": (int, None)}
"""The structure of records of test runs."""
_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_SENSITIVE = frozenset({"authorization", "proxy-authorization", "cookie", "set-cookie"})


def of_outcome(outcome: Outcome, place: Record, *, fail: bool) -> Record:
    """Return the record of an outcome.

    `place` has the fields for the position in the run: file, repetition and row of data. If `fail`
    is true, a status of 400 or above is a failure unless a test checks the status.
    """
    described = outcome.described
    if not described:
        described.update(_described(outcome))
    if outcome.file is not None:
        place = {**place, "file": outcome.file}
    verdict = described["outcome"]
    bad = outcome.unexpected if fail else []
    reason = None
    if bad:
        reason = f"the status is {', '.join(map(str, bad))}, which no assertion expects"
    if outcome.reason is not None:
        here = _is_at(outcome.reason, place["file"], outcome.line)
        reason = mask(outcome.reason.reason if here else str(outcome.reason), outcome.secrets)
    if bad and verdict == "passed":
        verdict = "failed"
    return {**place, **described, "outcome": verdict, "reason": reason}


def _is_at(error: OrgrestError, file: str, line: int) -> bool:
    return error.line == line and Path(error.file or file).resolve() == Path(file).resolve()


def _described(outcome: Outcome) -> Record:
    """Return the fields that are the same in the history and in reports."""
    step, started, duration = outcome.step, outcome.began, outcome.duration
    exchanges = (*outcome.exchanges, *((outcome.broken,) if outcome.broken else ()))
    if step is None:  # sent because another request needs it
        started = min((exchange.started for exchange in exchanges), default=started)
        duration = sum(exchange.took or 0.0 for exchange in exchanges)
    hide = partial(mask, secrets=outcome.secrets)
    # Names and titles are text of the document, except that Noweb may insert results into titles.
    is_expanded = outcome.task is not None and outcome.task.arguments.inserts_noweb
    return {
        "line": outcome.line,
        "name": outcome.name or None,
        "title": (hide(outcome.title) if is_expanded else outcome.title) or None,
        "part": step.part if step else "request",
        "tags": sorted(step.tags) if step else [],
        "outcome": outcome.verdict,
        "reason": None,
        "started": _time(started),
        "duration": round(duration, 6),
        "assertions": [
            _of_test(test, hide, outcome.line, is_written=bool(test.operator) and not is_expanded)
            for test in outcome.tests
        ],
        "exchanges": [_of_exchange(exchange, outcome.secrets) for exchange in exchanges],
        "notes": [hide(note) for note in outcome.notes],
    }


def encoded(value: Record) -> bytes:
    """Return a value as JSON. Surrogates, which represent bytes that are not UTF-8, are escaped."""
    return _JSON.encode(value).encode("utf-8", "backslashreplace")


def without_request(
    place: Record,
    outcome: str,
    reason: str,
    line: int | None = None,
    step: Step | None = None,
    title: str = "",
) -> Record:
    """Return a record without exchanges, for example for a step that was not sent.

    If `step` is None, the record is for the document or, if `line` is given, for that line.
    """
    return {
        **place,
        "line": step.line if step else line,
        "name": step.name if step else None,
        "title": title or None,
        "part": step.part if step else "request",
        "tags": sorted(step.tags) if step else [],
        "outcome": outcome,
        "reason": reason,
        "started": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "duration": 0.0,
        "assertions": [],
        "exchanges": [],
        "notes": [],
    }


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def _of_test(test: Verdict, hide: Callable[[str], str], line: int, *, is_written: bool) -> Record:
    """Return an assertion or test. If `is_written` is true, its name is text of the document."""
    return {
        "name": test.name if is_written else hide(test.name),
        "passed": test.held,
        "reason": hide(test.reason),
        "line": test.line or line,
        "expected": None if test.expected is None else hide(test.expected),
        "actual": None if test.actual is None else hide(test.actual),
        "difference": [hide(hunk) for hunk in test.difference],
    }


def _of_exchange(exchange: Exchange, run_secrets: frozenset[str]) -> Record:
    secrets = run_secrets | exchange.request.secrets
    sent, response = exchange.sent, exchange.response
    if response is None and sent is not None:  # the hop before the error, such as a redirect
        response = sent.response
    led = sent is not None and sent.number != exchange.number
    hops = exchange.earlier if led else (sent,) if sent is not None else ()
    first = next((hop for hop in hops if hop.number == exchange.number), exchange)
    shown = _of_request(first.request, secrets, sent=first.number > 0)
    return {
        "request": shown,
        "response": None if response is None else _of_response(response, shown["url"], secrets),
        "number": exchange.number,
        "started": _time(exchange.started),
        "attempts": exchange.attempts,
        "reason": exchange.reason,
        "earlier": [_of_exchange(earlier, run_secrets) for earlier in exchange.earlier],
        "sent": None if sent is None or not led else _of_sent(sent, secrets),
        "error": None if exchange.error is None else mask_message(exchange.error.reason, secrets),
        "failed": exchange.failed,
        **_of_time(response, exchange.took),
    }


def _of_sent(sent: Exchange, secrets: frozenset[str]) -> Record:
    """Return the record of the request that followed all redirects and challenges."""
    return {
        "request": _of_request(sent.request, secrets, sent=True),
        "number": sent.number,
        "started": _time(sent.started),
        **_of_time(sent.response, sent.took),
    }


def _of_time(response: Response | None, duration: float | None) -> Record:
    timing = None
    if response is not None and response.timing is not None:
        parts = {name: getattr(response.timing, name) for name in _PHASES}
        timing = {
            name: None if seconds is None else round(seconds, 6) for name, seconds in parts.items()
        }
    return {"duration": None if duration is None else round(duration, 6), "timing": timing}


def _of_request(request: Request, secrets: frozenset[str], *, sent: bool) -> Record:
    """Return a request's record. An unsent request gets the headers that would be sent."""
    if not sent:
        from orgrest.http.transport.wire import wire_headers

        with contextlib.suppress(OrgrestError):  # the URL or a header cannot be sent
            request = classes.evolve(request, headers=wire_headers(request))
    shown = displayed(request, secrets, BODY)
    return {
        "method": shown.method,
        "url": shown.url,
        "headers": _headers(shown.headers, secrets),
        "body": _request_body(request, shown, secrets),
    }


def _of_response(response: Response, url: str, secrets: frozenset[str]) -> Record:
    kind = content.media_type(response)
    text = None
    if not content.is_binary(response, kind):
        text = content.decode(response, BODY)[0]
    content_type = response.header("Content-Type") or ""
    return {
        "status": response.status,
        "reason": mask(response.reason, secrets),
        "version": response.version,
        "url": mask(response.url, secrets) if response.redirects else url,
        "headers": _headers(response.headers, secrets),
        "body": _of_body(
            response.body,
            response.body[:BODY],
            text,
            content_type,
            secrets,
            truncated=response.truncated,
        ),
        "redirects": [
            {"status": redirect.status, "url": mask(redirect.url, secrets)}
            for redirect in response.redirects
        ],
    }


def _headers(headers: Headers, secrets: frozenset[str]) -> list[list[str]]:
    return [
        [name, "***" if name.lower() in _SENSITIVE else mask(value, secrets)]
        for name, value in headers
    ]


def _of_body(
    data: bytes,
    start: bytes,
    text: str | None,
    kind: str,
    secrets: frozenset[str],
    *,
    truncated: bool = False,
) -> Record:
    """Return a body's record. A binary body has no `text`, so its `start` is encoded instead."""
    cut = truncated or len(data) > BODY
    described: Record = {"type": mask(kind, secrets), "size": len(data), "cut": cut}
    if cut or text is None:  # the kept part is not enough to compare bodies
        described["sha256"] = hashlib.sha256(data, usedforsecurity=False).hexdigest()
    if text is None:
        shown_bytes = mask_bytes(start, secrets)
        if cut and secrets:
            shown_bytes = mask_cut_bytes(shown_bytes, secrets)
        return {**described, "base64": b64encode(shown_bytes).decode()}
    shown_text = mask(text, secrets)
    if cut and secrets:
        shown_text = mask_cut(shown_text, secrets)
    return {**described, "text": shown_text}


def replayed(exchange: Record) -> tuple[Request, Response]:
    """Return the request and the response of an exchange, with what is needed to render them.

    The body of the response may be cut. Its text is encoded as UTF-8.
    """
    response, body = exchange["response"], exchange["response"]["body"]
    kind = body["type"].partition(";")[0]
    if "text" in body:
        kind, data = kind and f"{kind}; charset=utf-8", to_bytes(body["text"])
    else:
        data = b64decode(body["base64"])
    return (
        Request(exchange["request"]["method"], exchange["request"]["url"]),
        Response(
            response["status"],
            response["reason"],
            response["version"],
            (("Content-Type", kind),) if kind else (),
            data,
            0.0,
            response["url"],
        ),
    )


def _request_body(request: Request, shown: Request, secrets: frozenset[str]) -> Record | None:
    if request.body is None or shown.body is None:
        return None
    text: str | None = None
    with contextlib.suppress(UnicodeDecodeError):
        text = codecs.getincrementaldecoder("utf-8")().decode(shown.body)
    kind = request.header("Content-Type") or ""
    return _of_body(request.body, shown.body, text, kind, secrets)
