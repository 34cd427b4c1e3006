"""Sending requests over the network: the only module that opens a socket.

Strategy: urllib3 does connections, pools, TLS, proxies and content codings; what this module adds
is exactness and limits. Exactness: the header lines, in the user's order, spelling and bytes, and
the request target, reach the wire as `wire_headers` and `_target` give them, and the response's
header lines are those of the server. Limits: time (connecting, silence, the whole exchange), bytes
received, bytes decoded; a hostile server can make a request fail but not hang or fill the memory.

Redirects are followed here and not by urllib3: 301, 307 and 308 repeat the request, 302 and 303
turn it into a GET (restclient's ways); `Authorization`, cookies, and headers that hold a secret
stay with the origin that they were meant for, and a body that holds one is not sent on at all.

Everything that goes wrong is a `TransportError` in plain words, with the request's place.
"""

from __future__ import annotations

import contextlib
import http.client
import io
import os
import re
import socket
import ssl
import threading
import time
import zlib
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Self, cast
from urllib.parse import quote_from_bytes, unquote_to_bytes, urljoin
from weakref import WeakSet

import attrs
import urllib3
from urllib3.response import GzipDecoderState
from urllib3.util import Timeout, make_headers

from orgrest.model import (
    Headers,
    OrgrestError,
    Redirect,
    Request,
    Response,
    TransportError,
    find_headers,
    to_bytes,
)
from orgrest.syntax import TCHARS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from http.cookiejar import CookieJar
    from pathlib import Path

CONNECT_TIMEOUT = 10.0
READ_TIMEOUT = 30.0
TOTAL_TIMEOUT = 300.0
MAX_TIMEOUT = 86_400.0
BODY_LIMIT = 16 * 2**20
MAX_REDIRECTS = 10
USER_AGENT = "orgrest"

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_TOKEN = re.compile(TCHARS)
_URL = re.compile(r"(https?)://([^/?#\\]*)([^?#]*)(\?[^#]*)?", re.IGNORECASE)
_AUTHORITY = re.compile(r"(?:(.*)@)?(\[[0-9A-Fa-f:.]+(?:%[\w.~-]+)?\]|[^\[\]:@]+)(?::(\d*))?")
_HOST = re.compile(r"\[.+\]|[\w~!$&'()*+,;=-]+(?:\.[\w~!$&'()*+,;=-]+)*\.?", re.ASCII)
_TARGET_SAFE = "-._~!$&'()*+,;=:@/?%"
_PORTS = {"http": 80, "https": 443}
_CODINGS = {"br": "brotli", "zstd": "backports.zstd", "gzip": "", "x-gzip": "", "deflate": ""}


# ------------------------------------------------------------------------------------------- URLs


@attrs.frozen
class _Url:
    """A URL taken apart: what is connected to, and what is asked for there."""

    scheme: str
    host: str
    port: int
    target: str
    userinfo: str | None

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    @property
    def netloc(self) -> str:
        return self.host if self.port == _PORTS[self.scheme] else f"{self.host}:{self.port}"

    @property
    def text(self) -> str:
        return f"{self.scheme}://{self.netloc}{self.target}"


def _target(text: str) -> str:
    """Return a path and query as the request line has them: %-encoded where need be."""
    return quote_from_bytes(to_bytes(text), safe=_TARGET_SAFE)


def _parse_url(url: str) -> _Url:
    """Take a URL apart. Raises `TransportError` where it is not an http or https one."""
    match = _URL.match(url)
    authority = _AUTHORITY.fullmatch(match[2]) if match else None
    if match is None or authority is None:
        raise TransportError(f"not an absolute http or https URL: {_show(url)}")
    scheme = match[1].lower()
    try:
        host = authority[2].lower()
        if not host.isascii():
            host = host.encode("idna").decode("ascii")
        port = int(authority[3] or _PORTS[scheme])
    except ValueError as error:  # UnicodeError is one
        raise TransportError(f"not a host name: {_show(authority[2])}") from error
    if not 0 < port < 65536:
        raise TransportError(f"not a port: {port}")
    if not _HOST.fullmatch(host):
        raise TransportError(f"not a host name: {_show(authority[2])}")
    path = match[3].replace("\\", "%5C")
    return _Url(
        scheme=scheme,
        host=host,
        port=port,
        target=_target((path if path.startswith("/") else f"/{path}") + (match[4] or "")),
        userinfo=authority[1],
    )


