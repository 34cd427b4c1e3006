"""Writes requests as a Postman collection in format 2.1.

Assertions and scripts become `pm` scripts.

Sources: the published schema of collections; Postman's "Test script examples"; the requests that
newman sends.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from orgrest.convert.shared.exports import Basic, Export, ExportedRequest, Text, each
from orgrest.convert.shared.model import POSTMAN_BODILESS, ConversionError, Note, Written
from orgrest.convert.shared.variables import DYNAMIC as _IMPORTED
from orgrest.http.assertions.comparing import quoted
from orgrest.http.auth.digest import DigestCredentials
from orgrest.http.auth.ntlm import NtlmCredentials
from orgrest.http.auth.sigv4 import AwsCredentials
from orgrest.http.syntax import Assertion, Script
from orgrest.http.transport.wire import wire_url

DYNAMIC: Final = {ours: theirs for theirs, ours in _IMPORTED.items()} | {
    "$uuid": "$guid",
    "$random.uuid": "$guid",
}
"""The dynamic values that Postman also has, mapped to their names in Postman."""
_SCHEMA: Final = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"
_REFERENCE: Final = re.compile(r"\{\{[^{}\n]+\}\}")
_GLOBAL: Final = re.compile(r"(?:globals\.set|setGlobalVariable)\(\s*[\"'`]([^\"'`]+)[\"'`]")
_CLASSES: Final = {"2xx": "success", "3xx": "redirection", "4xx": "clientError",
                   "5xx": "serverError"}  # fmt: skip
_SIGNS: Final = {"<": "below", "<=": "most", ">": "above", ">=": "least"}
_STEPS: Final = re.compile(r"\$?((?:\.[A-Za-z_]\w*|\[\d+\])+)")
_SIMPLE: Final = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d{0,9}[1-9])?|true|false|null")
_PM: Final = re.compile(r"\bpm\.|\btests\[|\bpostman\.")
_OTHERS: Final = re.compile(r"\bclient\.|\bexports\b|(?<!pm\.)\b(?:request|response)\.")


def write(export: Export) -> Written:
    """Return an export as a collection."""
    writer = _Writer(export.beside)
    items = list(each(export.calls, writer.item, writer.notes))
    whole: dict[str, Any] = {"info": {"name": export.title, "schema": _SCHEMA}, "item": items}
    # A variable of the collection would hide the global variable that a script sets.
    variables = [variable for variable in export.variables if variable.name not in writer.global_]
    if variables:
        whole["variable"] = [
            {"key": variable.name, "value": variable.value or "", "type": "string"}
            for variable in variables
        ]
    for variable in variables:
        writer.check(variable.value or "", variable.name)
    text = json.dumps(whole, indent="\t", ensure_ascii=False) + "\n"
    return Written(text, writer.files, tuple(writer.notes))


class _Writer:
    """Writes the items of one collection."""

    def __init__(self, beside: str | None) -> None:
        self.files: dict[str, bytes] = {}
        self.notes: list[Note] = []
        self.global_: set[str] = set()
        """The names of the global variables that scripts set."""
        self._beside = beside

    def check(self, text: str, place: str) -> None:
        if match := _REFERENCE.search(text):
            self.notes.append(
                Note(place, f"{match[0]} is literal text here, but Postman reads it as a variable")
            )

    def item(self, call: ExportedRequest) -> dict[str, Any]:
        """Return a request as an item of the collection."""
        request = call.request
        if request.method == "WEBSOCKET":
            raise ConversionError("Postman collections cannot contain WebSocket requests")
        scripts = _events(call, self.notes)
        prerequest = any(script["listen"] == "prerequest" for script in scripts)
        for script in scripts:
            self.global_ |= set(_GLOBAL.findall("\n".join(script["script"]["exec"])))
        for name, value in request.headers:
            if not value.isascii():
                why = f"{name} contains characters that Postman cannot send (it sends Latin-1)"
                self.notes.append(Note(call.place, why))
        self.notes += call.unprotected("Postman", "authorization")
        exported: dict[str, Any] = {
            "method": request.method,
            "header": [
                {"key": name, "value": self._text(call, value)}
                for name, value in request.headers
                if not (prerequest and name.lower() in call.added)
            ],
            "url": self._text(call, wire_url(request)),
        }
        behavior: dict[str, Any] = {"disableUrlEncoding": True}
        disabled: dict[str, bool] = {}
        if request.body is not None:
            exported["body"] = self._body(call)
            if request.header("Content-Type") is None:
                disabled["content-type"] = True
            if request.method in POSTMAN_BODILESS:
                behavior["disableBodyPruning"] = True
        if request.header("Transfer-Encoding") is not None:
            disabled["content-length"] = True
        if disabled:
            behavior["disabledSystemHeaders"] = disabled
        if not call.follows:
            behavior["followRedirects"] = False
        if not call.keeps_cookies:
            behavior["disableCookies"] = True
        auth = self._auth(call)
        if auth is not None:
            exported["auth"] = auth
        if call.timeout is not None:
            self.notes.append(Note(call.place, "the time limit"))
        if request.certificate is not None:
            reason = "the client certificate (add it in Postman's settings)"
            self.notes.append(Note(call.place, reason))
        item: dict[str, Any] = {"name": call.name, "request": exported, "response": []}
        item["protocolProfileBehavior"] = behavior
        return {**item, "event": scripts} if scripts else item

    def _body(self, call: ExportedRequest) -> dict[str, Any]:
        text = call.body()
        if text is not None:
            # Postman removes comments from a body that it considers to be JSON.
            plain = ("//" in text or "/*" in text) and not _is_json(text)
            json_ = "json" in (call.request.header("Content-Type") or "").lower()
            language = "json" if json_ and not plain else "text"
            options = {"raw": {"language": language}}
            return {"mode": "raw", "raw": self._text(call, text), "options": options}
        if self._beside is None:
            why = "the body is not text: with -o FILE it is written to a file beside FILE"
            self.notes.append(Note(call.place, why))
            return {"mode": "file", "file": {}}
        path = f"{self._beside}/{len(self.files) + 1}.body"
        self.files[path] = call.request.body or b""
        return {"mode": "file", "file": {"src": path}}

    def _text(self, call: ExportedRequest, text: str) -> str:
        pieces: Text = call.text(text)
        for piece in pieces:
            if isinstance(piece, str):
                self.check(piece, call.place)
        return "".join(
            piece if isinstance(piece, str) else f"{{{{{piece.name}}}}}" for piece in pieces
        )

    def _auth(self, call: ExportedRequest) -> dict[str, Any] | None:
        """Return the `auth` settings from which Postman computes the credentials, or None."""
        credentials = call.request.credentials
        if credentials is None:
            return None
        if isinstance(credentials, Basic | DigestCredentials):
            kind = "basic" if isinstance(credentials, Basic) else "digest"
            fields = {"username": credentials.user, "password": credentials.password}
        elif isinstance(credentials, NtlmCredentials) and credentials.scheme == "NTLM":
            domain, _, user = credentials.user.rpartition("\\")
            kind, fields = (
                "ntlm",
                {"username": user, "password": credentials.password, "domain": domain},
            )
        elif isinstance(credentials, AwsCredentials):
            kind = "awsv4"
            fields = {"accessKey": credentials.key, "secretKey": credentials.secret,
                      "sessionToken": credentials.token, "region": credentials.region,
                      "service": credentials.service}  # fmt: skip
        else:
            self.notes.append(
                Note(call.place, "credentials that are computed when the request is sent")
            )
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


def _events(call: ExportedRequest, notes: list[Note]) -> list[dict[str, Any]]:
    """Return the request's scripts and assertions as Postman scripts."""
    before: list[str] = []
    after: list[str] = []
    for test in call.tests:
        code = _of_script(test) if isinstance(test, Script) else _of_assertion(test)
        if code is None:
            notes.append(call.told(test))
        elif isinstance(test, Script) and test.when == "before":
            before.append(code)
        else:
            after.append(code)
    return [
        {"listen": listen, "script": {"type": "text/javascript", "exec": code.split("\n")}}
        for listen, code in (("prerequest", "\n".join(before)), ("test", "\n".join(after)))
        if code
    ]


