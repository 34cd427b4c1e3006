"""Credentials of other tools as headers in the notation of request files."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping

import attrs

from orgrest.convert.shared import texts


@attrs.frozen
class Authorization:
    """A header, or with `query` a parameter of the query; an empty name means no credentials.

    `variables` are those that a login needs, without the prefix at the end of the value.
    """

    name: str = ""
    value: str = ""
    query: bool = False
    variables: tuple[tuple[str, str], ...] = ()

    def applied(
        self, url: str, headers: list[tuple[str, str]]
    ) -> tuple[str, list[tuple[str, str]]]:
        """Return a URL and headers with these credentials, which replace others."""
        if not self.name:
            return url, headers
        if self.query:
            return f"{url}{'&' if '?' in url else '?'}{self.name}={self.value}", headers
        kept = [pair for pair in headers if pair[0].lower() != self.name.lower()]
        return url, [*kept, (self.name, self.value)]


def header_of(kind: str, given: Mapping[str, str]) -> tuple[Authorization, str]:
    """Return credentials, and a note on the parts that are not translated, or "".

    `given` are the parameters in Postman's names; their texts may refer to variables.
    """
    if kind == "basic":
        return _pair("Basic", given)
    if kind == "digest":
        return _pair("Digest", given)
    if kind == "ntlm":
        return _ntlm(given)
    if kind == "bearer":
        token = given.get("token", "")
        prefix = given.get("prefix", "").strip() or "Bearer"
        return (
            Authorization("Authorization", f"{prefix} {token}") if token else Authorization()
        ), ""
    if kind == "apikey":
        name = given.get("key", "")
        if not name:
            return Authorization(), "the API key has no name"
        return Authorization(name, given.get("value", ""), query=given.get("in") == "query"), ""
    if kind == "awsv4":
        return _aws(given)
    if kind == "oauth2":
        return _oauth2(given)
    return Authorization(), f"{kind} is not known here"


def _has_blanks(text: str) -> bool:
    """Return whether a text has blanks outside references to variables."""
    return any(isinstance(one, str) and re.search(r"\s", one) for one in texts.pieces(text))


def _pair(scheme: str, given: Mapping[str, str]) -> tuple[Authorization, str]:
    user, password = given.get("username", ""), given.get("password", "")
    if user and password and not _has_blanks(user + password):
        return Authorization("Authorization", f"{scheme} {user} {password}"), ""
    plain = texts.plain(f"{user}:{password}")
    if plain is None or scheme != "Basic":
        return Authorization(), f"{scheme} needs a name and a password without blanks"
    coded = base64.b64encode(plain.encode()).decode()
    return Authorization("Authorization", f"Basic {coded}"), ""


def _ntlm(given: Mapping[str, str]) -> tuple[Authorization, str]:
    user, domain = given.get("username", ""), given.get("domain", "")
    if domain:
        between = "\\\\" if user.startswith("{{") else "\\"  # one would escape the braces
        user = f"{domain}{between}{user}"
    found, problem = _pair("NTLM", {**given, "username": user})
    if given.get("workstation") and not problem:
        problem = "the workstation is left out: the name of this machine is sent"
    return found, problem


def _aws(given: Mapping[str, str]) -> tuple[Authorization, str]:
    named = (("token", "sessionToken"), ("region", "region"), ("service", "service"))
    words = ["AWS", given.get("accessKey", ""), given.get("secretKey", "")]
    words += [f"{name}:{given[key]}" for name, key in named if given.get(key)]
    if not all(words) or any(map(_has_blanks, words)):
        return Authorization(), "AWS needs an access key and a secret key"
    return Authorization("Authorization", " ".join(words)), ""


_FLOWS = {
    "client_credentials": "client_credentials",
    "password": "password",
    "password_credentials": "password",
    "authorization_code": "authorization_code",
    "authorization_code_with_pkce": "authorization_code",
}
# The variables of a login, and the settings of Postman, Insomnia and Bruno for each.
_OAUTH2 = {
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


def _oauth2(given: Mapping[str, str]) -> tuple[Authorization, str]:
    """Return a given token, or the login that requests it."""
    token = given.get("accessToken", "")
    prefix = next((given[one].strip() for one in _PREFIXES if one in given), "") or "Bearer"
    in_query = any(given.get(name) == value for name, value in _IN_QUERY.items())
    if token and in_query:
        return Authorization("access_token", token, query=True), ""
    if token:
        return Authorization("Authorization", f"{prefix} {token}"), ""
    wanted = given.get("grant_type", given.get("grantType", "authorization_code"))
    flow = _FLOWS.get(wanted)
    if flow is None:
        return Authorization(), f"the OAuth 2.0 flow {wanted} is not known here"
    if in_query or prefix != "Bearer":
        return Authorization(), "an OAuth 2.0 token goes only into a header, after Bearer"
    found = {}
    for name, settings in _OAUTH2.items():
        found[name] = next((given[one] for one in settings if given.get(one)), "")
    if any("\n" in one for one in found.values()):
        return Authorization(), "a setting of OAuth 2.0 has several lines"
    problem = ""
    if found["redirectUri"] and not _LOOPBACK.match(found["redirectUri"]):
        problem = f"{found['redirectUri']}: a login leads back to a free port of this machine"
        del found["redirectUri"]
    if any(given.get(name) == value for name, value in _IN_BODY.items()):
        found["useAuthorizationHeader"] = "false"
    variables = tuple((name, value) for name, value in found.items() if value)
    if not found["tokenEndpoint"]:
        return Authorization(), "OAuth 2.0 without the URL of its token endpoint"
    return Authorization("Authorization", f"oauth2 {flow}", variables=variables), problem
