"""Prepares a verb request: merges it with its parent headings, and evaluates its tags."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from orgrest import classes
from orgrest.http.syntax import has_break, is_token
from orgrest.http.verb.tags import Tags
from orgrest.model import ExpansionError, Request, find_header, short
from orgrest.regular import compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from orgrest.http.syntax import ParsedRequest, Template
    from orgrest.http.values import Context

_T = TypeVar("_T")

_LINK = compiled(r"\[\[(.+?)\](?:\[.*?\])?\]")
_URL = compiled(r"(?:(https?)://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.IGNORECASE)
_OTHER_SCHEME = compiled(r"(?!https?://)[A-Za-z][-A-Za-z0-9+.]*:", re.IGNORECASE)
_CHARSET = compiled(r';\s*charset\s*=\s*"?([^\s;"]+)', re.IGNORECASE)
_PORTS = {"http": ":80", "https": ":443"}


def method(levels: Sequence[ParsedRequest]) -> str:
    """Return the method of a request, or "" if neither the request nor a parent has one.

    `levels` are the request and its parents, outermost first. A level without a method inherits the
    method of the level above, unless its own URL contains an origin.
    """
    for level in reversed(levels):
        if level.method or "://" in level.target.text:
            return level.method
    return ""


def expand(parsed: ParsedRequest, context: Context) -> Request:
    """Return the request to send, merged with its parents and with its tags evaluated.

    Raises `RequestSyntaxError` for errors in the text of the request or of a parent. Raises
    `ExpansionError` if a tag cannot be evaluated, or if the method or the host is missing.
    """
    levels = [*(parsed.above or ()), parsed]
    for level in levels:
        if level.problems:
            raise level.problems[0]
    return _Merging(levels, Tags(context, parsed)).request(context)


@classes.frozen
class _Url:
    """A URL, possibly partial. `origin` is its scheme and authority, or None if it is missing."""

    origin: str | None
    path: str
    query: str | None
    fragment: str | None

    @property
    def key(self) -> str | None:
        """The origin in normalized form, or None if it is missing."""
        if self.origin is None:
            return None
        scheme, _, authority = self.origin.partition("://")
        userinfo, at, host = authority.rpartition("@")
        host = host.lower().removesuffix(_PORTS[scheme.lower()])
        return f"{scheme.lower()}://{userinfo}{at}{host}"

    @property
    def text(self) -> str:
        """The URL as a string."""
        query = f"?{self.query}" if self.query else ""
        fragment = f"#{self.fragment}" if self.fragment else ""
        return f"{self.origin}{self.path or ('/' if query else '')}{query}{fragment}"

    def with_below(self, other: _Url) -> _Url:
        """Return this URL extended with a subheading's URL.

        `other`, that URL, must have the same origin, or no origin.
        """
        path = self.path + other.path
        return _Url(
            self.origin,
            path[1:] if path.startswith("//") else path,
            "&".join(_override(_pairs(self.query), _pairs(other.query), _name)),
            other.fragment or self.fragment,
        )


class _Merging:
    """Merges a request with its parents, outermost first."""

    def __init__(self, levels: Sequence[ParsedRequest], tags: Tags) -> None:
        self._levels = levels
        self._own = levels[-1]
        self._tags = tags

    def request(self, context: Context) -> Request:
        url, first = self._url()
        levels = self._levels[first:]
        inherited_method = next((level.method for level in reversed(levels) if level.method), None)
        if inherited_method is None:
            reason = "no method here or in a parent heading: change `template` to `get` or `post`"
            raise self._error(self._own, self._own.target, reason, "no-method")
        if url is None or not url.origin or url.origin.endswith("://"):
            reason = "no http:// or https:// URL with a host, here or in a parent heading"
            raise self._error(self._own, self._own.target, reason, "bad-url")
        headers: list[tuple[str, str]] = []
        for level in levels:
            headers = _override(headers, self._headers(level), lambda header: header[0].lower())
        position = self._own.source.position(self._own.span.start)
        body = self._body(levels, headers)
        parts = [("url", url.text), ("body", (body or b"").decode("utf-8", "surrogateescape"))]
        parts += ((name.lower(), value) for name, value in headers)
        return Request(
            method=inherited_method,
            url=url.text,
            headers=tuple(headers),
            body=body,
            held=frozenset((part, x) for part, text in parts for x in context.secrets.within(text)),
            secrets=context.secrets.texts,
            file=self._own.source.file,
            line=position.line,
            column=position.column,
        )

    def _url(self) -> tuple[_Url | None, int]:
        """Return the merged URL, and the index of the last level that changes the origin."""
        url: _Url | None = None
        first = 0
        for number, level in enumerate(self._levels):
            level_url = self._read(level)
            if level_url is None:
                continue
            if level_url.key is not None and (url is None or level_url.key != url.key):
                url, first = level_url, number
            else:
                url = level_url if url is None else url.with_below(level_url)
        return url, first

    def _read(self, level: ParsedRequest) -> _Url | None:
        target = level.target
        text = _LINK.sub(r"\1", self._text(level, target)).strip()
        if not text:
            return None
        if _OTHER_SCHEME.match(text):
            reason = f"expected an http or https URL, found {short(text)}"
            raise self._error(level, target, reason, "bad-url")
        match = _URL.fullmatch(text)
        if match is None or has_break(text):
            raise self._error(level, target, "the URL contains a line break or a NUL", "bad-url")
        origin = f"{match[1]}://{match[2]}" if match[1] else None
        path = match[3]
        if text.startswith("<"):  # in a dry run, a placeholder for a URL from a response
            path = f"/{path}"
        elif origin and not path and match[4] is not None:
            path = "/"
        return _Url(origin, path, match[4], match[5])

    def _headers(self, level: ParsedRequest) -> list[tuple[str, str]]:
        headers: list[tuple[str, str]] = []
        for item in level.header_lines:
            value = self._text(level, item.value).strip()
            if not is_token(item.name.text):
                reason = f"invalid header name: {item.name.text}"
                raise self._error(level, item.name, reason, "bad-header")
            if has_break(value):
                reason = f"the value of {item.name.text} contains a line break or a NUL"
                raise self._error(level, item.value, reason, "bad-header")
            headers.append((item.name.text, value))
        return headers

    def _body(
        self, levels: Sequence[ParsedRequest], headers: Sequence[tuple[str, str]]
    ) -> bytes | None:
        """Return the innermost body, encoded in the charset of the Content-Type, or None."""
        for level in reversed(levels):
            if level.body is None:
                continue
            text = self._text(level, level.body.template)
            if not text.strip():
                continue
            content_type = find_header(headers, "Content-Type") or ""
            charset = match[1] if (match := _CHARSET.search(content_type)) else "utf-8"
            try:
                return text.encode(charset, "surrogateescape")
            except (LookupError, UnicodeError) as error:
                reason = f"could not encode the body as {charset}: {error}"
                raise self._error(level, level.body.template, reason, "charset") from error
        return None

    def _text(self, level: ParsedRequest, template: Template) -> str:
        return self._tags.text(template, level.source)

    @staticmethod
    def _error(level: ParsedRequest, where: Template, reason: str, code: str) -> ExpansionError:
        return ExpansionError.at(level.source, where.offset(0), reason, code)


def _override(above: list[_T], below: list[_T], key: Callable[[_T], str]) -> list[_T]:
    overridden = set(map(key, below))
    return [item for item in above if key(item) not in overridden] + below


def _pairs(query: str | None) -> list[str]:
    return [pair for pair in (query or "").split("&") if pair.partition("=")[0]]


def _name(pair: str) -> str:
    return pair.partition("=")[0]
