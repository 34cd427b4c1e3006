"""Requests as an HTTP Archive 1.2, without responses.

Source: the HAR 1.2 specification by Jan Odvarko. A body that is not text is in base64, with the
field `encoding` that the specification has for responses only; `orgrest import` reads it.
"""

from __future__ import annotations

import json
from base64 import b64encode
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from orgrest.exporting.model import Call, Export
from orgrest.http.auth.basic import basic
from orgrest.http.transport import wire_url
from orgrest.importing.model import Note
from orgrest.importing.writing import Written


def write(export: Export, *, beside: str | None) -> Written:
    """Write an archive; `beside` is not needed. No variables are kept."""
    del beside
    notes = [call.told(one) for call in export.calls for one in call.tests]
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    entries = []
    for call in export.calls:
        if call.request.method == "WEBSOCKET":
            notes.append(Note(call.place, "a WebSocket is no entry of an archive"))
            continue
        entries.append(
            {
                "startedDateTime": now,
                "time": 0,
                "request": _request(call, notes),
                "response": _nothing(),
                "cache": {},
                "timings": {"send": 0, "wait": 0, "receive": 0},
                "comment": call.name,
            }
        )
    creator = {"name": "orgrest", "version": version("scriptschema")}
    whole = {"log": {"version": "1.2", "creator": creator, "entries": entries}}
    text = json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
    return Written(text, {}, tuple(notes))


def _request(call: Call, notes: list[Note]) -> dict[str, Any]:
    request = call.request
    url, headers = wire_url(request), list(request.headers)
    user, at, _ = urlsplit(url).netloc.rpartition("@")
    if at:  # some readers drop it
        url = url.replace(f"{user}@", "", 1)
        if request.header("Authorization") is None:
            headers.append(("Authorization", basic(user)))
    if request.credentials is not None:
        notes.append(Note(call.place, "credentials that are computed on sending"))
    if call.timeout is not None:
        notes.append(Note(call.place, "the time limit"))
    if request.certificate is not None:
        notes.append(Note(call.place, "the client certificate"))
    found = {
        "method": request.method,
        "url": url,
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": [{"name": name, "value": value} for name, value in headers],
        "queryString": [
            {"name": name, "value": value}
            for name, value in parse_qsl(urlsplit(url).query, keep_blank_values=True)
        ],
        "headersSize": -1,
        "bodySize": len(request.body or b""),
    }
    if request.body is not None:
        text = call.body()
        kind = request.header("Content-Type") or ""
        found["postData"] = {"mimeType": kind, "text": text or ""}
        if text is None:
            coded = {"text": b64encode(request.body).decode(), "encoding": "base64"}
            found["postData"] = {"mimeType": kind, **coded}
            notes.append(Note(call.place, "the body is not text: it is in base64, which few read"))
    return found


def _nothing() -> dict[str, Any]:
    """Return a response that was not received, as browsers write it."""
    return {
        "status": 0,
        "statusText": "",
        "httpVersion": "",
        "cookies": [],
        "headers": [],
        "content": {"size": 0, "mimeType": "x-unknown"},
        "redirectURL": "",
        "headersSize": -1,
        "bodySize": -1,
    }
