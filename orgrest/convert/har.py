"""HAR files, as recorded by browsers and proxies.

An export contains no responses. A body that is not text is encoded in base64, with the field
`encoding`, which the specification defines only for responses. Source: HTTP Archive 1.2, by Jan
Odvarko.
"""

from __future__ import annotations

import base64
import binascii
import json
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from orgrest import __version__, classes
from orgrest.convert.messages import kept
from orgrest.convert.shared import texts
from orgrest.convert.shared.exports import Basic, ExportedRequest, each
from orgrest.convert.shared.fields import Fields, as_object
from orgrest.convert.shared.forms import multipart, urlencoded, with_content_type
from orgrest.convert.shared.model import (
    Collection,
    ConversionError,
    Folder,
    Note,
    Piece,
    Request,
    Written,
)
from orgrest.http.auth.basic import basic, of_userinfo
from orgrest.http.syntax import is_token
from orgrest.http.transport.wire import wire_url
from orgrest.model import to_bytes
from orgrest.run.record import CUT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from orgrest import model
    from orgrest.convert.shared.exports import Export
    from orgrest.convert.shared.source import Source


NO_RESPONSE = {
    "status": 0,
    "statusText": "",
    "httpVersion": "",
    "cookies": [],  # also left out of reports, because their values are secrets
    "headers": [],
    "content": {"size": 0, "mimeType": "x-unknown"},
    "redirectURL": "",
    "headersSize": -1,
    "bodySize": -1,
}
"""What browsers write for a missing response."""
_LOCAL = ("data:", "blob:")
"""The schemes of URLs for which browsers record an entry, although they send no request."""
_REDIRECTS = ("301", "302", "303", "307", "308")


def recognizes(source: Source) -> bool:
    """Return whether a source is a HAR file, an entry from one, or the request from an entry."""
    if isinstance(log := source.value.get("log"), dict):
        return "entries" in log
    request = source.value.get("request", source.value)
    return isinstance(request, dict) and {"method", "url", "headers"} <= request.keys()


def read(source: Source) -> Collection:
    """Return the requests in a HAR file, a single entry, or a single `request` object.

    Raises ConversionError if the source is invalid.
    """
    whole = source.fields
    if "log" in whole:
        log = whole.object("log")
        log.ignore("version", "creator", "browser", "comment")
        pages = {page.text("id"): page for page in log.objects("pages")}
        folders: dict[str, list[Request]] = {}
        for entry in log.objects("entries"):
            if str(as_object(entry.given.get("request")).get("url")).startswith(_LOCAL):
                entry.ignore(*entry.given)
                continue
            folders.setdefault(entry.text("pageref"), []).append(_read(entry))
        for page in pages.values():
            page.ignore("startedDateTime", "pageTimings", "comment")
        items: list[Folder | Request] = []
        records_cookies = any(map(_has_cookie, chain.from_iterable(folders.values())))
        for key, requests in folders.items():
            if records_cookies:  # otherwise the browser may have left out all cookies
                requests = list(map(_without_jar, requests))
            title = pages[key].text("title") if key in pages else ""
            items += [Folder(title, tuple(requests))] if len(folders) > 1 and key else requests
        if not items:
            raise ConversionError("the HAR file has no entries", file=source.name)
        return Collection(Folder("", tuple(items), notes=whole.unread()))
    request = _entry(whole) if "request" in whole else _request(whole)
    return Collection(Folder("", (request,)))


def _read(entry: Fields) -> Request:
    try:
        return _entry(entry)
    except Exception as error:
        note = Note.of_error(entry.place, error)
        return Request("", "", notes=(note, *entry.unread()), place=entry.place)


def _entry(entry: Fields) -> Request:
    entry.ignore("startedDateTime", "time", "response", "cache", "timings", "serverIPAddress",
                 "connection", "comment", "pageref", "priority", "resourceType", "fromCache",
                 "connectionId", begins="_")  # fmt: skip
    response = entry.given.get("response")
    redirects = isinstance(response, dict) and str(response.get("status")) in _REDIRECTS
    request = _request(entry.object("request"))
    return classes.evolve(
        request,
        directives=("no-redirect",) if redirects else (),  # the next request is also an entry
        notes=(*request.notes, *entry.unread()),
    )


