"""Logins: tokens for which a user signed in, and the user's permissions for documents to use them.

A document chooses the server, the client, and where its requests go, and it may come from anyone.
So the user is asked once for each document and each origin that it sends the token to, and their
answers bind the token (`model.Bound`): it goes nowhere else, in any form. A document that names the
same server and client gets the same login, once the user allowed that, too.

Without a user to ask (`Person` is None), only logins that are kept and allowed are used and
refreshed.
"""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING, Any

import attrs

from orgrest.model import Bound, OrgrestError

if TYPE_CHECKING:
    from collections.abc import Callable

    from orgrest.http.auth.flows import Token
    from orgrest.http.auth.oauth2 import Grant
    from orgrest.http.auth.tokens import Steps
    from orgrest.run.login_store import LoginStore


@attrs.frozen
class Person:
    """A user who can answer questions, read messages and be shown a page in a browser.

    Control characters from documents and servers are escaped before these texts are shown.
    """

    _ask: Callable[[str], bool]
    _tell: Callable[[str], None]
    _open: Callable[[str], bool]

    def confirm(self, question: str) -> bool:
        """Return whether the user agrees."""
        return self._ask(_visible(question))

    def tell(self, text: str) -> None:
        """Show a text."""
        self._tell(_visible(text))

    def open(self, url: str) -> bool:
        """Show a page in the user's browser; return whether a browser was started."""
        from orgrest.http.auth.oauth2 import is_page

        return is_page(url) and self._open(url)


def _visible(text: str) -> str:
    from orgrest.rendering.sanitize import visible

    return visible(text, one_line=True)


@attrs.frozen
class Use:
    """A use of a token: the document, and the origin that the token is sent to.

    `document` is the path of the document; `kept` is whether that is a file, so that the user's
    permission may be remembered for it.
    """

    document: str
    to: str
    kept: bool = True


@attrs.define
class _Login:
    """A login: its allowed uses, and its token, if there is one."""

    allowed: dict[Use, None] = attrs.field(factory=dict)
    token: Token | None = None
    expires: float | None = None

    def has_expired(self, now: float) -> bool:
        from orgrest.http.auth.tokens import LEEWAY

        return self.expires is not None and self.expires - LEEWAY < now


def _of_user() -> LoginStore | None:
    from orgrest.run.login_store import LoginStore

    return LoginStore.of_user()


