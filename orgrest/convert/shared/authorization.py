"""Credentials of other tools as headers in the notation of request files."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping

import attrs

from orgrest.convert.shared import texts


@attrs.frozen
class Authorization:
    """A header, or with `query` a parameter of the query; none with an empty name."""

    name: str = ""
    value: str = ""
    query: bool = False

    def applied(
        self, url: str, headers: list[tuple[str, str]]
    ) -> tuple[str, list[tuple[str, str]]]:
        """Return a URL and headers with these credentials, in the place of others."""
        if not self.name:
            return url, headers
        if self.query:
            return f"{url}{'&' if '?' in url else '?'}{self.name}={self.value}", headers
        kept = [pair for pair in headers if pair[0].lower() != self.name.lower()]
        return url, [*kept, (self.name, self.value)]


def header_of(kind: str, given: Mapping[str, str]) -> tuple[Authorization, str]:
    """Return credentials, and what of them is not translated, or "".

    `given` are the parameters in Postman's names; their texts may refer to variables.
    """
    if kind == "basic":
        return _pair("Basic", given)
    if kind == "digest":
        return _pair("Digest", given)
    if kind == "ntlm":
        return _ntlm(given)
    if kind == "bearer":
        return Authorization("Authorization", f"Bearer {given.get('token', '')}".rstrip()), ""
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
    """Tell whether a text has blanks besides those in references to variables."""
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


def _oauth2(given: Mapping[str, str]) -> tuple[Authorization, str]:
    """Return a token that is given; how one would be got is not translated."""
    token = given.get("accessToken", "")
    if not token:
        return Authorization(), (
            "oauth2 without an access token: write Authorization: oauth2 client_credentials, "
            "password, authorization_code or device_code, with its variables"
        )
    if given.get("addTokenTo") == "queryParams":
        return Authorization("access_token", token, query=True), ""
    prefix = given.get("headerPrefix", "Bearer").strip() or "Bearer"
    return Authorization("Authorization", f"{prefix} {token}"), ""
