"""What a request may take from the run that it is part of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from orgrest.model import OrgrestError

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from orgrest.http.auth.oauth2 import Grant, Token
    from orgrest.http.syntax import ParsedRequest
    from orgrest.model import Request, Response


class RunContext:
    """A run, for the requests in it; here there is none, and it has nothing to give.

    With `placeholders` nothing is sent, and a name in angle brackets stands for what a request's
    response would give.
    """

    placeholders = False

    def imported_value(self, name: str) -> str | None:
        """Return what an imported file gives for a variable, or None."""
        del name
        return None

    def request_named(self, name: str, using: ParsedRequest) -> Hashable | None:
        """Return the key of the request that a name means in another one, or None."""
        del name, using
        return None

    def exchange(self, key: Hashable) -> tuple[Request, Response] | None:
        """Return what the request of a key sent and got: it is sent now unless it was.

        None stands for what got no response. Raises `OrgrestError` if it cannot be sent.
        """
        del key
        return None

    def last_exchange(self) -> tuple[Request, Response] | None:
        """Return what was sent and got last, None at the begin."""
        return None

    def token(self, grant: Grant) -> Token:
        """Return a token of OAuth 2.0. Raises `OrgrestError` if there is none."""
        del grant
        reason = "a token is asked for only when the request is sent"
        raise OrgrestError(reason, code="credentials")

    def compute(
        self, code: str, variables: Mapping[str, Any], responses: Mapping[str, Response]
    ) -> tuple[str, Any]:
        """Return the text and the value of an expression in JavaScript. Raises `OrgrestError`."""
        del code, variables, responses
        raise OrgrestError("JavaScript is computed only when requests are sent, or shown")
