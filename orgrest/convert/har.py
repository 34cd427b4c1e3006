"""HAR files, which browsers and proxies record.

Written archives have no responses. A body that is not text is in base64, with the field `encoding`
that the specification only defines for responses. Source: HTTP Archive 1.2, by Jan Odvarko.
"""

from __future__ import annotations

import base64
import binascii
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

import attrs

from orgrest import __version__
from orgrest.convert.messages import kept
from orgrest.convert.shared import texts
from orgrest.convert.shared.exports import Basic, each
from orgrest.convert.shared.fields import Fields
from orgrest.convert.shared.forms import multipart, urlencoded
from orgrest.convert.shared.model import (
    Collection,
    ConversionError,
    Folder,
    Note,
    Piece,
    Request,
    Written,
)
from orgrest.http.auth.basic import basic
from orgrest.http.syntax import is_token
from orgrest.http.transport.wire import wire_url
from orgrest.model import explained

if TYPE_CHECKING:
    from orgrest.convert.shared.exports import Call, Export
    from orgrest.convert.shared.source import Source


def recognizes(source: Source) -> bool:
    """Return whether a source is a HAR file, an entry of one, or its request."""
    if isinstance(log := source.value.get("log"), dict):
        return "entries" in log
    request = source.value.get("request", source.value)
    return isinstance(request, dict) and {"method", "url", "headers"} <= request.keys()


def read(source: Source) -> Collection:
    """Return the requests of a HAR file, an entry, or a request. Raises ConversionError."""
    whole = source.fields
    if "log" in whole:
        log = whole.object("log")
        log.ignore("version", "creator", "browser", "comment")
        pages = {page.text("id"): page for page in log.objects("pages")}
        folders: dict[str, list[Request]] = {}
        for entry in log.objects("entries"):
            folders.setdefault(entry.text("pageref"), []).append(_read(entry))
        for page in pages.values():
            page.ignore("startedDateTime", "pageTimings", "comment")
        items: list[Folder | Request] = []
        for key, requests in folders.items():
            title = pages[key].text("title") if key in pages else ""
            items += [Folder(title, tuple(requests))] if len(folders) > 1 and key else requests
        if not items:
            raise ConversionError("this HAR file has no entries", file=source.name)
        return Collection(Folder("", tuple(items), notes=whole.unread()))
    request = _entry(whole) if "request" in whole else _request(whole)
    return Collection(Folder("", (request,)))


def _read(entry: Fields) -> Request:
    """Return an entry's request; if it is invalid, an empty request with the error as its note."""
    try:
        return _entry(entry)
    except Exception as error:
        note = Note(entry.place, explained(error).reason)
        return Request("", "", notes=(note, *entry.unread()), place=entry.place)


def _entry(entry: Fields) -> Request:
    """Return an entry's request; the rest of the entry describes what was recorded."""
    entry.ignore("startedDateTime", "time", "response", "cache", "timings", "serverIPAddress",
                 "connection", "comment", "pageref", "priority", "resourceType", "fromCache",
                 "connectionId")  # fmt: skip
    entry.ignore(*(name for name in entry.given if name.startswith("_")))
    found = _request(entry.object("request"))
    return attrs.evolve(found, notes=(*found.notes, *entry.unread()))


def _request(given: Fields) -> Request:
    given.ignore("httpVersion", "headersSize", "bodySize", "comment")
    given.ignore(*(name for name in given.given if name.startswith("_")))
    method, url = given.text("method"), given.text("url").partition("#")[0]
    notes: list[Note] = []
    pairs = [(one.text("name"), one.text("value")) for one in _pairs(given, "headers")]
    if not is_token(method) or not url:
        raise ConversionError("this request has no method or no URL", file=given.place)
    headers = list(kept(pairs, url, given.place, notes))
    cookies = [(one.text("name"), one.text("value")) for one in _pairs(given, "cookies")]
    if cookies and not any(key.lower() == "cookie" for key, _ in headers):
        value = "; ".join(f"{key}={text}" for key, text in cookies)
        headers.append(("Cookie", texts.literal(value)))
    for one in _pairs(given, "queryString"):
        if "?" not in url:
            one.note(f"the URL has no query, and here is {one.text('name')}")
        one.ignore("name", "value")
    body, kind = _body(given)
    has_type = any(key.lower() == "content-type" for key, _ in headers)
    if kind and body is not None and not has_type:
        headers.append(("Content-Type", texts.literal(kind)))
    return Request(method.upper() if method.islower() else method, texts.literal(url),
                   headers=tuple(headers), body=body, notes=(*notes, *given.unread()),
                   place=given.place)  # fmt: skip


