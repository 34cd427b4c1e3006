"""OAuth 2.0 (RFC 6749, RFC 8628): the grants that documents define, and the flows to get tokens.

httpyac's spelling is `Authorization: oauth2 client_credentials PREFIX`, with variables named
`PREFIX_tokenEndpoint`, `PREFIX_clientId` and so on; if one is missing, that with the prefix
`oauth2` is used. JetBrains' is `{{$auth.token("id")}}`, with an object in the environment's
`Security.Auth`. Both are parsed into a `Grant`, for which `issue` requests a token from a server;
`tokens` performs its steps and caches the token.

Flows that open a browser (authorization code, implicit) are errors: a run has no browser.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote_plus, urlencode

import attrs

from orgrest.http.auth.basic import basic
from orgrest.model import OrgrestError, Request

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from orgrest.http.auth import Document
    from orgrest.model import Response

CLIENT_CREDENTIALS = "client_credentials"
PASSWORD = "password"  # noqa: S105  (the name of a flow)
DEVICE_CODE = "device_code"

_DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_LONGEST_WAIT = 600.0
"""The longest time that a user has to confirm a device, in seconds."""
_FLOWS = {
    "client_credentials": CLIENT_CREDENTIALS,
    "client": CLIENT_CREDENTIALS,
    "password": PASSWORD,
    "device_code": DEVICE_CODE,
    "device": DEVICE_CODE,
    "device authorization": DEVICE_CODE,
}
_IN_A_BROWSER = ("authorization_code", "code", "implicit", "hybrid")
_REFERENCE = re.compile(
    r"(?i:oauth2|openid)(?:[ \t]+(?P<flow>(?i:client|client_credentials|device|device_code|password"
    r"|authorization_code|code|implicit|hybrid))(?![^ \t]))?(?:[ \t]+(?P<prefix>[^ \t]+))?"
    r"(?P<exchange>[ \t]+token_exchange\b.*)?"
)
_AUTH = re.compile(
    r"""\$auth\.(?P<kind>token|idToken)[ \t]*\([ \t]*["']?(?P<name>[^"'()]+?)["']?[ \t]*\)"""
)


@attrs.frozen
class Grant:
    """The parameters of a token request.

    `basic`: the client's secret is sent in a header, not in the body. `secret` is the client's,
    `password` the resource owner's. `more` are further parameters.
    """

    flow: str
    token_url: str
    client: str
    secret: str = attrs.field(default="", repr=False)
    scope: str = ""
    user: str = ""
    password: str = attrs.field(default="", repr=False)
    device_url: str = ""
    more: tuple[tuple[str, str], ...] = ()
    basic: bool = True

    @property
    def secrets(self) -> tuple[str, ...]:
        """The values that must not be shown."""
        return self.secret, self.password


def read(value: str, document: Document) -> str:
    """Return the header value with the token for `oauth2 FLOW PREFIX`; in a dry run, a placeholder.

    Raises OrgrestError if there is no token.
    """
    token = document.token(from_variables(*reference(value), document.variable))
    return f"Bearer {token if token is not None else f'<{value}>'}"


def reference(value: str) -> tuple[str, str]:
    """Return the flow and the prefix of the variables for a value of Authorization.

    Raises OrgrestError for malformed values and unsupported flows.
    """
    match = _REFERENCE.fullmatch(value.strip())
    if match is None:
        reason = "OAuth 2.0 is written `oauth2 FLOW PREFIX`, like oauth2 client_credentials prod"
        raise OrgrestError(reason, code="credentials")
    if match["exchange"]:
        raise OrgrestError("token exchange is not supported", code="credentials")
    return _flow(match["flow"] or CLIENT_CREDENTIALS), match["prefix"] or "oauth2"


def _flow(name: str) -> str:
    flow = _FLOWS.get(name.lower().replace(" ", "_"), _FLOWS.get(name.lower()))
    if flow is None:
        needs = name.lower().replace(" ", "_") in _IN_A_BROWSER
        why = "needs a browser" if needs else "is not known"
        raise OrgrestError(
            f"the OAuth 2.0 flow {name} {why} here: client_credentials, password and device_code "
            "are spoken",
            code="credentials",
        )
    return flow


def from_variables(flow: str, prefix: str, value: Callable[[str], str | None]) -> Grant:
    """Return the grant that variables define; `value` looks a name up, None if undefined.

    Raises OrgrestError if one is missing.
    """

    def get(name: str) -> str:
        for start in dict.fromkeys((prefix, "oauth2")):
            whole = f"{start}_{name}"
            for spelled in (whole, whole.lower(), whole.upper()):
                if found := value(spelled):
                    return found
        return ""

    grant = Grant(
        flow,
        token_url=get("tokenEndpoint"),
        client=get("clientId"),
        secret=get("clientSecret"),
        scope=get("scope"),
        user=get("username"),
        password=get("password"),
        device_url=get("deviceCodeEndpoint"),
        more=tuple((name, get(name)) for name in ("audience", "resource") if get(name)),
        basic=get("useAuthorizationHeader").lower() not in ("false", "0"),
    )
    names = {field: f"{prefix}_{name}" for field, name in _VARIABLES.items()}
    return _checked(grant, names, "define the variables")


def read_auth(text: str) -> tuple[str, str] | None:
    """Return the kind, `token` or `idToken`, and the id of `$auth.token("id")`, or None."""
    match = _AUTH.fullmatch(text)
    return None if match is None else (match["kind"], match["name"])


def from_security(security: str | None, name: str, expand: Callable[[str], str]) -> Grant:
    """Return the grant that JetBrains' `Security` defines under `Auth` and a name.

    `security` is its JSON, None if the environment has none; `expand` replaces the variables in
    a text. Raises OrgrestError if there is no such grant, or it is incomplete.
    """
    try:
        found = json.loads(security or "{}")
    except ValueError:
        found = {}
    auths = found.get("Auth") if isinstance(found, dict) else None
    given = auths.get(name) if isinstance(auths, dict) else None
    if not isinstance(given, dict):
        reason = f"the environment's Security.Auth has no {name}: choose one with --env"
        raise OrgrestError(reason, code="credentials")
    fields: dict[str, Any] = {key.lower(): value for key, value in given.items()}

    def get(field: str) -> str:
        value = fields.get(field, "")
        return expand(value) if isinstance(value, str) else ""

    if get("type").lower() not in ("oauth2", ""):
        raise OrgrestError(f"Security.Auth.{name} is not of the type OAuth2", code="credentials")
    grant = Grant(
        _flow(get("grant type") or CLIENT_CREDENTIALS),
        token_url=get("token url"),
        client=get("client id"),
        secret=get("client secret"),
        scope=get("scope"),
        user=get("username"),
        password=get("password"),
        device_url=get("device auth url"),
        more=_more(fields.get("custom request parameters"), expand),
        basic=get("client credentials").lower() in ("", "basic"),
    )
    if get("client credentials").lower() == "none":
        grant = attrs.evolve(grant, secret="")
    return _checked(grant, _JETBRAINS, f"fill in Security.Auth.{name}")


def _more(given: object, expand: Callable[[str], str]) -> tuple[tuple[str, str], ...]:
    """Return JetBrains' further parameters, each a text, a list, or an object with its use."""
    found = []
    for name, values in given.items() if isinstance(given, dict) else ():
        for value in values if isinstance(values, list) else [values]:
            if isinstance(value, dict):
                if value.get("Use") == "In Auth Request":
                    continue
                value = value.get("Value")
            if isinstance(value, str):
                found.append((str(name), expand(value)))
    return tuple(found)


