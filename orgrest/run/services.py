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
    """What a run uses, besides what gives variables their values.

    `client` sends, and is None where nothing is sent. `cookies` are those of earlier runs; without
    them each run has its own. `write` writes a file for a result, and raises OrgrestError if it
    cannot; without it, none is written. What is sent is kept in the `history`. `person` can sign
    in, None where nobody is there to do it; what they did and allowed is in `logins`. `ask` asks
    the user whether to go on, None where nobody can be asked. `on_message` shows the messages of a
    stream. `descriptions` are those of OpenAPI that exchanges are checked against.
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
        """Add the secrets of this process's user to what is given."""
        return cls(user_secrets=UserSecrets.of_user(), **given)
