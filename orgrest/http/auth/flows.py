"""Flows that obtain OAuth 2.0 tokens.

A flow is a generator without side effects. It yields steps (requests, pauses, messages and logins),
and receives the result of each step. `tokens` runs flows.

Servers are not trusted: a flow checks the size of a response, the types of its values, and whether
a header may contain its tokens.

Sources: RFC 6749 (grants, refresh tokens), RFC 7636 (PKCE, always with S256), RFC 8252 (loopback
redirects), RFC 8628 (devices), RFC 9207 (the issuer in a response), RFC 9700 (security).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import parse_qsl, quote_plus, urlencode

from orgrest import classes
from orgrest.http.auth.basic import basic
from orgrest.http.auth.oauth2 import CODE, DEVICE_CODE, PASSWORD, Grant, is_page, origin
from orgrest.model import BROKEN_OFF, OrgrestError, Request, TransportError, short
from orgrest.structured import json_or

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from orgrest.model import Response

LONGEST_LOGIN = 300.0
"""The maximum time for the user to sign in with a browser, in seconds."""
PATIENCE = 600.0
"""The maximum time for the user to confirm a device code, in seconds."""
_DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_LARGEST = 2**20
"""The maximum size of a response that may contain a token, in bytes."""
_LEAST_INTERVAL = 0.2
_MOST_INTERVAL = 60.0
_SLOWER = 5.0  # seconds to add after each slow_down: RFC 8628, section 3.5
_OTHER_TYPES = frozenset({"dpop", "mac", "pop"})
_REFUSALS = frozenset({"invalid_client", "invalid_grant", "unauthorized_client"})
"""Token types that require a proof of possession, which orgrest does not support."""


class RefusedError(OrgrestError):
    """Raised if a token server refuses the credentials (RFC 6749, section 5.2)."""


@classes.frozen
class Token:
    """A token that a server issued. `lifetime` is in seconds, or None if it is unknown."""

    access: str = classes.field(repr=False)
    refresh: str | None = classes.field(repr=False)
    identity: str | None = classes.field(repr=False)
    lifetime: float | None

    @property
    def secrets(self) -> tuple[str, ...]:
        """The values that must not be shown."""
        return tuple(filter(None, (self.access, self.refresh, self.identity)))


@classes.frozen
class Pause:
    """A step of a flow: wait. The result is the value of `Steps.clock` afterwards, in seconds."""

    seconds: float


@classes.frozen
class Message:
    """A step of a flow: show a message to the user.

    `url` is the page to open for the user, or None if opening the page in the message is not safe.
    """

    text: str
    url: str | None = None


@classes.frozen
class Visit:
    """A step of a flow: let the user sign in on a page that redirects to a loopback address.

    The result is that address, with the query parameters that the redirect sent there.
    """

    grant: Grant
    state: str = classes.field(repr=False)
    challenge: str

    def url(self, redirect: str) -> str:
        """Return the URL of the page to open, which redirects to `redirect` (RFC 6749, 4.1.1)."""
        grant = self.grant
        parameters = {
            "response_type": "code",
            "client_id": grant.client,
            "redirect_uri": redirect,
            "scope": grant.scope,
            "state": self.state,
            "code_challenge": self.challenge,
            "code_challenge_method": "S256",
        }
        additional = [
            (name, value) for name, value in grant.more_to_sign_in if name not in parameters
        ]
        query = urlencode(
            [(name, value) for name, value in parameters.items() if value] + additional
        )
        return f"{grant.auth_url}{'&' if '?' in grant.auth_url else '?'}{query}"

    def is_answer(self, parameters: Mapping[str, str]) -> bool:
        """Return whether query parameters are the response to this login.

        Any web page can send requests to the loopback address, so `state` must match.
        """
        from hmac import compare_digest

        state = parameters.get("state", "").encode("utf-8", "surrogatepass")
        return compare_digest(state, self.state.encode())


Step: TypeAlias = Request | Pause | Message | Visit
Flow: TypeAlias = "Generator[Step, Any, Token]"
"""A generator that returns a token. It yields steps, and the result of each step is sent to it.

