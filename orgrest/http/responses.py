"""Evaluates references to another request's exchange, such as `{{login.response.body.$.token}}`.

    {{login.response.body.$.data[0].id}}    a JSONPath (RFC 9535); `$.` may be left out
    {{login.response.body.//reply[1]/@id}}  an XPath in XML
    {{login.response.body.*}}  {{login.response.body}}           the whole body
    {{login.response.headers.X-Id}}         the first header with that name
    {{login.response.status}}               the status code
    {{login.request.body.$.user}}           the same for the request
    {{login.token}}                         httpyac's short form of `login.response.body.token`

A string is inserted unchanged, and any other value as JSON. If there are several matches, the first
is used. A path is an XPath if it starts with `/` or the body's Content-Type is XML, and otherwise a
JSONPath. The prefix `asJson.` or `asXml.` selects the format instead.

Sources: VS Code REST Client's README (request variables); httpyac's guide on variables.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from orgrest import classes
from orgrest.charsets import codec_of
from orgrest.model import OrgrestError, find_header, whole
from orgrest.regular import compiled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from orgrest.model import Headers, Request, Response

_REFERENCE = compiled(
    r"(?P<name>[^\s.{}]+)\.(?P<what>response|request)\.(?P<part>body|headers|status)"
    r"(?:\.(?P<path>.+)|(?P<index>\[.+))?"
)
# Matches a JSONPath whose evaluation visits each part of a value at most once per step.
_STEP = r"(?:\.[\w-]++|\.\*|\[\s*(?:-?\d++|\*|'[^'\\]*+'|\"[^\"\\]*+\")\s*\])"
_STEPS = rf"(?>{_STEP}{{0,100}})"
_LINEAR = compiled(rf"\${_STEPS}(?:\.\.[\w-]++{_STEPS})?")
_SHORT = compiled(r"(?P<name>[^\s.{}$\[]+)(?:\.(?P<path>.+)|(?P<index>\[.+))")
_STATUS = compiled(
    r"\bresponse\.(?:status|code)\w*|\bstatusCode\b|\bresponseCode\b|\.have\.status\b|\btest\.status\b|"
    r"\bresponse\.to\.(?:not\.)?be\."
)

_UNREAD = compiled(
    r"(?<![:\"'])//[^\n]*|/\*.*?(?:\*/|\Z)|"
    r"\b(?:client|console)\.(?:log|info|warn|error|debug)\((?:[^()]|\([^()]*\))*\)",
    re.DOTALL,
)


@classes.frozen
class ResponseReference:
    """A reference to a part of a named request's exchange.

    `path` selects a value within the part, and may be empty.
    """

    name: str
    what: str
    part: str
    path: str


def read(text: str) -> ResponseReference | None:
    """Parse the reference `{{text}}`, or return None if it does not refer to an exchange."""
    match = _REFERENCE.fullmatch(text)
    if match is None:
        return None
    return ResponseReference(
        match["name"], match["what"], match["part"], match["path"] or match["index"] or ""
    )


def read_short(text: str) -> ResponseReference | None:
    """Parse a short reference such as `login.token`, or return None for any other string.

    The caller checks whether a request has that name.
    """
    match = _SHORT.fullmatch(text)
    if match is None:
        return None
    return ResponseReference(match["name"], "response", "body", match["path"] or match["index"])


def value(reference: ResponseReference, request: Request, response: Response) -> str:
    """Return the value that a reference selects from an exchange.

    Raises OrgrestError if the path matches nothing, if it does not fit the body's format, or if
    only the beginning of the body was read.
    """
    of_response = reference.what == "response"
    headers = response.headers if of_response else request.headers
    if reference.part == "status":
        return str(response.status)
    if reference.part == "headers":
        content = find_header(headers, reference.path)
        if content is None:
            raise OrgrestError(
                f"{reference.name}'s {reference.what} has no header {reference.path}"
            )
        return content
    try:
        body = response.whole_body() if of_response else request.body or b""
    except OrgrestError as error:
        raise OrgrestError(f"{reference.name}'s response: {error.reason}") from None
    return _in_body(reference, text_of(body, headers), headers)


def _in_body(reference: ResponseReference, text: str, headers: Headers) -> str:
    path = reference.path
    if path in ("", "*"):
        return text
    content_type = (find_header(headers, "content-type") or "").lower()
    as_xml = path.startswith(("/", "asXml.")) or (
        "xml" in content_type and not path.startswith("asJson.")
    )
    for prefix in ("asJson.", "asXml."):
        path = path.removeprefix(prefix)
    try:
        return _in_xml(text, path) if as_xml else _in_json(text, path)
    except OrgrestError as error:
        raise OrgrestError(f"{reference.name}'s {reference.what}: {error.reason}") from None


def found(text: str, path: str) -> Any:
    """Like `all_found`, but return only the first value.

    Raises OrgrestError with the code `nothing-there` if nothing matches.
    """
    matches = all_found(text, path)
    if not matches:
        raise OrgrestError(f"nothing found at {_rooted(path)}", code="nothing-there")
    return matches[0]


def all_found(text: str, path: str) -> list[Any]:
    """Return all values at a path in a body.

    The path is an XPath if it begins with `/`, otherwise a JSONPath. Raises OrgrestError if the
    path is malformed, or does not fit the body's format.
    """
    if path.startswith("/"):
        return list(all_in_xml(text, path))
    try:
        body = json_of(text)
    except OrgrestError as error:
        raise OrgrestError(f"cannot look up {path}: {error.reason}") from None
    path = _rooted(path)
    if _LINEAR.fullmatch(path):
        from orgrest.http.sandbox import jsonpaths  # imported late: loading the package is slow

        return jsonpaths.find(path, body)
    from orgrest.http.sandbox import process

    return process.find("JSONPath", path, text)


def json_of(text: str) -> Any:
    """Return the JSON value of a body.

    Raises OrgrestError if the body is not valid JSON, or if it is nested too deeply.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise OrgrestError("the body is nested too deeply") from None
    except ValueError:
        raise OrgrestError("the body is not valid JSON") from None


