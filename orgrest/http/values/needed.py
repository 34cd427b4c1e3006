"""What a request's values need from the run, which then completes the request anew.

These are no errors: nothing but the run that completes a request handles them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable

    from orgrest.http.auth.oauth2 import Grant
    from orgrest.model import Bound


class NeededError(Exception):
    """A value that the run has yet to get."""


class RequestNeededError(NeededError):
    """A request that has to be sent before; `key` is its identity."""

    def __init__(self, key: Hashable) -> None:
        super().__init__(key)
        self.key = key


class TokenNeededError(NeededError):
    """An OAuth 2.0 token for a grant, with the user's secrets in it, and where it is sent."""

    def __init__(self, grant: Grant, bound: tuple[Bound, ...], url: str | None) -> None:
        super().__init__(grant)
        self.grant, self.bound, self.url = grant, bound, url
