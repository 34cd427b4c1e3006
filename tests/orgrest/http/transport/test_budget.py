"""A run ends when its requests, its time or its bytes are used up, whatever the documents say."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from servers import RawServer, response

from orgrest.http.transport.client import Client
from orgrest.http.transport.limits import MOST_BYTES, BrokenOffError, Budget
from orgrest.model import OrgrestError, Request

if TYPE_CHECKING:
    from collections.abc import Callable


def serving(body: bytes) -> RawServer:
    return RawServer(lambda connection, _: connection.sendall(response(body)))


def test_nothing_is_waited_for_when_the_run_is_over() -> None:
    Budget().wait(0)
    Budget(seconds=60).wait(0)
    with pytest.raises(OrgrestError, match=r"--max-time"):
        Budget(seconds=-1).wait(0)
    with pytest.raises(OrgrestError, match=r"--max-time"):
        Budget(seconds=60).wait(90)
    stopped = Budget()
    stopped.stop("interrupted")
    with pytest.raises(OrgrestError, match="interrupted"):
        stopped.wait(0)


def test_who_waits_is_woken_when_the_run_is_stopped() -> None:
    budget = Budget()
    threading.Timer(0.05, budget.stop, ["interrupted"]).start()
    with pytest.raises(BrokenOffError, match="interrupted"):
        budget.wait(600)


def test_no_request_is_sent_once_the_bytes_are_used_up() -> None:
    with serving(b"12345") as server, Client(budget=Budget(size=9)) as client:
        for _ in range(2):  # what was begun is received
            assert client.send(Request("GET", server.url)).body == b"12345"
        with pytest.raises(
            BrokenOffError, match="not sent: the run has reached its limit on received bytes"
        ):
            client.send(Request("GET", server.url))
        assert len(server.requests) == 2
        assert client.budget.spent == "the run has reached its limit on received bytes"


def test_all_of_the_bytes_may_be_received() -> None:
    with serving(b"12345") as server, Client(budget=Budget(size=10)) as client:
        for _ in range(2):
            client.send(Request("GET", server.url))
        assert not client.budget.spent


def test_by_default_a_run_may_receive_64_gib() -> None:
    budget = Budget()
    budget.receive(MOST_BYTES)
    assert (budget.spent, MOST_BYTES) == ("", 64 * 2**30)
    budget.receive(1)
    assert "the run has reached its limit on received bytes" in budget.spent


def test_redirects_count_as_requests() -> None:
    there = response(b"", "Location: /", status="302 Found")
    with RawServer(lambda connection, _: connection.sendall(there)) as server:
        with Client(budget=Budget(3)) as client, pytest.raises(BrokenOffError, match="3 requests"):
            client.send(Request("GET", server.url))
        assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("spend", "reason"),
    [
        (lambda budget: budget.stop("interrupted"), "interrupted"),
        (
            lambda budget: budget.receive(MOST_BYTES + 1),
            "the run has reached its limit on received bytes",
        ),
    ],
)
def test_the_first_reason_counts(spend: Callable[[Budget], None], reason: str) -> None:
    budget = Budget()
    assert budget.spent == ""
    spend(budget)
    budget.stop("something else") if reason == "interrupted" else None
    assert reason in budget.spent


def test_a_teardown_has_a_time_of_its_own_but_no_more_requests() -> None:
    run = Budget(2, seconds=-1)
    assert "--max-time" in run.spent
    late = Budget(seconds=30, after=run)
    assert late.spent == ""
    assert 0 < (late.left() or 0) <= 30
    late.send()
    run.send()
    with pytest.raises(BrokenOffError, match="2 requests"):
        late.send()


def test_when_the_reports_are_written_not_even_a_teardown_is_sent_any_more() -> None:
    run = Budget()
    late = Budget(seconds=30, after=run)
    run.stop("interrupted")
    late.send()
    run.refuse("interrupted")
    with pytest.raises(BrokenOffError, match="not sent: interrupted"):
        late.send()


def test_the_time_of_a_teardown_begins_when_the_run_ends() -> None:
    run = Budget()
    late = Budget(seconds=30, after=run)
    assert (late.deadline, late.left()) == (None, None)
    run.stop("interrupted")
    assert late.spent == ""
    assert 0 < (late.left() or 0) <= 30
    late.wait(0)
    timed = Budget(seconds=3600)
    assert Budget(seconds=30, after=timed).deadline == (timed.deadline or 0) + 30


def test_no_request_is_sent_once_the_time_is_over() -> None:
    with serving(b"x") as server, Client(budget=Budget(seconds=-1)) as client:
        with pytest.raises(BrokenOffError, match=r"not sent: the time .* --max-time|not sent"):
            client.send(Request("GET", server.url))
        assert not server.requests