def _rooted(path: str) -> str:
    if path.startswith(("$", "/")):
        return path
    return f"${path}" if path.startswith("[") else f"$.{path}"


def _in_json(text: str, path: str) -> str:
    value = found(text, path)
    if isinstance(value, str):
        return whole(value)
    # The format of JavaScript's JSON.stringify, which the other tools use.
    return whole(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def _in_xml(text: str, path: str) -> str:
    texts = all_in_xml(text, path)
    if not texts:
        raise OrgrestError(f"nothing found at {path}", code="nothing-there")
    return texts[0]


def all_in_xml(text: str, path: str, prefixes: Mapping[str, str] | None = None) -> list[str]:
    """Return the text of each match of an XPath in a body, in order.

    `prefixes` maps namespace prefixes in the path to namespaces. Raises OrgrestError if the path or
    the body is malformed, or if the evaluation takes too long.
    """
    from orgrest.http.sandbox import process

    return process.find("XPath", path, text, prefixes)


def text_of(body: bytes, headers: Headers) -> str:
    """Return a body as a string without a byte order mark, decoded in the same way as results."""
    codec, _ = codec_of(body, find_header(headers, "Content-Type") or "")
    return body.decode(codec, "replace")


def body_text(response: Response) -> str:
    """Return the body of a response as a string.

    Raises OrgrestError if only the beginning of the body was read.
    """
    return response.whole_body().decode(response.codec[0], "replace")


def reads_status(code: str) -> bool:
    """Return whether JavaScript code reads the status of a response.

    Recognizes the APIs of JetBrains' HTTP Client and httpyac (`response.status`,
    `response.statusCode`) and of Postman (`pm.response.code`, `to.have.status`, `to.be.notFound`,
    `responseCode`). Ignores `response.body.status`, comments and the arguments of logging calls.
    """
    return _STATUS.search(_UNREAD.sub("", code)) is not None