def _has_cookie(request: Request) -> bool:
    return any(name.lower() == "cookie" for name, _ in request.headers)


def _without_jar(request: Request) -> Request:
    if _has_cookie(request):
        return request
    return classes.evolve(request, directives=(*request.directives, "no-cookie-jar"))


def _request(fields: Fields) -> Request:
    fields.ignore("httpVersion", "headersSize", "bodySize", "comment", begins="_")
    method, url = fields.text("method"), fields.text("url").partition("#")[0]
    notes: list[Note] = []
    pairs = [(header.text("name"), header.text("value")) for header in _pairs(fields, "headers")]
    if not is_token(method) or not url:
        raise ConversionError("the request has no method or no URL", file=fields.place)
    if url.startswith(("ws:", "wss:")):
        raise ConversionError(f"WebSockets are not imported: write WEBSOCKET {url}")
    headers = list(kept(pairs, url, fields.place, notes))
    cookies = [(cookie.text("name"), cookie.text("value")) for cookie in _pairs(fields, "cookies")]
    if cookies and not any(key.lower() == "cookie" for key, _ in headers):
        value = "; ".join(f"{key}={text}" for key, text in cookies)
        headers.append(("Cookie", texts.literal(value)))
    for pair in _pairs(fields, "queryString"):
        if "?" not in url:
            pair.note(
                f"the entry lists the query parameter {pair.text('name')}, but the URL has no query"
            )
        pair.ignore("name", "value")
    has_type = any(key.lower() == "content-type" for key, _ in headers)
    body, kind = _body(fields, has_type=has_type)
    headers = with_content_type(headers, texts.literal(kind))
    return Request(method.upper() if method.islower() else method, texts.literal(url),
                   headers=tuple(headers), body=body, notes=(*notes, *fields.unread()),
                   place=fields.place)  # fmt: skip


def _pairs(fields: Fields, name: str) -> list[Fields]:
    objects = fields.objects(name)
    for pair in objects:
        pair.ignore("comment", "path", "domain", "expires", "httpOnly", "secure", "sameSite",
                    begins="_")  # fmt: skip
    return objects


def _body(given: Fields, *, has_type: bool) -> tuple[tuple[Piece, ...] | None, str]:
    """Return the body of a request, and the media type to write in its headers.

    If the headers already have one (`has_type`), a recorded text is sent with that one.
    """
    if "postData" not in given:
        given.ignore("postData")
        return None, ""
    data = given.object("postData")
    data.ignore("_id")
    if data.text("comment") == CUT:
        data.note(f"the file contains {CUT} of the body")
    kind, text = data.text("mimeType"), data.text("text")
    params = data.objects("params")
    for field in params:
        field.ignore("comment")
    if text:
        kind = "" if has_type else kind
        for field in params:
            field.ignore("name", "value", "fileName", "contentType")
        if data.text("encoding") == "base64":
            try:
                return (base64.b64decode(text, validate=True),), kind
            except binascii.Error:
                data.note("not valid Base64, although it is declared as Base64")
        return (texts.body_of(text),), kind
    if not params:
        return None, ""
    if kind.lower().startswith("multipart/"):
        fields = [_field(param) for param in params]
        return multipart(fields, kind)
    pairs = [
        (texts.literal(param.text("name")), texts.literal(param.text("value"))) for param in params
    ]
    return (urlencoded(pairs),), kind


def _field(fields: Fields) -> tuple[str, str, str, str, bool]:
    name, value, file = (texts.literal(fields.text(key)) for key in ("name", "value", "fileName"))
    is_file = bool(file) and not value  # the user must put the file beside the document
    return name, file if is_file else value, file, fields.text("contentType"), is_file


