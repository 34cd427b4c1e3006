"""The shorthand of request files, and its expansion.

Hosts without a scheme, paths with the host elsewhere, forms over several lines, GraphQL queries: as
VS Code REST Client, JetBrains' HTTP Client and httpyac send them. Pure functions on text; nothing
is read or sent here.
"""

from __future__ import annotations

import json
import re
from urllib.parse import quote

from orgrest.model import Headers, OrgrestError, Text, secrets_in

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_OPERATION = re.compile(r"\s*(?:query|mutation|subscription)\s+(\w+)")
_GRAPHQL = re.compile(r"\s*(?:query|mutation|subscription|fragment)\b|\s*\{")
# The characters that encodeurl, which both tools use, encodes.
_NOT_IN_FORM = re.compile(r"[^\x21\x23-\x3B\x3D\x3F-\x5F\x61-\x7A\x7C\x7E]|%(?![0-9A-Fa-f]{2})")
_NOT_IN_PLACEHOLDER = re.compile(rf"<[^<>\n]+>|{_NOT_IN_FORM.pattern}")
_WEBSOCKET = ("WEBSOCKET", "WS", "WSS")
EVENTS = ("SSE", "EVENTSOURCE")
"""The methods that request server-sent events only."""
_TLS_PORTS = ("443", "8443")


def absolute_url(url: str, host: str | None, base: str | None) -> str:
    """Return the URL with scheme and host.

    A path takes the host of the header `Host`, with https for the ports 443 and 8443, else the
    value of the variable `host` (`base`), and so does `*`, which refers to the whole server
    (RFC 9112, section 3.2.4). The default scheme is http, as in all three tools.
    """
    if url == "*" or (url.startswith("/") and not url.startswith("//")):
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
    """Return the URL of a WebSocket with the scheme ws or wss; others unchanged."""
    return f"ws{url[4:]}" if method in _WEBSOCKET and url.lower().startswith("http") else url


def stream(method: str, url: str, headers: Headers) -> tuple[str, Headers]:
    """Return method and headers as they are sent for `SSE url`, `WEBSOCKET url` and `ws://...`."""
    if method in _WEBSOCKET or (method == "GET" and url.lower().startswith(("ws:", "wss:"))):
        return "WEBSOCKET", headers
    if method not in EVENTS:
        return method, headers
    accepts = any(name.lower() == "accept" for name, _ in headers)
    return "GET", headers if accepts else (*headers, ("Accept", "text/event-stream"))


def form(text: str, *, placeholders: bool = False) -> str:
    """Join the lines of a form (application/x-www-form-urlencoded).

    Characters not allowed in a form are %-encoded, as in VS Code REST Client and httpyac; encoded
    characters are kept, and so are, with `placeholders`, names in angle brackets.
    """
    joined = "".join(
        "&".join("=".join(part.strip() for part in field.split("=")) for field in line.split("&"))
        for line in text.split("\n")
    )
    pattern = _NOT_IN_PLACEHOLDER if placeholders else _NOT_IN_FORM
    return pattern.sub(
        lambda match: (
            match[0] if len(match[0]) > 1 else quote(match[0], "", "utf-8", "surrogateescape")
        ),
        joined,
    )


def header_lines(text: str) -> str:
    """Return an object of headers, as JSON, as header lines; none for a placeholder.

    Raises OrgrestError for another value.
    """
    if text[:1] == "<" and text[-1:] == ">":  # in a dry run
        return ""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise OrgrestError("... is followed by an object of headers", code="bad-header")
    if any(c in f"{name}{value}" for name, value in given.items() for c in "\r\n"):
        raise OrgrestError("a header after ... holds a line break", code="bad-header")
    lines = (
        f"{name}: {value if isinstance(value, str) else json.dumps(value)}"
        for name, value in given.items()
    )
    return Text("\n".join(lines), secrets_in(text))


def is_graphql(text: str) -> bool:
    """Return whether a text begins like a GraphQL document."""
    return _GRAPHQL.match(text) is not None


def graphql(text: str, operation: str = "") -> str:
    """Return the JSON that is sent for a GraphQL document and, below an empty line, its variables.

    `operation` is the document's operation to request; its first if empty.

    Source: GraphQL over HTTP, section 5.3. Raises OrgrestError if the variables are not a JSON
    object.
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
    """Split query and variables at an empty line outside of braces."""
    for match in re.finditer(r"\n[ \t]*\n(?=\s*\{)", text):
        query, rest = text[: match.start()], text[match.end() :]
        if query.count("{") != query.count("}") or not query.strip():
            continue
        try:
            variables = json.loads(rest)
        except (ValueError, RecursionError) as error:
            raise OrgrestError(
                f"the variables below the GraphQL query are no JSON: {error}", code="graphql"
            ) from None
        return query.rstrip(), variables
    return text.rstrip(), None
