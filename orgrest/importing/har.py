"""HAR files, which browsers and proxies record. Source: HTTP Archive 1.2."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any

from orgrest.http.syntax import is_token
from orgrest.importing import texts
from orgrest.importing.errors import ImportingError
from orgrest.importing.fields import Fields
from orgrest.importing.forms import multipart, urlencoded
from orgrest.importing.messages import kept
from orgrest.importing.model import Collection, Folder, Note, Piece, Request

if TYPE_CHECKING:
    from collections.abc import Mapping


def is_har(given: Mapping[str, Any]) -> bool:
    """Tell whether an object is a HAR file, an entry of one, or its request."""
    if isinstance(log := given.get("log"), dict):
        return "entries" in log
    request = given.get("request", given)
    return isinstance(request, dict) and {"method", "url", "headers"} <= request.keys()


def read(given: Mapping[str, Any], name: str) -> Collection:
    """Return the requests of a HAR file, an entry, or a request. Raises ImportingError."""
    whole = Fields(given, name)
    if "log" in whole:
        log = whole.object("log")
        log.ignore("version", "creator", "browser", "comment")
        pages = {page.text("id"): page for page in log.objects("pages")}
        folders: dict[str, list[Request]] = {}
        for entry in log.objects("entries"):
            folders.setdefault(entry.text("pageref"), []).append(_entry(entry))
        for page in pages.values():
            page.ignore("startedDateTime", "pageTimings", "comment")
        items: list[Folder | Request] = []
        for key, requests in folders.items():
            title = pages[key].text("title") if key in pages else ""
            items += [Folder(title, tuple(requests))] if len(folders) > 1 and key else requests
        if not items:
            raise ImportingError("this HAR file has no entries", file=name)
        return Collection(Folder("", tuple(items), notes=whole.unread()))
    request = _entry(whole) if "request" in whole else _request(whole)
    return Collection(Folder("", (request,)))


def _entry(entry: Fields) -> Request:
    """Return an entry's request; the rest is what was recorded."""
    entry.ignore("startedDateTime", "time", "response", "cache", "timings", "serverIPAddress",
                 "connection", "comment", "pageref", "priority", "resourceType", "fromCache",
                 "connectionId")  # fmt: skip
    entry.ignore(*(name for name in entry.given if name.startswith("_")))
    found = _request(entry.object("request"))
    return found if not (left := entry.unread()) else _with(found, left)


def _with(request: Request, notes: tuple[Note, ...]) -> Request:
    import attrs

    return attrs.evolve(request, notes=(*request.notes, *notes))


def _request(given: Fields) -> Request:
    given.ignore("httpVersion", "headersSize", "bodySize", "comment")
    given.ignore(*(name for name in given.given if name.startswith("_")))
    method, url = given.text("method"), given.text("url").partition("#")[0]
    notes: list[Note] = []
    pairs = [(one.text("name"), one.text("value")) for one in _pairs(given, "headers")]
    if not is_token(method) or not url:
        raise ImportingError("this request has no method or no URL", file=given.place)
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
    """Return a part of a form: a file is looked for beside the document."""
    name, value, file = (texts.literal(given.text(key)) for key in ("name", "value", "fileName"))
    is_file = bool(file) and not value
    return name, file if is_file else value, file, given.text("contentType"), is_file
