"""OAuth 2.0 (RFC 6749, RFC 8628): the grants that documents define.

httpyac's spelling is `Authorization: oauth2 client_credentials PREFIX`, with variables named
`PREFIX_tokenEndpoint`, `PREFIX_clientId` and so on; if one is missing, that with the prefix
`oauth2` is used. JetBrains' is `{{$auth.token("id")}}`, with an object in the environment's
`Security.Auth`. Both are parsed into a `Grant`; `flows` has the messages by which a server issues a
token for it.

The implicit and the hybrid flow, in which tokens pass through the browser, are errors: RFC 9700,
section 2.1.2, recommends the authorization code instead.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import attrs

from orgrest.model import OrgrestError

if TYPE_CHECKING:
    from collections.abc import Callable

    from orgrest.http.auth import Document

CLIENT_CREDENTIALS = "client_credentials"
PASSWORD = "password"  # noqa: S105  (the name of a flow)
DEVICE_CODE = "device_code"
CODE = "authorization_code"

_FLOWS = {
    "client_credentials": CLIENT_CREDENTIALS,
    "client": CLIENT_CREDENTIALS,
    "password": PASSWORD,
    "device_code": DEVICE_CODE,
    "device": DEVICE_CODE,
    "device_authorization": DEVICE_CODE,
    "authorization_code": CODE,
    "code": CODE,
}
_UNSAFE = ("implicit", "hybrid")
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
    `password` the resource owner's. `more` are additional parameters for the token endpoint, and
    `more_to_sign_in` for the authorization or device endpoint. The redirect goes to `redirect`, ""
    for a free port; `issuer` is the server's, which its answers must name. With the refresh token
    `refresh`, the user does not have to sign in.
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
    auth_url: str = ""
    redirect: str = ""
    issuer: str = ""
    more_to_sign_in: tuple[tuple[str, str], ...] = ()
    refresh: str = attrs.field(default="", repr=False)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The values that must not be shown."""
        return self.secret, self.password, self.refresh

    @property
    def is_login(self) -> bool:
        """Whether the user signs in: the token then belongs to the user, not to the document."""
        return self.flow in (CODE, DEVICE_CODE) and not self.refresh

    @property
    def page(self) -> str:
        """The URL where the user signs in, or the device requests a code."""
        return self.auth_url if self.flow == CODE else self.device_url


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
    wanted = name.lower().replace(" ", "_")
    flow = _FLOWS.get(wanted)
    if flow is None:
        known = f"{CLIENT_CREDENTIALS}, {PASSWORD}, {DEVICE_CODE} and {CODE}"
        why = "is not known"
        if wanted in _UNSAFE:
            why = f"shows tokens to the browser, which RFC 9700 advises against ({CODE} does not)"
        reason = f"the OAuth 2.0 flow {name} {why}: {known} are spoken"
        raise OrgrestError(reason, code="credentials")
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

    more = tuple((name, get(name)) for name in ("audience", "resource") if get(name))
    grant = Grant(
        flow,
        token_url=get("tokenEndpoint"),
        client=get("clientId"),
        secret=get("clientSecret"),
        scope=get("scope"),
        user=get("username"),
        password=get("password"),
        device_url=get("deviceCodeEndpoint"),
        more=more,
        basic=get("useAuthorizationHeader").lower() not in ("false", "0"),
        auth_url=get("authorizationEndpoint"),
        redirect=get("redirectUri"),
        issuer=get("issuer"),
        more_to_sign_in=more,
        refresh=get("refreshToken"),
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
        more=_more(fields.get("custom request parameters"), expand, "In Auth Request"),
        basic=get("client credentials").lower() in ("", "basic"),
        auth_url=get("auth url"),
        redirect=get("redirect url"),
        issuer=get("issuer"),
        more_to_sign_in=_more(fields.get("custom request parameters"), expand, "In Token Request"),
        refresh=get("refresh token"),
    )
    if get("client credentials").lower() == "none":
        grant = attrs.evolve(grant, secret="")
    return _checked(grant, _JETBRAINS, f"fill in Security.Auth.{name}")