The error of a failed request is thrown into the generator. Raises OrgrestError if the server issues
no token.
"""


def issue(grant: Grant) -> Flow:
    """Return the flow that requests a new token for a grant."""
    if grant.refresh:
        return refresh(grant, grant.refresh)
    if grant.flow == CODE:
        return _with_code(grant)
    if grant.flow == DEVICE_CODE:
        return _of_device(grant)
    form = {"grant_type": grant.flow, "scope": grant.scope}
    if grant.flow == PASSWORD:
        form |= {"username": grant.user, "password": grant.password}
    return _ask(grant, form)


def refresh(grant: Grant, token: str) -> Flow:
    """Request a new token with the refresh token `token` (RFC 6749, section 6)."""
    form = {"grant_type": "refresh_token", "refresh_token": token, "scope": grant.scope}
    new = yield from _ask(grant, form, hidden=(token,))
    return new if new.refresh else classes.evolve(new, refresh=token)


def _with_code(grant: Grant) -> Flow:
    """Run the authorization code flow (RFC 6749, section 4.1)."""
    from base64 import urlsafe_b64encode
    from hashlib import sha256
    from secrets import token_urlsafe

    verifier = token_urlsafe(48)
    challenge = urlsafe_b64encode(sha256(verifier.encode()).digest()).decode().rstrip("=")
    redirect, answer = yield Visit(grant, token_urlsafe(32), challenge)
    _check_issuer(grant, answer)
    if "error" in answer:
        raise _error(f"{_place(grant.auth_url)} refused the login", answer)
    code = answer.get("code", "")
    if not code:
        raise _error(
            f"{_place(grant.auth_url)} redirected back without an authorization code", answer
        )
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": redirect,
        "code_verifier": verifier,
    }
    return (yield from _ask(grant, form, hidden=(code, verifier)))


def _check_issuer(grant: Grant, answer: Mapping[str, str]) -> None:
    issuer = answer.get("iss")  # RFC 9207
    if grant.issuer:
        if issuer == grant.issuer:
            return
    elif issuer is None or origin(issuer) == origin(grant.auth_url):
        return
    actual = f"the issuer {short(ascii(issuer), 100)}" if issuer is not None else "no issuer"
    expected = grant.issuer or origin(grant.auth_url)
    raise OrgrestError(
        f"the user logged in at {_place(grant.auth_url)}, but the response names {actual} "
        f"instead of the issuer {expected}, so the code was not used (to accept another issuer, "
        "set `issuer` in the OAuth 2.0 settings)",
        code="credentials",
    )


def _of_device(grant: Grant) -> Flow:
    """Run the device authorization flow (RFC 8628)."""
    began = yield Pause(0)
    response = yield _post(grant, grant.device_url, {"scope": grant.scope}, grant.more_to_sign_in)
    device = _json_object(response)
    code, user_code = device.get("device_code"), device.get("user_code")
    where = device.get("verification_uri") or device.get("verification_url")
    if response.status != 200 or not (isinstance(code, str) and code and isinstance(where, str)):
        raise _refused(grant.device_url, response, device)
    whole = device.get("verification_uri_complete")
    page = whole if isinstance(whole, str) and whole else where
    yield Message(
        f"to sign in, open {page} and {'check' if page is whole else 'enter'} the code {user_code}",
        page if is_page(page) else None,
    )
    interval = _number(device.get("interval"), 5.0, most=_MOST_INTERVAL)
    interval = max(interval, _LEAST_INTERVAL)
    end = began + _number(device.get("expires_in"), PATIENCE, most=PATIENCE)
    form = {"grant_type": _DEVICE_GRANT, "device_code": code}
    while (yield Pause(interval)) < end:
        try:
            response = yield _post(grant, grant.token_url, form, (), hidden=(code,))
        except TransportError as error:
            if error.code == BROKEN_OFF:
                raise
            interval = min(interval * 2, _MOST_INTERVAL)
            continue
        error_code = _json_object(response).get("error") if response.status != 200 else None
        if error_code == "slow_down":
            interval = min(interval + _SLOWER, _MOST_INTERVAL)
        elif error_code != "authorization_pending":
            return _issued(grant, response)
    raise OrgrestError("the device code was not confirmed in time", code="credentials")


def _ask(grant: Grant, form: dict[str, str], *, hidden: tuple[str, ...] = ()) -> Flow:
    response = yield _post(grant, grant.token_url, form, grant.more, hidden=hidden)
    return _issued(grant, response)


def _post(
    grant: Grant,
    url: str,
    form: dict[str, str],
    more: tuple[tuple[str, str], ...],
    *,
    hidden: tuple[str, ...] = (),
) -> Request:
    headers = [
        ("Content-Type", "application/x-www-form-urlencoded"),
        ("Accept", "application/json"),
    ]
    if grant.basic and grant.secret:
        # RFC 6749, section 2.3.1: identifier and secret are form-encoded first
        pair = f"{quote_plus(grant.client)}:{quote_plus(grant.secret)}"
        headers.append(("Authorization", basic(pair.encode())))
    else:
        form = {**form, "client_id": grant.client, "client_secret": grant.secret}
    fields = [(name, value) for name, value in form.items() if value]
    body = urlencode([*fields, *more]).encode()
    return Request("POST", url, tuple(headers), body, secrets=frozenset(hidden))


def _json_object(response: Response) -> dict[str, Any]:
    content = None if _is_too_large(response) else json_or(response.body)
    return content if isinstance(content, dict) else {}


def _is_too_large(response: Response) -> bool:
    return response.truncated or len(response.body) > _LARGEST


def _issued(grant: Grant, response: Response) -> Token:
    content = _json_object(response)
    access, kind = content.get("access_token"), content.get("token_type")
    if response.status != 200 or not isinstance(access, str) or not _fits_header(access):
        raise _refused(grant.token_url, response, content)
    if isinstance(kind, str) and kind.lower() in _OTHER_TYPES:
        reason = (
            f"{_place(grant.token_url)} returned a {kind} token, which requires proof of possession"
        )
        raise OrgrestError(f"{reason}: only Bearer tokens are supported", code="credentials")
    new, identity = content.get("refresh_token"), content.get("id_token")
    lifetime = _number(content.get("expires_in"), -1, most=1e9)
    return Token(
        access,
        new if isinstance(new, str) and new else None,
        identity if isinstance(identity, str) and _fits_header(identity) else None,
        lifetime if lifetime >= 0 else None,
    )


def secrets_in(response: Response) -> frozenset[str]:
    """Return the secret values in the response to a flow's request."""
    members = _json_object(response).items()
    return frozenset(
        value
        for name, value in members
        if isinstance(value, str) and value and name.endswith(("token", "device_code"))
    )


