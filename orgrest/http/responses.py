"""References to another request's exchange: `{{login.response.body.$.token}}` and the like.

    {{login.response.body.$.data[0].id}}    JSONPath (RFC 9535); `$.` may be left out
    {{login.response.body.//reply[1]/@id}}  XPath, in XML
    {{login.response.body.*}}  {{login.response.body}}           the whole body
    {{login.response.headers.X-Id}}         the first header with that name
    {{login.response.status}}               the status code
    {{login.request.body.$.user}}           the same, of the request
    {{login.token}}                         httpyac's short form of `login.response.body.token`

A string is used as it is, everything else as JSON. Of several matches the first is used. A body is
JSON if its Content-Type says so or it can be parsed as such; `asJson.` and `asXml.` before a path
force one of them.

Sources: VS Code REST Client's README (request variables); httpyac's guide on variables.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import attrs

from orgrest.model import OrgrestError, find_headers

if TYPE_CHECKING:
    from orgrest.model import Headers, Request, Response

_REFERENCE = re.compile(
    r"(?P<name>[^\s.{}]+)\.(?P<what>response|request)\.(?P<part>body|headers|status)"
    r"(?:\.(?P<path>.+)|(?P<index>\[.+))?"
)
# A JSONPath that visits no part of a value more often than it has steps.
_STEP = r"(?:\.[\w-]++|\.\*|\[\s*(?:-?\d++|\*|'[^'\\]*+'|\"[^\"\\]*+\")\s*\])"
_STEPS = rf"(?>{_STEP}{{0,100}})"
_LINEAR = re.compile(rf"\${_STEPS}(?:\.\.[\w-]++{_STEPS})?")
_SHORT = re.compile(r"(?P<name>[^\s.{}$\[]+)(?:\.(?P<path>.+)|(?P<index>\[.+))")
_STATUS = re.compile(
    r"\bresponse\.(?:status|code)\w*|\bstatusCode\b|\bresponseCode\b|\.have\.status\b|\bresponse\.to\.(?:not\.)?be\."
)


@attrs.frozen
class Reference:
    """A part of a named request's exchange; `path` selects within it, or is empty."""

    name: str
    what: str
    part: str
    path: str


def read(text: str) -> Reference | None:
    """Parse the reference `{{text}}`; return None if it does not refer to an exchange."""
    match = _REFERENCE.fullmatch(text)
    if match is None:
        return None
    return Reference(
        match["name"], match["what"], match["part"], match["path"] or match["index"] or ""
    )


def read_short(text: str) -> Reference | None:
    """Parse the reference `{{login.token}}` if a request is named `login`; else return None."""
    match = _SHORT.fullmatch(text)
    if match is None:
        return None
    return Reference(match["name"], "response", "body", match["path"] or match["index"])


def value(reference: Reference, request: Request, response: Response) -> str:
    """Return the value of a reference.

    Raises OrgrestError if the path matches nothing, or does not fit the body's format.
    """
    of_response = reference.what == "response"
    headers = response.headers if of_response else request.headers
    if reference.part == "status":
        return str(response.status)
    if reference.part == "headers":
        found = next(find_headers(headers, reference.path), None)
        if found is None:
            raise OrgrestError(
                f"{reference.name}'s {reference.what} has no header {reference.path}"
            )
        return found
    body = response.body if of_response else request.body or b""
    return _in_body(reference, text_of(body, headers), headers)


def _in_body(reference: Reference, text: str, headers: Headers) -> str:
    path = reference.path
    if path in ("", "*"):
        return text
    kind = next(find_headers(headers, "content-type"), "").lower()
    as_xml = path.startswith(("/", "asXml.")) or ("xml" in kind and not path.startswith("asJson."))
    for prefix in ("asJson.", "asXml."):
        path = path.removeprefix(prefix)
    try:
        return _in_xml(text, path) if as_xml else _in_json(text, path)
    except OrgrestError as error:
        raise OrgrestError(f"{reference.name}'s {reference.what}: {error.reason}") from None


def found(text: str, path: str) -> Any:
    """Return the value at a path of a body: an XPath if it begins with `/`, else a JSONPath.

    Raises OrgrestError, with the code `nothing-there` if the path matches nothing.
    """
    every = all_found(text, path)
    if not every:
        raise OrgrestError(f"there is nothing at {_rooted(path)}", code="nothing-there")
    return every[0]


def all_found(text: str, path: str) -> list[Any]:
    """Return all values at a path of a body, read as `found` does; [] if nothing matches.

    Raises OrgrestError if the path is malformed, or does not fit the body's format.
    """
    if path.startswith("/"):
        return list(all_in_xml(text, path))
    try:
        body: Any = json.loads(text)
    except (ValueError, RecursionError):
        raise OrgrestError(f"the body is not JSON, in which {path} could be looked for") from None
    path = _rooted(path)
    if _LINEAR.fullmatch(path):
        from orgrest.http.sandbox import jsonpaths  # imported late: loading the package is slow

        return jsonpaths.find(path, body)
    from orgrest.http.sandbox import process

    return process.find("JSONPath", path, text)


def json_of(text: str) -> Any:
    """Return a body as JSON. Raises OrgrestError if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise OrgrestError("the body is not JSON") from None


def _rooted(path: str) -> str:
    """Return a JSONPath with its optional `$.`; an XPath unchanged."""
    if path.startswith(("$", "/")):
        return path
    return f"${path}" if path.startswith("[") else f"$.{path}"


def _in_json(text: str, path: str) -> str:
    value = found(text, path)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _in_xml(text: str, path: str) -> str:
    every = all_in_xml(text, path)
    if not every:
        raise OrgrestError(f"there is nothing at {path}", code="nothing-there")
    return every[0]


def all_in_xml(text: str, path: str) -> list[str]:
    """Return the texts of all matches of an XPath in a body, in order.

    Raises OrgrestError if the path is malformed, the body is not XML, or the search takes too long.
    """
    from orgrest.http.sandbox import process

    return process.find("XPath", path, text)


def text_of(body: bytes, headers: Headers) -> str:
    """Return a body as text, in the charset that its Content-Type names, else as UTF-8."""
    kind = next(find_headers(headers, "content-type"), "")
    match = re.search(r"charset\s*=\s*\"?([\w.:-]+)", kind, re.IGNORECASE)
    try:
        return body.decode(match[1] if match else "utf-8", "replace")
    except LookupError:  # an unknown charset
        return body.decode("utf-8", "replace")


def reads_status(code: str) -> bool:
    """Return whether JavaScript of any dialect reads the status of a response.

    It knows JetBrains' and httpyac's (`response.status`, `response.statusCode`) and Postman's
    (`pm.response.code`, `to.have.status`, `to.be.notFound`, `responseCode`); `response.body.status`
    does not count.
    """
    return _STATUS.search(code) is not None