def _show(text: str) -> str:
    """Text out of a document or from a server, for an error message."""
    shown = text if len(text) <= 200 else f"{text[:200]}..."
    return shown if shown.isprintable() else ascii(shown)


# ---------------------------------------------------------------------------------------- headers


def wire_headers(request: Request, *, cookie: str | None = None) -> Headers:
    """Return the header lines as they are sent: ours, where the user gave none, then the user's.

    Raises `TransportError` for a URL, a header name or a value that cannot be sent.
    """
    return _wire_headers(request, _parse_url(request.url), cookie)


def wire_url(request: Request) -> str:
    """Return the URL with the request target as it is sent, user info included.

    Raises `TransportError` where it is not an http or https one.
    """
    url = _parse_url(request.url)
    if not url.userinfo:
        return url.text
    parts = (unquote_to_bytes(to_bytes(part)) for part in url.userinfo.split(":", 1))
    userinfo = ":".join(quote_from_bytes(part, safe="") for part in parts)
    return f"{url.scheme}://{userinfo}@{url.netloc}{url.target}"


def _wire_headers(request: Request, url: _Url, cookie: str | None) -> Headers:
    if not _TOKEN.fullmatch(request.method):
        raise TransportError(f"not a method: {_show(request.method)}")
    for name, value in request.headers:
        if not _TOKEN.fullmatch(name):
            raise TransportError(f"not a header name: {_show(name)}")
        if any(c in value for c in "\r\n\0"):
            raise TransportError(f"the value of {name} holds a line break or a NUL")
    given = {name.lower() for name, _ in request.headers}
    ours = [
        ("Host", url.netloc),
        ("User-Agent", USER_AGENT),
        ("Accept-Encoding", _ACCEPT_ENCODING),
        ("Accept", "*/*"),
    ]
    if url.userinfo:
        ours.append(("Authorization", _basic(url.userinfo)))
    if cookie:
        ours.append(("Cookie", cookie))
    headers = [(name, value) for name, value in ours if name.lower() not in given]
    headers += request.headers
    sends_body = request.body is not None or request.method.upper() in ("POST", "PUT", "PATCH")
    if sends_body and not given & {"content-length", "transfer-encoding"}:
        headers.append(("Content-Length", str(len(request.body or b""))))
    return tuple(headers)


_ACCEPT_ENCODING = make_headers(accept_encoding=True)["accept-encoding"].replace(",", ", ")


def _basic(userinfo: str) -> str:
    from base64 import b64encode

    user, _, password = userinfo.partition(":")
    pair = unquote_to_bytes(to_bytes(user)) + b":" + unquote_to_bytes(to_bytes(password))
    return "Basic " + b64encode(pair).decode("ascii")


class _Wire:
    """Header lines with what urllib3 does with a mapping, and what else a connection must know.

    Values are Latin-1 texts of the bytes to be sent: that is what http.client makes of a `str`.
    """

    def __init__(
        self, lines: Headers, target: str, deadline: float, budget: int, *, last: bool
    ) -> None:
        self._lines = [(name, to_bytes(value).decode("latin-1")) for name, value in lines]
        self.target = target
        self.deadline = deadline
        self.budget = budget
        self.last = last
        self.reused = False

    def items(self) -> Headers:
        return tuple(self._lines)

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self._lines)

    def copy(self) -> Self:
        return self

    def update(self, headers: Mapping[str, str]) -> None:
        """Take a proxy's headers; urllib3 offers them when it forwards a plain request."""
        given = {name.lower() for name in self}
        self._lines += [(n, v) for n, v in headers.items() if n.lower() not in given]


# ------------------------------------------------------------------------------------ connections


class _LimitedReader(io.RawIOBase):
    """A socket's input until a deadline and up to a number of bytes."""

    def __init__(self, raw: io.RawIOBase, sock: socket.socket, wire: _Wire) -> None:
        self._raw = raw
        self._sock = sock
        self._silence = sock.gettimeout()
        self._wire = wire
        self._received = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._wire.deadline - time.monotonic()
        if left <= 0:
            raise _OverdueError
        silence = left if self._silence is None else min(left, self._silence)
        self._sock.settimeout(silence)
        try:
            count = self._raw.readinto(buffer)
        except TimeoutError as error:
            if silence == left:
                raise _OverdueError from error
            raise
        self._received += count or 0
        if self._received > self._wire.budget:
            raise _FloodError
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class _OverdueError(TimeoutError):
    """The whole exchange took too long."""


