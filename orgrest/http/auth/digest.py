"""Reads `Authorization: Digest USER PASSWORD` (RFC 7616), and answers a server's challenge.

Supports MD5, SHA-256 and their `-sess` variants. The quality of protection must be `auth` or, as in
RFC 2069, missing. `auth-int`, which includes a digest of the body, is not supported. urllib3 does
not implement Digest.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from typing import TYPE_CHECKING
from urllib.parse import quote

from orgrest import classes
from orgrest.http.auth.basic import PasswordCredentials, pair
from orgrest.model import (
    OrgrestError,
    TransportError,
    find_headers,
    short,
    to_bytes,
)
from orgrest.regular import compiled

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping

    from orgrest.http.auth import DocumentLookups
    from orgrest.model import Request, Response

_SCHEME = compiled(r"(?:^|,)\s*digest\s+", re.IGNORECASE)
_PARAMETER = compiled(r'\s*,?\s*([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*+)"|([^\s,"]+))', re.ASCII)
_AS_SENT = compiled(r"\b(?:username|realm|nonce)\*?\s*=", re.IGNORECASE)
_HASHES = {"MD5": "md5", "SHA-256": "sha256"}


@classes.frozen
class DigestCredentials(PasswordCredentials):
    """The credentials for answering a server's Digest challenge."""

    def flow(
        self, request: Request, _host: str, target: str
    ) -> Generator[Request, Response, str | None]:
        """Yield the request without credentials, then with the answer to the server's challenge.

        If the server refuses the answer only because its nonce is too old, yields the request once
        more, with an answer to the new challenge. Returns a warning if the server sent no Digest
        challenge.
        """
        response = yield request
        for is_answered in (False, True):
            challenges = tuple(find_headers(response.headers, "WWW-Authenticate"))
            if response.status != 401 or (is_answered and not _is_stale(challenges)):
                return None
            value = answer(challenges, self, request.method, target)
            if value is None:
                return "the server did not ask for Digest credentials, so they were not sent"
            headers = (*request.headers, ("Authorization", value))
            response = yield classes.evolve(request, headers=headers)
        return None

    def curl(self, _host: str) -> list[str]:
        """Return the equivalent curl options."""
        return ["--digest", "--user", f"{self.user}:{self.password}"]


def read(value: str, document: DocumentLookups) -> str | DigestCredentials:
    """Parse `user password` or `user:password`. A value in wire format is returned unchanged.

    Raises OrgrestError if the user or the password is missing.
    """
    if _AS_SENT.search(value):
        return value
    user, password = pair(value, document) or ("", "")
    if not user:
        reason = "Digest credentials must be `user password` or `user:password`"
        raise OrgrestError(reason, code="credentials")
    return DigestCredentials(user, password.strip())


def answer(
    challenges: Iterable[str], credentials: DigestCredentials, method: str, target: str
) -> str | None:
    """Return a request's Authorization value, or None if there is no Digest challenge.

    `challenges` are the WWW-Authenticate values in the server's order of preference. The first
    supported challenge is answered. `target` is the request target. Raises `TransportError` if all
    Digest challenges are unsupported.
    """
    offered = [item for value in challenges for item in _digest_challenges(value)]
    for challenge in offered:
        algorithm = challenge.get("algorithm", "MD5").upper()
        qops = [
            item.strip().lower() for item in challenge.get("qop", "").split(",") if item.strip()
        ]
        name = algorithm.removesuffix("-SESS")
        if name in _HASHES and (not qops or "auth" in qops) and "nonce" in challenge:
            return _answer(challenge, credentials, method, target, _HASHES[name], qop=bool(qops))
    if not offered:
        return None
    offers = ", ".join(map(_shown, offered))
    shown = offers if offers.isprintable() else ascii(offers)
    raise TransportError(
        f"the server requires an unsupported form of Digest authentication ({short(shown, 80)}); "
        "supported: MD5 and SHA-256 with qop=auth"
    )


def _shown(challenge: Mapping[str, str]) -> str:
    """Return what a challenge offers, for a message."""
    missing = "" if "nonce" in challenge else "without a nonce"
    words = (challenge.get("algorithm", "MD5"), challenge.get("qop"), missing)
    return " ".join(filter(None, words))


def _digest_challenges(value: str) -> Iterator[dict[str, str]]:
    for challenge in _SCHEME.finditer(value):
        parameters: dict[str, str] = {}
        offset = challenge.end()
        while match := _PARAMETER.match(value, offset):
            content = match[3] if match[2] is None else re.sub(r"\\(.)", r"\1", match[2])
            parameters.setdefault(match[1].lower(), content)
            offset = match.end()
        yield parameters


def _is_stale(challenges: Iterable[str]) -> bool:
    """Return whether a server refuses the nonce, but not the password (RFC 7616, section 3.3)."""
    offered = (item for value in challenges for item in _digest_challenges(value))
    return any(item.get("stale", "").lower() == "true" for item in offered)


def _answer(
    challenge: Mapping[str, str],
    credentials: DigestCredentials,
    method: str,
    target: str,
    kind: str,
    *,
    qop: bool,
) -> str:
    def h(*parts: str) -> str:
        return hashlib.new(kind, to_bytes(":".join(parts)), usedforsecurity=False).hexdigest()

    realm, nonce = challenge.get("realm", ""), challenge["nonce"]
    algorithm = challenge.get("algorithm", "MD5")
    cnonce = secrets.token_hex(16)
    key = h(credentials.user, realm, credentials.password)
    if algorithm.upper().endswith("-SESS"):
        key = h(key, nonce, cnonce)
    request_digest = h(method, target)
    proof = (
        h(key, nonce, "00000001", cnonce, "auth", request_digest)
        if qop
        else h(key, nonce, request_digest)
    )
    fields = [
        _user(credentials.user, challenge, h(credentials.user, realm)),
        f"realm={_quoted(realm)}",
        f"nonce={_quoted(nonce)}",
        f"uri={_quoted(target)}",
        f'response="{proof}"',
    ]
    if "algorithm" in challenge:
        fields.append(f"algorithm={algorithm}")
    if "opaque" in challenge:
        fields.append(f"opaque={_quoted(challenge['opaque'])}")
    if qop:
        fields += ["qop=auth", "nc=00000001"]
    if qop or algorithm.upper().endswith("-SESS"):
        fields.append(f'cnonce="{cnonce}"')
    if _hashed(challenge):
        fields.append("userhash=true")
    return "Digest " + ", ".join(fields)


def _hashed(challenge: Mapping[str, str]) -> bool:
    return challenge.get("userhash", "").lower() == "true"


def _user(user: str, challenge: Mapping[str, str], hashed: str) -> str:
    if _hashed(challenge):
        return f'username="{hashed}"'
    if user.isascii() or challenge.get("charset", "").upper() != "UTF-8":
        return f"username={_quoted(user)}"  # older servers do not know `username*`
    return f"username*=UTF-8''{quote(to_bytes(user), safe='')}"


def _quoted(text: str) -> str:
    return '"' + re.sub(r'(["\\])', r"\\\1", text) + '"'
