"""Obtains OAuth 2.0 tokens: the messages of each grant, in order, without input or output.

A flow is a generator: it yields requests to send, pauses, and pages to show to the user, and is
sent the result of each. `tokens` performs it. Sources: RFC 6749 (grants, refresh tokens), RFC 7636
(PKCE, always with S256), RFC 8252 (loopback redirects), RFC 8628 (devices), RFC 9207 (the issuer in
a response), and RFC 9700 (security of all of these).

Everything from a server is checked before it is used: its size, its types, and that a token is
valid in a header.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import parse_qsl, quote_plus, urlencode

import attrs

from orgrest.http.auth.basic import basic
from orgrest.http.auth.oauth2 import CODE, DEVICE_CODE, PASSWORD, Grant, is_page, origin
from orgrest.model import BROKEN_OFF, OrgrestError, Request, TransportError

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from orgrest.model import Response

LONGEST_LOGIN = 300.0
"""The seconds in which the user has to come back from the page where they sign in."""
PATIENCE = 600.0
"""The maximum time that the user has to confirm the code of a device, in seconds."""
_DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_LARGEST = 2**20
"""The maximum size of a response that may hold a token, in bytes."""
_LEAST_INTERVAL = 0.2
_MOST_INTERVAL = 60.0
_SLOWER = 5.0  # seconds more after each slow_down: RFC 8628, section 3.5
_OTHER_TYPES = frozenset({"dpop", "mac", "pop"})
"""Types of tokens that require a proof of possession, which orgrest does not support."""


@attrs.frozen
class Token:
    """The token that a server issued; `lifetime` is in seconds, None if unknown."""

    access: str = attrs.field(repr=False)
    refresh: str | None = attrs.field(repr=False)
    identity: str | None = attrs.field(repr=False)
    lifetime: float | None

    @property
    def secrets(self) -> tuple[str, ...]:
        """The values that must not be shown."""
        return tuple(filter(None, (self.access, self.refresh, self.identity)))


@attrs.frozen
class Pause:
    """A step of a flow: wait this many seconds. The answer is the current time in seconds."""

    seconds: float


@attrs.frozen
class Message:
    """A step of a flow: a text for the user, and the page that it mentions, if that is safe."""

    text: str
    url: str | None = None


@attrs.frozen
class Visit:
    """A step of a flow: the user signs in on a page, which redirects to a loopback address.

    The answer is that address and the first parameters sent to it that `is_answer` accepts.
    """

    grant: Grant
    state: str = attrs.field(repr=False)
    challenge: str

    def url(self, redirect: str) -> str:
        """Return the URL of the page to open, which redirects to `redirect` (RFC 6749, 4.1.1)."""
        grant = self.grant
        given = {
            "response_type": "code",
            "client_id": grant.client,
            "redirect_uri": redirect,
            "scope": grant.scope,
            "state": self.state,
            "code_challenge": self.challenge,
            "code_challenge_method": "S256",
        }
        own = [(name, value) for name, value in grant.more_to_sign_in if name not in given]
        query = urlencode([(name, value) for name, value in given.items() if value] + own)
        return f"{grant.auth_url}{'&' if '?' in grant.auth_url else '?'}{query}"

    def is_answer(self, parameters: Mapping[str, str]) -> bool:
        """Return whether parameters answer this request: any page can call a loopback address."""
        from hmac import compare_digest

        given = parameters.get("state", "").encode("utf-8", "surrogatepass")
        return compare_digest(given, self.state.encode())


Step: TypeAlias = Request | Pause | Message | Visit
Flow: TypeAlias = "Generator[Step, Any, Token]"
"""A generator that obtains a token; it is sent the answers to its steps.

