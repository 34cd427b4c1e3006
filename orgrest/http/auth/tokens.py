"""The OAuth 2.0 tokens of one run: asked for once, kept, and refreshed when they have expired."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus, urlencode

import attrs

from orgrest.http.auth.basic import basic
from orgrest.http.auth.oauth2 import DEVICE_CODE, PASSWORD
from orgrest.model import OrgrestError, Request

if TYPE_CHECKING:
    from collections.abc import Callable

    from orgrest.http.auth.oauth2 import Grant
    from orgrest.model import Response

_DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_LEEWAY = 5.0
"""How many seconds before its end a token is taken for expired."""
_LONGEST_WAIT = 600.0
"""How many seconds a user has to confirm a device."""


@attrs.frozen
class Token:
    """What a server issued; `expires` is a time of the monotonic clock, None for never told."""

    access: str = attrs.field(repr=False)
    refresh: str | None = attrs.field(repr=False)
    identity: str | None = attrs.field(repr=False)
    expires: float | None

    @property
    def secrets(self) -> tuple[str, ...]:
        """The values that must not be shown."""
        return tuple(filter(None, (self.access, self.refresh, self.identity)))


class Tokens:
    """The tokens of one run.

    `send` sends a request and does not follow redirects: a client's secret goes to the server of
    the grant and to no other. `notify` shows a text to the user; None where nobody reads it.
    """

    def __init__(
        self,
        send: Callable[[Request], Response],
        notify: Callable[[str], None] | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._send = send
        self._notify = notify
        self._clock = clock
        self._sleep = sleep
        self._tokens: dict[Grant, Token] = {}

    def get(self, grant: Grant) -> Token:
        """Return a token that is valid now. Raises OrgrestError where the server issues none."""
        token = self._tokens.get(grant)
        if token is None or self._has_expired(token):
            token = (self._refreshed(grant, token) if token else None) or self._new(grant)
            self._tokens[grant] = token
        return token

    def _has_expired(self, token: Token) -> bool:
        return token.expires is not None and token.expires - _LEEWAY < self._clock()

    def _new(self, grant: Grant) -> Token:
        if grant.flow == DEVICE_CODE:
            return self._of_device(grant)
        form = {"grant_type": grant.flow, "scope": grant.scope}
        if grant.flow == PASSWORD:
            form |= {"username": grant.user, "password": grant.password}
        return self._issued(grant, self._ask(grant, form))

    def _refreshed(self, grant: Grant, token: Token) -> Token | None:
        """Return a new token for an expired one, or None where the server does not give it."""
        if token.refresh is None:
            return None
        form = {"grant_type": "refresh_token", "refresh_token": token.refresh, "scope": grant.scope}
        try:
            new = self._issued(grant, self._ask(grant, form))
        except OrgrestError:
            return None
        return new if new.refresh else attrs.evolve(new, refresh=token.refresh)

    def _of_device(self, grant: Grant) -> Token:
        """Let the user confirm in a browser, and ask until that is done (RFC 8628)."""
        if self._notify is None:
            reason = "the device flow shows a code to confirm, and there is no terminal to show it"
            raise OrgrestError(reason, code="credentials")
        began = self._clock()
        form = {"client_id": grant.client, "scope": grant.scope}
        status, device = self._post(grant, grant.device_url, form, {})
        code, where = device.get("device_code"), device.get("verification_uri_complete")
        where = where or device.get("verification_uri") or device.get("verification_url")
        if status != 200 or not isinstance(code, str) or not isinstance(where, str):
            raise _refused(grant.device_url, status, device)
        self._notify(f"to sign in, open {where} and enter the code {device.get('user_code')}")
        interval = _number(device.get("interval"), 5.0, most=60.0)
        end = began + _number(device.get("expires_in"), _LONGEST_WAIT, most=_LONGEST_WAIT)
        while self._clock() < end:
            self._sleep(interval)
            form = {"grant_type": _DEVICE_GRANT, "device_code": code, "client_id": grant.client}
            status, found = self._post(grant, grant.token_url, form, {})
            if found.get("error") == "slow_down":
                interval += 5
            elif found.get("error") != "authorization_pending":
                return self._issued(grant, (status, found))
        raise OrgrestError("nobody confirmed the code of the device flow", code="credentials")

    def _ask(self, grant: Grant, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        headers = {}
        if grant.basic and grant.secret:
            # RFC 6749, section 2.3.1: both are form-encoded before
            pair = f"{quote_plus(grant.client)}:{quote_plus(grant.secret)}"
            headers["Authorization"] = basic(pair.replace("%", "%25"))
        else:
            form = {**form, "client_id": grant.client, "client_secret": grant.secret}
        return self._post(grant, grant.token_url, form, headers)

    def _post(
        self, grant: Grant, url: str, form: dict[str, str], headers: dict[str, str]
    ) -> tuple[int, dict[str, Any]]:
        """Send a form; return the status and the JSON object that comes back, or an empty one."""
        fields = [(name, value) for name, value in form.items() if value]
        more = () if form.get("grant_type") == _DEVICE_GRANT else grant.more
        response = self._send(
            Request(
                "POST",
                url,
                (
                    ("Content-Type", "application/x-www-form-urlencoded"),
                    ("Accept", "application/json"),
                    *headers.items(),
                ),
                urlencode([*fields, *more]).encode(),
            )
        )
        try:
            found = json.loads(response.body)
        except (ValueError, RecursionError):
            found = None
        return response.status, found if isinstance(found, dict) else {}

    def _issued(self, grant: Grant, answer: tuple[int, dict[str, Any]]) -> Token:
        status, found = answer
        access = found.get("access_token")
        if status != 200 or not isinstance(access, str) or not _is_text(access):
            raise _refused(grant.token_url, status, found)
        refresh, identity = found.get("refresh_token"), found.get("id_token")
        lifetime = _number(found.get("expires_in"), -1, most=1e9)
        return Token(
            access,
            refresh if isinstance(refresh, str) else None,
            identity if isinstance(identity, str) and _is_text(identity) else None,
            self._clock() + lifetime if lifetime >= 0 else None,
        )


def _is_text(text: str) -> bool:
    """Whether a token can stand in a header."""
    return bool(text) and text.isascii() and text.isprintable()


def _number(value: object, default: float, *, most: float) -> float:
    """Return a number that a server gave, perhaps as a text, within its limits."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return default
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return default
    return min(number, most) if number >= 0 else default


def _refused(url: str, status: int, found: dict[str, Any]) -> OrgrestError:
    """Return the error for a response without a token (RFC 6749, section 5.2)."""
    told = [found[key] for key in ("error", "error_description") if isinstance(found.get(key), str)]
    said = ": ".join(told)[:200]
    said = said if said.isprintable() else ascii(said)
    place = url.partition("?")[0]
    reason = f"{place} gave no token (status {status}{', ' if said else ''}{said})"
    return OrgrestError(reason, code="credentials")
