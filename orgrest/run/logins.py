"""Logins: tokens for which a person signed in, and what that person allows documents with them.

A document chooses the server, the client, and where its requests go, and it may be anybody's. So a
person is asked, once for each document and each origin that it sends the token to, and what they
allowed binds the token (`model.Bound`): it goes nowhere else, in whatever form. A document that
names the same server and client gets the same login, once the person allowed that, too.

Where there is no person (`Person` is None), a login that is kept and allowed is used, and
refreshed; nothing else is.
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
    """Who can be asked, told a text, and shown a page in a browser, which tells whether it opened.

    What documents and servers say in these texts is made visible before it is shown.
    """

    _ask: Callable[[str], bool]
    _tell: Callable[[str], None]
    _open: Callable[[str], bool]

    def confirm(self, question: str) -> bool:
        """Return whether the person says yes."""
        return self._ask(_visible(question))

    def tell(self, text: str) -> None:
        """Show a text."""
        self._tell(_visible(text))

    def open(self, url: str) -> bool:
        """Show a page in the person's browser, and tell whether one was started."""
        from orgrest.http.auth.oauth2 import is_page

        return is_page(url) and self._open(url)


def _visible(text: str) -> str:
    from orgrest.rendering.sanitize import visible

    return visible(text, one_line=True)


@attrs.frozen
class Use:
    """The use of a token: by a document, and where to, as an origin.

    `document` is the path of the document; `kept` tells that this is a file, for which it may be
    remembered what the person allowed.
    """

    document: str
    to: str
    kept: bool = True


@attrs.define
class _Login:
    """A login: the uses of it that are allowed, and its token, if there is one."""

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
    """The logins of a process, which any of its threads may use; the kept ones are of its user."""

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
        """Return a valid token for a use of it, and what binds it; one thread signs in at a time.

        Raises OrgrestError if the person does not allow that, or is not there to be asked.
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
        """Return a token in the place of one that a server refused, None if nobody gives one.

        Then the login is forgotten: the next run signs in.
        """
        with self._lock:
            login = self._known(grant)
            if login.token is not None and login.token.access == refused:
                self._refresh(grant, login, person, steps)
                if login.token is None:
                    self._keep(grant, login, person)
            return login.token

    def _refresh(self, grant: Grant, login: _Login, person: Person | None, steps: Steps) -> None:
        """Refresh a token, or drop it if the server does not; one process does so at a time."""
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
        """Take a token that another process has got meanwhile; tell whether there is one."""
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
    """Ask a person whether a use is allowed. Raises OrgrestError if it is not."""
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
    """Return what makes two grants one login: all of it but its secrets and the redirect."""
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
    """Return what is kept of a login; None if nothing is, or nothing that this program wrote."""
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
