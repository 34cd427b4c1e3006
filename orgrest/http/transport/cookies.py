"""The cookies that one document's requests share, and the file that stores them between runs.

The file is in Netscape's format, as curl's and wget's: a line for each cookie, with seven fields
separated by tabs: domain, whether subdomains are included, path, whether TLS is needed, expiry in
seconds since 1970 (0: the end of a session), name, value. `#HttpOnly_` precedes the domain of a
cookie that scripts of pages must not see; other lines that begin with `#` are comments.
"""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING

from orgrest.model import OrgrestError

if TYPE_CHECKING:
    import http.client
    from collections.abc import Iterator
    from http.cookiejar import Cookie, CookieJar

    from orgrest.http.transport.wire import Url

_HTTP_ONLY = "#HttpOnly_"
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_NUMBER = re.compile(r"\d{1,18}(?:\.\d*)?", re.ASCII)
_LEAST_SECRET = 8
"""The minimum length of a masked value; shorter values occur in texts by chance."""


class Cookies:
    """The cookies of one document: RFC 6265's rules as http.cookiejar keeps them.

    Each cookie goes back only to the port that set it, so that no other origin on a host sees it;
    a file of cookies has no ports.
    """

    def __init__(self) -> None:
        self._jar: CookieJar | None = None
        self._lock = threading.Lock()

    def store(self, url: Url, response: http.client.HTTPResponse) -> None:
        """Store the cookies that a response to a request for `url` sets."""
        from urllib.request import Request as CookieRequest

        with self._lock:
            if self._jar is None:
                self._jar = _new_jar()
            for cookie in self._jar.make_cookies(response, CookieRequest(url.text)):  # noqa: S310  (never opened)
                cookie.port = str(url.port)
                cookie.port_specified = True
                self._jar.set_cookie(cookie)

    def header(self, url: Url) -> str | None:
        """Return the Cookie header's value for a request for `url`, or None."""
        jar = self._jar  # which another thread may remove meanwhile
        if jar is None:
            return None
        from urllib.request import Request as CookieRequest

        request = CookieRequest(url.text.replace("ws", "http", 1) if url.is_websocket else url.text)  # noqa: S310  (never opened)
        jar.add_cookie_header(request)
        return request.get_header("Cookie")

    @classmethod
    def read(cls, data: bytes, file: str) -> Cookies:
        """Parse the content of a cookie file, without expired cookies.

        Raises OrgrestError with the number of a malformed line.
        """
        cookies = cls()
        cookies._jar = _new_jar()
        for number, line in enumerate(data.decode("latin-1").split("\n"), 1):
            text = line.removesuffix("\r").removeprefix(_HTTP_ONLY)
            if not text.strip() or text.startswith("#"):
                continue
            fields = text.split("\t")
            if len(fields) != 7 or not _NUMBER.fullmatch(fields[4]):
                reason = "no cookie: there are seven fields between tabs, the fifth a time"
                raise OrgrestError(reason, file=file, line=number)
            cookies._jar.set_cookie(_cookie(fields, http_only=line.startswith(_HTTP_ONLY)))
        cookies._jar.clear_expired_cookies()
        return cookies

    def __iter__(self) -> Iterator[Cookie]:
        """Yield the cookies that have not expired."""
        with self._lock:
            known = list(self._jar or ())
        return (cookie for cookie in known if not cookie.is_expired())

    def clear(self) -> None:
        """Remove all cookies."""
        with self._lock:
            self._jar = None

    def written(self) -> bytes:
        """Return the content of a file with these cookies."""
        lines = ["# Netscape HTTP Cookie File", "# Written by orgrest --cookies: keep it private."]
        for cookie in self:
            fields = _fields(cookie)
            # A control character in a value could start another cookie.
            if not any(map(_CONTROL.search, fields)):
                lines.append("\t".join(fields))
        return "".join(f"{line}\n" for line in lines).encode("latin-1", "replace")

    @property
    def secrets(self) -> Iterator[str]:
        """The values that results must not show."""
        values = [cookie.value or "" for cookie in self._jar or ()]
        return (value for value in values if len(value) >= _LEAST_SECRET)


def _new_jar() -> CookieJar:
    """Return a jar whose cookies without a Domain go back to their host alone (RFC 6265, 5.4)."""
    from http.cookiejar import CookieJar, DefaultCookiePolicy

    return CookieJar(
        DefaultCookiePolicy(strict_ns_domain=DefaultCookiePolicy.DomainStrictNonDomain)
    )


def _cookie(fields: list[str], *, http_only: bool) -> Cookie:
    from http.cookiejar import Cookie

    domain, subdomains, path, secure, expires, name, value = fields
    wide = subdomains.upper() == "TRUE"
    if wide and not domain.startswith("."):
        domain = f".{domain}"
    if "." not in domain:  # http.cookiejar's name for a host without a dot
        domain = f"{domain}.local"
    end = int(float(expires))
    return Cookie(
        version=0,
        name=name,
        value=value,
        port=None,
        port_specified=False,
        domain=domain.lower(),
        domain_specified=wide,
        domain_initial_dot=wide,
        path=path,
        path_specified=True,
        secure=secure.upper() == "TRUE",
        expires=end or None,
        discard=not end,
        comment=None,
        comment_url=None,
        rest={"HttpOnly": ""} if http_only else {},
    )


def domain_of(cookie: Cookie) -> str:
    """Return the host or domain of a cookie as its server wrote it."""
    return "localhost" if cookie.domain == "localhost.local" else cookie.domain


def _fields(cookie: Cookie) -> tuple[str, ...]:
    http_only = _HTTP_ONLY if cookie.has_nonstandard_attr("HttpOnly") else ""
    return (
        f"{http_only}{domain_of(cookie)}",
        "TRUE" if cookie.domain.startswith(".") else "FALSE",
        cookie.path,
        "TRUE" if cookie.secure else "FALSE",
        str(0 if cookie.expires is None else int(cookie.expires)),
        cookie.name,
        cookie.value or "",
    )