class _FloodError(OSError):
    """The server sends bytes without end that never make a body."""


class _HttpResponse(http.client.HTTPResponse):
    """http.client's response, read within limits; interim responses (1xx) are skipped."""

    def __init__(self, sock: socket.socket, *args: Any, wire: _Wire, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        raw = self.fp.detach()
        self.fp = io.BufferedReader(_LimitedReader(raw, sock, wire))
        self._wire = wire

    def begin(self) -> None:
        super().begin()
        while 100 <= self.status < 200 and self.status != 101:
            self.headers = cast("http.client.HTTPMessage", None)  # what begin() starts from
            super().begin()
        if self._wire.last or self.status == 101:
            self.will_close = True


class _Exact:
    """What our connections do differently: the target as given, our response class."""

    _wire: _Wire
    _used = False
    _client: Client
    response_class: Any
    sock: Any

    def connect(self) -> None:
        super().connect()  # type: ignore[misc]  # a mixin's super
        self._client._opened(self.sock)

    def request(self, method: str, url: str, body: bytes | None, headers: _Wire, **k: Any) -> None:
        self._wire = headers
        headers.reused = self._used
        self.response_class = partial(_HttpResponse, wire=headers)
        self._used = True
        super().request(method, url, body, headers, **k)  # type: ignore[misc]  # a mixin's super

    def putrequest(self, method: str, _url: str, *args: Any, **options: Any) -> None:
        super().putrequest(method, self._wire.target, *args, **options)  # type: ignore[misc]  # as above


def _exact(pool: Any, client: Client) -> type[urllib3.HTTPConnectionPool]:
    """Return a class of pools like `pool` with exact connections, those of `client`."""
    name = f"Exact{pool.ConnectionCls.__name__}"
    connection = type(name, (_Exact, pool.ConnectionCls), {"_client": client})
    return type(f"Exact{pool.__name__}", (pool,), {"ConnectionCls": connection})


# ---------------------------------------------------------------------------------------- cookies


class Cookies:
    """The cookies of one document: RFC 6265's rules as http.cookiejar keeps them.

    Each cookie goes back only to the port that set it, so that no other origin on a host sees it.
    """

    def __init__(self) -> None:
        self._jar: CookieJar | None = None
        self._lock = threading.Lock()

    def store(self, url: str, response: http.client.HTTPResponse) -> None:
        """Keep what a response to a request for `url` sets."""
        if response.headers.get("Set-Cookie") is None:
            return
        from http.cookiejar import CookieJar
        from urllib.request import Request as CookieRequest

        port = str(_parse_url(url).port)
        with self._lock:
            self._jar = self._jar or CookieJar()
            for cookie in self._jar.make_cookies(response, CookieRequest(url)):  # noqa: S310  (never opened)
                cookie.port = port
                cookie.port_specified = True
                self._jar.set_cookie(cookie)

    def header(self, url: str) -> str | None:
        """Return the Cookie header's value for a request for `url`, or None."""
        if self._jar is None:
            return None
        from urllib.request import Request as CookieRequest

        request = CookieRequest(url)  # noqa: S310  (never opened)
        self._jar.add_cookie_header(request)
        return request.get_header("Cookie")


# ----------------------------------------------------------------------------------------- client


class Client:
    """A pooled HTTP client for one run; use it as a context manager. Safe to share by threads.

    `ca` is a file or folder of PEM certificates that replaces the system's (certifi's where the
    system has none); `insecure` verifies nothing. `limit` is how many bytes of a decoded body are
    kept. Raises `OrgrestError` when `ca` cannot be read. `warnings` is what the user must be told.
    """

    def __init__(
        self,
        *,
        connect_timeout: float = CONNECT_TIMEOUT,
        read_timeout: float = READ_TIMEOUT,
        total_timeout: float = TOTAL_TIMEOUT,
        limit: int = BODY_LIMIT,
        ca: Path | None = None,
        insecure: bool = False,
    ) -> None:
        self._connect_timeout = connect_timeout
        self._read_timeout = read_timeout
        self._total_timeout = total_timeout
        self._limit = limit
        self._ca = ca
        self._insecure = insecure
        self._managers: dict[tuple[str, str | None], urllib3.PoolManager] = {}
        self._pools: dict[tuple[str, str, int], tuple[urllib3.HTTPConnectionPool, bool]] = {}
        self._lock = threading.Lock()
        self._sockets: WeakSet[Any] = WeakSet()
        self._aborted = False
        self._proxies = any(name.lower().endswith("_proxy") for name in os.environ)
        self.warnings = (
            ("TLS certificates are not verified (--insecure): anyone may answer",)
            if insecure
            else ()
        )
        if ca is not None:
            self._tls_context()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        for manager in self._managers.values():
            manager.clear()

    def abort(self) -> None:
        """End what is being sent, from another thread, and send nothing any more.

        Who waits for an answer gets a `TransportError` at once; who waits for a connection, when
        that attempt has ended.
        """
        with self._lock:
            self._aborted = True
            sockets = list(self._sockets)
        for sock in sockets:
            _shut_down(sock)

    def _opened(self, sock: Any) -> None:
        """Take note of a connection; raises `TransportError` where it comes too late."""
        with self._lock:
            self._sockets.add(sock)
            aborted = self._aborted
        if aborted:
            _shut_down(sock)
            raise TransportError(_CANCELLED)

    def new_cookies(self) -> Cookies:
        """Return a cookie store for one document."""
        return Cookies()

    def send(
        self,
        request: Request,
        *,
        cookies: Cookies | None = None,
        follow: bool = True,
        timeout: float | None = None,
    ) -> Response:
        """Send a request, follow its redirects, and read the response.

        `timeout` in seconds limits the whole exchange. Raises `TransportError`.
        """
        start = time.monotonic()
        total = self._total_timeout if timeout is None else timeout
        silence = self._read_timeout if timeout is None else timeout
        try:
            if not (0 < silence <= MAX_TIMEOUT and 0 < total <= MAX_TIMEOUT):
                raise TransportError(f"a timeout is between 0 and {MAX_TIMEOUT:g} seconds")
            return self._follow(
                request,
                cookies if cookies is not None else Cookies(),
                start=start,
                deadline=start + total,
                timeout=Timeout(connect=min(self._connect_timeout, silence), read=silence),
                follow=follow,
            )
        except TransportError as error:
            raise TransportError(
                error.reason, file=request.file, line=request.line, column=request.column
            ) from error
        except (urllib3.exceptions.HTTPError, http.client.HTTPException, OSError) as error:
            reason = self._explain(error, timeout=silence, total=total)
            if self._aborted:
                reason = _CANCELLED
            raise TransportError(
                reason, file=request.file, line=request.line, column=request.column
            ) from error

    # -------------------------------------------------------------------------- redirects

    def _follow(
        self,
        request: Request,
        cookies: Cookies,
        *,
        start: float,
        deadline: float,
        timeout: Timeout,
        follow: bool,
    ) -> Response:
        redirects: list[Redirect] = []
        while True:
            response = self._exchange(request, cookies, deadline, timeout)
            location = response.header("Location")
            if not follow or response.status not in _REDIRECTS or location is None:
                break
            if len(redirects) == MAX_REDIRECTS:
                warning = f"stopped after {MAX_REDIRECTS} redirects: this one was not followed"
                response = attrs.evolve(response, warnings=(*response.warnings, warning))
                break
            request = _redirected(request, response, location)
            redirects.append(Redirect(response.status, response.reason, request.url))
        duration = time.monotonic() - start
        return attrs.evolve(response, duration=duration, redirects=tuple(redirects))

    # --------------------------------------------------------------------------- exchange

    def _exchange(
        self, request: Request, cookies: Cookies, deadline: float, timeout: Timeout
    ) -> Response:
        if self._aborted:
            raise TransportError(_CANCELLED)
        url = _parse_url(request.url)
        lines = _wire_headers(request, url, cookies.header(url.text))
        pool, forwarded = self._pool(url)
        target = url.text if forwarded else url.target
        length = next(find_headers(lines, "Content-Length"), None)
        coding = next(find_headers(lines, "Transfer-Encoding"), None)
        announced = length is None or length == str(len(request.body or b""))
        while True:
            wire = _Wire(
                lines,
                target,
                deadline,
                budget=8 * self._limit + 2**20,
                last=not announced or (coding is not None and length is not None),
            )
            try:
                raw = pool.urlopen(
                    request.method,
                    target,
                    body=request.body,
                    headers=cast("Any", wire),
                    retries=False,
                    redirect=False,
                    assert_same_host=False,
                    timeout=timeout,
                    preload_content=False,
                    chunked=coding is not None and coding.lower().endswith("chunked"),
                )
            except urllib3.exceptions.ProtocolError as error:
                # A kept-alive connection that the server closed while we were writing to it.
                if wire.reused and _closed(error) and request.method.upper() in _SAFE:
                    continue
                raise
            return self._read(raw, url, cookies)

    def _read(self, raw: urllib3.BaseHTTPResponse, url: _Url, cookies: Cookies) -> Response:
        original = cast("http.client.HTTPResponse", cast("Any", raw)._original_response)
        cookies.store(url.text, original)
        try:
            body = raw.read(self._limit + 1)
        except ValueError as error:  # http.client's word for a chunk of negative size
            raw.close()
            raise TransportError(_DAMAGED_CHUNKS) from error
        truncated = len(body) > self._limit
        if truncated:
            raw.close()
        elif raw.tell() and _is_cut_short(cast("Any", raw)._decoder):
            coding = _show(raw.headers["Content-Encoding"])
            raise TransportError(f"the body is cut short: its {coding} data never comes to an end")
        return Response(
            status=raw.status,
            reason=_text(original.reason),
            version="1.0" if original.version == 10 else "1.1",
            headers=tuple((_text(n), _text(v)) for n, v in original.headers.items()),
            body=body[: self._limit],
            duration=0.0,
            url=url.text,
            truncated=truncated,
            warnings=tuple(_oddities(original)),
        )

    # ------------------------------------------------------------------------------ pools

    def _pool(self, url: _Url) -> tuple[urllib3.HTTPConnectionPool, bool]:
        """Return the connections to a URL's origin, and whether a proxy forwards what they send."""
        with self._lock:
            if url.origin not in self._pools:
                proxy = self._proxy(url) if self._proxies else None
                key = (url.scheme, proxy)
                if key not in self._managers:
                    self._managers[key] = self._new_manager(url.scheme, proxy)
                pool = self._managers[key].connection_from_host(url.host, url.port, url.scheme)
                forwarded = url.scheme == "http" and bool(proxy) and not _is_socks(proxy)
                self._pools[url.origin] = (pool, forwarded)
            return self._pools[url.origin]

    def _proxy(self, url: _Url) -> str | None:
        from urllib.request import getproxies_environment, proxy_bypass

        proxies = getproxies_environment()
        proxy = proxies.get(url.scheme) or proxies.get("all")
        if not proxy or proxy_bypass(url.netloc):
            return None
        return proxy if "://" in proxy else f"http://{proxy}"

    def _new_manager(self, scheme: str, proxy: str | None) -> urllib3.PoolManager:
        options: dict[str, Any] = {"num_pools": 1000, "maxsize": 16}
        if scheme == "https":
            options["ssl_context"] = self._tls_context()
        try:
            manager = _manager(proxy, options)
        except (urllib3.exceptions.HTTPError, ValueError) as error:
            raise TransportError(f"not a proxy: {_without_userinfo(proxy or '')}") from error
        pools = manager.pool_classes_by_scheme
        manager.pool_classes_by_scheme = {name: _exact(pool, self) for name, pool in pools.items()}
        return manager

    def _tls_context(self) -> ssl.SSLContext:
        if self._insecure:
            urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
            context = ssl.create_default_context()
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            return context
        if self._ca is not None:
            try:
                if self._ca.is_dir():
                    return ssl.create_default_context(capath=str(self._ca))
                return ssl.create_default_context(cafile=str(self._ca))
            except ssl.SSLError as error:
                raise OrgrestError("not a file of PEM certificates", file=str(self._ca)) from error
            except OSError as error:
                raise OrgrestError(
                    f"cannot read the certificates: {error.strerror}", file=str(self._ca)
                ) from error
        paths = ssl.get_default_verify_paths()
        if paths.cafile is None and paths.capath is None:
            try:
                certifi = import_module("certifi")
            except ImportError as error:
                raise TransportError(
                    "this system has no TLS root certificates: pip install certifi, or give --ca"
                ) from error
            return ssl.create_default_context(cafile=certifi.where())
        return ssl.create_default_context()

    # ----------------------------------------------------------------------------- errors

    def _explain(self, error: BaseException, *, timeout: float, total: float) -> str:
        """Return an error of urllib3, http.client or the system in plain words."""
        causes = list(_causes(error))
        reasons = (self._explain_one(cause, timeout, total) for cause in causes)
        found = next(filter(None, reasons), None)
        reason = found or _show(str(causes[0]) or type(causes[0]).__name__)
        by_proxy = any(isinstance(cause, urllib3.exceptions.ProxyError) for cause in causes)
        return f"through the proxy: {reason}" if by_proxy else reason

    def _explain_one(self, error: BaseException, timeout: float, total: float) -> str | None:
        errors = urllib3.exceptions
        if isinstance(error, _OverdueError):
            return f"the response was not complete after {total:g} s"
        if isinstance(error, _FloodError):
            return "the server sends without end: given up"
        if isinstance(error, errors.NameResolutionError):
            return f"the host name {_show(error.conn.host)} is not known"
        if type(error) is errors.ConnectTimeoutError:
            return f"no connection within {min(self._connect_timeout, timeout):g} s"
        if isinstance(error, errors.ReadTimeoutError):
            return f"no answer for {timeout:g} s"
        if isinstance(error, ssl.SSLCertVerificationError):
            return f"the server's TLS certificate is not valid: {error.verify_message}"
        if isinstance(error, ssl.SSLError):
            return f"TLS failed: {(error.reason or str(error)).replace('_', ' ').lower()}"
        if isinstance(error, ConnectionRefusedError):
            return "the connection was refused"
        if isinstance(error, http.client.RemoteDisconnected):
            return "the server closed the connection without an answer"
        if isinstance(error, http.client.LineTooLong):
            return "a line of the response's header or framing is longer than 65536 bytes"
        if isinstance(error, http.client.BadStatusLine):
            return f"the answer is not HTTP: it begins with {_show(str(error.args[0])[:80])}"
        if isinstance(error, http.client.UnknownProtocol):
            return f"the answer is not HTTP/1.x: {_show(str(error.args[0]))}"
        if isinstance(error, http.client.IncompleteRead):
            return _explain_incomplete(error)
        if isinstance(error, ConnectionResetError):
            return "the server reset the connection"
        if isinstance(error, errors.InvalidHeader):
            return f"the response's header contradicts itself: {_show(str(error))}"
        if isinstance(error, errors.DecodeError):
            return "the body is not what its Content-Encoding says"
        if type(error) is http.client.HTTPException:  # got more than 100 headers
            return f"the response's header is too long: {_show(str(error))}"
        if isinstance(error, OSError) and not isinstance(error, (socket.gaierror, TimeoutError)):
            return _show(error.strerror or str(error)).lower()
        return None


def _shut_down(sock: Any) -> None:
    """Wake whoever reads from or writes to a connection; TLS inside TLS holds its socket."""
    with contextlib.suppress(OSError):
        socket.socket.shutdown(getattr(sock, "socket", sock), socket.SHUT_RDWR)


def _is_cut_short(decoder: Any) -> bool:
    """Tell whether one of urllib3's decoders, which do not say so, waits for more data."""
    if decoder is None:
        return False
    if hasattr(decoder, "_decoders"):  # for several codings
        return any(_is_cut_short(one) for one in decoder._decoders)
    inner = getattr(decoder, "_obj", None)
    if inner is None:  # another urllib3 than the ones known: take its word
        return False
    if hasattr(inner, "is_finished"):  # brotli's
        return not inner.is_finished()
    if inner.eof:
        return False
    state = getattr(decoder, "_state", GzipDecoderState.FIRST_MEMBER)
    if state == GzipDecoderState.OTHER_MEMBERS:
        # Rubbish behind the first member is fine; zlib knows it from the second byte on.
        try:
            inner.copy().decompress(b"\0")
        except zlib.error as error:
            return "incorrect header check" not in str(error)
    return bool(state != GzipDecoderState.SWALLOW_DATA)


_CANCELLED = "cancelled"
_DAMAGED_CHUNKS = "the response ends inside a chunk, or its chunks are damaged"


def _explain_incomplete(error: http.client.IncompleteRead) -> str:
    got = error.partial if isinstance(error.partial, int) else len(error.partial)
    if error.expected is None or isinstance(error, urllib3.exceptions.InvalidChunkLength):
        return _DAMAGED_CHUNKS
    return f"the connection was closed after {got} of {got + error.expected} announced bytes"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Return the errors inside an error, innermost first; urllib3 wraps by argument, too."""
    found: list[BaseException] = []
    queue = [error]
    while queue:
        one = queue.pop(0)
        if one in found:
            continue
        found.append(one)
        inner = [a for a in (*one.args, one.__cause__) if isinstance(a, BaseException)]
        queue += inner
    return reversed(found)


def _closed(error: BaseException) -> bool:
    closed = (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError)
    return any(isinstance(cause, closed) for cause in _causes(error))


def _text(latin: str) -> str:
    """Return what http.client read as Latin-1, as UTF-8 with the other bytes escaped."""
    return latin.encode("latin-1", "replace").decode("utf-8", "surrogateescape")


def _manager(proxy: str | None, options: dict[str, Any]) -> urllib3.PoolManager:
    if proxy is None:
        return urllib3.PoolManager(**options)
    if _is_socks(proxy):
        if find_spec("socks") is None:
            reason = f"the proxy {_without_userinfo(proxy)} needs PySocks: pip install pysocks"
            raise TransportError(reason)
        from urllib3.contrib.socks import SOCKSProxyManager

        return SOCKSProxyManager(proxy, **options)
    parsed = urllib3.util.parse_url(proxy)
    headers = make_headers(proxy_basic_auth=parsed.auth) if parsed.auth else None
    return urllib3.ProxyManager(proxy, proxy_headers=headers, **options)


def _is_socks(proxy: str | None) -> bool:
    return proxy is not None and proxy.lower().startswith("socks")


def _without_userinfo(url: str) -> str:
    scheme, separator, rest = url.partition("://")
    return _show(f"{scheme}{separator}{rest.rpartition('@')[2]}")


def _oddities(response: http.client.HTTPResponse) -> Iterator[str]:
    """Return what the user should know about a response's header."""
    if response.headers.defects:
        yield "the response's header holds a line that is none; the lines below it are lost"
    codings = response.headers.get("Content-Encoding", "")
    for coding in filter(None, (part.strip().lower() for part in codings.split(","))):
        package = _CODINGS.get(coding)
        if coding == "identity" or package == "" or (package and coding in _ACCEPT_ENCODING):
            continue
        hint = f": pip install {package}" if package else ""
        yield f"the body is still encoded as {_show(coding)}, which is not understood{hint}"


def _redirected(request: Request, response: Response, location: str) -> Request:
    """Return the request that follows a redirect."""
    old = _parse_url(request.url)
    try:
        new = _parse_url(urljoin(old.text, location))
    except ValueError as error:
        raise TransportError(f"not a URL to redirect to: {_show(location)}") from error
    headers = request.headers
    method, body = request.method, request.body
    if response.status in (302, 303) and method.upper() not in ("GET", "HEAD"):
        method, body = "GET", None
        dropped = {"content-length", "transfer-encoding", "content-encoding", "expect"}
        headers = tuple((n, v) for n, v in headers if n.lower() not in dropped)
    if new.origin != old.origin:
        private = {"authorization", "cookie", "host", "proxy-authorization"}
        headers = tuple(
            (n, v)
            for n, v in headers
            if n.lower() not in private and not any(s in v for s in request.secrets)
        )
        if body is not None and any(to_bytes(secret) in body for secret in request.secrets):
            raise TransportError(
                f"the server redirects to another origin, {_show(new.text)}; "
                "the body holds a secret and is not sent on"
            )
    userinfo = old.userinfo if new.origin == old.origin else None
    url = f"{new.scheme}://{userinfo}@{new.netloc}{new.target}" if userinfo else new.text
    return attrs.evolve(request, method=method, url=url, headers=headers, body=body)
