"""`Authorization: Digest USER PASSWORD` (RFC 7616): answers a server's challenge.

MD5 and SHA-256 with their `-sess` forms, the quality of protection `auth`, and the older form
without one (RFC 2069). `auth-int`, which would sign the body, is refused. This is our own code
because urllib3 has none, and the libraries that have it (requests, httpx) are complete HTTP
clients.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from typing import TYPE_CHECKING
from urllib.parse import quote

import attrs

from orgrest.model import Credentials, OrgrestError, TransportError, find_headers, to_bytes

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping

    from orgrest.http.auth import Document
    from orgrest.model import Request, Response

_SCHEME = re.compile(r"(?:^|,)\s*digest\s+", re.IGNORECASE)
_PARAMETER = re.compile(r'\s*,?\s*([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*+)"|([^\s,"]+))', re.ASCII)
_AS_SENT = re.compile(r"\b(?:username|realm|nonce)\*?\s*=", re.IGNORECASE)
_HASHES = {"MD5": "md5", "SHA-256": "sha256"}


@attrs.frozen
class DigestCredentials(Credentials):
    """The credentials that answer a server's Digest challenge."""

    user: str
    password: str = attrs.field(repr=False)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The password."""
        return (self.password,)

    def flow(
        self, request: Request, _host: str, target: str
    ) -> Generator[Request, Response, str | None]:
        """Send the request, then again with the answer to the server's challenge."""
        response = yield request
        if response.status != 401:
            return None
        challenges = find_headers(response.headers, "WWW-Authenticate")
        value = answer(challenges, self, request.method, target)
        if value is None:
            return "the server does not ask for Digest credentials, which were not sent"
        yield attrs.evolve(request, headers=(*request.headers, ("Authorization", value)))
        return None

    def curl(self, _host: str) -> list[str]:
        """Return curl's options."""
        return ["--digest", "--user", f"{self.user}:{self.password}"]


def read(value: str, _: Document) -> str | DigestCredentials:
    """Parse `user password` or `user:password`; a value in wire format is sent unchanged."""
    given = value.partition(" ")[2].strip()
    if _AS_SENT.search(given):
        return value
    user, colon, password = given.partition(":")
    if not colon or " " in user:
        user, colon, password = given.partition(" ")
    if not colon or not user:
        reason = "Digest credentials are `user password` or `user:password`"
        raise OrgrestError(reason, code="credentials")
    return DigestCredentials(user, password.strip())


def answer(
    challenges: Iterable[str], credentials: DigestCredentials, method: str, target: str
) -> str | None:
    """Return the value of Authorization for a request, or None if no challenge is for Digest.

    `challenges` are the values of WWW-Authenticate, in the server's order of preference; the first
    that is supported is answered. `target` is the request target. Raises `TransportError` if
    orgrest supports no Digest challenge among them.
    """
    offered = [one for value in challenges for one in _read(value)]
    for challenge in offered:
        algorithm = challenge.get("algorithm", "MD5").upper()
        qops = [one.strip().lower() for one in challenge.get("qop", "").split(",") if one.strip()]
        name = algorithm.removesuffix("-SESS")
        if name in _HASHES and (not qops or "auth" in qops) and "nonce" in challenge:
            return _answer(challenge, credentials, method, target, _HASHES[name], qop=bool(qops))
    if not offered:
        return None
    wanted = ", ".join(
        f"{one.get('algorithm', 'MD5')} {one.get('qop', '')}".strip() for one in offered
    )
    shown = wanted if wanted.isprintable() else ascii(wanted)
    raise TransportError(
        f"the server wants Digest credentials that are not computed here ({shown[:80]}): "
        "MD5 and SHA-256 with qop auth are"
    )


def _read(value: str) -> Iterator[dict[str, str]]:
    """Yield the parameters of each Digest challenge in a header's value, with lower-case names."""
    for found in _SCHEME.finditer(value):
        parameters: dict[str, str] = {}
        at = found.end()
        while match := _PARAMETER.match(value, at):
            given = match[3] if match[2] is None else re.sub(r"\\(.)", r"\1", match[2])
            parameters.setdefault(match[1].lower(), given)
            at = match.end()
        yield parameters


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
    asked = h(method, target)
    proof = h(key, nonce, "00000001", cnonce, "auth", asked) if qop else h(key, nonce, asked)
    fields = [
        _user(credentials.user, h(credentials.user, realm) if _hashed(challenge) else None),
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


def _user(user: str, hashed: str | None) -> str:
    if hashed is not None:
        return f'username="{hashed}"'
    if user.isascii():
        return f"username={_quoted(user)}"
    return f"username*=UTF-8''{quote(to_bytes(user), safe='')}"


def _quoted(text: str) -> str:
    return '"' + re.sub(r'(["\\])', r"\\\1", text) + '"'
