"""The cookies that a document's requests share, and the file that stores them between runs.

The file is in the Netscape cookie file format, which curl and wget also use. Each line has seven
tab-separated fields: domain, whether subdomains are included, path, whether TLS is required, expiry
in seconds since 1970 (0 for the end of a session), name, and value. `#HttpOnly_` before the domain
marks a cookie that is hidden from page scripts. Other lines that begin with `#` are comments.
"""

from __future__ import annotations

import re
import threading
import time
from typing import TYPE_CHECKING

from orgrest import classes
from orgrest.model import OrgrestError, to_bytes
from orgrest.regular import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from orgrest.http.transport.wire import Url

_HTTP_ONLY = "#HttpOnly_"
_CONTROL = compiled(r"[\x00-\x1f\x7f]")
_NUMBER = compiled(r"\d{1,18}(?:\.\d*)?", re.ASCII)
_SECONDS = compiled(r"-?\d+", re.ASCII)
_ADDRESS = compiled(r"\[.*\]|[\d.]+", re.ASCII)
_LATEST = 253_402_300_799
"""The end of the year 9999, in seconds since 1970. Later times cannot be shown as a date."""
_PUBLIC = compiled(r"[^.]*|(?:ac|biz|co|com|edu|go|gov|info|mil|ne|net|nom|or|org)\.[a-z]{2}")
"""Matches common public suffixes: domains under which anyone can register a name.

Source: RFC 6265, section 5.3, step 5.
"""
_LEAST_SECRET = 8
"""The minimum length of a value that is masked. Shorter values occur in text by chance."""


@classes.frozen
class Cookie:
    """A cookie for a domain, and for the domain's subdomains if `wide` is set.

    `domain` has no leading dot. `expires` is in seconds since 1970, or 0 for a session cookie.
    """

    name: str
    value: str
    domain: str
    wide: bool
    path: str
    secure: bool
    expires: int = 0
    http_only: bool = False

    @property
    def scope(self) -> str:
        """The domain as written in cookie files: with a leading dot if it includes subdomains."""
        return f".{self.domain}" if self.wide else self.domain

    @property
    def expired(self) -> bool:
        """Whether the cookie has expired and is therefore no longer sent."""
        return 0 < self.expires <= time.time()

    def goes_to(self, url: Url) -> bool:
        """Return whether the cookie is sent for `url` until it expires (RFC 6265, section 5.4)."""
        path = url.target.partition("?")[0]
        below = path.startswith(self.path) and (
            self.path.endswith("/") or path[len(self.path) :][:1] in ("", "/")
        )
        return (
            below
            and (url.host == self.domain or (self.wide and _is_below(url.host, self.domain)))
            and (not self.secure or url.scheme in ("https", "wss"))
        )


def _is_below(host: str, domain: str) -> bool:
    return host.endswith(f".{domain}") and not _ADDRESS.fullmatch(host)


def _parse(line: str, url: Url) -> Cookie | None:
    """Return the cookie in a Set-Cookie header, or None if it is invalid for the host of `url`.

    Source: RFC 6265, sections 5.2 and 5.3.
    """
    pair, *rest = line.split(";")
    name, equals, value = (part.strip(" \t") for part in pair.partition("="))
    if not name or not equals or _CONTROL.search(line.replace("\t", "")):
        return None
    split = (attribute.partition("=") for attribute in rest)
    attributes = {key.strip(" \t").lower(): text.strip(" \t") for key, _, text in split}
    domain = attributes.get("domain", "").removeprefix(".").lower()
    if domain not in ("", url.host) and (
        _PUBLIC.fullmatch(domain) or not _is_below(url.host, domain)
    ):
        return None
    wide = domain != "" and not _PUBLIC.fullmatch(domain)
    request_path = url.target.partition("?")[0]
    path = attributes.get("path", "")
    return Cookie(
        name,
        value,
        domain if wide else url.host,
        wide,
        path if path.startswith("/") else request_path.rpartition("/")[0] or "/",
        "secure" in attributes,
        _expiry(attributes),
        "httponly" in attributes,
    )


def _expiry(attributes: dict[str, str]) -> int:
    seconds = attributes.get("max-age", "")
    if _SECONDS.fullmatch(seconds):
        return min(max(1, int(time.time()) + int(seconds[:18])), _LATEST)
    if "expires" not in attributes:
        return 0
    from email.utils import mktime_tz, parsedate_tz

    try:
        date = parsedate_tz(attributes["expires"])
        return 0 if date is None else min(max(1, int(mktime_tz(date))), _LATEST)
    except (ValueError, OverflowError):
        return 0


