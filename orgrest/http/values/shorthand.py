"""Expands the shorthand of request files: partial URLs, forms on several lines, GraphQL queries.

The rules are those of VS Code REST Client, JetBrains' HTTP Client and httpyac. Nothing is read or
sent here.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING
from urllib.parse import quote

from orgrest.model import Headers, OrgrestError, Text, find_header, secrets_in
from orgrest.regular import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_BLANKS = " \t\r"
_SCHEME = compiled(r"[A-Za-z][A-Za-z0-9+.-]*://")
_OPERATION = compiled(r"\s*(?:query|mutation|subscription)\s+(\w+)")
_GRAPHQL = compiled(r"\s*(?:query|mutation|subscription|fragment)\b|\s*\{")
# The characters that httpyac encodes (version 2 of the package encodeurl).
_NOT_IN_FORM = compiled(r"[^\x21\x23-\x3B\x3D\x3F-\x5F\x61-\x7A\x7C\x7E]|%(?![0-9A-Fa-f]{2})")
_NOT_IN_PLACEHOLDER = compiled(rf"<[^<>\n]+>|{_NOT_IN_FORM.pattern}")
_WEBSOCKET = ("WEBSOCKET", "WS", "WSS")
EVENTS = ("SSE", "EVENTSOURCE")
"""The pseudo-methods that request server-sent events. They are sent as GET."""
_TLS_PORTS = ("443", "8443")


def absolute_url(url: str, host: str | None, base: str | None) -> str:
    """Return a URL with a scheme and a host.

    `host` is the value of the `Host` header, and `base` is the value of the variable `host`.

    - A path, or `*` (the whole server: RFC 9112, section 3.2.4), is appended to `host`. The scheme
      is that of `host` (as in JetBrains' HTTP Client) or, if it has none, https for ports 443 and
      8443, and http otherwise. Without `host`, it is appended to `base`. Without both, it is
      returned unchanged.
    - A URL that is empty or begins with `//` is returned unchanged.
    - For all other URLs, the scheme defaults to http, as in VS Code REST Client, JetBrains' HTTP
      Client and httpyac.
    """
    if url == "*" or (url.startswith("/") and not url.startswith("//")):
        if host and _SCHEME.match(host):
            return f"{host.removesuffix('/')}{url}"
        if host:
            port = host.rpartition(":")[2]
            return f"{'https' if port in _TLS_PORTS else 'http'}://{host}{url}"
        if base:
            return absolute_url(f"{base.removesuffix('/')}{url}", None, None)
        return url
    if _SCHEME.match(url) or not url or url.startswith("//"):
        return url
    return f"http://{url}"


def websocket_url(method: str, url: str) -> str:
    """Return the URL, changing its scheme to ws or wss if the method opens a WebSocket."""
    return f"ws{url[4:]}" if method in _WEBSOCKET and url.lower().startswith("http") else url


def stream(method: str, url: str, headers: Headers) -> tuple[str, Headers]:
    """Return the method and headers to send for an event stream or a WebSocket.

    Such a request is written as `SSE url`, `WEBSOCKET url` or `ws://...`. For other requests, both
    are returned unchanged.
    """
    if method in _WEBSOCKET or (method == "GET" and url.lower().startswith(("ws:", "wss:"))):
        return "WEBSOCKET", headers
    if method not in EVENTS:
        return method, headers
    accepts = find_header(headers, "Accept") is not None
    return "GET", headers if accepts else (*headers, ("Accept", "text/event-stream"))


def form_lines(pieces: Iterable[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    """Join the lines of a form (application/x-www-form-urlencoded) that begin or end with `&`.

    `pieces` are the text as written and the values of variables, alternately, as `Values.pieces`
    yields them. Whitespace around each `&`, around the first `=` of each field, and at both ends of
    the form is removed. `%+` and `%=` are JetBrains' escapes for `+` and `=`. All other characters,
    and the values, are unchanged.
    """
    written = list(pieces)
    in_name = True
    for number, (text, index) in enumerate(written):
        if number % 2:
            yield text, index
            continue
        text = text.replace("%+", "%2B").replace("%=", "%3D")
        parts = re.split("([=&])", text)
        for at in range(1, len(parts), 2):
            if parts[at] == "&":
                parts[at - 1], parts[at + 1] = parts[at - 1].rstrip(), parts[at + 1].lstrip()
            elif in_name:
                parts[at - 1] = parts[at - 1].rstrip(_BLANKS)
                parts[at + 1] = parts[at + 1].lstrip(_BLANKS)
            in_name = parts[at] == "&"
        text = "".join(parts)
        text = text if number else text.lstrip()
        yield text if number < len(written) - 1 else text.rstrip(), index


def form(text: str, *, placeholders: bool = False) -> str:
    r"""Return a form with the characters that are not allowed in it percent-encoded.

    These characters are the same as in httpyac. VS Code REST Client also encodes `|`, `^` and `\`.
    Encoded characters are not encoded again. If `placeholders` is set, names in angle brackets are
    not encoded.
    """
    pattern = _NOT_IN_PLACEHOLDER if placeholders else _NOT_IN_FORM
    return pattern.sub(
        lambda match: (
            match[0] if len(match[0]) > 1 else quote(match[0], "", "utf-8", "surrogateescape")
        ),
        text,
    )


def header_lines(text: str) -> str:
    """Return the headers in a JSON object as header lines, or "" for a placeholder.

    Raises OrgrestError for any other value.
    """
    from orgrest.structured import json_or

    if text[:1] == "<" and text[-1:] == ">":  # in a dry run
        return ""
    given = json_or(text)
    if not isinstance(given, dict):
        raise OrgrestError(
            "expected a JSON object of headers after the three dots (...)", code="bad-header"
        )
    if any(c in f"{name}{value}" for name, value in given.items() for c in "\r\n"):
        raise OrgrestError(
            "a header after the three dots (...) contains a line break", code="bad-header"
        )
    lines = (
        f"{name}: {value if isinstance(value, str) else json.dumps(value)}"
        for name, value in given.items()
    )
    return Text("\n".join(lines), secrets_in(text))


def is_graphql(text: str) -> bool:
    """Return whether a string begins like a GraphQL document."""
    return _GRAPHQL.match(text) is not None


def graphql(text: str, operation: str = "") -> str:
    """Return the JSON request body for a GraphQL document (GraphQL over HTTP, section 5.3).

    In `text`, an empty line and the variables may follow the document. `operation` is the name of
    the operation to execute. By default, it is the name of the operation at the start of the
    document, if there is one. Raises OrgrestError if the variables are not valid JSON.
    """
    query, variables = _split(text)
    message: dict[str, object] = {"query": query}
    if not operation and (match := _OPERATION.match(query)):
        operation = match[1]
    if operation:
        message["operationName"] = operation
    if variables is not None:
        message["variables"] = variables
    return json.dumps(message, ensure_ascii=False, separators=(",", ":"))


def _split(text: str) -> tuple[str, dict[str, object] | None]:
    """Split GraphQL text into the query and the variables, at an empty line outside braces."""
    for match in re.finditer(r"\n[ \t]*\n(?=\s*\{)", text):
        query, rest = text[: match.start()], text[match.end() :]
        if query.count("{") != query.count("}") or not query.strip():
            continue
        try:
            variables = json.loads(rest)
        except (ValueError, RecursionError) as error:
            raise OrgrestError(
                f"the variables after the GraphQL query are not valid JSON: {error}", code="graphql"
            ) from None
        return query.rstrip(), variables
    return text.rstrip(), None
