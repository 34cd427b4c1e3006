"""The objects with which a run sends requests, asks the user, shows messages and stores files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from orgrest import classes
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


@classes.define(kw_only=True, eq=False)
class Services(Helpers):
    """The objects that a run uses, except those that provide the values of variables.

    `client` sends requests. If it is None, nothing is sent. `cookies` contains the cookies of
    earlier runs. If it is None, each run starts without cookies. `write` writes a result file, and
    raises OrgrestError if that fails. If it is None, files are not written. `history` records
    exchanges.

    `person` is the user who can sign in, or None if no user is present. `logins` contains the
    user's logins and permissions. `ask` asks the user whether to continue. If it is None, the user
    cannot be asked. `on_message` shows the messages of a stream. `descriptions` contains the
    OpenAPI descriptions that exchanges are checked against.
    """

    client: Client | None = None
    cookies: Cookies | None = None
    write: Callable[[Path, bytes], None] | None = None
    history: History | None = None
    person: Person | None = None
    logins: Logins | None = None
    ask: Callable[[str], bool] | None = None
    on_message: Callable[[str], None] | None = None
    descriptions: Descriptions = classes.field(factory=Descriptions)

    @classmethod
    def of_user(cls, **services: Any) -> Self:
        """Create an instance with the given services and the current user's secrets."""
        return cls(user_secrets=UserSecrets.of_user(), **services)
