"""What the subject of an assertion is in a response: its value, or all values of a path."""

from __future__ import annotations

import datetime
import hashlib
import json
import time
from typing import TYPE_CHECKING, Any

import attrs

from orgrest.http import responses
from orgrest.model import OrgrestError, find_headers

if TYPE_CHECKING:
    from collections.abc import Callable

    from orgrest.http.syntax import Assertion
    from orgrest.model import Response


def _missing(*_: Any) -> Any:
    raise OrgrestError("this cannot be evaluated here")


@attrs.frozen
class Tools:
    """What judging asks others for; each function may raise OrgrestError.

    `jq` runs a program on a text and gives its output, compact; `javascript` gives the value of an
    expression; `matches` tells whether a text matches a pattern; `wrong_by_schema` tells what of a
    value is not valid by the schema in a file, "" where it is.
    """

    jq: Callable[[str, str], str] = _missing
    javascript: Callable[[str], Any] = _missing
    matches: Callable[[str, str], bool] = _missing
    wrong_by_schema: Callable[[Any, str], str] = _missing


def value(assertion: Assertion, response: Response, tools: Tools) -> Any:
    """Return what the subject is; None where the response has no such thing.

    Raises OrgrestError where the path is none, or the body is not what it is for.
    """
    simple = _SIMPLE.get(assertion.subject)
    if simple is not None:
        return simple(response)
    if assertion.subject == "js":
        return tools.javascript(assertion.path)
    if assertion.subject == "certificate":
        return _certificate(response, assertion.path)
    if assertion.subject == "body" and not assertion.path:
        return responses.text_of(response.body, response.headers)
    found = values(assertion, response, tools)
    if assertion.subject in ("xpath", "jq") and len(found) > 1:
        return found
    return found[0] if found else None


def values(assertion: Assertion, response: Response, tools: Tools) -> list[Any]:
    """Return all that the subject's path finds. Raises OrgrestError as `value` does."""
    path = assertion.path
    if assertion.subject == "header":
        return list(find_headers(response.headers, path))
    if assertion.subject == "cookie":
        return _cookies(response, path)
    if assertion.subject not in ("body", "jsonpath", "xpath", "jq") or not path:
        one = value(assertion, response, tools)
        if assertion.subject == "body":
            return _as_json(one)
        return [] if one is None else [one]
    body = responses.text_of(response.body, response.headers)
    if assertion.subject == "jq":
        lines = tools.jq(path, body).split("\n")
        return [responses.json_of(line) for line in lines if line]
    if assertion.subject == "xpath":
        return responses.all_in_xml(body, path)
    found = responses.all_found(body, path)
    if not found and path.endswith(".length"):
        whole = responses.all_found(body, path.removesuffix(".length"))
        return [len(one) for one in whole if isinstance(one, str | list)]
    return found


def _as_json(text: str) -> list[Any]:
    """Return what a body in JSON holds, of another body the text; nothing of an empty one."""
    try:
        return [json.loads(text)]
    except (ValueError, RecursionError):
        return [text] if text else []


def _cookies(response: Response, path: str) -> list[Any]:
    """Return the values of a cookie, or of one of its attributes: `NAME[Max-Age]`.

    An attribute without a value, such as `Secure`, is true.
    """
    name, bracket, attribute = path.removesuffix("]").partition("[")
    found: list[Any] = []
    for line in find_headers(response.headers, "Set-Cookie"):
        pair, *attributes = (part.strip() for part in line.split(";"))
        given, _, content = pair.partition("=")
        if given.strip() != name:
            continue
        if not bracket:
            found.append(content.strip().strip('"'))
        for one in attributes if bracket else ():
            key, equals, content = one.partition("=")
            if key.strip().lower() == attribute.strip().lower():
                found.append(content.strip() if equals else True)
    return found


def _certificate(response: Response, part: str) -> Any:
    certificate = response.certificate
    if certificate is None:
        raise OrgrestError(
            "there is no certificate that was verified: the URL is not one of https, "
            "or the run was started with --insecure"
        )
    if part == "days":
        return int((certificate.expires - time.time()) // 86400)
    if part == "expires":
        when = datetime.datetime.fromtimestamp(certificate.expires, datetime.UTC)
        return when.strftime("%Y-%m-%dT%H:%M:%SZ")
    return certificate.subject if part == "subject" else certificate.issuer


_SIMPLE: dict[str, Callable[[Response], Any]] = {
    "status": lambda response: response.status,
    "bytes": lambda response: response.body.hex(),
    "length": lambda response: len(response.body),
    "sha256": lambda response: hashlib.sha256(response.body).hexdigest(),
    "duration": lambda response: response.duration * 1000,
    "redirects": lambda response: len(response.redirects),
    "url": lambda response: response.url,
}
