"""The changes that a script makes to its request: URL, method, headers and body.

A script above a request sees the request as written. Placeholders in the text that it inserts are
expanded. A script that runs after the expansion changes the request directly, so its text is sent
unchanged.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from orgrest import classes
from orgrest.http.syntax import Body, HeaderLine, Template, has_break, is_token
from orgrest.http.transport.wire import parse_url
from orgrest.http.values.references import references_in
from orgrest.model import OrgrestError, Request, TransportError, short, to_bytes
from orgrest.regular import compiled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from orgrest.http.syntax import ParsedRequest, Script

_INNER = compiled(r"\{\{[^{}\n]*\}\}")


def as_written(parsed: ParsedRequest) -> Request:
    """Return a request as written, with placeholders instead of values."""
    body = to_bytes(parsed.body.template.text) if parsed.body else None
    headers = tuple((header.name.text, header.value.text) for header in parsed.header_lines)
    return Request(parsed.method, parsed.target.text, headers, body)


def rewritten(
    parsed: ParsedRequest, script: Script, code: str, change: Mapping[str, Any]
) -> ParsedRequest:
    """Return a request with the changes that the script above it made.

    `code` is the source of the script. The script may insert only placeholders that occur in the
    request or in `code`, so that text from a response cannot reveal other values.

    Raises OrgrestError for any other placeholder, for an invalid method, and for a change to a body
    that includes files.
    """
    before, after = as_written(parsed), _changed(as_written(parsed), change)
    texts = [code, before.url, (before.body or b"").decode("utf-8", "replace")]
    texts += (value for header in before.headers for value in header)
    expandable = {text[found.start : found.end] for text in texts for found in references_in(text)}
    expandable.update(reference for text in texts for reference in _INNER.findall(text))

    def template(text: str) -> Template:
        anchors = [(0, script.span.start)]
        for found in references_in(text):
            reference = text[found.start : found.end]
            if reference not in expandable:
                raise OrgrestError(
                    f"the script inserts {short(reference)} into the request: placeholders are "
                    "only expanded if they occur in the request or in the text of the script"
                )
            if found.start:
                anchors.append((found.start, script.span.start))
        return Template(text, tuple(anchors))

    body = parsed.body
    if after.body != before.body:
        if body is not None and body.files:
            raise OrgrestError(
                "the body includes files, which a script above the request cannot change: "
                "use {{@request, which sees the body that is sent"
            )
        text = (after.body or b"").decode("utf-8", "surrogateescape")
        body = None if after.body is None else Body(template(text), None, (), script.span)
    headers = parsed.headers
    if after.headers != before.headers:
        lines = {(line.name.text, line.value.text): line for line in parsed.header_lines}
        without_name = tuple(line for line in headers if not isinstance(line, HeaderLine))
        headers = without_name + tuple(
            lines.get(pair, HeaderLine(template(pair[0]), template(pair[1]), script.span))
            for pair in after.headers
        )
    target = parsed.target if after.url == before.url else template(after.url)
    return classes.evolve(parsed, method=after.method, target=target, headers=headers, body=body)


def resent(request: Request, change: Mapping[str, Any], secrets: frozenset[str]) -> Request:
    """Return a request that is ready to be sent, with a script's changes applied.

    `secrets` contains all secrets known so far. Raises OrgrestError if the script sets an invalid
    method, URL or header. Also raises it if the script changes the origin of a request with
    credentials or a client certificate.
    """
    changed = _changed(request, change)
    try:
        url = parse_url(changed.url)
    except TransportError as error:
        raise OrgrestError(f"the script set an invalid URL: {error.reason}") from None
    bound = request.credentials is not None or request.certificate is not None
    if bound and url.origin != parse_url(request.url).origin:
        raise OrgrestError(
            "the script changed the server of the request, but the request's credentials are only "
            "for the original server: change the URL in a script above the request line instead"
        )
    for name, value in changed.headers:
        if not is_token(name) or has_break(value):
            raise OrgrestError(f"the script set an invalid header: {short(name)!r}")
    return classes.evolve(changed, secrets=secrets)


def _changed(request: Request, change: Mapping[str, Any]) -> Request:
    method, body = change["method"], change["body"]
    if not is_token(method):
        raise OrgrestError(f"the script set an invalid method: {short(method)!r}")
    if isinstance(body, dict):
        data: bytes | None = base64.b64decode(body["base64"])
    else:
        data = None if body is None else to_bytes(body)
    old_body = request.body
    if old_body is not None and body == old_body.decode("utf-8", "replace"):
        data = old_body  # keeps bytes that are not text, too
    headers = tuple((name, value) for name, value in change["headers"])
    return classes.evolve(request, method=method, url=change["url"], headers=headers, body=data)
