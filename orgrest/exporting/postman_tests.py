"""Assertions and scripts of a request as scripts of Postman's.

A script for `pm` stays as it is. Source: Postman's "Test script examples".
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from orgrest.exporting.model import Call
from orgrest.http.assertions.comparing import quoted
from orgrest.http.syntax import Assertion, Script
from orgrest.importing.model import Note

_CLASSES: Final = {"2xx": "success", "3xx": "redirection", "4xx": "clientError",
                   "5xx": "serverError"}  # fmt: skip
_SIGNS: Final = {"<": "below", "<=": "most", ">": "above", ">=": "least"}
_STEPS: Final = re.compile(r"\$?((?:\.[A-Za-z_]\w*|\[\d+\])+)")
_SIMPLE: Final = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d{0,9}[1-9])?|true|false|null")
_PM: Final = re.compile(r"\bpm\.|\btests\[|\bpostman\.")
_OTHERS: Final = re.compile(r"\bclient\.|\bexports\b|(?<!pm\.)\b(?:request|response)\.")


def events(call: Call, notes: list[Note]) -> list[dict[str, Any]]:
    """Return the scripts of a request; what cannot be one is added to the notes."""
    before: list[str] = []
    after: list[str] = []
    for one in call.tests:
        code = _of_script(one) if isinstance(one, Script) else _of_assertion(one)
        if code is None:
            notes.append(call.told(one))
        elif isinstance(one, Script) and one.when == "before":
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
    made = _check(assertion, expected)
    name = json.dumps(assertion.text.text, ensure_ascii=False)
    return None if made is None else f"pm.test({name}, () => {made});"


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
        if operator == "exists":
            return f"pm.response.to.have.header({json.dumps(path)})"
        inside = quoted(expected)
        text = json.dumps(expected if inside is None else inside, ensure_ascii=False)
        words = {"==": "equal", "contains": "include"}
        if operator not in words or _SIMPLE.fullmatch(expected):
            return None
        got = f"pm.response.headers.get({json.dumps(path)})"
        return f"pm.expect({got}).to.{words[operator]}({text})"
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
