"""Reads the OAuth 2.0 grants that documents define (RFC 6749, RFC 8628).

In httpyac's syntax, `Authorization: oauth2 client_credentials PREFIX`, variables such as
`PREFIX_tokenEndpoint` and `PREFIX_clientId` define a grant. A variable that is missing is looked up
with the prefix `oauth2`. In JetBrains' syntax, `{{$auth.token("id")}}`, an object in the
environment's `Security.Auth` defines a grant. `flows` obtains tokens for grants.

The implicit and hybrid flows, in which tokens pass through the browser, are rejected. RFC 9700,
section 2.1.2, recommends the authorization code flow instead.
"""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from orgrest import classes
from orgrest.model import OrgrestError
from orgrest.regular import compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from orgrest.http.auth import DocumentLookups

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
_REFERENCE = compiled(
    r"(?i:oauth2|openid)(?:[ \t]+(?P<flow>(?i:client|client_credentials|device|device_code|password"
    r"|authorization_code|code|implicit|hybrid))(?![^ \t]))?(?:[ \t]+(?P<prefix>[^ \t]+))?"
    r"(?P<exchange>[ \t]+token_exchange\b.*)?"
)
_AUTH = compiled(
    r"""\$auth\.(?P<kind>token|idToken)[ \t]*\([ \t]*["']?(?P<name>[^"'()]+?)["']?[ \t]*\)"""
)


