"""Credentials from other tools, as headers in the notation of request files."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping

from orgrest import classes
from orgrest.convert.shared import texts
from orgrest.convert.shared.forms import query_encoded
from orgrest.convert.shared.variables import Names


@classes.frozen
class Authorization:
    """A request's credentials: a header, or a parameter of the URL if `query` is true.

    An empty `name` means no credentials. `variables` contains the settings of an OAuth 2.0 login.
    The caller must define each variable `NAME` as `PREFIX_NAME`, with a prefix that is not used
    yet, and append a space and this prefix to `value`. `problem` is a note about parts that were
    not translated, or "".
    """

    name: str = ""
    value: str = ""
    query: bool = False
    variables: tuple[tuple[str, str], ...] = ()
    problem: str = ""

    def applied(
        self, url: str, headers: list[tuple[str, str]], names: Names
    ) -> tuple[str, list[tuple[str, str]]]:
        """Return a URL and headers to which these credentials have been added.

        A header with credentials replaces headers of the same name, but a cookie is added to the
        others. `names` contains the names of the source's variables.
        """
        if not self.name:
            return url, headers
        if self.query:
            query = query_encoded([(self.name, self.value)], names)
            return f"{url}{'&' if '?' in url else '?'}{query}", headers
        same = [value for name, value in headers if name.lower() == self.name.lower()]
        kept = [pair for pair in headers if pair[0].lower() != self.name.lower()]
        value = "; ".join([*same, self.value]) if self.name == "Cookie" else self.value
        return url, [*kept, (self.name, value)]


def header_of(kind: str, parameters: Mapping[str, str]) -> Authorization:
    """Return the credentials with these settings.

    `kind` and the keys of `parameters` are Postman's names for authentication types and settings.
    The values may contain references to variables.
    """
    if kind == "basic":
        return _pair("Basic", parameters)
    if kind == "digest":
        return _pair("Digest", parameters)
    if kind == "ntlm":
        return _ntlm(parameters)
    if kind == "bearer":
        token = parameters.get("token", "")
        prefix = parameters.get("prefix", "").strip() or "Bearer"
        return Authorization("Authorization", f"{prefix} {token}") if token else Authorization()
    if kind == "apikey":
        name = parameters.get("key", "")
        if not name:
            return Authorization(problem="the API key has no name")
        value, where = parameters.get("value", ""), parameters.get("in")
        if where == "cookie":
            return Authorization("Cookie", f"{name}={value}")
        return Authorization(name, value, query=where == "query")
    if kind == "awsv4":
        return _aws(parameters)
    if kind == "oauth2":
        return _oauth2(parameters)
    return Authorization(problem=f"unknown authentication type {kind}")


def _has_whitespace(text: str) -> bool:
    return any(isinstance(piece, str) and re.search(r"\s", piece) for piece in texts.pieces(text))


def _pair(scheme: str, parameters: Mapping[str, str]) -> Authorization:
    user, password = parameters.get("username", ""), parameters.get("password", "")
    is_unclear = scheme != "Basic" and texts.is_literal(user) and ":" in user
    if user and password and not _has_whitespace(user + password) and not is_unclear:
        # A variable before a colon may contain whitespace.
        is_literal = texts.is_literal(user) and ":" not in user
        pair = f"{user} {password}" if is_literal else f"{user}:{password}"
        return Authorization("Authorization", f"{scheme} {pair}")
    plain = texts.plain(f"{user}:{password}")
    if is_unclear:
        return Authorization(problem=f"{scheme} requires a user name without a colon")
    if plain is None or scheme != "Basic":
        reason = f"{scheme} requires a user name and a password, both without whitespace"
        return Authorization(problem=reason)
    coded = base64.b64encode(plain.encode()).decode()
    return Authorization("Authorization", f"Basic {coded}")


def _ntlm(parameters: Mapping[str, str]) -> Authorization:
    user, domain = parameters.get("username", ""), parameters.get("domain", "")
    if domain:
        between = "\\\\" if user.startswith("{{") else "\\"  # one `\` would escape the braces
        user = f"{domain}{between}{user}"
    header = _pair("NTLM", {**parameters, "username": user})
    if parameters.get("workstation") and not header.problem:
        reason = "the workstation was left out: this machine's name is sent instead"
        return classes.evolve(header, problem=reason)
    return header


def _aws(parameters: Mapping[str, str]) -> Authorization:
    named = (("token", "sessionToken"), ("region", "region"), ("service", "service"))
    words = ["AWS", parameters.get("accessKey", ""), parameters.get("secretKey", "")]
    words += [f"{name}:{parameters[key]}" for name, key in named if parameters.get(key)]
    if not all(words) or any(map(_has_whitespace, words)):
        return Authorization(problem="AWS requires an access key and a secret key")
    return Authorization("Authorization", " ".join(words))


_FLOWS = {
    "client_credentials": "client_credentials",
    "password": "password",
    "password_credentials": "password",
    "authorization_code": "authorization_code",
    "authorization_code_with_pkce": "authorization_code",
}
# The settings of an OAuth 2.0 login, with their names in Postman, Insomnia and Bruno.
OAUTH2 = {
    "tokenEndpoint": ("accessTokenUrl", "access_token_url"),
    "authorizationEndpoint": ("authUrl", "authorizationUrl", "authorization_url"),
    "clientId": ("clientId", "client_id"),
    "clientSecret": ("clientSecret", "client_secret"),
    "username": ("username",),
    "password": ("password",),
    "scope": ("scope",),
    "audience": ("audience",),
    "resource": ("resource",),
    "redirectUri": ("redirect_uri", "redirectUrl", "callback_url"),
}
_IN_BODY = {"client_authentication": "body", "credentialsInBody": "true",
            "credentials_placement": "body"}  # fmt: skip
_IN_QUERY = {"addTokenTo": "queryParams", "token_placement": "url"}
_PREFIXES = ("headerPrefix", "tokenPrefix", "token_header_prefix")
_LOOPBACK = re.compile(r"http://(?:localhost|127\.0\.0\.1|\[::1\])(?=[:/]|$)|\{\{")


def _oauth2(parameters: Mapping[str, str]) -> Authorization:
    """Return credentials with the token in `parameters`, or else an OAuth 2.0 login."""
    token = parameters.get("accessToken", "")
    prefix = next((parameters[key].strip() for key in _PREFIXES if key in parameters), "Bearer")
    in_query = any(parameters.get(name) == value for name, value in _IN_QUERY.items())
    if token and in_query:
        return Authorization("access_token", token, query=True)
    if token:
        return Authorization("Authorization", f"{prefix} {token}".lstrip())
    grant_type = parameters.get("grant_type", parameters.get("grantType", "authorization_code"))
    flow = _FLOWS.get(grant_type)
    if flow is None:
        return Authorization(problem=f"OAuth 2.0 flow {grant_type} is not supported")
    if in_query or prefix != "Bearer":
        reason = (
            "orgrest can send the token of an OAuth 2.0 login only in the Authorization header, as "
            "a Bearer token"
        )
        return Authorization(problem=reason)
    values = {}
    for name, settings in OAUTH2.items():
        values[name] = next(
            (parameters[setting] for setting in settings if parameters.get(setting)), ""
        )
    if any("\n" in value for value in values.values()):
        return Authorization(problem="an OAuth 2.0 setting spans several lines")
    problem = ""
    if values["redirectUri"] and not _LOOPBACK.match(values["redirectUri"]):
        problem = (
            f"{values['redirectUri']} was left out: the login redirects to a free port "
            "on this machine"
        )
        del values["redirectUri"]
    if any(parameters.get(name) == value for name, value in _IN_BODY.items()):
        values["useAuthorizationHeader"] = "false"
    variables = tuple((name, value) for name, value in values.items() if value)
    if not values["tokenEndpoint"]:
        return Authorization(problem="OAuth 2.0 requires a token endpoint")
    return Authorization("Authorization", f"oauth2 {flow}", variables=variables, problem=problem)
