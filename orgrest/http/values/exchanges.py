"""The exchanges of a run, for requests that refer to them by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from orgrest.model import OrgrestError, Request, Response

if TYPE_CHECKING:
    from collections.abc import Hashable

    from orgrest.http.responses import Reference
    from orgrest.http.syntax import ParsedRequest
    from orgrest.http.values.context import RunContext
    from orgrest.http.values.taken_secrets import TakenSecrets


@attrs.frozen
class Exchanges:
    """The exchanges of a run; in a dry run nothing is sent."""

    _run: RunContext
    _taken: TakenSecrets

    def key(self, name: str, using: ParsedRequest) -> Hashable | None:
        """Return the key of the request that a name in another request refers to, or None."""
        return self._run.request_named(name, using)

    def reference(self, text: str, using: ParsedRequest) -> tuple[Reference, Hashable] | None:
        """Return what `{{text}}` refers to in another request's exchange, and its key."""
        from orgrest.http import responses

        found = responses.read(text) or responses.read_short(text)
        key = None if found is None else self.key(found.name, using)
        return None if found is None or key is None else (found, key)

    def part(self, reference: Reference, key: Hashable) -> str | None:
        """Return the value of a reference to the request with a key, or None in a dry run.

        The request is sent now if it was not before. Raises `OrgrestError` if the path matches
        nothing, or there is no response.
        """
        from orgrest.http import responses

        exchange = self._exchange(key)
        if exchange is None:
            return None
        if reference.what == "request":
            self._taken.note(exchange[0].bound)
        return responses.value(reference, *exchange)

    def _exchange(self, key: Hashable) -> tuple[Request, Response] | None:
        if self._run.placeholders:
            return None
        exchange = self._run.exchange(key)
        if exchange is None:
            raise OrgrestError(f"the request {key} got no response", code="no-response")
        return exchange

    # as httpyac's scripts and expressions name them

    def is_response(self, name: str, using: ParsedRequest) -> bool:
        """Tell whether a name refers to a response: the last one, or that of a named request."""
        return name == "response" or self._named_by(name, using) is not None

    def _named_by(self, name: str, using: ParsedRequest) -> Hashable | None:
        return self.key(name, using) or self.key(name.removesuffix("Response"), using)

    def answered(self, name: str, using: ParsedRequest) -> Response | None:
        """Return the response that a name refers to, None where none came yet; nothing is sent."""
        key = self._named_by(name, using)
        if key is None:
            exchange = self._run.last_exchange() if name == "response" else None
        else:
            exchange = self._run.answered(key)
        return None if exchange is None else exchange[1]

    def response(self, name: str, using: ParsedRequest) -> Response | None:
        """Return the response that a name refers to, or None in a dry run.

        The request is sent now if it was not before. Raises `OrgrestError` if there is no response.
        """
        key = self._named_by(name, using)
        exchange = self._run.last_exchange() if key is None else self._exchange(key)
        if exchange is None and not self._run.placeholders:
            raise OrgrestError("no response came yet in this run", code="no-response")
        return None if exchange is None else exchange[1]