def write(export: Export) -> Written:
    """Return an export as a HAR file.

    Variables are replaced with their values, except for secrets.
    """
    notes = [call.told(test) for call in export.calls for test in call.tests]
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def entry(call: ExportedRequest) -> dict[str, Any]:
        if call.request.method == "WEBSOCKET":
            raise ConversionError("WebSockets cannot be represented in a HAR file")
        return {
            "startedDateTime": now,
            "time": 0,
            "request": _written(call, notes),
            "response": NO_RESPONSE,
            "cache": {},
            "timings": {"send": 0, "wait": 0, "receive": 0},
            "comment": call.name,
        }

    entries = list(each(export.calls, entry, notes))
    creator = {"name": "orgrest", "version": __version__}
    whole = {"log": {"version": "1.2", "creator": creator, "entries": entries}}
    text = json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
    return Written(text, {}, tuple(notes))


def to_request(request: model.Request) -> dict[str, Any]:
    """Return an expanded request as a JSON object for a HAR file.

    The object's `comment` lists the parts that a HAR file cannot represent.
    """
    notes: list[Note] = []
    sent = _written(ExportedRequest("", "", request, follows=True, timeout=None), notes)
    return sent | {"comment": "; ".join(note.reason for note in notes)}


def head_of(method: str, url: str, headers: Iterable[Sequence[str]], size: int) -> dict[str, Any]:
    """Return a request as a JSON object for a HAR file, without cookies and body."""
    query = url.partition("#")[0].partition("?")[2]
    return {
        "method": method,
        "url": url,
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": named(headers),
        "queryString": named(parse_qsl(query, keep_blank_values=True)),
        "headersSize": -1,
        "bodySize": size,
    }


def named(pairs: Iterable[Sequence[str]]) -> list[dict[str, str]]:
    """Return pairs of names and values as a JSON list for a HAR file."""
    return [{"name": name, "value": value} for name, value in pairs]


def _written(call: ExportedRequest, notes: list[Note]) -> dict[str, Any]:
    request = call.request
    url = _plain(call, wire_url(request))
    headers = [(name, _plain(call, value)) for name, value in request.headers]
    user, at, _ = urlsplit(url).netloc.rpartition("@")
    if at:  # some programs drop the user from a URL
        url = url.replace(f"{user}@", "", 1)
        if request.header("Authorization") is None:
            headers.append(("Authorization", of_userinfo(user)))
    credentials = request.credentials
    if isinstance(credentials, Basic):
        pair = _plain(call, f"{credentials.user}:{credentials.password}")
        headers.append(("Authorization", basic(to_bytes(pair))))
    elif credentials is not None:
        notes.append(Note(call.place, "credentials that are computed when the request is sent"))
    for variable in call.kept.values():
        written = "has no value" if variable.value is None else f"is written as {variable.value}"
        notes.append(
            Note(call.place, f"HAR files have no variables: {{{{{variable.name}}}}} {written}")
        )
    if not call.follows:
        notes.append(Note(call.place, "the setting that disables following redirects"))
    if not call.keeps_cookies:
        notes.append(Note(call.place, "the setting that disables storing and sending cookies"))
    if call.timeout is not None:
        notes.append(Note(call.place, "the time limit"))
    if request.certificate is not None:
        notes.append(Note(call.place, "the client certificate"))
    entry = head_of(request.method, url, headers, len(request.body or b""))
    if request.body is not None:
        text = None if call.body() is None else _plain(call, call.body() or "")
        kind = request.header("Content-Type") or ""
        entry["postData"] = {"mimeType": kind, "text": text or ""}
        if text is None:
            coded = {"text": base64.b64encode(request.body).decode(), "encoding": "base64"}
            entry["postData"] = {"mimeType": kind, **coded}
            notes.append(
                Note(
                    call.place,
                    "the body is not text: it was written as Base64, which few tools read",
                )
            )
    return entry


def _plain(call: ExportedRequest, text: str) -> str:
    """Replace variables with their values. Unknown variables remain `{{name}}`."""
    return "".join(
        piece
        if isinstance(piece, str)
        else f"{{{{{piece.name}}}}}"
        if piece.value is None
        else piece.value
        for piece in call.text(text)
    )
