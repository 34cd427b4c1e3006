"""A raw HTTP request, as servers log it and browsers show it.

Source: RFC 9112, section 2.1; RFC 9113, section 8.3 (pseudo-header fields).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from orgrest.convert.shared import texts
from orgrest.convert.shared.model import Collection, ConversionError, Folder, Note, Request
from orgrest.http.syntax import TCHARS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from orgrest.convert.shared.source import Source

BEGINS: Final = re.compile(
    rf"(?P<method>{TCHARS}) +(?P<target>\S+) +HTTP/(?P<version>\d(?:\.\d)?)[ \t]*\r?\n"
)
"""Matches the request line at the beginning of a message."""
_LOCAL: Final = re.compile(r"localhost|127\.|\[::1\]|.*:(?!443$|8443$)\d+$")
COMPUTED: Final = ("content-length", "transfer-encoding", "connection", "keep-alive",
                   "proxy-connection")  # fmt: skip
"""Headers that belong to a connection, or are computed when a request is sent."""


def recognizes(source: Source) -> bool:
    """Return whether a source begins with a request line."""
    return BEGINS.match(source.text.lstrip("\r\n")) is not None


def read(source: Source) -> Collection:
    """Return the request in a message. Raises ConversionError if it is invalid."""
    text, name = source.text, source.name
    match = BEGINS.match(text.lstrip("\r\n"))
    if match is None:
        raise ConversionError("not an HTTP/1.1 request", file=name, line=1)
    rest = text.lstrip("\r\n")[match.end() :]
    head, body = _split(rest)
    headers: list[tuple[str, str]] = []
    for number, line in enumerate(head, 2):
        field, colon, value = line.partition(":")
        if not colon or not re.fullmatch(TCHARS, field.strip()):
            raise ConversionError(
                f"expected a header (Name: value), found {line[:60]!r}", file=name, line=number
            )
        headers.append((field.strip(), value.strip()))
    notes: list[Note] = []
    url = _url(match["target"], headers, match["version"], f"{name}:1")
    if any(key.lower() == "transfer-encoding" for key, _ in headers) and body:
        body = _unchunked(body, name)
    return Collection(Folder("", (
        Request(match["method"], texts.literal(url), headers=kept(headers, url, f"{name}:1", notes),
                body=(texts.body_of(body),) if body else None, notes=tuple(notes),
                place=f"{name}:1"),
    )))  # fmt: skip


def kept(
    headers: Iterable[tuple[str, str]], url: str, place: str, notes: list[Note]
) -> tuple[tuple[str, str], ...]:
    """Return the headers that must be written for a request to `url`.

    Headers that orgrest computes are left out. Invalid headers are also left out, and a note about
    each is added to `notes`.
    """
    authority = re.split("[/?#]", url.partition("://")[2], maxsplit=1)[0]
    host = authority.rpartition("@")[2].lower()
    written = []
    for name, value in headers:
        if name.startswith(":") or name.lower() in COMPUTED:
            continue
        if name.lower() == "host" and value.lower() == host:
            continue
        if not re.fullmatch(TCHARS, name) or any(c in value for c in "\r\n\0"):
            notes.append(Note(place, f"invalid header name {name[:40]!r}"))
            continue
        written.append((name, texts.literal(value.strip())))
    return tuple(written)


def _split(text: str) -> tuple[list[str], str]:
    """Split the text after a request line into header lines and the body."""
    end = re.search(r"^\r?\n", text, re.MULTILINE)
    if end is None:
        return text.replace("\r\n", "\n").rstrip("\n").split("\n") if text.strip() else [], ""
    head = text[: end.start()].replace("\r\n", "\n").rstrip("\n")
    return head.split("\n") if head else [], text[end.end() :]


def _url(target: str, headers: list[tuple[str, str]], version: str, place: str) -> str:
    if re.match(r"[A-Za-z][\w+.-]*://", target):
        return target
    host = next((value for key, value in headers if key.lower() in ("host", ":authority")), "")
    if not host:
        raise ConversionError("the request needs a Host header or an absolute URL", file=place)
    scheme = "http" if _LOCAL.match(host) and version.startswith("1") else "https"
    if not target.startswith("/"):
        raise ConversionError(f"not a valid path: {target[:60]}", file=place)
    return f"{scheme}://{host}{target}"


def _unchunked(body: str, name: str) -> str:
    """Decode a chunked body (RFC 9112, section 7.1)."""
    data, content = body.encode("utf-8", "surrogateescape"), b""
    while match := re.match(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?\r?\n", data):
        size = int(match[1], 16)
        if not size:
            return content.decode("utf-8", "surrogateescape")
        content += data[match.end() : match.end() + size]
        data = data[match.end() + size :].removeprefix(b"\r").removeprefix(b"\n")
    raise ConversionError("the chunked body is incomplete", file=name)
