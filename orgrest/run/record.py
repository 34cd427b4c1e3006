"""The record of one request of a run: plain JSON data without secrets.

All reports are generated from records. So secrets are masked in one place, and a report generated
later from a `.jsonl` file is the same. docs/orgrest/reference/tests.md describes the fields; bodies
are cut at `BODY` bytes.
"""

from __future__ import annotations

import codecs
import contextlib
import hashlib
import json
from base64 import b64encode
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from orgrest.model import OrgrestError
from orgrest.rendering import content
from orgrest.rendering.masking import mask, mask_bytes, mask_cut, masked

if TYPE_CHECKING:
    from collections.abc import Callable

    from orgrest.model import Headers, Request, Response, Verdict
    from orgrest.run.outcomes import Exchange, Outcome
    from orgrest.run.plan import Step

Record: TypeAlias = dict[str, Any]
BODY = 64 * 1024
"""The maximum number of bytes of a body kept for reports."""
_SENSITIVE = frozenset({"authorization", "proxy-authorization", "cookie", "set-cookie"})


def of_outcome(outcome: Outcome, place: Record, *, fail: bool) -> Record:
    """Return the record of an outcome.

    `place` is its position in the run: the file, the turn, the row of data. With `fail`, a status
    of 400 and above is a failure unless a test is about the status.
    """
    step, started, duration = outcome.step, outcome.began, outcome.duration
    hide = partial(mask, secrets=outcome.secrets)
    exchanges = (*outcome.exchanges, *((outcome.broken,) if outcome.broken else ()))
    if outcome.file is not None:
        place = {**place, "file": outcome.file}
    if step is None:  # it was sent because another request needs it
        started = min((one.started for one in exchanges), default=started)
        duration = sum(one.response.duration for one in exchanges if one.response is not None)
    bad = outcome.unexpected if fail else []
    reason = None
    if bad:
        reason = f"the status is {', '.join(map(str, bad))}, and no assertion expects it"
    if outcome.reason is not None:
        reason = hide(outcome.reason.reason)
    return {
        **place,
        "line": outcome.line,
        "name": hide(outcome.name or "") or None,
        "title": hide(outcome.title) or None,
        "part": step.part if step else "request",
        "tags": sorted(step.tags) if step else [],
        "outcome": "failed" if bad and outcome.verdict == "passed" else outcome.verdict,
        "reason": reason,
        "started": _time(started),
        "duration": round(duration, 6),
        "assertions": [_of_test(test, hide, outcome.line) for test in outcome.tests],
        "exchanges": [_of_exchange(one, outcome.secrets) for one in exchanges],
        "notes": [hide(note) for note in outcome.notes],
    }


def encoded(value: Record) -> bytes:
    """Return a value as JSON; surrogates, which represent non-UTF-8 bytes, are escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace")


def without_request(
    place: Record,
    outcome: str,
    reason: str,
    line: int | None = None,
    step: Step | None = None,
    title: str = "",
) -> Record:
    """Return the record of something not sent: a whole document, or a skipped step."""
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


def _of_test(test: Verdict, hide: Callable[[str], str], line: int) -> Record:
    return {
        "name": hide(test.name),
        "passed": test.held,
        "reason": hide(test.reason),
        "line": test.line or line,
        "expected": None if test.expected is None else hide(test.expected),
        "actual": None if test.actual is None else hide(test.actual),
        "difference": [hide(one) for one in test.difference],
    }


def _of_exchange(exchange: Exchange, known: frozenset[str]) -> Record:
    secrets = known | exchange.request.secrets
    sent, response = exchange.sent, exchange.response
    if response is None and sent is not None:  # the one before the error, as a redirect
        response = sent.response
    led = sent is not None and sent.number != exchange.number
    shown = _of_request(exchange.request if sent is None or led else sent.request, secrets)
    return {
        "request": shown,
        "response": None if response is None else _of_response(response, shown["url"], secrets),
        "number": exchange.number,
        "started": _time(exchange.started),
        "attempts": exchange.attempts,
        "reason": exchange.reason,
        "earlier": [_of_exchange(one, known) for one in exchange.earlier],
        "sent": None if sent is None or not led else _of_sent(sent, secrets),
        "error": None if exchange.error is None else mask(exchange.error.reason, secrets),
        **_of_time(response),
    }


def _of_sent(sent: Exchange, secrets: frozenset[str]) -> Record:
    """Return the request that got the response, if redirects or challenges led to it."""
    return {
        "request": _of_request(sent.request, secrets),
        "number": sent.number,
        "started": _time(sent.started),
        **_of_time(sent.response),
    }


def _of_time(response: Response | None) -> Record:
    if response is None:
        return {"duration": None, "timing": None}
    timing = None
    if response.timing is not None:
        names = ("resolve", "connect", "tls", "wait", "download")
        parts = {name: getattr(response.timing, name) for name in names}
        timing = {name: None if one is None else round(one, 6) for name, one in parts.items()}
    return {"duration": round(response.duration, 6), "timing": timing}


def _of_request(request: Request, secrets: frozenset[str]) -> Record:
    from orgrest.http.transport.wire import wire_headers

    with contextlib.suppress(OrgrestError):  # invalid headers, so it was never sent
        request = attrs.evolve(request, headers=wire_headers(request))
    shown = masked(request, secrets, BODY)
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
        text = content.decode(response, kind, BODY)[0]
    given = response.header("Content-Type") or ""
    return {
        "status": response.status,
        "reason": mask(response.reason, secrets),
        "version": response.version,
        "url": mask(response.url, secrets) if response.redirects else url,
        "headers": _headers(response.headers, secrets),
        "body": _of_body(
            response.body, response.body[:BODY], text, given, secrets, truncated=response.truncated
        ),
        "redirects": [
            {"status": one.status, "url": mask(one.url, secrets)} for one in response.redirects
        ],
    }


def _headers(headers: Headers, secrets: frozenset[str]) -> list[list[str]]:
    """Return header lines; credentials and cookies are hidden, regardless of their source."""
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
    """Return a body: the beginning of its `text` or, if it is binary, its `start` in base64."""
    cut = truncated or len(data) > BODY
    found: Record = {"type": mask(kind, secrets), "size": len(data), "cut": cut}
    if cut or text is None:  # the kept part alone does not distinguish all bodies
        found["sha256"] = hashlib.sha256(data, usedforsecurity=False).hexdigest()
    if text is None:
        return {**found, "base64": b64encode(mask_bytes(start, secrets)).decode()}
    shown_text = mask(text, secrets)
    if cut and secrets:
        shown_text = mask_cut(shown_text, secrets)
    return {**found, "text": shown_text}


def _request_body(request: Request, shown: Request, secrets: frozenset[str]) -> Record | None:
    if request.body is None or shown.body is None:
        return None
    text: str | None = None
    with contextlib.suppress(UnicodeDecodeError):
        text = codecs.getincrementaldecoder("utf-8")().decode(shown.body)
    kind = request.header("Content-Type") or ""
    return _of_body(request.body, shown.body, text, kind, secrets)
