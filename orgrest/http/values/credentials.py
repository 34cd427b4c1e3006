"""The credentials of one request, as far as they are known before it is sent."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs

from orgrest.http import auth, environments
from orgrest.http.auth import certificates
from orgrest.http.values.computing import UNKNOWN
from orgrest.http.values.values import Values
from orgrest.model import ClientCertificate, OrgrestError
from orgrest.model import Credentials as Computed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from orgrest.http.auth.oauth2 import Grant

_SSL = "SSLConfiguration"
COMPUTED = frozenset({"authorization", certificates.HEADER})
"""The headers, in lower case, of which the values are not sent as they are written."""


class Credentials:
    """What the headers of a request, and the settings around it, say about credentials.

    All of them are secrets of the document from then on. `to_compute` are those that only the
    sending makes a header of.
    """

    def __init__(self, values: Values) -> None:
        """Take the variables of the request."""
        self.to_compute: Computed | None = None
        self._certificate: ClientCertificate | None = None
        self._values = values
        self._scope = values.scope

    def header(self, name: str, value: str, offset: int) -> str | None:
        """Return what is sent for a header of `COMPUTED`, None if nothing is, or not yet.

        `value` stands at `offset`. Raises `ExpansionError`.
        """
        if UNKNOWN in value:
            return value
        try:
            if name == certificates.HEADER:
                self._certificate = self._located(certificates.from_header(value))
                return None
            found = auth.read(value, auth.Document(self._lookup(offset), self._token))
        except OrgrestError as error:
            raise self._values.error(offset, error.reason, error.code) from error
        if isinstance(found, str):
            return self._scope.protect(found, value)
        for secret in found.secrets:
            self._scope.secret(secret)
        self.to_compute = found
        return None

    def certificate_for(self, url: str, offset: int) -> ClientCertificate | None:
        """Return the client certificate of the header, else that of the settings for a URL.

        Raises `ExpansionError` with the place of the URL.
        """
        if self._certificate is not None or not url.lower().startswith(("https:", "wss:")):
            return self._certificate
        authority = re.split(r"[/?#]", url.partition("://")[2], maxsplit=1)[0]
        try:
            found = self._of_settings(authority.rpartition("@")[2].lower())
            return None if found is None else self._located(*found)
        except OrgrestError as error:
            raise self._values.error(offset, str(error), "certificate") from error

    def _of_settings(self, host: str) -> tuple[ClientCertificate, Path | None] | None:
        """Return the client certificate that settings have for a host, and where its paths start.

        None is the document's folder. Raises `OrgrestError` for settings that cannot be read, where
        they may have one.
        """
        environment = self._scope.environment
        for unread in environment.every.unread:
            if environments.mentions(unread.file, host):
                raise unread.error.with_traceback(None)
        for broken in environment.every.broken if environment.chosen else ():
            if environments.mentions(broken.file, _SSL):
                raise broken.error.with_traceback(None)
        for settings, base in environment.every.certificates:
            found = certificates.for_host(settings, host)
            if found is not None:
                return found, base
        setting = environment.readable(_SSL) if environment.chosen else None
        if setting is None:
            return None
        found, has_passphrase = certificates.from_ssl_configuration(setting.value)
        if found is None:
            return None
        if has_passphrase:
            what = f"passphrase of {found.file}"
            passphrase = self._scope.ask("certificate-passphrase", what, hidden=True)
            found = attrs.evolve(found, passphrase=passphrase)
        return found, setting.file.parent

    def _lookup(self, offset: int) -> Callable[[str], str | None]:
        """Return a function that gives the values of variables that are used at `offset`."""
        values = self._values
        return lambda name: values.used(name, offset) if values.is_defined(name) else None

    def _token(self, grant: Grant) -> str | None:
        return UNKNOWN if self._values.checks else self._scope.access.token(grant)

    def _located(
        self, certificate: ClientCertificate, base: Path | None = None
    ) -> ClientCertificate:
        """Return a certificate with the places of its files; paths start in `base`."""
        if certificate.passphrase is not None:
            self._scope.secret(certificate.passphrase)
        key = certificate.key
        return ClientCertificate(
            str(self._scope.locate(certificate.file, base)),
            None if key is None else str(self._scope.locate(key, base)),
            certificate.passphrase,
        )
