"""`# @ratelimit`: a server gets no more requests than the directive allows."""

from __future__ import annotations

from itertools import pairwise

import pytest
from evaluated import Evaluated
from hypothesis import given
from hypothesis import strategies as st
from servers import RawServer, response

from orgrest.http.transport.client import Client
from orgrest.run.directives import ratelimit
from orgrest.run.directives.ratelimit import Limit, wait
from orgrest.run.outcomes import EvaluationError
from orgrest.run.run import Run
from orgrest.run.services import Services
from orgrest.run.settings import RetryPolicy, Settings

MILLISECONDS = st.integers(1, 2000)


@pytest.fixture(autouse=True)
def _no_earlier_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ratelimit, "SENT", {})


@given(
    st.lists(st.integers(0, 500), min_size=2, max_size=40),
    st.integers(0, 800),
    st.integers(0, 5),
    MILLISECONDS,
)
def test_no_more_are_sent_in_a_time_than_is_allowed(
    pauses: list[int], idle: int, most: int, expire: int
) -> None:
    limit, times = Limit("", idle, most, expire), list[float]()
    now, sent = 0.0, []
    for pause in pauses:
        now += pause
        length = wait(limit, times, now)
        assert length >= 0
        sent.append(now + length)
    assert all(after - before >= idle for before, after in pairwise(sent))
    if most:
        assert all(b - a >= expire for a, b in zip(sent, sent[most:], strict=False))
    # Nothing waits longer than it has to: without the last one it would go at once.
    assert wait(limit, times, sent[-1] + idle + expire) == 0


def test_slots_do_not_wait_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    with RawServer(response(b"{}")) as server:
        client = Client()
        monkeypatch.setattr(client.budget, "wait", waits.append)
        slots = ("a", "b", "a")
        text = "".join(
            f"### {n}\n# @ratelimit slot {slot} minIdleTime 100000\nGET HOST\n"
            for n, slot in enumerate(slots)
        )
        Evaluated(text, url=server.url, client=client)
    assert [wait > 90 for wait in waits if wait] == [True]
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("max 2 expire 1000", Limit("", 0, 2, 1)),
        ("minIdleTime 500", Limit("", 0.5, 0, 0)),
        ("slot: api minIdleTime: 20 max: 3 expire: 50", Limit("api", 0.02, 3, 0.05)),
    ],
)
def test_httpyacs_spellings_are_read(text: str, limit: Limit) -> None:
    assert Limit.read(text) == limit


@pytest.mark.parametrize("text", ["", "soon", "max 2", "expire 5", "max two expire 5", "slot a"])
def test_what_says_no_limit_is_an_error(text: str) -> None:
    with pytest.raises(EvaluationError, match="@ratelimit must be"):
        Limit.read(text)


def test_requests_of_a_file_are_held_back(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    with RawServer(response(b"{}")) as server:
        client = Client()
        monkeypatch.setattr(client.budget, "wait", waits.append)
        one = "# @ratelimit minIdleTime 600000\nGET HOST/\n"
        done = Evaluated("###\n".join([one] * 3), url=server.url, client=client)
    assert (len(done.states), done.reasons) == (3, [])
    # The first goes at once, the others ten minutes after it, and twenty.
    assert [round(wait / 600) for wait in waits if wait] == [1, 2]


def waits_of(
    monkeypatch: pytest.MonkeyPatch, reply: bytes, *texts: str, settings: Settings | None = None
) -> list[int]:
    """Run documents, and return how many times the limit of ten minutes each request waited."""
    waits: list[float] = []
    with RawServer(reply) as server, Client() as client:
        monkeypatch.setattr(client.budget, "wait", waits.append)
        for text in texts:
            run = Run(
                text.replace("HOST", server.url),
                file="a.http",
                settings=settings or Settings(),
                services=Services(client=client),
                plain=True,
            )
            list(run.outcomes())
    return [round(wait / 600) for wait in waits if wait > 60]


def test_documents_of_a_run_do_not_exceed_the_limit_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "# @ratelimit minIdleTime 600000\nGET HOST/\n"
    assert waits_of(monkeypatch, response(b"{}"), text, text, text) == [1, 2]


def test_retries_do_not_exceed_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    down = response(b"", "Retry-After: 0", status="503 Service Unavailable")
    text = "# @ratelimit max 1 expire 600000\nGET HOST/\n"
    settings = Settings(retry_policy=RetryPolicy(2))
    assert waits_of(monkeypatch, down, text, settings=settings) == [1, 2]


def test_polling_does_not_exceed_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "# @ratelimit minIdleTime 600000\nGET HOST/\n\n?? eventually 100ms status == 201\n"
    waits = waits_of(monkeypatch, response(b"{}"), text)
    assert len(waits) > 1
    assert waits == list(range(1, len(waits) + 1))


def test_a_request_for_each_element_of_a_list_does_not_exceed_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "# @ratelimit minIdleTime 600000\nGET HOST/{{$.ids.all[*]}}\n"
    text = f'@ids = {{"all": [1, 2, 3]}}\n\n###\n{text}'
    assert waits_of(monkeypatch, response(b"{}"), text) == [1, 2]


def test_a_request_that_was_not_sent_does_not_delay_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "# @ratelimit minIdleTime 2400000\nGET HOST/\n"
    # The second request waits for 40 minutes. The third would have to wait for 80, but a document
    # may wait for 60 at most, so the fourth is sent 10 minutes after the second.
    last = text.replace("2400000", "600000")
    document = "###\n".join([text, text, text, last])
    assert waits_of(monkeypatch, response(b"{}"), document) == [4, 5]


def test_waiting_for_other_documents_does_not_count_towards_the_limit_of_a_document(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "# @ratelimit minIdleTime 2400000\nGET HOST/\n"
    assert waits_of(monkeypatch, response(b"{}"), text, text, text) == [4, 8]


def test_the_limit_applies_when_the_request_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    # The second request waits for its own limit after the request that it needs has been sent.
    text = (
        "# @ratelimit minIdleTime 600000\nGET HOST/\n\n###\n# @ratelimit minIdleTime 600000\n"
        "GET HOST/{{last.response.body.$.x}}\n\n###\n# @name last\n"
        "# @ratelimit minIdleTime 600000\nGET HOST/\n"
    )
    assert waits_of(monkeypatch, response(b'{"x": 1}', "Content-Type: application/json"), text) == [
        1,
        2,
    ]


def test_a_wait_that_is_too_long_is_reported_with_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "# @ratelimit minIdleTime 4000000\nGET http://localhost:1/\n"
    client = Client()
    monkeypatch.setattr(client.budget, "wait", lambda _: None)
    [_, outcome] = Evaluated(f"{text}\n###\n{text}", client=client).outcomes
    assert str(outcome.reason).startswith("a.http:5:1: @ratelimit can make a run wait for at most")
