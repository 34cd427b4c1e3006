"""Pools of connections, one for each origin, with proxies and TLS.

A request uses the run's proxy, or else the environment's proxy. The environment variables are those
of curl: `http_proxy` and `https_proxy` for one scheme, `all_proxy` for both, in lower or upper
case. `no_proxy` lists hosts that are reached directly. A proxy's user and password are never shown.
"""

from __future__ import annotations

import os
import re
import ssl
import threading
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import unquote

import urllib3

from orgrest import classes
from orgrest.http.auth.basic import of_userinfo
from orgrest.http.transport.connections import Sockets, exact
from orgrest.http.transport.wire import show
from orgrest.installing import install_command
from orgrest.model import OrgrestError, TransportError
from orgrest.regular import compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from orgrest.http.transport.wire import Url
    from orgrest.model import ClientCertificate

_Kind: TypeAlias = "tuple[str, str | None, ClientCertificate | None]"
_Origin: TypeAlias = "tuple[tuple[str, str, int], ClientCertificate | None, str | None]"

_PROXY_VARIABLES = frozenset({"http_proxy", "https_proxy", "all_proxy"})
_PROXY = compiled(
    r"(?P<scheme>https?|socks(?:4a?|5h?)?)://(?:(?P<user>[^\s/?#\\]*)@)?"
    r"(?P<place>(?:\[[0-9a-f:.]+\]|[\w.-]+)(?::[0-9]{1,5})?)/?",
    re.IGNORECASE | re.ASCII,
)


class Pools:
    """The connection pools of one client. Threads may share them.

    `sockets` tracks each connection. `tls` creates the TLS context for a client certificate.
    """

    def __init__(
        self, sockets: Sockets, tls: Callable[[ClientCertificate | None], ssl.SSLContext]
    ) -> None:
        self._sockets = sockets
        self._tls = tls
        self._managers: dict[_Kind, urllib3.PoolManager] = {}
        self._pools: dict[_Origin, tuple[urllib3.HTTPConnectionPool, bool]] = {}
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close all connections."""
        for manager in self._managers.values():
            manager.clear()

    def pool(
        self,
        url: Url,
        certificate: ClientCertificate | None = None,
        given: str | None = None,
    ) -> tuple[urllib3.HTTPConnectionPool, bool]:
        """Return the pool for a URL's origin, and whether a proxy forwards the requests.

        `certificate` is a client certificate. `given` is a proxy to use instead of the
        environment's proxy. Raises `TransportError` if the proxy is invalid, or if the certificate
        cannot be loaded.
        """
        certificate = certificate if url.scheme == "https" else None
        with self._lock:
            origin = (url.origin, certificate, given)
            if origin not in self._pools:
                proxy = proxy_for(url, given)
                key = (url.scheme, proxy, certificate)
                if key not in self._managers:
                    self._managers[key] = self._new_manager(*key)
                pool = self._managers[key].connection_from_host(url.host, url.port, url.scheme)
                forwarded = url.scheme == "http" and proxy is not None and not is_socks(proxy)
                self._pools[origin] = (pool, forwarded)
            return self._pools[origin]

    def refuse_proxy(self, url: Url, given: str | None) -> None:
        """Raise `TransportError` if a proxy would be used for the URL of a WebSocket."""
        scheme = {"ws": "http", "wss": "https"}[url.scheme]
        proxy = proxy_for(classes.evolve(url, scheme=scheme), given)
        if proxy is not None:
            raise TransportError(
                f"WebSockets cannot use the proxy {without_userinfo(proxy)}: add {url.host} to "
                "NO_PROXY"
            )

    def _new_manager(
        self, scheme: str, proxy: str | None, certificate: ClientCertificate | None
    ) -> urllib3.PoolManager:
        options: dict[str, Any] = {"num_pools": 1000, "maxsize": 16}
        if proxy is not None and proxy.lower().startswith("https:"):
            context = self._tls(None)
            context.load_default_certs()  # the proxy's authority may be another than the servers'
            options["proxy_ssl_context"] = options["ssl_context"] = context
        if scheme == "https":
            options["ssl_context"] = self._tls(certificate)
        try:
            manager = _through(proxy, options) if proxy else urllib3.PoolManager(**options)
        except (urllib3.exceptions.HTTPError, ValueError) as error:
            raise TransportError(f"invalid proxy URL: {without_userinfo(proxy or '')}") from error
        pools = manager.pool_classes_by_scheme
        manager.pool_classes_by_scheme = {
            name: exact(pool, self._sockets) for name, pool in pools.items()
        }
        return manager


def tls_context(
    ca: Path | None, certificate: ClientCertificate | None = None, *, insecure: bool
) -> ssl.SSLContext:
    """Return a TLS context that verifies servers with `ca`, or else the system's certificates.

    `certificate` is a client certificate. If `insecure` is set, servers are not verified. Raises
    `OrgrestError` if `ca` is not a file or folder of certificates. Raises `TransportError` if the
    system has no certificates, or if the client certificate cannot be loaded.
    """
    context = _verifying(ca, insecure=insecure)
    if certificate is not None:
        passphrase = certificate.passphrase or ""  # with None, OpenSSL would prompt on the terminal
        try:
            context.load_cert_chain(certificate.file, certificate.key, lambda: passphrase)
        except (OSError, ValueError) as error:  # SSLError is an OSError
            raise TransportError(
                f"could not use the client certificate {certificate.file}: expected a certificate "
                "and its private key in PEM format, and the right passphrase"
            ) from error
    return context


def _verifying(ca: Path | None, *, insecure: bool) -> ssl.SSLContext:
    if insecure:
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    if ca is not None:
        try:
            if ca.is_dir():
                return ssl.create_default_context(capath=str(ca))
            return ssl.create_default_context(cafile=str(ca))
        except ssl.SSLError as error:
            raise OrgrestError(
                "expected a file of certificates in PEM format", file=str(ca)
            ) from error
        except OSError as error:
            raise OrgrestError(
                f"could not read the certificates: {error.strerror}", file=str(ca)
            ) from error
    paths = ssl.get_default_verify_paths()
    if paths.cafile is None and paths.capath is None:
        try:
            certifi = import_module("certifi")
        except ImportError as error:
            command = install_command("certifi")
            reason = f"this system has no TLS root certificates: {command}, or use --ca"
            raise TransportError(reason) from error
        return ssl.create_default_context(cafile=certifi.where())
    return ssl.create_default_context()


def _through(proxy: str, options: dict[str, Any]) -> urllib3.PoolManager:
    auth = urllib3.util.parse_url(proxy).auth or ""
    if is_socks(proxy):
        if find_spec("socks") is None:
            command = install_command("pysocks")
            raise TransportError(f"the proxy {without_userinfo(proxy)} requires PySocks: {command}")
        from urllib3.contrib.socks import SOCKSProxyManager

        user, _, password = map(unquote, auth.partition(":"))
        return SOCKSProxyManager(proxy, user or None, password or None, **options)
    headers = {"proxy-authorization": of_userinfo(auth)} if auth else None
    return urllib3.ProxyManager(proxy, proxy_headers=headers, **options)


def read_proxy(text: str) -> str:
    """Return a proxy's URL, with `http` as the default scheme. Raises OrgrestError if invalid."""
    url = text if "://" in text else f"http://{text}"
    if _PROXY.fullmatch(url) is None:
        shown = without_userinfo(url)
        if shown != url and _PROXY.fullmatch(shown):
            raise OrgrestError(
                f"invalid user or password in the proxy URL {shown}: percent-encode special "
                "characters, such as / as %2F"
            )
        raise OrgrestError(f"invalid proxy URL: {shown}")
    return re.sub(r"^socks(?=:)", "socks5", url, flags=re.IGNORECASE)


