"""Requests as a Postman collection 2.1.

Source: the published schema of collections, and what newman sends for one.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from orgrest.exporting.model import Basic, Call, Export, Text
from orgrest.exporting.postman_tests import events
from orgrest.http.auth.digest import DigestCredentials
from orgrest.http.auth.ntlm import NtlmCredentials
from orgrest.http.auth.sigv4 import AwsCredentials
from orgrest.http.transport import wire_url
from orgrest.importing.model import Note
from orgrest.importing.writing import Written

_SCHEMA: Final = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"
_REFERENCE: Final = re.compile(r"\{\{[^{}\n]+\}\}")
_WITHOUT_BODY: Final = ("GET", "COPY", "HEAD", "PURGE", "UNLOCK")


def write(export: Export, *, beside: str | None) -> Written:
    """Write a collection; bodies that are not text go into files of the folder `beside`."""
    writer = _Writer(beside)
    items = [writer.item(call) for call in export.calls if writer.is_known(call)]
    whole: dict[str, Any] = {"info": {"name": export.title, "schema": _SCHEMA}, "item": items}
    if export.variables:
        whole["variable"] = [
            {"key": one.name, "value": one.value or "", "type": "string"}
            for one in export.variables
        ]
    for one in export.variables:
        writer.check(one.value or "", one.name)
    text = json.dumps(whole, indent="\t", ensure_ascii=False) + "\n"
    return Written(text, writer.files, tuple(writer.notes))


class _Writer:
    """The state of writing a collection."""

    def __init__(self, beside: str | None) -> None:
        self.files: dict[str, bytes] = {}
        self.notes: list[Note] = []
        self._beside = beside

    def is_known(self, call: Call) -> bool:
        """Tell whether a collection can hold a request."""
        if call.request.method == "WEBSOCKET":
            self.notes.append(Note(call.place, "a collection has no WebSockets"))
            return False
        return True

    def check(self, text: str, place: str) -> None:
        """Tell of text that Postman takes for a variable."""
        if match := _REFERENCE.search(text):
            self.notes.append(Note(place, f"{match[0]} is text: Postman takes it for a variable"))

    def item(self, call: Call) -> dict[str, Any]:
        """Return a request as an item."""
        request = call.request
        for name, value in request.headers:
            if not value.isascii():
                why = f"{name} is not ASCII: Postman sends Latin-1, and nothing beyond it"
                self.notes.append(Note(call.place, why))
        found: dict[str, Any] = {
            "method": request.method,
            "header": [
                {"key": name, "value": self._text(call, value)} for name, value in request.headers
            ],
            "url": self._text(call, wire_url(request)),
        }
        behavior: dict[str, Any] = {"disableUrlEncoding": True}
        if request.body is not None:
            found["body"] = self._body(call)
            if request.header("Content-Type") is None:
                behavior["disabledSystemHeaders"] = {"content-type": True}
            if request.method in _WITHOUT_BODY:
                behavior["disableBodyPruning"] = True
        if not call.follows:
            behavior["followRedirects"] = False
        auth = self._auth(call)
        if auth is not None:
            found["auth"] = auth
        if call.timeout is not None:
            self.notes.append(Note(call.place, "the time limit"))
        if request.certificate is not None:
            self.notes.append(Note(call.place, "the client certificate, which Postman's settings "
                                               "name"))  # fmt: skip
        item: dict[str, Any] = {"name": call.name, "request": found, "response": []}
        item["protocolProfileBehavior"] = behavior
        scripts = events(call, self.notes)
        return {**item, "event": scripts} if scripts else item

    def _body(self, call: Call) -> dict[str, Any]:
        text = call.body()
        if text is not None:
            # Postman takes comments out of a body that it thinks is JSON.
            plain = ("//" in text or "/*" in text) and not _is_json(text)
            json_ = "json" in (call.request.header("Content-Type") or "").lower()
            language = "json" if json_ and not plain else "text"
            options = {"raw": {"language": language}}
            return {"mode": "raw", "raw": self._text(call, text), "options": options}
        if self._beside is None:
            why = "the body is not text: with -o FILE it goes into a file beside it"
            self.notes.append(Note(call.place, why))
            return {"mode": "file", "file": {}}
        path = f"{self._beside}/{len(self.files) + 1}.body"
        self.files[path] = call.request.body or b""
        return {"mode": "file", "file": {"src": path}}

    def _text(self, call: Call, given: str) -> str:
        pieces: Text = call.text(given)
        for one in pieces:
            if isinstance(one, str):
                self.check(one, call.place)
        return "".join(one if isinstance(one, str) else f"{{{{{one.name}}}}}" for one in pieces)

    def _auth(self, call: Call) -> dict[str, Any] | None:
        """Return the credentials that are computed on sending; None if there are none."""
        given = call.request.credentials
        if given is None:
            return None
        if isinstance(given, Basic | DigestCredentials):
            kind = "basic" if isinstance(given, Basic) else "digest"
            fields = {"username": given.user, "password": given.password}
        elif isinstance(given, NtlmCredentials) and given.scheme == "NTLM":
            domain, _, user = given.user.rpartition("\\")
            kind, fields = (
                "ntlm",
                {"username": user, "password": given.password, "domain": domain},
            )
        elif isinstance(given, AwsCredentials):
            kind = "awsv4"
            fields = {"accessKey": given.key, "secretKey": given.secret,
                      "sessionToken": given.token, "region": given.region,
                      "service": given.service}  # fmt: skip
        else:
            self.notes.append(Note(call.place, "credentials that are computed on sending"))
            return None
        return {
            "type": kind,
            kind: [
                {"key": key, "value": self._text(call, value), "type": "string"}
                for key, value in fields.items()
                if value
            ],
        }


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
