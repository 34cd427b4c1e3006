"""Reads the credentials of a request from its headers and the settings for its document."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from orgrest import classes
from orgrest.http import auth
from orgrest.http.auth import certificates
from orgrest.http.syntax import Definition
from orgrest.http.values.references import UNKNOWN
from orgrest.http.values.sources import Given
from orgrest.model import ClientCertificate, OrgrestError, Secret, Text, possible
from orgrest.model import Credentials as Computed
from orgrest.regular import compiled

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from orgrest.http.auth.oauth2 import Grant
    from orgrest.http.syntax import Template
    from orgrest.http.values.values import Values

_SSL = "SSLConfiguration"
_MOST_STEPS = 50
_VARIABLE = compiled(r"\s*\{\{\s*([^{}\s]+)\s*\}\}\s*")


class Credentials:
    """Reads the credentials of a request from its headers and the settings for its document.

    All credentials become secrets of the document. `to_compute` contains the credentials whose
    header is computed when the request is sent, or None. `secrets` are the secrets that this header
    may contain.
    """

    def __init__(self, values: Values) -> None:
        """Prepare to read a request's credentials, whose variables are looked up in `values`."""
        self.to_compute: Computed | None = None
        self.secrets: frozenset[Secret] = frozenset()
        self._certificate: ClientCertificate | None = None
        self._values = values
        self._context = values.context

    def header(self, name: str, value: str, written: Template) -> str | None:
        """Return the value to send for an `Authorization` or client certificate header.

        Returns None if no header is sent, or if its value is only computed when the request is
        sent. `name` is in lower case. `written` is the value in the document. Raises
        `ExpansionError`.
        """
        offset = written.offset(0)
        if UNKNOWN in value:
            return value
        try:
            if name != "authorization":
                self._certificate = self._located(certificates.from_header(value))
                return None
            texts = [value]
            document = auth.DocumentLookups(
                self._lookup(offset, texts),
                partial(self._token, texts),
                self._written(written.text),
            )
            result = auth.read(value, document)
        except OrgrestError as error:
            raise self._values.error(offset, error.reason, error.code) from error
        held = self._context.secrets.within_all(texts)
        if isinstance(result, str):
            if all(used in result for used in texts):
                return Text(result, held)
            return self._context.secrets.computed(result, held)
        for secret in result.secrets:
            self._context.secrets.add(secret)
        self.to_compute, self.secrets = result, possible(held)
        return None

    def _written(self, text: str) -> str:
        """Return a header value before expansion, or that of the one variable it consists of."""
        view = None
        for _ in range(_MOST_STEPS):  # variables that were computed earlier may form a cycle
            match = _VARIABLE.fullmatch(text)
            found = self._values.find(match[1], view) if match else None
            if isinstance(found, Given):
                text, view = found.text, None
            elif isinstance(found, Definition) and found.operator == "=":
                text, view = found.value.text, found.span.start
            else:
                break
        return text

    def certificate_for(self, url: str, offset: int) -> ClientCertificate | None:
        """Return the client certificate for a URL, from a header or else from the settings.

        Returns None if there is no certificate. `offset` is the position of the URL. Raises
        `ExpansionError` with this position if the settings or the certificate cannot be used.
        """
        if self._certificate is not None or not url.lower().startswith(("https:", "wss:")):
            return self._certificate
        authority = re.split(r"[/?#]", url.partition("://")[2], maxsplit=1)[0]
        try:
            located = self._of_settings(authority.rpartition("@")[2].lower())
            return None if located is None else self._located(*located)
        except OrgrestError as error:
            raise self._values.error(offset, str(error), "certificate") from error

    def _of_settings(self, host: str) -> tuple[ClientCertificate, Path | None] | None:
        """Return the client certificate that settings define for a host, and its base folder."""
        from orgrest.http.values.environments import mentions

        environment = self._context.environment
        for unread in environment.every.unread:
            if mentions(unread.file, host):
                raise unread.error.with_traceback(None)
        for broken in environment.every.broken if environment.chosen else ():
            if mentions(broken.file, _SSL):
                raise broken.error.with_traceback(None)
        for settings, base in environment.every.certificates:
            certificate = certificates.for_host(settings, host)
            if certificate is not None:
                return certificate, base
        setting = environment.readable(_SSL) if environment.chosen else None
        if setting is None:
            return None
        certificate, has_passphrase = certificates.from_ssl_configuration(setting.value)
        if certificate is None:
            return None
        if has_passphrase:
            what = f"passphrase of {certificate.file}"
            passphrase = self._context.ask("certificate-passphrase", what, hidden=True)
            certificate = classes.evolve(certificate, passphrase=passphrase)
        return certificate, setting.file.parent

    def _lookup(self, offset: int, texts: list[str]) -> Callable[[str], str | None]:
        """Return a function that looks up a variable and adds its value to `texts`."""
        values = self._values

        def value(name: str) -> str | None:
            if not values.is_defined(name):
                return None
            texts.append(values.used(name, offset))
            return texts[-1]

        return value

    def _token(self, texts: list[str], grant: Grant) -> str | None:
        """Return the token for a grant, and replace the contents of `texts` with the token."""
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
        """Return a copy of a certificate with absolute paths. Its passphrase becomes a secret."""
        if certificate.passphrase is not None:
            self._context.secrets.add(certificate.passphrase)
        key = certificate.key
        return ClientCertificate(
            str(self._context.locate(certificate.file, base)),
            None if key is None else str(self._context.locate(key, base)),
            certificate.passphrase,
        )
