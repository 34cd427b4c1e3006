"""Logins: tokens that a user got by signing in, and the permissions that let documents use them.

A document may come from anyone, and it chooses the server, the client and the destinations of its
requests. Therefore, the user must allow each document to send the token to each origin. The token
is not sent to any other origin, in any form (`model.Bound`). Documents that name the same server
and client can share a login, but each needs its own permission.

If no user can be asked (`Person` is None), stored logins are used and refreshed, but only by
documents that already have permission.
"""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING, Any

from orgrest import classes
from orgrest.model import Bound, OrgrestError

if TYPE_CHECKING:
    from collections.abc import Callable

    from orgrest.http.auth.flows import Token
    from orgrest.http.auth.oauth2 import Grant
    from orgrest.http.auth.tokens import Steps
    from orgrest.run.login_store import LoginStore


@classes.frozen
class Person:
    """A user who can answer questions, read messages and see a page in a browser.

    Control characters in questions and messages are escaped, since documents and servers may
    provide parts of the text.
    """

    _ask: Callable[[str], bool]
    _tell: Callable[[str], None]
    _open: Callable[[str], bool]

    def confirm(self, question: str) -> bool:
        """Ask the user a question, and return whether they agree."""
        return self._ask(_visible(question))

    def tell(self, text: str) -> None:
        """Show a message to the user."""
        self._tell(_visible(text))

    def open(self, url: str) -> bool:
        """Open a page in the user's browser, and return whether a browser was started."""
        from orgrest.http.auth.oauth2 import is_page

        return is_page(url) and self._open(url)


def _visible(text: str) -> str:
    from orgrest.rendering.sanitize import visible

    return visible(text, one_line=True)


@classes.frozen
class Use:
    """The use of a token by one document, for one origin.

    `document` is the document's path, and `to` is the origin. If `kept` is true, the document is a
    file, and the user's permission is stored for later runs.
    """

    document: str
    to: str
    kept: bool = True


@classes.define
class _Login:
    allowed: dict[Use, None] = classes.field(factory=dict)
    token: Token | None = None
    expires: float | None = None

    @property
    def has_expired(self) -> bool:
        from orgrest.http.auth.tokens import LEEWAY

        return self.expires is not None and self.expires - LEEWAY < time.time()


def _of_user() -> LoginStore | None:
    from orgrest.run.login_store import LoginStore

    return LoginStore.of_user()


class Logins:
    """The logins of a process, read from the user's store when they are first needed.

    This class is thread-safe.
    """

    def __init__(self, open_store: Callable[[], LoginStore | None] = _of_user) -> None:
        self._open_store = open_store
        self._store: LoginStore | None = None
        self._why_not = ""  # the reason why logins cannot be stored
        self._opened = self._notified = False
        self._lock = threading.Lock()
        self._logins: dict[str, _Login] = {}

    def token(
        self, grant: Grant, use: Use, person: Person | None, steps: Steps
    ) -> tuple[Token, Bound]:
        """Return a valid token for `use`, and its binding: the hosts that it may be sent to.

        If necessary, the user signs in, in one thread at a time. `steps` carries out the login
        flow. Raises OrgrestError if the user does not allow this use of the token, or cannot be
        asked.
        """
        from orgrest.http.auth.flows import issue

        with self._lock:
            login = self._known(grant)
            if use not in login.allowed:
                _ask(grant, use, person, signed_in=login.token is not None)
                login.allowed[use] = None
                if login.token is not None:
                    self._keep(grant, login, person)
            if login.token is not None and login.has_expired:
                self._refresh(grant, login, person, steps)
            if login.token is None:
                if person is None:
                    raise _nobody(grant)
                self._take(grant, login, steps.token(issue(grant)), person)
            assert login.token is not None  # noqa: S101 - set above
            return login.token, _bound(grant, use, login)

    def renew(
        self, grant: Grant, refused: str, person: Person | None, steps: Steps
    ) -> Token | None:
        """Return a replacement for a token that a server refused, or None if refreshing fails.

        In that case, the refused token is deleted, and the next run signs in again.
        """
        with self._lock:
            login = self._known(grant)
            if login.token is not None and login.token.access == refused:
                self._refresh(grant, login, person, steps)
                if login.token is None:
                    self._keep(grant, login, person)
            return login.token

    def _refresh(self, grant: Grant, login: _Login, person: Person | None, steps: Steps) -> None:
        """Refresh a login's token, in one process at a time. Delete it if the server refuses."""
        from orgrest.http.auth.tokens import refreshed

        store, old = self._store, login.token
        with contextlib.nullcontext() if store is None else store.locked(_key(grant)):
            if self._adopt_stored(grant, login):
                return
            assert old is not None  # noqa: S101 - checked by the callers
            new = refreshed(steps, grant, old)
            if new is not None:
                self._take(grant, login, new, person)
            elif not self._adopt_stored(grant, login):
                login.token = None

    def _adopt_stored(self, grant: Grant, login: _Login) -> bool:
        """Adopt a new token that another process has stored. Returns whether there was one."""
        stored = _read(self._store, grant)
        if stored is None or stored.token is None or stored.has_expired:
            return False
        if login.token is not None and stored.token.access == login.token.access:
            return False
        login.token, login.expires = stored.token, stored.expires
        return True

    def _take(self, grant: Grant, login: _Login, token: Token, person: Person | None) -> None:
        login.token = token
        login.expires = None if token.lifetime is None else time.time() + token.lifetime
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
        failure = self._why_not
        if self._store is not None:
            try:
                self._store.write(_key(grant), _written(grant, login))
            except OrgrestError as error:
                failure = str(error)
        if failure and person is not None and not self._notified:
            self._notified = True
            person.tell(f"could not save the login for later runs: {failure}")


