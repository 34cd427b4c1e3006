"""A client, a certificate authority, and a server with one of its certificates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import trustme
from exchanges import tls_of
from servers import RawServer, echo

from orgrest.http.transport.client import Client

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def client() -> Iterator[Client]:
    with Client() as opened:
        yield opened


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def tls_server(authority: trustme.CA) -> Iterator[RawServer]:
    with RawServer(echo, context=tls_of(authority)) as server:
        yield server
