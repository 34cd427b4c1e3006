"""The services of a run for its requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from orgrest.model import OrgrestError

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from orgrest.http.auth.flows import Token
    from orgrest.http.auth.oauth2 import Grant
    from orgrest.http.syntax import ParsedRequest
    from orgrest.model import Bound, Request, Response


class RunContext:
    """A run as its requests see it; this default stands for no run and provides nothing.

    With `placeholders` nothing is sent, and a name in angle brackets replaces a value of a
    response.
    """

    placeholders = False

    def imported_value(self, name: str) -> str | None:
        """Return the source of a variable in an imported file, or None."""
        del name
        return None

    def request_named(self, name: str, using: ParsedRequest) -> Hashable | None:
        """Return the key of the request that a name in another request refers to, or None."""
        del name, using
        return None

    def exchange(self, key: Hashable) -> tuple[Request, Response] | None:
        """Return the exchange of the request with a key, sending it if necessary.

        None means that there was no response. Raises `OrgrestError` if it cannot be sent.
        """
        del key
        return None

    def answered(self, key: Hashable) -> tuple[Request, Response] | None:
        """Return the exchange of the request with a key, None if it was not sent yet."""
        del key
        return None

    def last_exchange(self) -> tuple[Request, Response] | None:
        """Return the last exchange, None at the beginning."""
        return None

    def token(
        self, grant: Grant, bound: tuple[Bound, ...] = (), url: str | None = None
    ) -> tuple[Token, Bound | None]:
        """Return a token of OAuth 2.0, for a grant with these secrets of the user's.

        `url` is where the request goes that needs it; a login's token is bound itself. Raises
        `OrgrestError` if there is none.
        """
        del grant, bound, url
        reason = "a token is asked for only when the request is sent"
        raise OrgrestError(reason, code="credentials")

    def compute(
        self, code: str, variables: Mapping[str, Any], responses: Mapping[str, Response]
    ) -> tuple[str, Any]:
        """Return the text and the value of an expression in JavaScript. Raises `OrgrestError`."""
        del code, variables, responses
        raise OrgrestError("JavaScript is computed only when requests are sent, or shown")