def _ask(grant: Grant, use: Use, person: Person | None, *, signed_in: bool) -> None:
    """Ask the user to allow `use` and, if necessary, to sign in. Raises OrgrestError on refusal."""
    from orgrest.http.auth.oauth2 import origin

    at, gives = origin(grant.page), origin(grant.token_url)
    of = f"client {grant.client[:60]!r}" + (f", scope {grant.scope[:200]!r}" if grant.scope else "")
    if person is None and signed_in:
        raise OrgrestError(
            f"you are signed in at {at}, but have not allowed {use.document} to send the "
            f"token to {use.to}: run `orgrest FILE` in a terminal to allow it",
            code="credentials",
        )
    if person is None:
        raise _nobody(grant)
    if signed_in:
        question = f"{use.document} wants to send your token from {at} ({of}) to {use.to}. Allow?"
    else:
        then = f"get the token from {gives} and send it" if gives != at else "send the token"
        question = (
            f"{use.document} wants you to sign in at {at} ({of}), so that it can {then} to "
            f"{use.to}. Sign in?"
        )
    if not person.confirm(question):
        reason = f"the token from {at} was not sent to {use.to}: you declined"
        raise OrgrestError(reason, code="credentials")


def _nobody(grant: Grant) -> OrgrestError:
    from orgrest.http.auth.oauth2 import origin

    return OrgrestError(
        f"the flow {grant.flow} requires a person to sign in at {origin(grant.page)}, which is not "
        "possible here (there is no terminal, or this is CI or a test run): sign in once with "
        "`orgrest FILE` in a terminal, which saves the login; or set a refresh token "
        "(refreshToken, or Refresh Token); or use client_credentials",
        code="credentials",
    )


def _bound(grant: Grant, use: Use, login: _Login) -> Bound:
    from orgrest.http.auth.oauth2 import origin

    name = f"token {_key(grant)[:6]} of {origin(grant.page)}"
    hosts = tuple(
        allowed_use.to for allowed_use in login.allowed if allowed_use.document == use.document
    )
    return Bound(name, hosts, "your permissions")


def _identity(grant: Grant) -> dict[str, Any]:
    """Return the fields that identify a grant's login, without secrets or the redirect URI."""
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
        "allowed": [[use.document, use.to] for use in login.allowed if use.kept],
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
    login = None if store is None else store.read(_key(grant))
    if login is None or {name: login.get(name) for name in _identity(grant)} != _identity(grant):
        return None
    try:
        allowed = {Use(str(document), str(to)): None for document, to in login["allowed"]}
    except (KeyError, TypeError, ValueError):
        return None
    from orgrest.http.auth.flows import Token

    token, expires = None, None
    if isinstance(token_fields := login.get("token"), dict):
        access, expires = token_fields.get("access"), token_fields.get("expires")
        other_fields = [token_fields.get("refresh"), token_fields.get("identity")]
        valid = isinstance(access, str) and isinstance(expires, int | float | None)
        if valid and all(isinstance(text, str | None) for text in other_fields):
            token = Token(access, *other_fields, None)  # type: ignore[call-arg, arg-type]  # checked above
    return _Login(allowed, token, expires if token is not None else None)