_VARIABLES = {
    "token_url": "tokenEndpoint",
    "client": "clientId",
    "secret": "clientSecret",
    "user": "username",
    "password": "password",
    "device_url": "deviceCodeEndpoint",
}
_JETBRAINS = {
    "token_url": "Token URL",
    "client": "Client ID",
    "secret": "Client Secret",
    "user": "Username",
    "password": "Password",
    "device_url": "Device Auth URL",
}
_NEEDED = {
    CLIENT_CREDENTIALS: ("token_url", "client", "secret"),
    PASSWORD: ("token_url", "client", "user", "password"),
    DEVICE_CODE: ("token_url", "client", "device_url"),
}


def _checked(grant: Grant, names: dict[str, str], how: str) -> Grant:
    missing = [names[field] for field in _NEEDED[grant.flow] if not getattr(grant, field)]
    if missing:
        reason = f"the OAuth 2.0 flow {grant.flow} needs more: {how} {', '.join(missing)}"
        raise OrgrestError(reason, code="credentials")
    return grant


# ---------------------------------------------------------------------------------------- the flows


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
    """A step of a flow: a message for the user."""

    text: str


Flow: TypeAlias = "Generator[Request | Pause | Message, Any, Token]"
"""A generator that obtains a token: it yields requests, pauses and messages.

It is sent the responses to its requests. Raises OrgrestError if the server issues no token.
Performs no I/O.
"""


