"""Exchanges over real sockets: what a server received, why a client failed, TLS for a server."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

import pytest

from orgrest.model import Request, TransportError

if TYPE_CHECKING:
    import trustme
    from servers import RawServer

    from orgrest.http.transport.client import Client


def head_of(raw: bytes) -> list[str]:
    return raw.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")


def headers_sent(server: RawServer, index: int = -1) -> dict[str, str]:
    lines = head_of(server.requests[index])[1:]
    return {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}


def failure(client: Client, request: Request, **options: float) -> str:
    with pytest.raises(TransportError) as caught:
        client.send(request, **options)
    return caught.value.reason


def tls_of(authority: trustme.CA, name: str = "127.0.0.1") -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    return context
