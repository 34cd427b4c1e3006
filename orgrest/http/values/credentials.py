"""The credentials of a request: in its headers, and in the settings around its document."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

import attrs

from orgrest.http import auth
from orgrest.http.auth import certificates
from orgrest.http.values.references import UNKNOWN
from orgrest.model import ClientCertificate, OrgrestError, Secret, Text, possible
from orgrest.model import Credentials as Computed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from orgrest.http.auth.oauth2 import Grant
    from orgrest.http.values.values import Values

_SSL = "SSLConfiguration"


class Credentials:
    """The credentials in a request's headers and in the settings around it.

    All of them become secrets of the document. `to_compute` are the credentials that become a
    header only on sending, with these `secrets` in it.
    """

    def __init__(self, values: Values) -> None:
        """Use the variables of the request, `values`."""
        self.to_compute: Computed | None = None
        self.secrets: frozenset[Secret] = frozenset()
        self._certificate: ClientCertificate | None = None
        self._values = values
        self._context = values.context

    def header(self, name: str, value: str, offset: int) -> str | None:
        """Return the value to send for a header of `COMPUTED`; None for no value, or not yet.

        `value` is at `offset`. Raises `ExpansionError`.
        """
        if UNKNOWN in value:
            return value
        try:
            if name == certificates.HEADER:
                self._certificate = self._located(certificates.from_header(value))
                return None
            texts = [value]
            document = auth.Document(self._lookup(offset, texts), partial(self._token, texts))
            found = auth.read(value, document)
        except OrgrestError as error:
            raise self._values.error(offset, error.reason, error.code) from error
        held = self._context.secrets.within_all(texts)
        if isinstance(found, str):
            if all(one in found for one in texts):
                return Text(found, held)
            return self._context.secrets.computed(found, held)
        for secret in found.secrets:
            self._context.secrets.add(secret)
        self.to_compute, self.secrets = found, possible(held)
        return None

    def certificate_for(self, url: str, offset: int) -> ClientCertificate | None:
        """Return the client certificate of the header, else that of the settings for a URL.

        Raises `ExpansionError` with the URL's position.
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
        """Return the client certificate that settings have for a host, and its base folder.

        None means the document's folder. Raises `OrgrestError` for unreadable settings that might
        have one.
        """
        from orgrest.http.values.environments import mentions

        environment = self._context.environment
        for unread in environment.every.unread:
            if mentions(unread.file, host):
                raise unread.error.with_traceback(None)
        for broken in environment.every.broken if environment.chosen else ():
            if mentions(broken.file, _SSL):
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
            passphrase = self._context.ask("certificate-passphrase", what, hidden=True)
            found = attrs.evolve(found, passphrase=passphrase)
        return found, setting.file.parent

    def _lookup(self, offset: int, texts: list[str]) -> Callable[[str], str | None]:
        """Return a function that looks up variables used at `offset`, and adds them to `texts`."""
        values = self._values

        def value(name: str) -> str | None:
            if not values.is_defined(name):
                return None
            texts.append(values.used(name, offset))
            return texts[-1]

        return value

    def _token(self, texts: list[str], grant: Grant) -> str | None:
        """Return the token for a grant, and replace the contents of `texts` by it."""
        values = self._values
        secrets = self._context.secrets.within_all(texts)
        texts.clear()
        if values.checks:
            return UNKNOWN
        token = self._context.token(grant, secrets, values.url)
        texts += [] if token is None else [token]
        return token

    def _located(
        self, certificate: ClientCertificate, base: Path | None = None
    ) -> ClientCertificate:
        """Return a certificate with absolute paths; the paths given are relative to `base`."""
        if certificate.passphrase is not None:
            self._context.secrets.add(certificate.passphrase)
        key = certificate.key
        return ClientCertificate(
            str(self._context.locate(certificate.file, base)),
            None if key is None else str(self._context.locate(key, base)),
            certificate.passphrase,
        )