def _more(given: object, expand: Callable[[str], str], other: str) -> tuple[tuple[str, str], ...]:
    """Return JetBrains' additional parameters, each a text, a list, or an object with its use.

    Those with the `other` use are left out.
    """
    found = []
    for name, values in given.items() if isinstance(given, dict) else ():
        for value in values if isinstance(values, list) else [values]:
            if isinstance(value, dict):
                if value.get("Use") == other:
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
    "auth_url": "authorizationEndpoint",
}
_JETBRAINS = {
    "token_url": "Token URL",
    "client": "Client ID",
    "secret": "Client Secret",
    "user": "Username",
    "password": "Password",
    "device_url": "Device Auth URL",
    "auth_url": "Auth URL",
}
_NEEDED = {
    CLIENT_CREDENTIALS: ("token_url", "client", "secret"),
    PASSWORD: ("token_url", "client", "user", "password"),
    DEVICE_CODE: ("token_url", "client", "device_url"),
    CODE: ("token_url", "client", "auth_url"),
}


def _checked(grant: Grant, names: dict[str, str], how: str) -> Grant:
    needed = _NEEDED[grant.flow] if not grant.refresh else ("token_url", "client")
    missing = [names[field] for field in needed if not getattr(grant, field)]
    if missing:
        reason = f"the OAuth 2.0 flow {grant.flow} needs more: {how} {', '.join(missing)}"
        raise OrgrestError(reason, code="credentials")
    return grant


def check_login(grant: Grant) -> None:
    """Raise OrgrestError unless a login is by TLS, or on this machine, and leads back to it.

    Call this when the login begins: only then are its URLs known for certain.
    """
    for name, url in (("page", grant.page), ("token endpoint", grant.token_url)):
        if not is_page(url):
            reason = f"the {name} of the login is not an https URL (http is for this machine)"
            raise OrgrestError(f"{reason}: {url}", code="credentials")
    if grant.redirect and not is_loopback(grant.redirect):
        raise OrgrestError(
            f"the login leads back to {grant.redirect}, where nothing here listens: a redirect is "
            "to a loopback address such as http://127.0.0.1/callback, on a free port, or "
            "http://localhost:3000/callback",
            code="credentials",
        )


def is_page(url: str) -> bool:
    """Return whether the user may be sent to a URL to sign in: by TLS, or on this machine."""
    try:
        parsed = urlsplit(url)
        host, _ = parsed.hostname or "", parsed.port
    except ValueError:
        return False
    if not (url.isascii() and url.isprintable() and host) or any(c in url for c in ' "\\<>^`{|}'):
        return False
    if parsed.username is not None or parsed.fragment:
        return False
    return parsed.scheme == "https" or (parsed.scheme == "http" and _is_local(host))


def is_loopback(url: str) -> bool:
    """Return whether `url` is a loopback redirect URI (RFC 8252, section 7.3)."""
    parsed = urlsplit(url) if is_page(url) else None
    return (
        parsed is not None
        and parsed.scheme == "http"
        and parsed.hostname in _LOOPBACK
        and not parsed.query
    )


def origin(url: str) -> str:
    """Return the scheme, host and port of a URL, for messages; "" without a host."""
    try:
        parsed = urlsplit(url)
        port = parsed.port
    except ValueError:
        return ""
    if not parsed.hostname or parsed.scheme.lower() not in _PORTS:
        return ""
    host = f"[{parsed.hostname}]" if ":" in parsed.hostname else parsed.hostname
    own = port is None or port == _PORTS[parsed.scheme.lower()]
    return (
        f"{parsed.scheme.lower()}://{host}" if own else f"{parsed.scheme.lower()}://{host}:{port}"
    )


_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_PORTS = {"http": 80, "https": 443}


def _is_local(host: str) -> bool:
    return host in _LOOPBACK or host.endswith(".localhost")