@classes.frozen
class Grant:
    """The parameters of a token request.

    - `secret` is the client secret. It is sent in a header if `basic` is set, otherwise in the
      body.
    - `password` is the resource owner's password.
    - `more` are additional parameters for the token endpoint, and `more_to_sign_in` for the
      authorization or device endpoint.
    - `redirect` is the redirect URI. If it is empty, a loopback address with a free port is used.
    - `issuer` is the issuer identifier that the authorization response must contain.
    - `refresh` is a refresh token, with which the user does not have to sign in.
    """

    flow: str
    token_url: str
    client: str
    secret: str = classes.field(default="", repr=False)
    scope: str = ""
    user: str = ""
    password: str = classes.field(default="", repr=False)
    device_url: str = ""
    more: tuple[tuple[str, str], ...] = ()
    basic: bool = True
    auth_url: str = ""
    redirect: str = ""
    issuer: str = ""
    more_to_sign_in: tuple[tuple[str, str], ...] = ()
    refresh: str = classes.field(default="", repr=False)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The values that must not be shown."""
        return self.secret, self.password, self.refresh

    @property
    def is_login(self) -> bool:
        """Whether the user has to sign in.

        If so, the token belongs to the user, not to the document.
        """
        return self.flow in (CODE, DEVICE_CODE) and not self.refresh

    @property
    def page(self) -> str:
        """The URL where the user signs in, or where the device requests a code."""
        return self.auth_url if self.flow == CODE else self.device_url


def read(value: str, document: DocumentLookups) -> str:
    """Return the Authorization value with a token for `oauth2 FLOW PREFIX`.

    In a dry run, a placeholder replaces the token. Raises OrgrestError if no token can be obtained.
    """
    token = document.token(from_variables(*reference(value), document.variable))
    return f"Bearer {token if token is not None else f'<{value}>'}"


def reference(value: str) -> tuple[str, str]:
    """Return the flow and the variable prefix in the value of an Authorization header.

    Raises OrgrestError for malformed values and unsupported flows.
    """
    match = _REFERENCE.fullmatch(value.strip())
    if match is None:
        if len(words := value.split()) == 3:
            _flow(words[1])
        reason = (
            "OAuth 2.0 must be written as `oauth2 FLOW PREFIX`, for example oauth2 "
            "client_credentials prod"
        )
        raise OrgrestError(reason, code="credentials")
    if match["exchange"]:
        raise OrgrestError("OAuth 2.0 token exchange is not supported", code="credentials")
    return _flow(match["flow"] or CLIENT_CREDENTIALS), match["prefix"] or "oauth2"


def _flow(name: str) -> str:
    key = name.lower().replace(" ", "_")
    flow = _FLOWS.get(key)
    if flow is None:
        supported = f"{CLIENT_CREDENTIALS}, {PASSWORD}, {DEVICE_CODE} and {CODE}"
        why = "is unknown"
        if key in _UNSAFE:
            why = (
                f"exposes tokens to the browser, and is discouraged by RFC 9700 (use {CODE} "
                "instead)"
            )
        reason = f"the OAuth 2.0 flow {name} {why}; supported: {supported}"
        raise OrgrestError(reason, code="credentials")
    return flow


def from_variables(flow: str, prefix: str, value: Callable[[str], str | None]) -> Grant:
    """Return the grant that the variables with this prefix define.

    `value` returns a variable's value, or None for an undefined variable. Raises OrgrestError if a
    required variable is missing.
    """

    def get(name: str) -> str:
        for start in dict.fromkeys((prefix, "oauth2")):
            full_name = f"{start}_{name}"
            for spelling in (full_name, full_name.lower(), full_name.upper()):
                if content := value(spelling):
                    return content
        return ""

    more = tuple((name, get(name)) for name in ("audience", "resource") if get(name))
    basic = get("useAuthorizationHeader").lower() not in ("false", "0")
    texts: Any = {field: get(name) for field, name in _VARIABLES.items()}
    grant = Grant(flow, **texts, basic=basic, more=more, more_to_sign_in=more)
    names = {field: f"{prefix}_{name}" for field, name in _VARIABLES.items()}
    return _checked(grant, names, "define the variables")


def variables_of(value: str, defined: Container[str]) -> frozenset[str]:
    """Return those of the `defined` variables that the value of an Authorization header uses."""
    used: set[str] = set()

    def look_up(name: str) -> str | None:
        if name not in defined:
            return None
        used.add(name)
        return name

    with contextlib.suppress(OrgrestError):
        from_variables(*reference(value), look_up)
    return frozenset(used)


def read_auth(text: str) -> tuple[str, str] | None:
    """Return the kind (`token` or `idToken`) and the id in `$auth.token("id")`, or None."""
    match = _AUTH.fullmatch(text)
    return None if match is None else (match["kind"], match["name"])


def from_security(security: str | None, name: str, expand: Callable[[str], str]) -> Grant:
    """Return the grant that the `Auth` object in JetBrains' `Security` defines as `name`.

    `security` is JSON, or None if the environment does not define `Security`. `expand` replaces the
    variables in a string. Raises OrgrestError if the grant is missing or incomplete.
    """
    try:
        content = json.loads(security or "{}")
    except ValueError:
        content = {}
    auths = content.get("Auth") if isinstance(content, dict) else None
    definition = auths.get(name) if isinstance(auths, dict) else None
    if not isinstance(definition, dict):
        reason = (
            f"Security.Auth.{name} is not defined in the environment: select an "
            "environment that defines it"
        )
        raise OrgrestError(reason, code="credentials")
    fields: dict[str, Any] = {key.lower(): value for key, value in definition.items()}

    def get(field: str) -> str:
        value = fields.get(field, "")
        return expand(value) if isinstance(value, str) else ""

    if get("type").lower() not in ("oauth2", ""):
        raise OrgrestError(f"Security.Auth.{name} is not of type OAuth2", code="credentials")
    texts: Any = {field: get(name.lower()) for field, name in _JETBRAINS.items()}
    grant = Grant(
        _flow(get("grant type") or CLIENT_CREDENTIALS),
        **texts,
        more=_more(fields.get("custom request parameters"), expand, "In Auth Request"),
        basic=get("client credentials").lower() in ("", "basic"),
        more_to_sign_in=_more(fields.get("custom request parameters"), expand, "In Token Request"),
    )
    if get("client credentials").lower() == "none":
        grant = classes.evolve(grant, secret="")
    return _checked(grant, _JETBRAINS, f"in Security.Auth.{name}, fill in")


def _more(
    settings: object, expand: Callable[[str], str], excluded: str
) -> tuple[tuple[str, str], ...]:
    """Return JetBrains' additional parameters, except those whose `Use` is `excluded`."""
    parameters = []
    for name, values in settings.items() if isinstance(settings, dict) else ():
        for value in values if isinstance(values, list) else [values]:
            if isinstance(value, dict):
                if value.get("Use") == excluded:
                    continue
                value = value.get("Value")
            if isinstance(value, str):
                parameters.append((str(name), expand(value)))
    return tuple(parameters)