def _pairs(given: Fields, name: str) -> list[Fields]:
    found = given.objects(name)
    for one in found:
        one.ignore("comment", "path", "domain", "expires", "httpOnly", "secure", "sameSite")
        one.ignore(*(key for key in one.given if key.startswith("_")))
    return found


def _body(given: Fields) -> tuple[tuple[Piece, ...] | None, str]:
    """Return the body, and its type."""
    if "postData" not in given:
        given.ignore("postData")
        return None, ""
    data = given.object("postData")
    data.ignore("comment", "_id")
    kind, text = data.text("mimeType"), data.text("text")
    params = data.objects("params")
    for one in params:
        one.ignore("comment")
    if text:
        for one in params:
            one.ignore("name", "value", "fileName", "contentType")
        if data.text("encoding") == "base64":
            try:
                return (base64.b64decode(text, validate=True),), kind
            except binascii.Error:
                data.note("the text is said to be base64, and is not")
        return (texts.body_of(text),), kind
    if not params:
        return None, ""
    if kind.lower().startswith("multipart/"):
        fields = [_field(one) for one in params]
        return multipart(fields, kind)
    pairs = [(texts.literal(one.text("name")), texts.literal(one.text("value"))) for one in params]
    return (urlencoded(pairs),), kind


def _field(given: Fields) -> tuple[str, str, str, str, bool]:
    """Return a part of a form; a file is expected beside the document."""
    name, value, file = (texts.literal(given.text(key)) for key in ("name", "value", "fileName"))
    is_file = bool(file) and not value
    return name, file if is_file else value, file, given.text("contentType"), is_file


def write(export: Export, *, beside: str | None) -> Written:
    """Write an archive; `beside` is unused. Values replace variables, except for secrets."""
    del beside
    notes = [call.told(one) for call in export.calls for one in call.tests]
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def entry(call: Call) -> dict[str, Any]:
        if call.request.method == "WEBSOCKET":
            raise ConversionError("a WebSocket is no entry of an archive")
        return {
            "startedDateTime": now,
            "time": 0,
            "request": _written(call, notes),
            "response": _nothing(),
            "cache": {},
            "timings": {"send": 0, "wait": 0, "receive": 0},
            "comment": call.name,
        }

    entries = list(each(export.calls, entry, notes))
    creator = {"name": "orgrest", "version": __version__}
    whole = {"log": {"version": "1.2", "creator": creator, "entries": entries}}
    text = json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
    return Written(text, {}, tuple(notes))


def _written(call: Call, notes: list[Note]) -> dict[str, Any]:
    request = call.request
    url = _plain(call, wire_url(request))
    headers = [(name, _plain(call, value)) for name, value in request.headers]
    user, at, _ = urlsplit(url).netloc.rpartition("@")
    if at:  # some readers drop it
        url = url.replace(f"{user}@", "", 1)
        if request.header("Authorization") is None:
            headers.append(("Authorization", basic(user)))
    given = request.credentials
    if isinstance(given, Basic):
        headers.append(("Authorization", basic(_plain(call, f"{given.user}:{given.password}"))))
    elif given is not None:
        notes.append(Note(call.place, "credentials that are computed on sending"))
    for one in call.kept.values():
        written = "has no value" if one.value is None else f"is written as {one.value}"
        notes.append(Note(call.place, f"{{{{{one.name}}}}} {written}: an archive has no variables"))
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
        text = None if call.body() is None else _plain(call, call.body() or "")
        kind = request.header("Content-Type") or ""
        found["postData"] = {"mimeType": kind, "text": text or ""}
        if text is None:
            coded = {"text": base64.b64encode(request.body).decode(), "encoding": "base64"}
            found["postData"] = {"mimeType": kind, **coded}
            notes.append(Note(call.place, "the body is not text: it is in base64, which few read"))
    return found


def _plain(call: Call, text: str) -> str:
    """Return a text with the values of its variables; `{{name}}` stays if it has no value."""
    return "".join(
        one if isinstance(one, str) else f"{{{{{one.name}}}}}" if one.value is None else one.value
        for one in call.text(text)
    )


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
