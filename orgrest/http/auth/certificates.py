"""Client certificates in documents and in the settings near them.

A header `X-ClientCert: cert: FILE key: FILE passphrase: TEXT` (httpyac) is parsed here instead of
being sent; `rest-client.certificates` of VS Code's settings and `clientCertificates` of httpyac's
name the files for hosts, JetBrains' `SSLConfiguration` for an environment. Files must be PEM:
Python's TLS cannot read PKCS #12.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from orgrest.model import ClientCertificate, OrgrestError

if TYPE_CHECKING:
    from collections.abc import Mapping

HEADER = "x-clientcert"
_FIELD = re.compile(r"(cert|key|pfx|passphrase):[ \t]*([^ \t]*)[ \t]*")


def from_header(value: str) -> ClientCertificate:
    """Return the certificate that `X-ClientCert` names. Raises OrgrestError if it is malformed."""
    if not re.fullmatch(f"(?:{_FIELD.pattern})+", value):
        reason = "a client certificate is written `cert: FILE key: FILE passphrase: TEXT`"
        raise OrgrestError(reason, code="certificate")
    return _certificate(dict(_FIELD.findall(value)), "X-ClientCert")


def curl(certificate: ClientCertificate) -> list[str]:
    """Return the curl options for a client certificate."""
    given = (
        ("--cert", certificate.file),
        ("--key", certificate.key),
        ("--pass", certificate.passphrase),
    )
    return [word for name, value in given if value is not None for word in (name, value)]


def for_host(settings: Mapping[str, object], host: str) -> ClientCertificate | None:
    """Return the certificate configured for a host (`name`, or `name:port`), or None."""
    given = settings.get(host)
    return _certificate(given, f"the certificate for {host}") if isinstance(given, dict) else None


def from_ssl_configuration(text: str) -> tuple[ClientCertificate | None, bool]:
    """Return the certificate of JetBrains' `SSLConfiguration`, and whether it has a passphrase.

    `text` is its JSON. Raises OrgrestError for an unsupported format.
    """
    try:
        given = json.loads(text)
    except ValueError:
        given = None
    if not isinstance(given, dict):
        raise OrgrestError("SSLConfiguration is an object", code="certificate")
    found = {}
    for field, name in (("cert", "clientCertificate"), ("key", "clientCertificateKey")):
        value = given.get(name)
        if isinstance(value, dict):
            if str(value.get("format", "PEM")).upper() != "PEM":
                reason = f"SSLConfiguration: {name} is no PEM file, and no other is read"
                raise OrgrestError(reason, code="certificate")
            value = value.get("path")
        found[field] = value
    if not found["cert"]:
        return None, False
    passphrase = given.get("hasCertificatePassphrase") is True
    return _certificate(found, "SSLConfiguration"), passphrase


def _certificate(given: Mapping[str, Any], where: str) -> ClientCertificate:
    fields = {name: value for name, value in given.items() if isinstance(value, str) and value}
    if "cert" not in fields and "pfx" in fields:
        raise OrgrestError(
            f"{where} names a PKCS #12 file, which is not read here: "
            f"openssl pkcs12 -in {fields['pfx']} -out cert.pem makes a PEM file for `cert`",
            code="certificate",
        )
    if "cert" not in fields:
        raise OrgrestError(f"{where} names no file: `cert` is missing", code="certificate")
    return ClientCertificate(fields["cert"], fields.get("key"), fields.get("passphrase"))