# The names of a grant's fields in both syntaxes.
_VARIABLES = {
    "token_url": "tokenEndpoint",
    "client": "clientId",
    "secret": "clientSecret",
    "scope": "scope",
    "user": "username",
    "password": "password",
    "device_url": "deviceCodeEndpoint",
    "auth_url": "authorizationEndpoint",
    "redirect": "redirectUri",
    "issuer": "issuer",
    "refresh": "refreshToken",
}
_JETBRAINS = {
    "token_url": "Token URL",
    "client": "Client ID",
    "secret": "Client Secret",
    "scope": "Scope",
    "user": "Username",
    "password": "Password",
    "device_url": "Device Auth URL",
    "auth_url": "Auth URL",
    "redirect": "Redirect URL",
    "issuer": "Issuer",
    "refresh": "Refresh Token",
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
        reason = f"the OAuth 2.0 flow {grant.flow} is incomplete: {how} {', '.join(missing)}"
        raise OrgrestError(reason, code="credentials")
    return grant


def check_login(grant: Grant) -> None:
    """Raise OrgrestError if a login is insecure, or if its redirect cannot be received.

    The login page and the token endpoint must use TLS or be on this machine. Call this function
    when the login begins, because the URLs are not certain before that.
    """
    page = "authorization endpoint" if grant.flow == CODE else "device authorization endpoint"
    for name, url in ((page, grant.page), ("token endpoint", grant.token_url)):
        if not is_page(url):
            reason = (
                f"the {name} must be a valid https URL without a user name or fragment (http is "
                "allowed only for localhost and loopback addresses)"
            )
            raise OrgrestError(f"{reason}: {url}", code="credentials")
    if grant.redirect and not is_loopback(grant.redirect):
        raise OrgrestError(
            f"orgrest cannot receive a redirect to {grant.redirect}: use a loopback address "
            "such as http://127.0.0.1/callback (any free port is used) or "
            "http://localhost:3000/callback",
            code="credentials",
        )


def is_page(url: str) -> bool:
    """Return whether a URL is safe for signing in.

    A safe URL uses TLS or points to this machine. It contains only printable ASCII characters that
    are valid in URLs, and neither a user name nor a fragment.
    """
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
    """Return whether a URL is a loopback redirect URI (RFC 8252, section 7.3)."""
    parsed = urlsplit(url) if is_page(url) else None
    return (
        parsed is not None
        and parsed.scheme == "http"
        and parsed.hostname in _LOOPBACK
        and not parsed.query
    )


def origin(url: str) -> str:
    """Return the scheme, host and port of a URL, for messages, or "" if it has no host.

    The default port is left out.
    """
    try:
        parsed = urlsplit(url)
        port = parsed.port
    except ValueError:
        return ""
    if not parsed.hostname or parsed.scheme.lower() not in _PORTS:
        return ""
    host = f"[{parsed.hostname}]" if ":" in parsed.hostname else parsed.hostname
    is_default = port is None or port == _PORTS[parsed.scheme.lower()]
    return (
        f"{parsed.scheme.lower()}://{host}"
        if is_default
        else f"{parsed.scheme.lower()}://{host}:{port}"
    )


_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_PORTS = {"http": 80, "https": 443}


def _is_local(host: str) -> bool:
    return host in _LOOPBACK or host.endswith(".localhost")
