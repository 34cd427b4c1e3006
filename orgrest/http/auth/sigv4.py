"""`Authorization: AWS KEY SECRET token:T region:R service:S`: AWS Signature Version 4.

Source: AWS's reference, "Create a signed AWS API request"; tested with its published test suite.
This is our own code because signing is a page of HMAC, and botocore, which has it, brings 14 MB of
service descriptions.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from datetime import UTC, datetime
from posixpath import normpath
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote_plus, unquote_to_bytes

import attrs

from orgrest.model import (
    Credentials,
    Headers,
    OrgrestError,
    TransportError,
    find_headers,
    to_bytes,
)

if TYPE_CHECKING:
    from collections.abc import Generator

    from orgrest.http.auth import Document
    from orgrest.model import Request, Response

_ALGORITHM = "AWS4-HMAC-SHA256"
_DATE = re.compile(r"\d{8}T\d{6}Z", re.ASCII)
_REGION = re.compile(r"[a-z]{2}(?:-[a-z]+)+-\d", re.ASCII)
_SIGNING_NAMES = {"email": "ses"}  # of services whose names differ in host names
# Headers that proxies may change, and the one that holds the signature.
_UNSIGNED = frozenset({"authorization", "connection", "expect", "transfer-encoding", "user-agent"})


_NAMED = re.compile(r"(token|region|service):\s*(\S*)")
_WRITTEN = re.compile(
    r"(?P<key>\S+)\s+(?P<secret>\S+)(?P<named>(?:\s+(?:token|region|service):\s*\S*)*)"
)


@attrs.frozen
class AwsCredentials(Credentials):
    """The credentials that sign requests to Amazon Web Services.

    `token` is the session's. An empty `region` or `service` is derived from the host name.
    """

    key: str
    secret: str = attrs.field(repr=False)
    token: str = attrs.field(default="", repr=False)
    region: str = ""
    service: str = ""

    @property
    def secrets(self) -> tuple[str, ...]:
        """The secret key, and the session's token."""
        return self.secret, self.token

    def flow(
        self, request: Request, host: str, target: str
    ) -> Generator[Request, Response, str | None]:
        """Send the request signed."""
        own = tuple((n, v) for n, v in request.headers if n.lower() != "host")
        host = request.header("Host") or host
        signed = sign(self, request.method, host, target, own, request.body or b"")
        yield attrs.evolve(request, headers=(*request.headers, *signed))
        return None

    def curl(self, host: str) -> list[str]:
        """Return curl's options."""
        region, service = region_and_service(self, host)
        token = ["-H", f"X-Amz-Security-Token: {self.token}"] if self.token else []
        user = ["--user", f"{self.key}:{self.secret}"]
        return ["--aws-sigv4", f"aws:amz:{region}:{service}", *user, *token]


def read(value: str, _: Document) -> str | AwsCredentials:
    """Parse `key secret` and the named fields after them; a single word is sent unchanged."""
    given = value.partition(" ")[2].strip()
    if " " not in given:
        return value
    match = _WRITTEN.fullmatch(given)
    if match is None:
        raise OrgrestError(
            "AWS credentials are `key secret token:TOKEN region:REGION service:SERVICE`, "
            "the last three where need be",
            code="credentials",
        )
    return AwsCredentials(match["key"], match["secret"], **dict(_NAMED.findall(match["named"])))


def sign(
    credentials: AwsCredentials,
    method: str,
    host: str,
    target: str,
    headers: Headers,
    body: bytes,
) -> Headers:
    """Return the headers that sign a request, to be sent in addition to `headers`.

    `host` is the value of the header Host, `target` the request target, %-encoded; `headers` are
    the headers to sign, where `X-Amz-Date` may set the time (`20150830T123600Z`). Raises
    `TransportError` if region or service are neither given nor in the host name.
    """
    region, service = region_and_service(credentials, host)
    added: list[tuple[str, str]] = []
    moment = next(find_headers(headers, "X-Amz-Date"), None)
    if moment is None:
        moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        added.append(("X-Amz-Date", moment))
    elif not _DATE.fullmatch(moment):
        raise TransportError("X-Amz-Date is written like 20150830T123600Z")
    if credentials.token:
        added.append(("X-Amz-Security-Token", credentials.token))
    payload = next(find_headers(headers, "X-Amz-Content-Sha256"), None)
    if payload is None:
        payload = hashlib.sha256(body).hexdigest()
        if service == "s3":
            added.append(("X-Amz-Content-Sha256", payload))
    signed = _signed((("Host", host), *headers, *added))
    names = ";".join(signed)
    path, _, query = target.partition("?")
    canonical = "\n".join(
        [
            method,
            _path(path, service),
            _query(query),
            *(f"{name}:{value}" for name, value in signed.items()),
            "",
            names,
            payload,
        ]
    )
    scope = f"{moment[:8]}/{region}/{service}/aws4_request"
    digest = hashlib.sha256(to_bytes(canonical)).hexdigest()
    key = to_bytes(f"AWS4{credentials.secret}")
    for part in scope.split("/"):
        key = _hmac(key, part)
    signature = _hmac(key, f"{_ALGORITHM}\n{moment}\n{scope}\n{digest}").hex()
    value = (
        f"{_ALGORITHM} Credential={credentials.key}/{scope}, "
        f"SignedHeaders={names}, Signature={signature}"
    )
    return (*added, ("Authorization", value))


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def region_and_service(credentials: AwsCredentials, host: str) -> tuple[str, str]:
    """Return the given region and service, else those of the host name.

    That is `service.region.amazonaws.com`, or `service.amazonaws.com` for services in us-east-1.
    Raises `TransportError` if they cannot be determined.
    """
    region, service = credentials.region, credentials.service
    name = host.partition(":")[0].lower()
    labels = re.sub(r"\.amazonaws\.com(\.cn)?$", "", name).split(".")
    if name.endswith((".amazonaws.com", ".amazonaws.com.cn")):
        found = labels.pop() if _REGION.fullmatch(labels[-1]) and len(labels) > 1 else "us-east-1"
        region = region or found
        service = service or _SIGNING_NAMES.get(labels[-1], labels[-1])
    if not (region and service):
        reason = "AWS signs for a region and a service, which this host's name does not tell"
        raise TransportError(f"{reason}: write AWS KEY SECRET region:REGION service:SERVICE")
    return region, service


def _signed(headers: Headers) -> dict[str, str]:
    """Return the headers to sign, in order: repeated headers joined, blanks collapsed."""
    found: dict[str, list[str]] = {}
    for name, value in headers:
        if name.lower() not in _UNSIGNED:
            found.setdefault(name.lower(), []).append(" ".join(value.split()))
    return {name: ",".join(found[name]) for name in sorted(found)}


def _path(path: str, service: str) -> str:
    """Return the canonical path: for S3 encoded once, for others normalized and encoded twice."""
    if service == "s3":
        segments = (quote(unquote_to_bytes(one), safe="-_.~") for one in path.split("/"))
        return "/".join(segments) or "/"
    normal = normpath("/" + path.lstrip("/"))
    if path.endswith(("/", "/.", "/..")) and normal != "/":
        normal += "/"
    return quote(normal, safe="/-_.~")


def _query(query: str) -> str:
    pairs = []
    for part in filter(None, query.split("&")):
        name, _, value = part.partition("=")
        pairs.append((_encoded(name), _encoded(value)))
    return "&".join(f"{name}={value}" for name, value in sorted(pairs))


def _encoded(text: str) -> str:
    return quote(to_bytes(unquote_plus(text, errors="surrogateescape")), safe="-_.~")
