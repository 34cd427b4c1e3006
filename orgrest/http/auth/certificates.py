"""Reads the client certificates that documents and settings name.

A document names the files in the header `X-ClientCert: cert: FILE key: FILE passphrase: TEXT` (or
httpyac's `ClientCert`), which is not sent. Settings name the files for a host
(`rest-client.certificates` in VS Code, `clientCertificates` in httpyac) or for an environment
(JetBrains' `SSLConfiguration`). Files must be PEM, because Python's TLS cannot read PKCS #12.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from orgrest.model import ClientCertificate, OrgrestError
from orgrest.regular import compiled

if TYPE_CHECKING:
    from collections.abc import Mapping

_FIELD = compiled(r"(cert|key|pfx|passphrase):[ \t]*([^ \t]*)[ \t]*")


def is_certificate(name: str, value: str) -> bool:
    """Return whether a header names client certificate files. `name` is in lower case.

    A `ClientCert` header that does not start with a field such as `cert:` is an ordinary header, in
    which a proxy passes a certificate on.
    """
    return name == "x-clientcert" or (name == "clientcert" and _FIELD.match(value) is not None)


def from_header(value: str) -> ClientCertificate:
    """Return the certificate in the value of a header.

    Raises OrgrestError if it is malformed.
    """
    if not re.fullmatch(f"(?:{_FIELD.pattern})+", value):
        reason = (
            "a client certificate must be written as `cert: FILE key: FILE passphrase: TEXT`, "
            "without spaces in FILE and TEXT (if there are any, define the certificate in "
            "rest-client.certificates in .vscode/settings.json)"
        )
        raise OrgrestError(reason, code="certificate")
    return _certificate(dict(_FIELD.findall(value)), "this header")


def curl(certificate: ClientCertificate) -> list[str]:
    """Return the curl options that use a client certificate."""
    options = (
        ("--cert", certificate.file),
        ("--key", certificate.key),
        ("--pass", certificate.passphrase),
    )
    return [word for name, value in options if value is not None for word in (name, value)]


def for_host(settings: Mapping[str, object], host: str) -> ClientCertificate | None:
    """Return the certificate that settings define for a host (`name` or `name:port`), or None.

    Raises OrgrestError if these settings do not name a PEM file.
    """
    entry = settings.get(host)
    return _certificate(entry, f"the certificate for {host}") if isinstance(entry, dict) else None


def from_ssl_configuration(text: str) -> tuple[ClientCertificate | None, bool]:
    """Return the certificate in JetBrains' `SSLConfiguration`, and whether it has a passphrase.

    The certificate is None if `text` names no file. Raises OrgrestError if `text` is not a JSON
    object, or if a file is not in PEM format.
    """
    try:
        configuration = json.loads(text)
    except ValueError:
        configuration = None
    if not isinstance(configuration, dict):
        raise OrgrestError("SSLConfiguration must be an object", code="certificate")
    files = {}
    for field, name in (("cert", "clientCertificate"), ("key", "clientCertificateKey")):
        value = configuration.get(name)
        if isinstance(value, dict):
            if str(value.get("format", "PEM")).upper() != "PEM":
                reason = (
                    f"SSLConfiguration: {name} is not a PEM file; other formats are not supported"
                )
                raise OrgrestError(reason, code="certificate")
            value = value.get("path")
        files[field] = value
    if not files["cert"]:
        return None, False
    passphrase = configuration.get("hasCertificatePassphrase") is True
    return _certificate(files, "SSLConfiguration"), passphrase


def _certificate(entry: Mapping[str, Any], where: str) -> ClientCertificate:
    fields = {name: value for name, value in entry.items() if isinstance(value, str) and value}
    if "cert" not in fields and "pfx" in fields:
        raise OrgrestError(
            f"{where} names a PKCS #12 file, which is not supported: convert it to PEM with "
            f"openssl pkcs12 -in {fields['pfx']} -out cert.pem, and use that as `cert`",
            code="certificate",
        )
    if "cert" not in fields:
        raise OrgrestError(f"{where} has no `cert`: set it to a PEM file", code="certificate")
    return ClientCertificate(fields["cert"], fields.get("key"), fields.get("passphrase"))
