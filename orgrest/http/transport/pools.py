"""Pools of connections: one for each origin, through proxies, with TLS."""

from __future__ import annotations

import ssl
import threading
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs
import urllib3
from urllib3.util import make_headers

from orgrest.http.transport.connections import Sockets, exact
from orgrest.http.transport.proxies import is_socks, proxy_for, without_userinfo
from orgrest.http.transport.urls import Url
from orgrest.installing import install_command
from orgrest.model import OrgrestError, TransportError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from orgrest.model import ClientCertificate


_Kind: TypeAlias = "tuple[str, str | None, ClientCertificate | None]"
_Origin: TypeAlias = "tuple[tuple[str, str, int], ClientCertificate | None, str | None]"


class Pools:
    """The pools of one client. Safe to share by threads.

    `sockets` tracks each connection; `tls` creates the context when a pool first needs one, for
    each client certificate.
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
        """Return the pool for a URL's origin, and whether a proxy forwards its requests.

        The connections use `certificate`, and the proxy that is given, else the environment's.
        Raises `TransportError` for an invalid proxy, and for a
        certificate that cannot be loaded.
        """
        certificate = certificate if url.scheme == "https" else None
        with self._lock:
            origin = (url.origin, certificate, given)
            if origin not in self._pools:
                proxy = _proxy(url, given)
                key = (url.scheme, proxy, certificate)
                if key not in self._managers:
                    self._managers[key] = self._new_manager(*key)
                pool = self._managers[key].connection_from_host(url.host, url.port, url.scheme)
                forwarded = url.scheme == "http" and proxy is not None and not is_socks(proxy)
                self._pools[origin] = (pool, forwarded)
            return self._pools[origin]

    def refuse_proxy(self, url: Url, given: str | None) -> None:
        """Raise `TransportError` if there is a proxy for a WebSocket."""
        scheme = {"ws": "http", "wss": "https"}[url.scheme]
        proxy = _proxy(attrs.evolve(url, scheme=scheme), given)
        if proxy is not None:
            raise TransportError(
                f"WebSockets do not go through the proxy {without_userinfo(proxy)}: "
                f"name the host in NO_PROXY, {url.host}"
            )

    def _new_manager(
        self, scheme: str, proxy: str | None, certificate: ClientCertificate | None
    ) -> urllib3.PoolManager:
        options: dict[str, Any] = {"num_pools": 1000, "maxsize": 16}
        if scheme == "https":
            options["ssl_context"] = self._tls(certificate)
        try:
            manager = _manager(proxy, options)
        except (urllib3.exceptions.HTTPError, ValueError) as error:
            raise TransportError(f"not a proxy: {without_userinfo(proxy or '')}") from error
        pools = manager.pool_classes_by_scheme
        manager.pool_classes_by_scheme = {
            name: exact(pool, self._sockets) for name, pool in pools.items()
        }
        return manager


def tls_context(
    ca: Path | None, certificate: ClientCertificate | None = None, *, insecure: bool
) -> ssl.SSLContext:
    """Return the context that verifies servers with `ca`, else with the system's certificates.

    It uses the client `certificate`. Raises `OrgrestError` if `ca` is not a file or folder of
    certificates, `TransportError` if the system has none or a certificate cannot be loaded.
    """
    context = _verifying(ca, insecure=insecure)
    if certificate is not None:
        passphrase = certificate.passphrase or ""  # with None, OpenSSL would ask on the terminal
        try:
            context.load_cert_chain(certificate.file, certificate.key, lambda: passphrase)
        except (OSError, ValueError) as error:  # SSLError is an OSError
            raise TransportError(
                f"the client certificate {certificate.file} cannot be used: no certificate and "
                "private key in PEM, or another passphrase"
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
            raise OrgrestError("not a file of PEM certificates", file=str(ca)) from error
        except OSError as error:
            raise OrgrestError(
                f"cannot read the certificates: {error.strerror}", file=str(ca)
            ) from error
    paths = ssl.get_default_verify_paths()
    if paths.cafile is None and paths.capath is None:
        try:
            certifi = import_module("certifi")
        except ImportError as error:
            command = install_command("certifi")
            reason = f"this system has no TLS root certificates: {command}, or give --ca"
            raise TransportError(reason) from error
        return ssl.create_default_context(cafile=certifi.where())
    return ssl.create_default_context()


def _proxy(url: Url, given: str | None) -> str | None:
    try:
        return proxy_for(url, given)
    except OrgrestError as error:
        raise TransportError(error.reason) from None


def _manager(proxy: str | None, options: dict[str, Any]) -> urllib3.PoolManager:
    if proxy is None:
        return urllib3.PoolManager(**options)
    if is_socks(proxy):
        if find_spec("socks") is None:
            command = install_command("pysocks")
            raise TransportError(f"the proxy {without_userinfo(proxy)} needs PySocks: {command}")
        from urllib3.contrib.socks import SOCKSProxyManager

        return SOCKSProxyManager(proxy, **options)
    parsed = urllib3.util.parse_url(proxy)
    headers = make_headers(proxy_basic_auth=parsed.auth) if parsed.auth else None
    return urllib3.ProxyManager(proxy, proxy_headers=headers, **options)
