"""The phases of an exchange and their durations."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
import trustme
from exchanges import tls_of
from servers import RawServer, by_path, response

from orgrest.http.transport.client import Client
from orgrest.model import Request, Timing

if TYPE_CHECKING:
    from pathlib import Path


def slow(connection, _: bytes) -> None:
    time.sleep(0.05)
    connection.sendall(response(b"x" * 10)[:-5])
    time.sleep(0.05)
    connection.sendall(b"x" * 5)


@pytest.mark.parametrize("tls", [False, True])
def test_each_phase_of_a_new_connection_is_timed_and_a_kept_one_has_fewer(
    tls: bool, authority: trustme.CA, tmp_path: Path
) -> None:
    context = tls_of(authority) if tls else None
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    with RawServer(slow, context=context) as server, Client(ca=tmp_path / "ca.pem") as client:
        first, second = (client.send(Request("GET", server.url)) for _ in range(2))
    assert first.timing is not None
    assert second.timing is not None
    assert first.timing.resolve is not None
    assert first.timing.connect is not None
    assert (first.timing.tls is not None) == tls
    assert (second.timing.resolve, second.timing.connect, second.timing.tls) == (None, None, None)
    for one in (first, second):
        timing = one.timing
        assert timing is not None
        assert timing.wait >= 0.05
        assert timing.wait + timing.download >= 0.1
        phases = (timing.resolve, timing.connect, timing.tls, timing.wait, timing.download)
        assert sum(filter(None, phases)) <= one.duration + 0.001


def test_the_times_of_redirects_are_added() -> None:
    answers = {"/": response(b"", "Location: /slow", status="302 Found"), "/slow": slow}
    with RawServer(by_path(answers)) as server, Client() as client:
        timing = client.send(Request("GET", f"{server.url}/")).timing
    assert timing is not None
    assert timing.connect is not None
    assert timing.wait >= 0.05


def test_phases_that_did_not_happen_add_nothing() -> None:
    one, other = Timing(None, 1.0, None, 2.0, 3.0), Timing(4.0, None, None, 5.0, 6.0)
    assert one + other == other + one == Timing(4.0, 1.0, None, 7.0, 9.0)