def without_userinfo(proxy: str) -> str:
    """Return a proxy's URL without user and password, for display."""
    scheme, separator, rest = proxy.partition("://")
    return show(f"{scheme}{separator}{rest.rpartition('@')[2]}")


def is_socks(proxy: str) -> bool:
    """Return whether a proxy is a SOCKS proxy, which tunnels all requests."""
    return proxy.lower().startswith("socks")


def chosen(named: str, allowed: Iterable[str]) -> str:
    """Return the proxy that a document names, if `allowed` contains it.

    The user and password come from the document, or else from the allowed proxy. Raises
    OrgrestError if the proxy is invalid or not allowed.
    """
    proxy = read_proxy(named)
    for candidate in allowed:
        if _place(candidate) == _place(proxy):
            return proxy if "@" in proxy else candidate
    shown = without_userinfo(proxy)
    raise OrgrestError(
        f"@proxy {shown}: documents can only choose a proxy if the run was started with "
        f"--allow-proxy {shown}"
    )


def _place(proxy: str) -> str:
    return without_userinfo(proxy).lower().rstrip("/")


def proxy_for(url: Url, given: str | None) -> str | None:
    """Return the proxy for a URL: `given`, or else the environment's proxy.

    Returns None if there is no proxy, or if `no_proxy` lists the host. Raises TransportError if the
    proxy is invalid.
    """
    proxy = given
    if not proxy and any(name.lower() in _PROXY_VARIABLES for name in os.environ):
        from urllib.request import getproxies_environment

        proxies = getproxies_environment()
        proxy = proxies.get(url.scheme) or proxies.get("all")
    if not proxy or _is_listed(url, os.environ.get("no_proxy") or os.environ.get("NO_PROXY", "")):
        return None
    try:
        return read_proxy(proxy)
    except OrgrestError as error:
        raise TransportError(error.reason) from None


def _is_listed(url: Url, listed: str) -> bool:
    """Return whether `listed`, the value of `no_proxy`, includes the host of a URL."""
    names = re.split(r"[\s,]+", listed.strip().lower())
    if names == ["*"]:
        return True
    host = url.host.strip("[]").rstrip(".")
    return any(_names(name, host, url.port) for name in names if name)


def _names(name: str, host: str, port: int) -> bool:
    if "/" in name or ":" in host:
        return _holds(name, host)
    name, _, of_port = name.partition(":")
    name = name.strip(".")
    if of_port and of_port != str(port):
        return False
    return bool(name) and (host == name or host.endswith(f".{name}"))


def _holds(network: str, host: str) -> bool:
    import ipaddress

    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network.strip("[]"), strict=False)
    except ValueError:  # a host name, or not a network
        return False