A request that fails is thrown into it. Raises OrgrestError if the server issues no token.
"""


def issue(grant: Grant) -> Flow:
    """Request a new token."""
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
    return new if new.refresh else attrs.evolve(new, refresh=token)


def _with_code(grant: Grant) -> Flow:
    """Let the user sign in in a browser, and exchange the resulting code (RFC 6749, 4.1)."""
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
        raise _error(f"{_place(grant.auth_url)} led back without a code", answer)
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": redirect,
        "code_verifier": verifier,
    }
    return (yield from _ask(grant, form, hidden=(code, verifier)))


def _check_issuer(grant: Grant, answer: Mapping[str, str]) -> None:
    """Raise OrgrestError for an answer from a server that was not asked (RFC 9207)."""
    issuer = answer.get("iss")
    if grant.issuer:
        if issuer == grant.issuer:
            return
    elif issuer is None or origin(issuer) == origin(grant.auth_url):
        return
    said = ascii(issuer)[:100] if issuer is not None else "nobody"
    wanted = grant.issuer or origin(grant.auth_url)
    raise OrgrestError(
        f"the login was at {_place(grant.auth_url)}, and its answer says that it is of {said}, not "
        f"of {wanted}: the code is not used (the issuer can be given with the other settings)",
        code="credentials",
    )


def _of_device(grant: Grant) -> Flow:
    """Let the user confirm in a browser, and poll until that is done (RFC 8628)."""
    began = yield Pause(0)
    response = yield _post(grant, grant.device_url, {"scope": grant.scope}, grant.more_to_sign_in)
    device = _read(response)
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
        said = _read(response).get("error") if response.status != 200 else None
        if said == "slow_down":
            interval = min(interval + _SLOWER, _MOST_INTERVAL)
        elif said != "authorization_pending":
            return _issued(grant, response)
    raise OrgrestError("nobody confirmed the code of the device flow in time", code="credentials")


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
    """Return a request that authenticates the client (RFC 6749, section 2.3)."""
    headers = [
        ("Content-Type", "application/x-www-form-urlencoded"),
        ("Accept", "application/json"),
    ]
    if grant.basic and grant.secret:
        # RFC 6749, section 2.3.1: both are form-encoded first
        pair = f"{quote_plus(grant.client)}:{quote_plus(grant.secret)}"
        headers.append(("Authorization", basic(pair.replace("%", "%25"))))
    else:
        form = {**form, "client_id": grant.client, "client_secret": grant.secret}
    fields = [(name, value) for name, value in form.items() if value]
    body = urlencode([*fields, *more]).encode()
    return Request("POST", url, tuple(headers), body, secrets=frozenset(hidden))


def _read(response: Response) -> dict[str, Any]:
    """Return the JSON object in a response's body, else {}."""
    try:
        found = None if _is_too_large(response) else json.loads(response.body)
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {}


def _is_too_large(response: Response) -> bool:
    return response.truncated or len(response.body) > _LARGEST


def _issued(grant: Grant, response: Response) -> Token:
    found = _read(response)
    access, kind = found.get("access_token"), found.get("token_type")
    if response.status != 200 or not isinstance(access, str) or not _is_text(access):
        raise _refused(grant.token_url, response, found)
    if isinstance(kind, str) and kind.lower() in _OTHER_TYPES:
        reason = f"{_place(grant.token_url)} gave a token of the type {kind}, which needs a proof"
        raise OrgrestError(f"{reason}: Bearer is spoken here", code="credentials")
    new, identity = found.get("refresh_token"), found.get("id_token")
    lifetime = _number(found.get("expires_in"), -1, most=1e9)
    return Token(
        access,
        new if isinstance(new, str) and new else None,
        identity if isinstance(identity, str) and _is_text(identity) else None,
        lifetime if lifetime >= 0 else None,
    )


def secrets_in(response: Response) -> frozenset[str]:
    """Return the values that must not be shown in a response to a request of a flow."""
    every = _read(response).items()
    return frozenset(
        value
        for name, value in every
        if isinstance(value, str) and value and name.endswith(("token", "device_code"))
    )


def parameters_in(query: str) -> dict[str, str] | None:
    """Return the parameters of a redirect; None if one is repeated (RFC 6749, section 3.1)."""
    try:
        pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=50)
    except ValueError:
        return None
    return dict(pairs) if len(dict(pairs)) == len(pairs) else None


def _place(url: str) -> str:
    return url.partition("?")[0]


def _is_text(text: str) -> bool:
    """Return whether a token can be sent in a header."""
    return bool(text) and text.isascii() and text.isprintable()


def _number(value: object, default: float, *, most: float) -> float:
    """Return a number from a server, perhaps given as text; `default` if it is not valid."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return default
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return default
    return min(number, most) if number >= 0 else default


def _refused(url: str, response: Response, found: dict[str, Any]) -> OrgrestError:
    """Return the error for a response without a token (RFC 6749, section 5.2)."""
    if _is_too_large(response):
        found = {"error": f"an answer of more than {_LARGEST // 2**20} MiB"}
    return _error(f"{_place(url)} gave no token (status {response.status})", found)


def _error(what: str, found: Mapping[str, Any]) -> OrgrestError:
    told = [found[key] for key in ("error", "error_description") if isinstance(found.get(key), str)]
    said = ": ".join(told)[:200]
    said = said if said.isprintable() else ascii(said)
    return OrgrestError(f"{what}{': ' if said else ''}{said}", code="credentials")
