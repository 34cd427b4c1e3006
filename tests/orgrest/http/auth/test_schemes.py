"""Every authentication scheme: its syntax, its secrets, and what is sent; without I/O."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orgrest.http import auth
from orgrest.http.auth import flows, oauth2
from orgrest.model import Credentials, OrgrestError, Request, Response

GRANT = oauth2.Grant(oauth2.DEVICE_CODE, "http://a/token", "me", device_url="http://a/device")


def answer(status: int, body: object = None, **headers: str) -> Response:
    lines = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Response(status, "", "1.1", lines, json.dumps(body).encode(), 0.0, "http://a/")


def document(**variables: str) -> auth.DocumentLookups:
    return auth.DocumentLookups(variables.get, lambda grant: f"token of {grant.client}")


@pytest.mark.parametrize(
    ("written", "secrets"),
    [
        ("Digest me pass word", {"pass word"}),
        ("AWS K s3cret token:t0ken region:r service:s", {"s3cret", "t0ken"}),
    ],
)
def test_what_is_computed_for_each_request_shows_no_secret(written: str, secrets: set[str]) -> None:
    found = auth.read(written, document())
    assert isinstance(found, Credentials)
    assert set(found.secrets) == secrets
    assert not any(secret in repr(found) for secret in secrets)
    assert all(any(secret in word for word in found.curl("a")) for secret in secrets)


def test_no_password_for_cognito_is_sent_as_written() -> None:
    with pytest.raises(OrgrestError, match="cannot sign in to AWS Cognito") as caught:
        auth.read("COGNITO me s3cret us-east-1 us-east-1_pool client", document())
    assert "s3cret" not in caught.value.reason
    assert auth.read("Cognito token", document()) == "Cognito token"


def test_a_signed_request_goes_out_once_whatever_comes_back() -> None:
    found = auth.read("AWS K s region:r service:s", document())
    assert isinstance(found, Credentials)
    flow = found.flow(Request("GET", "http://a/b"), "a", "/b")
    sent = next(flow)
    assert (sent.header("Authorization") or "").startswith("AWS4-HMAC-SHA256 Credential=K/")
    with pytest.raises(StopIteration) as done:
        flow.send(answer(401))
    assert done.value.value is None


def test_a_challenge_is_answered_once_and_none_is_told_of() -> None:
    found = auth.read("Digest me you", document())
    assert isinstance(found, Credentials)
    request = Request("GET", "http://a/b")
    flow = found.flow(request, "a", "/b")
    assert next(flow) == request
    challenge = answer(401, WWW_Authenticate='Digest realm="r", nonce="n", qop="auth"')
    assert 'uri="/b"' in (flow.send(challenge).header("Authorization") or "")
    with pytest.raises(StopIteration):
        flow.send(challenge)
    flow = found.flow(request, "a", "/b")
    next(flow)
    with pytest.raises(StopIteration) as done:
        flow.send(answer(401))
    assert "did not ask for Digest" in done.value.value


def test_a_nonce_that_is_too_old_does_not_refuse_the_password() -> None:
    found = auth.read("Digest me you", document())
    assert isinstance(found, Credentials)
    flow = found.flow(Request("GET", "http://a/b"), "a", "/b")
    next(flow)
    flow.send(answer(401, WWW_Authenticate='Digest realm="r", nonce="n", qop="auth"'))
    stale = answer(401, WWW_Authenticate='Digest realm="r", nonce="n2", qop="auth", stale=TRUE')
    again = flow.send(stale).header("Authorization") or ""
    assert 'nonce="n2"' in again
    with pytest.raises(StopIteration) as done:
        flow.send(stale)
    assert done.value.value is None


def test_a_device_is_asked_about_with_pauses_until_it_is_confirmed() -> None:
    flow = flows.issue(GRANT)
    steps: list[Any] = [flow.send(None), flow.send(100.0)]
    device = {"device_code": "D", "user_code": "U", "verification_uri": "http://v", "interval": 3}
    steps += [flow.send(answer(200, device)), flow.send(None), flow.send(103.0)]
    steps += [flow.send(answer(400, {"error": "slow_down"})), flow.send(111.0)]
    assert [type(step).__name__ for step in steps] == [
        *("Pause", "Request", "Message", "Pause", "Request", "Pause", "Request"),
    ]
    assert [step.seconds for step in steps if isinstance(step, flows.Pause)] == [0, 3, 8]
    with pytest.raises(StopIteration) as done:
        flow.send(answer(200, {"access_token": "T", "expires_in": "60"}))
    assert (done.value.value.access, done.value.value.lifetime) == ("T", 60)


def test_a_device_that_is_confirmed_too_late_gets_no_token() -> None:
    flow = flows.issue(GRANT)
    flow.send(None)
    flow.send(0.0)
    device = {"device_code": "D", "verification_uri": "http://v", "expires_in": 10}
    flow.send(answer(200, device))
    flow.send(None)
    with pytest.raises(OrgrestError, match="the device code was not confirmed in time"):
        flow.send(10.0)


@given(st.sampled_from(sorted(auth.SCHEMES)), st.text())
def test_whatever_is_written_behind_a_scheme_is_read_or_refused(name: str, rest: str) -> None:
    for value in (name, f"{name} {rest}", f"{name.upper()} {rest}"):
        found: object = ""
        with contextlib.suppress(OrgrestError):
            found = auth.read(value, document(oauth2_tokenEndpoint="http://a", oauth2_clientId="i"))
        assert isinstance(found, str | Credentials)
