"""Retries: which requests are safe to repeat, after which delay, until which assertion holds."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest
import trustme
from exchanges import tls_of
from servers import RawServer, closing, response

from orgrest.model import Response
from orgrest.run.settings import MOST_DELAY, retry_after

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RETRY = ("--retry", "2", "--retry-delay", "0.01")


def in_turn(*answers: bytes) -> RawServer:
    """Return a server that gives one response after the other, and then repeats the last."""
    left: Iterator[bytes] = iter(answers[:-1])

    def answer(connection, request: bytes) -> None:
        found = next(left, answers[-1])
        if found:
            connection.sendall(found)
        else:
            closing(b"")(connection, request)

    return RawServer(answer)


BUSY, OK = response(b"", status="503 Busy"), response(b'{"state": "done"}')


@pytest.mark.parametrize(
    ("method", "answers", "sent", "outcome"),
    [
        ("GET", (BUSY, BUSY, OK), 3, "passed"),
        ("GET", (BUSY, BUSY, BUSY, OK), 3, "failed"),
        ("PUT", (response(b"", status="429 Slow"), OK), 2, "passed"),
        ("DELETE", (b"", OK), 2, "passed"),
        ("GET", (b"", b"", b"", OK), 3, "error"),
        ("GET", (response(b"", status="500 Broken"), OK), 1, "failed"),
        ("GET", (response(b"", status="404 None"), OK), 1, "failed"),
        ("POST", (BUSY, OK), 1, "failed"),
        ("PATCH", (BUSY, OK), 1, "failed"),
        ("POST", (b"", OK), 1, "error"),
        ("GET", (response(b"", "Retry-After: 3600", status="503 Busy"), OK), 1, "failed"),
        ("GET", (response(b"", "Retry-After: 0", status="503 Busy"), OK), 2, "passed"),
    ],
)
def test_only_what_is_safe_is_sent_again(
    run, method: str, answers: tuple[bytes, ...], sent: int, outcome: str
) -> None:
    with in_turn(*answers) as server:
        done = run(*RETRY, "a.http", a_http=f"{method} {server.url}\n")
        # The transport itself sends once more on a kept connection that was closed meanwhile.
        assert len(server.requests) == sent
    assert done.outcomes == [outcome]
    assert done.requests[0]["exchanges"][0]["attempts"] == sent


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("ws://127.0.0.1:1/", "connection to 127.0.0.1:1 refused"),
        ("ws://no-such-host.invalid/", "could not resolve the host name no-such-host.invalid"),
    ],
)
def test_a_websocket_without_a_connection_is_opened_again_and_its_host_is_named(
    run, url: str, reason: str
) -> None:
    [request] = run(*RETRY, "a.http", a_http=f"WEBSOCKET {url}\n\na\n").requests
    assert request["reason"] == reason
    assert request["exchanges"][0]["attempts"] == 3


@pytest.mark.parametrize("assertion", ["", "?? eventually 30s status == 200\n"])
def test_nobody_waits_for_retries_that_cannot_make_a_certificate_valid(run, assertion: str) -> None:
    context = tls_of(trustme.CA(), "127.0.0.1")
    with RawServer(response(b""), context=context) as server:
        text = f"GET {server.url}\n\n{assertion}"
        [request] = run("--retry", "2", "--retry-delay", "9", "a.http", a_http=text).requests
    assert request["reason"].startswith("the server's TLS certificate is invalid: ")
    assert request["exchanges"][0]["attempts"] == 1


def test_a_token_is_requested_again_until_its_server_can_be_reached(run) -> None:
    text = (
        "@d_tokenEndpoint = http://127.0.0.1:1/token\n@d_clientId = me\n@d_clientSecret = x\n\n"
        "GET HOST/json\nAuthorization: oauth2 client_credentials d\n"
    )
    [request] = run(*RETRY, "a.http", a_http=text).requests
    refused = "connection to 127.0.0.1:1 refused"
    assert request["reason"].endswith(f"could not get a token from http://127.0.0.1:1: {refused}")
    [last] = request["exchanges"]
    assert [one["error"] for one in (*last["earlier"], last)] == [refused] * 3


LIMITED = response(b"", "Retry-After: 0", status="429 Slow")


@pytest.mark.parametrize(
    ("assertions", "sent", "outcome"),
    [
        ("?? status == 429\n?? header Retry-After == 0\n", 1, "passed"),
        ("?? status in 200, 4xx\n", 1, "passed"),
        ("?? js response.statusCode === 429\n", 1, "passed"),
        ("?? status >= 400\n?? status < 429\n", 2, "failed"),
        ("?? status == 200\n", 2, "passed"),
        ("?? status != 404\n?? status < 600\n?? status not in 404, 500\n", 2, "passed"),
        ("?? header Retry-After == 0\n", 2, "failed"),
    ],
)
def test_a_status_that_assertions_ask_for_is_not_retried(
    run, assertions: str, sent: int, outcome: str
) -> None:
    with in_turn(LIMITED, OK) as server:
        done = run(*RETRY, "a.http", a_http=f"GET {server.url}\n{assertions}")
        assert len(server.requests) == sent
    assert done.outcomes == [outcome]


@pytest.mark.parametrize(("expected", "sent"), [("429", 1), ("200 4xx", 1), ("200", 2)])
def test_a_status_that_expect_lists_is_not_retried(run, expected: str, sent: int) -> None:
    with in_turn(LIMITED, OK) as server:
        text = f"#+begin_src http :expect {expected}\nGET {server.url}\n#+end_src\n"
        assert run(*RETRY, "a.org", a_org=text).outcomes == ["passed"]
        assert len(server.requests) == sent


def test_the_number_of_attempts_is_shown(run, folder: Path) -> None:
    text = "### busy\nGET BUSY\n### polled\nGET POLLED\n?? eventually 20s body.state == done\n"
    text += "### broken\nGET BROKEN\n### once\nGET HOST/json\n"
    open_ = response(b'{"state": "open"}')
    with in_turn(BUSY, BUSY, OK) as busy, in_turn(open_, OK) as polled, in_turn(b"") as broken:
        for name, server in (("BUSY", busy), ("POLLED", polled), ("BROKEN", broken)):
            text = text.replace(name, server.url)
        done = run(*RETRY, "--junit", "r.xml", "--tap", "r.tap", "a.http", a_http=text)
    lines = [line for line in done.err.splitlines() if line.startswith(("ok", "ERROR"))]
    assert [re.findall(r"\d attempts$", line) for line in lines] == [
        ["3 attempts"],
        ["2 attempts"],
        ["3 attempts"],
        [],
    ]
    cases = ElementTree.parse(folder / "r.xml").findall("./testsuite/testcase")
    assert [case.findtext("system-out") for case in cases] == [
        "3 attempts",
        "2 attempts",
        "3 attempts",
        None,
    ]
    tap = (folder / "r.tap").read_text()
    assert re.findall("^# .*", tap, re.MULTILINE) == [f"# {n} attempts" for n in (3, 2, 3)]


def test_a_server_that_asks_for_a_long_wait_is_noted(run) -> None:
    with in_turn(response(b"", "Retry-After: 3600", status="503 Busy")) as server:
        done = run(*RETRY, "a.http", a_http=f"GET {server.url}\n")
        expected = run(*RETRY, "a.http", a_http=f"GET {server.url}\n?? status == 503\n")
        assert run("a.http", a_http=f"GET {server.url}\n").requests[0]["notes"] == []
    note = "not retried: Retry-After is 3600, which is more than 60 s"
    assert done.requests[0]["notes"] == [note]
    assert note in done.err
    assert expected.requests[0]["notes"] == []


def test_a_request_that_is_polled_is_not_said_to_be_sent_only_once(run) -> None:
    busy = response(b"", "Retry-After: 3600", status="503 Busy")
    with in_turn(busy, busy, OK) as server:
        text = f"GET {server.url}\n?? eventually 20s status == 200\n"
        [record] = run(*RETRY, "a.http", a_http=text).requests
    assert (record["outcome"], record["notes"]) == ("passed", [])


def test_nothing_is_sent_again_unless_that_is_requested(run) -> None:
    with in_turn(BUSY, OK) as server:
        assert run("a.http", a_http=f"GET {server.url}").outcomes == ["failed"]


def test_what_reached_nobody_is_sent_again_whatever_its_method(run) -> None:
    [request] = run(*RETRY, "a.http", a_http="POST http://127.0.0.1:1/\n\nx").requests
    assert request["exchanges"][0]["attempts"] == 3


@pytest.mark.parametrize(
    ("name", "text", "advice"),
    [
        ("a.http", "GET URL/\n", "# @no-redirect"),
        ("a.org", "#+begin_src restclient\nGET URL/\n#+end_src\n", ":follow no"),
        ("a.org", "#+begin_src http\nGET URL/\n#+end_src\n", ":follow no"),
        ("a.org", "* a :verb:\nget URL/\n", ":follow no"),
    ],
)
def test_the_advice_against_a_redirect_loop_is_what_the_document_can_say(
    run, name: str, text: str, advice: str
) -> None:
    with in_turn(response(b"", "Location: /", status="302 Found")) as server:
        given = {name.replace(".", "_"): text.replace("URL", server.url)}
        [request] = run(name, **given).requests
    assert request["reason"].endswith(f"(to see the first response, use {advice})")


@pytest.mark.parametrize(
    ("location", "sent", "reason"),
    [
        ("/", 11, "too many redirects: gave up after 10"),
        ("http://[", 1, "invalid redirect URL:"),
        ("ftp://a/", 1, "invalid redirect"),
    ],
)
@pytest.mark.parametrize("waits", ["", "?? eventually 60s status == 200\n"])
def test_a_redirect_that_cannot_be_followed_is_not_sent_again(
    run, location: str, sent: int, reason: str, waits: str
) -> None:
    with in_turn(response(b"", f"Location: {location}", status="302 Found")) as server:
        [request] = run(*RETRY, "a.http", a_http=f"GET {server.url}/\n{waits}").requests
        assert len(server.requests) == sent
    assert reason in request["reason"]


def test_a_server_cannot_make_a_run_longer_than_it_may_be(run) -> None:
    with in_turn(response(b"", "Retry-After: 50", status="503 Busy")) as server:
        text = f"GET {server.url}\n?? status == 200\n"
        done = run(*RETRY, "--max-time", "5", "a.http", a_http=text)
    assert done.outcomes == ["error"]
    assert "--max-time" in done.requests[0]["reason"]
    assert [one["reason"] for one in done.requests[0]["assertions"]] == ["status is 503"]


@pytest.mark.parametrize(
    ("given", "least", "most"),
    [
        ("7", 7, 7),
        (" 0 ", 0, 0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0, 0),
        ("9" * 5000, MOST_DELAY, 1e10),
    ],
)
def test_retry_after_is_a_number_or_a_date(given: str, least: float, most: float) -> None:
    answer = Response(503, "", "1.1", (("Retry-After", given),), b"", 0.0, "")
    found = retry_after(answer)
    assert found is not None
    assert least <= found <= most


def test_a_retry_after_in_no_year_is_none() -> None:
    given = ("Retry-After", "Fri, 31 Dec 9999 23:59:59 -2359")
    assert retry_after(Response(503, "", "1.1", (given,), b"", 0.0, "")) is None


def test_retry_after_a_date_is_the_time_until_then() -> None:
    given = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    found = retry_after(Response(503, "", "1.1", (("Retry-After", given),), b"", 0.0, ""))
    assert found is not None
    assert 0 < found <= 3600


@pytest.mark.parametrize("given", ["", "soon", "-1", "1.5", "٣", "Wed, 99 Oct 2015 07:28:00 GMT"])
def test_a_retry_after_that_says_nothing_counts_for_nothing(given: str) -> None:
    answer = Response(503, "", "1.1", (("Retry-After", given),), b"", 0.0, "")
    assert retry_after(answer) is None


class TestEventually:
    def test_a_request_is_sent_until_it_holds(self, run) -> None:
        open_ = response(b'{"state": "open"}')
        with in_turn(open_, open_, OK) as server:
            text = f'POST {server.url}\n?? eventually 20s body.state == "done"\n?? status == 200\n'
            [request] = run("a.http", a_http=text).requests
            assert len(server.requests) == 3
        assert request["outcome"] == "passed"
        assert request["exchanges"][0]["attempts"] == 3
        assert len(request["assertions"]) == 2

    def test_a_service_that_is_still_starting_is_waited_for(self, run) -> None:
        with in_turn(b"", b"", OK) as server:
            text = f"GET {server.url}\n?? eventually 20s status == 200\n"
            assert run("a.http", a_http=text).outcomes == ["passed"]

    def test_what_never_comes_true_fails_when_its_time_is_over(self, run) -> None:
        with in_turn(OK) as server:
            text = f'GET {server.url}\n?? eventually 1500ms body.state == "open"\n'
            [request] = run("a.http", a_http=text).requests
        assert request["outcome"] == "failed"
        assert request["exchanges"][0]["attempts"] > 1

    def test_what_is_never_answered_is_an_error_when_its_time_is_over(self, run) -> None:
        text = "GET http://127.0.0.1:1/\n?? eventually 1500ms status == 200\n"
        [request] = run("a.http", a_http=text).requests
        assert request["outcome"] == "error"
        assert request["exchanges"][0]["attempts"] > 1

    def test_it_works_in_org_documents_too(self, run) -> None:
        with in_turn(response(b"{}"), OK) as server:
            block = f"GET {server.url}\n# ?? eventually 20s body.state == done\n"
            text = f"#+begin_src restclient\n{block}#+end_src\n"
            assert run("a.org", a_org=text).outcomes == ["passed"]
