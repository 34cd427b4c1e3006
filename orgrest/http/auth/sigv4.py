"""Signs requests for `Authorization: AWS KEY SECRET token:T region:R service:S`.

Source: AWS's reference on Signature Version 4, "Create a signed AWS API request". botocore could
sign requests too, but it includes 14 MB of service descriptions.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from datetime import UTC, datetime
from posixpath import normpath
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote_plus, unquote_to_bytes

from orgrest import classes
from orgrest.model import (
    Credentials,
    Headers,
    OrgrestError,
    TransportError,
    find_header,
    to_bytes,
)
from orgrest.regular import compiled

if TYPE_CHECKING:
    from collections.abc import Generator

    from orgrest.http.auth import DocumentLookups
    from orgrest.model import Request, Response

_ALGORITHM = "AWS4-HMAC-SHA256"
_DATE = compiled(r"\d{8}T\d{6}Z", re.ASCII)
_REGION = compiled(r"[a-z]{2}(?:-[a-z]+)+-\d", re.ASCII)
# The names of services by the names in their hosts, if they differ.
_SIGNING_NAMES = {"email": "ses", **dict.fromkeys(("s3-accelerate", "s3-control", "s3-fips"), "s3")}
_AFTER_REGION = frozenset({"aoss", "es"})  # these services follow the region in their hosts
# Headers that proxies may change, and the header with the signature.
_UNSIGNED = frozenset({"authorization", "connection", "expect", "transfer-encoding", "user-agent"})


_NAMED = compiled(r"(token|region|service):\s*(\S*)")
_WRITTEN = compiled(
    r"(?P<key>\S+)\s+(?P<secret>\S+)(?P<named>(?:\s+(?:token|region|service):\s*\S*)*)"
)


@classes.frozen
class AwsCredentials(Credentials):
    """Credentials that sign requests to Amazon Web Services.

    `token` is the session token. An empty `region` or `service` is derived from the host name.
    """

    key: str
    secret: str = classes.field(repr=False)
    token: str = classes.field(default="", repr=False)
    region: str = ""
    service: str = ""

    @property
    def secrets(self) -> tuple[str, ...]:
        """The values that must not be shown: the secret key and the session token."""
        return self.secret, self.token

    def flow(
        self, request: Request, host: str, target: str
    ) -> Generator[Request, Response, str | None]:
        """Yield the signed request."""
        headers = tuple((n, v) for n, v in request.headers if n.lower() != "host")
        host = request.header("Host") or host
        signed = sign(self, request.method, host, target, headers, request.body or b"")
        yield classes.evolve(request, headers=(*request.headers, *signed))
        return None

    def curl(self, host: str) -> list[str]:
        """Return the equivalent curl options."""
        region, service = region_and_service(self, host)
        token = ["-H", f"X-Amz-Security-Token: {self.token}"] if self.token else []
        user = ["--user", f"{self.key}:{self.secret}"]
        return ["--aws-sigv4", f"aws:amz:{region}:{service}", *user, *token]


def read(value: str, _: DocumentLookups) -> str | AwsCredentials:
    """Parse `AWS key secret`, optionally followed by `token:`, `region:` and `service:` fields.

    A value with fewer than two words after `AWS` is returned unchanged. Raises OrgrestError for
    malformed credentials.
    """
    credentials = value.partition(" ")[2].strip()
    if " " not in credentials:
        return value
    match = _WRITTEN.fullmatch(credentials)
    if match is None:
        raise OrgrestError(
            "AWS credentials must be `key secret token:TOKEN region:REGION "
            "service:SERVICE`; the last three are optional",
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

    `host` is the value of the Host header, and `target` is the percent-encoded request target. An
    `X-Amz-Date` header in `headers` sets the time (`20150830T123600Z`). Raises `TransportError` if
    this date is malformed, or if the region or the service cannot be determined.
    """
    region, service = region_and_service(credentials, host)
    added: list[tuple[str, str]] = []
    moment = find_header(headers, "X-Amz-Date")
    if moment is None:
        moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        added.append(("X-Amz-Date", moment))
    elif not _DATE.fullmatch(moment):
        raise TransportError("X-Amz-Date must be written like 20150830T123600Z")
    if credentials.token:
        added.append(("X-Amz-Security-Token", credentials.token))
    payload = find_header(headers, "X-Amz-Content-Sha256")
    if payload is None:
        payload = hashlib.sha256(body).hexdigest()
        if service == "s3":
            added.append(("X-Amz-Content-Sha256", payload))
    signed = _canonical_headers((("Host", host), *headers, *added))
    names = ";".join(signed)
    path, _, query = target.partition("?")
    canonical = "\n".join(
        [
            method,
            _canonical_path(path, service),
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
    """Return the region and service of the credentials, or else those in the host name.

    Host names are `service.region.amazonaws.com`, or `service.amazonaws.com` for us-east-1; S3 and
    OpenSearch have other forms, too. Raises `TransportError` if the region or the service cannot be
    determined.
    """
    region, service = credentials.region, credentials.service
    name = host.partition(":")[0].lower()
    labels = re.sub(r"\.dualstack(?=\.)|\.amazonaws\.com(\.cn)?$", "", name).split(".")
    if name.endswith((".amazonaws.com", ".amazonaws.com.cn")):
        *_, first, second = ["", *labels]
        if second.startswith("s3-") and _REGION.fullmatch(second[3:]):  # bucket.s3-eu-west-1
            first, second = "s3", second[3:]
        elif second in _AFTER_REGION and _REGION.fullmatch(first):  # search-name.eu-west-1.es
            first, second = second, first
        elif not (first and _REGION.fullmatch(second)):
            first, second = second, "us-east-1"
        region = region or second
        service = service or _SIGNING_NAMES.get(first, first)
    if not (region and service):
        reason = (
            "AWS signatures require a region and a service, which cannot be derived "
            "from this host name"
        )
        raise TransportError(f"{reason}: write AWS KEY SECRET region:REGION service:SERVICE")
    return region, service


def _canonical_headers(headers: Headers) -> dict[str, str]:
    values: dict[str, list[str]] = {}
    for name, value in headers:
        if name.lower() not in _UNSIGNED:
            values.setdefault(name.lower(), []).append(" ".join(value.split()))
    return {name: ",".join(values[name]) for name in sorted(values)}


def _canonical_path(path: str, service: str) -> str:
    if service == "s3":  # its paths are neither normalized nor encoded twice
        segments = (quote(unquote_to_bytes(segment), safe="-_.~") for segment in path.split("/"))
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