def _of_script(script: Script) -> str | None:
    code = "" if script.text is None else script.text.text
    known = script.host == "jetbrains" and _PM.search(code) and not _OTHERS.search(code)
    return code.strip("\n") if known and script.when in ("before", "response") else None


def _of_assertion(assertion: Assertion) -> str | None:
    expected = assertion.expected.text.strip()
    if assertion.within is not None or "{{" in expected:
        return None
    check = _check(assertion, expected)
    name = json.dumps(assertion.title or assertion.text.text, ensure_ascii=False)
    return None if check is None else f"pm.test({name}, () => {check});"


def _check(assertion: Assertion, expected: str) -> str | None:
    subject, path, operator = assertion.subject, assertion.path, assertion.operator
    if subject == "status" and operator == "==":
        if re.fullmatch(r"[1-5]\d\d", expected):
            return f"pm.response.to.have.status({expected})"
        word = _CLASSES.get(expected.lower())
        return None if word is None else f"{{ pm.response.to.be.{word}; }}"
    if subject == "duration" and operator in _SIGNS and re.fullmatch(r"\d+", expected):
        return f"pm.expect(pm.response.responseTime).to.be.{_SIGNS[operator]}({expected})"
    if subject == "header" and re.fullmatch(r"[\w-]+", path):
        if operator in ("exists", "isDefined"):
            return f"pm.response.to.have.header({json.dumps(path)})"
        inside = quoted(expected)
        text = json.dumps(expected if inside is None else inside, ensure_ascii=False)
        words = {"==": "equal", "contains": "include"}
        if operator not in words or _SIMPLE.fullmatch(expected):
            return None
        actual = f"pm.response.headers.get({json.dumps(path)})"
        return f"pm.expect({actual}).to.{words[operator]}({text})"
    steps = _STEPS.fullmatch(path)
    if subject != "body" or operator != "==" or steps is None:
        return None
    value = f"pm.response.json(){steps[1]}"
    inside = quoted(expected)
    if inside is not None:
        return f"pm.expect({value}).to.equal({json.dumps(inside, ensure_ascii=False)})"
    if _SIMPLE.fullmatch(expected):
        return f'pm.expect(String({value})).to.equal("{expected}")'
    return None
