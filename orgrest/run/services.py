"""The objects that act for a run: what sends, asks, shows and remembers; created once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import attrs

from orgrest.http.values import Helpers
from orgrest.http.values.secrets import UserSecrets
from orgrest.run.descriptions import Descriptions

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from orgrest.http.transport.client import Client
    from orgrest.http.transport.cookies import Cookies
    from orgrest.run.history import History
    from orgrest.run.logins import Logins, Person


@attrs.define(kw_only=True, eq=False)
class Services(Helpers):
    """The objects that a run uses, in addition to those that give variables their values.

    `client` sends, and is None where nothing is sent. `cookies` are those of earlier runs; without
    them each run has its own. `write` writes a file for a result, and raises OrgrestError if it
    cannot; without it, no files are written. Exchanges are kept in the `history`. `person` is the
    user who can sign in, None if no user is present; their logins and permissions are in `logins`.
    `ask` asks the user whether to continue, None if that is impossible. `on_message` shows the
    messages of a stream. `descriptions` are the OpenAPI descriptions that exchanges are checked
    against.
    """

    client: Client | None = None
    cookies: Cookies | None = None
    write: Callable[[Path, bytes], None] | None = None
    history: History | None = None
    person: Person | None = None
    logins: Logins | None = None
    ask: Callable[[str], bool] | None = None
    on_message: Callable[[str], None] | None = None
    descriptions: Descriptions = attrs.field(factory=Descriptions)

    @classmethod
    def of_user(cls, **given: Any) -> Self:
        """Return the given services with the secrets of this process's user."""
        return cls(user_secrets=UserSecrets.of_user(), **given)