def parameters_in(query: str) -> dict[str, str] | None:
    """Return a redirect's parameters, or None if a parameter is repeated (RFC 6749, 3.1)."""
    try:
        pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=50)
    except ValueError:
        return None
    return dict(pairs) if len(dict(pairs)) == len(pairs) else None


def _place(url: str) -> str:
    return url.partition("?")[0]


def _fits_header(text: str) -> bool:
    return bool(text) and text.isascii() and text.isprintable()


def _number(value: object, default: float, *, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return default
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return default
    return min(number, most) if number >= 0 else default


def _refused(url: str, response: Response, content: dict[str, Any]) -> OrgrestError:
    if _is_too_large(response):
        content = {"error": f"a response larger than {_LARGEST // 2**20} MiB"}
    error = _error(f"{_place(url)} returned no token (status {response.status})", content)
    if content.get("error") in _REFUSALS:
        return RefusedError(error.reason, code=error.code)
    return error


def _error(what: str, content: Mapping[str, Any]) -> OrgrestError:
    messages = [  # RFC 6749, section 5.2
        content[key] for key in ("error", "error_description") if isinstance(content.get(key), str)
    ]
    details = short(": ".join(messages), 200)
    details = details if details.isprintable() else ascii(details)
    return OrgrestError(f"{what}{': ' if details else ''}{details}", code="credentials")
