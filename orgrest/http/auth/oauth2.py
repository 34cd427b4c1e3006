"""OAuth 2.0 (RFC 6749, RFC 8628): what a document says about the tokens that its requests carry.

httpyac's spelling is `Authorization: oauth2 client_credentials PREFIX`, with variables of the names
`PREFIX_tokenEndpoint`, `PREFIX_clientId` and so on; where one is missing, that of the prefix
`oauth2` counts. JetBrains' is `{{$auth.token("id")}}`, with an object in the environment's
`Security.Auth`. Both are read into a `Grant` here; `tokens` gets a token for one.

Flows that open a browser (authorization code, implicit) are errors: a run has no browser.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import attrs

from orgrest.model import OrgrestError

if TYPE_CHECKING:
    from collections.abc import Callable

    from orgrest.http.auth import Document

CLIENT_CREDENTIALS = "client_credentials"
PASSWORD = "password"  # noqa: S105  (the name of a flow)
DEVICE_CODE = "device_code"

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
    """What a token is asked for with. `basic`: the client's secret goes into a header, not a body.

    `secret`, `password`: of the client, of the resource's owner. `more` are further parameters.
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
    """Return the header with the token for `oauth2 FLOW PREFIX`; in a dry run, what is written.

    Raises OrgrestError where there is no token.
    """
    token = document.token(from_variables(*reference(value), document.variable))
    return f"Bearer {token if token is not None else f'<{value}>'}"


def reference(value: str) -> tuple[str, str]:
    """Return the flow and the prefix of the variables for a value of Authorization.

    Raises OrgrestError for what is written wrong, and for flows that are not spoken.
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
    """Return the grant that variables describe; `value` gives that of a name, None for none.

    Raises OrgrestError where one is missing.
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
    """Return the grant that JetBrains' `Security` describes under `Auth` and a name.

    `security` is its JSON, None where the environment has none; `expand` replaces the variables in
    a text. Raises OrgrestError where there is no such grant, or something is missing in it.
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
    """Return JetBrains' further parameters, each a text, a list, or an object that says its use."""
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