class Cookies:
    """The cookies of one document, which are sent according to RFC 6265."""

    def __init__(self) -> None:
        self._kept: dict[tuple[object, ...], Cookie] = {}
        self._as_read: dict[tuple[object, ...], Cookie] = {}
        self._lock = threading.Lock()

    def store(self, url: Url, lines: Iterable[str]) -> None:
        """Store the cookies in the Set-Cookie headers of a response to a request for `url`."""
        self.add(cookie for line in lines if (cookie := _parse(line, url)) is not None)

    def add(self, cookies: Iterable[Cookie]) -> None:
        """Add cookies. Each replaces a cookie with the same name, scope and path."""
        for cookie in cookies:
            identity = (cookie.name, cookie.scope, cookie.path)
            with self._lock:
                if cookie.expired:
                    self._kept.pop(identity, None)
                else:
                    self._kept[identity] = cookie

    def header(self, url: Url) -> str | None:
        """Return the value of the Cookie header for `url`, or None if no cookie matches."""
        matching = sorted(
            (cookie for cookie in self if cookie.goes_to(url)), key=lambda cookie: -len(cookie.path)
        )
        return "; ".join(f"{cookie.name}={cookie.value}" for cookie in matching) or None

    @classmethod
    def read(cls, data: bytes, file: str) -> Cookies:
        """Return the cookies in the content of a cookie file, without expired ones.

        Raises OrgrestError, with the line number, if a line is malformed.
        """
        cookies = cls()
        text = data.decode("utf-8", "surrogateescape")
        for number, line in enumerate(text.split("\n"), 1):
            fields = line.removesuffix("\r").removeprefix(_HTTP_ONLY).split("\t")
            if not "".join(fields).strip() or fields[0].startswith("#"):
                continue
            if len(fields) != 7 or not _NUMBER.fullmatch(fields[4]):
                reason = (
                    "not a cookie: expected seven tab-separated fields, with a timestamp in the "
                    "fifth"
                )
                raise OrgrestError(reason, file=file, line=number)
            domain, subdomains, path, secure, expires, name, value = fields
            cookie = Cookie(
                name,
                value,
                domain.removeprefix(".").lower(),
                subdomains.upper() == "TRUE",
                path,
                secure.upper() == "TRUE",
                min(int(float(expires)), _LATEST),
                line.startswith(_HTTP_ONLY),
            )
            cookies.add([cookie])
        cookies._as_read = dict(cookies._kept)
        return cookies

    def __iter__(self) -> Iterator[Cookie]:
        """Yield the cookies that have not expired."""
        with self._lock:
            cookies = list(self._kept.values())
        return (cookie for cookie in cookies if not cookie.expired)

    def clear(self) -> None:
        """Remove all cookies."""
        with self._lock:
            self._kept.clear()

    def apply_changes(self, stored: Cookies) -> None:
        """Apply to `stored` the changes made to these cookies since they were read.

        `stored` contains the current cookies of the file.
        """
        with self._lock:
            kept = dict(self._kept)
        for identity in self._as_read.keys() - kept.keys():
            stored._kept.pop(identity, None)
        stored.add(
            cookie for identity, cookie in kept.items() if cookie != self._as_read.get(identity)
        )

    def written(self) -> bytes:
        """Return the content of a file that stores these cookies."""
        lines = ["# Netscape HTTP Cookie File", "# Written by orgrest --cookies: keep it private."]
        for cookie in self:
            fields = _fields(cookie)
            # A line break or tab in a value could forge another cookie.
            if not any(map(_CONTROL.search, fields)):
                lines.append("\t".join(fields))
        return b"".join(to_bytes(f"{line}\n") for line in lines)

    @property
    def secrets(self) -> Iterator[str]:
        """The cookie values that results must not show."""
        return (cookie.value for cookie in self if len(cookie.value) >= _LEAST_SECRET)


class NoCookies(Cookies):
    """A cookie store for one request that stays empty, even if a redirect sets cookies."""

    def store(self, url: Url, lines: Iterable[str]) -> None:
        """Ignore the cookies of a response."""


def _fields(cookie: Cookie) -> tuple[str, ...]:
    return (
        f"{_HTTP_ONLY if cookie.http_only else ''}{cookie.scope}",
        "TRUE" if cookie.wide else "FALSE",
        cookie.path,
        "TRUE" if cookie.secure else "FALSE",
        str(cookie.expires),
        cookie.name,
        cookie.value,
    )