def issue(grant: Grant) -> Flow:
    """Request a new token."""
    if grant.flow == DEVICE_CODE:
        return _of_device(grant)
    form = {"grant_type": grant.flow, "scope": grant.scope}
    if grant.flow == PASSWORD:
        form |= {"username": grant.user, "password": grant.password}
    return _ask(grant, form)


def refresh(grant: Grant, token: str) -> Flow:
    """Request a new token with the refresh token of the last one."""
    form = {"grant_type": "refresh_token", "refresh_token": token, "scope": grant.scope}
    new = yield from _ask(grant, form)
    return new if new.refresh else attrs.evolve(new, refresh=token)


def _ask(grant: Grant, form: dict[str, str]) -> Flow:
    headers = {}
    if grant.basic and grant.secret:
        # RFC 6749, section 2.3.1: both are form-encoded first
        pair = f"{quote_plus(grant.client)}:{quote_plus(grant.secret)}"
        headers["Authorization"] = basic(pair.replace("%", "%25"))
    else:
        form = {**form, "client_id": grant.client, "client_secret": grant.secret}
    response = yield _post(grant, grant.token_url, form, headers)
    return _issued(grant, response)


def _of_device(grant: Grant) -> Flow:
    """Let the user confirm in a browser, and poll until that is done (RFC 8628)."""
    began = yield Pause(0)
    form = {"client_id": grant.client, "scope": grant.scope}
    response = yield _post(grant, grant.device_url, form, {})
    device = _read(response)
    code, where = device.get("device_code"), device.get("verification_uri_complete")
    where = where or device.get("verification_uri") or device.get("verification_url")
    if response.status != 200 or not isinstance(code, str) or not isinstance(where, str):
        raise _refused(grant.device_url, response.status, device)
    yield Message(f"to sign in, open {where} and enter the code {device.get('user_code')}")
    interval = _number(device.get("interval"), 5.0, most=60.0)
    end = began + _number(device.get("expires_in"), _LONGEST_WAIT, most=_LONGEST_WAIT)
    while (yield Pause(interval)) < end:
        form = {"grant_type": _DEVICE_GRANT, "device_code": code, "client_id": grant.client}
        response = yield _post(grant, grant.token_url, form, {})
        error = _read(response).get("error")
        if error == "slow_down":
            interval += 5
        elif error != "authorization_pending":
            return _issued(grant, response)
    raise OrgrestError("nobody confirmed the code of the device flow", code="credentials")


def _post(grant: Grant, url: str, form: dict[str, str], headers: dict[str, str]) -> Request:
    fields = [(name, value) for name, value in form.items() if value]
    more = () if form.get("grant_type") == _DEVICE_GRANT else grant.more
    return Request(
        "POST",
        url,
        (
            ("Content-Type", "application/x-www-form-urlencoded"),
            ("Accept", "application/json"),
            *headers.items(),
        ),
        urlencode([*fields, *more]).encode(),
    )


def _read(response: Response) -> dict[str, Any]:
    """Return the JSON object in a response's body, or an empty one."""
    try:
        found = json.loads(response.body)
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {}


def _issued(grant: Grant, response: Response) -> Token:
    found = _read(response)
    access = found.get("access_token")
    if response.status != 200 or not isinstance(access, str) or not _is_text(access):
        raise _refused(grant.token_url, response.status, found)
    refresh, identity = found.get("refresh_token"), found.get("id_token")
    lifetime = _number(found.get("expires_in"), -1, most=1e9)
    return Token(
        access,
        refresh if isinstance(refresh, str) else None,
        identity if isinstance(identity, str) and _is_text(identity) else None,
        lifetime if lifetime >= 0 else None,
    )


def secrets_in(response: Response) -> frozenset[str]:
    """Return what must not be shown of a response to a request of a flow."""
    every = _read(response).items()
    return frozenset(
        value
        for name, value in every
        if isinstance(value, str) and value and name.endswith(("token", "device_code"))
    )


def _is_text(text: str) -> bool:
    """Tell whether a token can be sent in a header."""
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


def _refused(url: str, status: int, found: dict[str, Any]) -> OrgrestError:
    """Return the error for a response without a token (RFC 6749, section 5.2)."""
    told = [found[key] for key in ("error", "error_description") if isinstance(found.get(key), str)]
    said = ": ".join(told)[:200]
    said = said if said.isprintable() else ascii(said)
    place = url.partition("?")[0]
    reason = f"{place} gave no token (status {status}{', ' if said else ''}{said})"
    return OrgrestError(reason, code="credentials")