class Logins:
    """The logins of a process; thread-safe. Kept logins belong to the user of the process."""

    def __init__(
        self,
        open_store: Callable[[], LoginStore | None] = _of_user,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._open_store = open_store
        self._clock = clock
        self._store: LoginStore | None = None
        self._why_not = ""  # nothing is kept
        self._opened = self._told = False
        self._lock = threading.Lock()
        self._logins: dict[str, _Login] = {}

    def token(
        self, grant: Grant, use: Use, person: Person | None, steps: Steps
    ) -> tuple[Token, Bound]:
        """Return a valid token for a use, and its binding; one thread signs in at a time.

        Raises OrgrestError if the user does not allow the use, or if there is no user to ask.
        """
        from orgrest.http.auth.flows import issue

        with self._lock:
            login = self._known(grant)
            if use not in login.allowed:
                _ask(grant, use, person, signed_in=login.token is not None)
                login.allowed[use] = None
                if login.token is not None:
                    self._keep(grant, login, person)
            if login.token is not None and login.has_expired(self._clock()):
                self._refresh(grant, login, person, steps)
            if login.token is None:
                if person is None:
                    raise _nobody(grant)
                self._take(grant, login, steps.token(issue(grant)), person)
            assert login.token is not None  # noqa: S101 - taken above
            return login.token, _bound(grant, use, login)

    def renew(
        self, grant: Grant, refused: str, person: Person | None, steps: Steps
    ) -> Token | None:
        """Return a replacement for a token that a server refused; None if there is no other.

        In that case the token is dropped: the next run signs in.
        """
        with self._lock:
            login = self._known(grant)
            if login.token is not None and login.token.access == refused:
                self._refresh(grant, login, person, steps)
                if login.token is None:
                    self._keep(grant, login, person)
            return login.token

    def _refresh(self, grant: Grant, login: _Login, person: Person | None, steps: Steps) -> None:
        """Refresh a token, or drop it if the server refuses; one process does so at a time."""
        from orgrest.http.auth.tokens import refreshed

        store, old = self._store, login.token
        with contextlib.nullcontext() if store is None else store.locked(_key(grant)):
            if self._changed(grant, login):
                return
            assert old is not None  # noqa: S101 - as its callers have seen
            new = refreshed(steps, grant, old)
            if new is not None:
                self._take(grant, login, new, person)
            elif not self._changed(grant, login):
                login.token = None

    def _changed(self, grant: Grant, login: _Login) -> bool:
        """Use a token that another process got in the meantime; return whether there is one."""
        again = _read(self._store, grant)
        if again is None or again.token is None or again.has_expired(self._clock()):
            return False
        if login.token is not None and again.token.access == login.token.access:
            return False
        login.token, login.expires = again.token, again.expires
        return True

    def _take(self, grant: Grant, login: _Login, token: Token, person: Person | None) -> None:
        login.token = token
        login.expires = None if token.lifetime is None else self._clock() + token.lifetime
        self._keep(grant, login, person)

    def _known(self, grant: Grant) -> _Login:
        key = _key(grant)
        if key not in self._logins:
            if not self._opened:
                self._opened = True
                try:
                    self._store = self._open_store()
                except OrgrestError as error:
                    self._why_not = error.reason
            self._logins[key] = _read(self._store, grant) or _Login()
        return self._logins[key]

    def _keep(self, grant: Grant, login: _Login, person: Person | None) -> None:
        why = self._why_not
        if self._store is not None:
            try:
                self._store.write(_key(grant), _written(grant, login))
            except OrgrestError as error:
                why = str(error)
        if why and person is not None and not self._told:
            self._told = True
            person.tell(f"the login is not kept for other runs: {why}")


def _ask(grant: Grant, use: Use, person: Person | None, *, signed_in: bool) -> None:
    """Ask the user whether a use is allowed. Raises OrgrestError if it is not."""
    from orgrest.http.auth.oauth2 import origin

    at, gives = origin(grant.page), origin(grant.token_url)
    of = f"client {grant.client[:60]!r}" + (f", scope {grant.scope[:200]!r}" if grant.scope else "")
    if person is None and signed_in:
        raise OrgrestError(
            f"your login at {at} is kept, but not allowed to {use.document} for {use.to}: "
            "`orgrest FILE` asks you on a terminal",
            code="credentials",
        )
    if person is None:
        raise _nobody(grant)
    if signed_in:
        asked = f"{use.document} wants to send your token of {at} ({of}) to {use.to}. Allow that?"
    else:
        between = f", have {gives} give the token," if gives != at else ""
        asked = (
            f"{use.document} wants you to sign in at {at} ({of}){between} and sends the token to "
            f"{use.to}. Sign in?"
        )
    if not person.confirm(asked):
        reason = f"{use.to} does not get a token of {at}: you said no"
        raise OrgrestError(reason, code="credentials")


def _nobody(grant: Grant) -> OrgrestError:
    from orgrest.http.auth.oauth2 import CODE, origin

    how = "opens a browser" if grant.flow == CODE else "shows a code"
    return OrgrestError(
        f"the flow {grant.flow} {how} for a person to sign in at {origin(grant.page)}, and nobody "
        "is asked here (no terminal, CI, or a run of tests): use client_credentials, give a "
        "refresh token (refreshToken, or Refresh Token), or sign in by `orgrest FILE` on a "
        "terminal, which keeps the login",
        code="credentials",
    )


def _bound(grant: Grant, use: Use, login: _Login) -> Bound:
    from orgrest.http.auth.oauth2 import origin

    name = f"token {_key(grant)[:6]} of {origin(grant.page)}"
    hosts = tuple(one.to for one in login.allowed if one.document == use.document)
    return Bound(name, hosts, "what you allowed")


def _identity(grant: Grant) -> dict[str, Any]:
    """Return the fields by which two grants share a login: all but the secrets and the redirect."""
    return {
        "flow": grant.flow,
        "page": grant.page,
        "token_url": grant.token_url,
        "client": grant.client,
        "scope": grant.scope,
        "issuer": grant.issuer,
        "more": [list(pair) for pair in (*grant.more, *grant.more_to_sign_in)],
    }


def _key(grant: Grant) -> str:
    import hashlib
    import json

    data = json.dumps(_identity(grant), sort_keys=True).encode()
    return hashlib.sha256(data).hexdigest()[:32]


def _written(grant: Grant, login: _Login) -> dict[str, Any]:
    token = login.token
    return {
        **_identity(grant),
        "allowed": [[one.document, one.to] for one in login.allowed if one.kept],
        "token": None
        if token is None
        else {
            "access": token.access,
            "refresh": token.refresh,
            "identity": token.identity,
            "expires": login.expires,
        },
    }


def _read(store: LoginStore | None, grant: Grant) -> _Login | None:
    """Return a kept login; None if it is not kept, or not in a form that this program wrote."""
    found = None if store is None else store.read(_key(grant))
    if found is None or {name: found.get(name) for name in _identity(grant)} != _identity(grant):
        return None
    try:
        allowed = {Use(str(document), str(to)): None for document, to in found["allowed"]}
    except (KeyError, TypeError, ValueError):
        return None
    from orgrest.http.auth.flows import Token

    token, expires = None, None
    if isinstance(given := found.get("token"), dict):
        access, expires = given.get("access"), given.get("expires")
        others = [given.get("refresh"), given.get("identity")]
        well = isinstance(access, str) and isinstance(expires, int | float | None)
        if well and all(isinstance(one, str | None) for one in others):
            token = Token(access, *others, None)  # type: ignore[call-arg, arg-type]  # as just seen
    return _Login(allowed, token, expires if token is not None else None)
