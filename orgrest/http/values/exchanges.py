"""What the requests of a document sent and got, for those that refer to them by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from orgrest.model import OrgrestError, Request, Response

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    from orgrest.http.responses import Reference
    from orgrest.http.syntax import ParsedRequest


class Exchanges:
    """The exchanges of one run; in a dry run nothing is sent, and nothing comes back."""

    def __init__(self, *, dry_run: bool = False) -> None:
        """Begin with no request that has a name."""
        self._dry_run = dry_run
        self._known: dict[Hashable, tuple[Request, Response]] = {}
        self._fetch: Callable[[Any], None] | None = None
        self._resolve: Callable[[ParsedRequest, str], Iterable[Hashable]] = lambda _, __: ()
        self._last: tuple[Request, Response] | None = None

    def name_requests(
        self,
        fetch: Callable[[Any], None],
        resolve: Callable[[ParsedRequest, str], Iterable[Hashable]],
    ) -> None:
        """Let requests refer to others; `fetch` sends the one of a key and keeps it.

        `resolve` gives the keys that a name may mean in a request: the first one of which there is
        an exchange, else the last.
        """
        self._fetch, self._resolve = fetch, resolve

    def keep(self, key: Hashable, request: Request, response: Response) -> None:
        """Keep what the request of a key sent and got; it is the last one, too."""
        self._known[key] = self._last = (request, response)

    def key(self, name: str, using: ParsedRequest) -> Hashable | None:
        """Return the key of the request that a name means in another one, or None."""
        keys = list(self._resolve(using, name))
        return next((key for key in keys if key in self._known), keys[-1] if keys else None)

    def reference(self, text: str, using: ParsedRequest) -> tuple[Reference, Hashable] | None:
        """Return what `{{text}}` in a request refers to in another one's exchange, and its key."""
        from orgrest.http import responses

        found = responses.read(text) or responses.read_short(text)
        key = None if found is None else self.key(found.name, using)
        return None if found is None or key is None else (found, key)

    def part(self, reference: Reference, key: Hashable) -> str | None:
        """Return what a reference to the request of a key gives, or None in a dry run.

        The request is sent now if it was not. Raises `OrgrestError` where there is nothing at that
        place, or no response.
        """
        from orgrest.http import responses

        exchange = self._exchange(key)
        return None if exchange is None else responses.value(reference, *exchange)

    def _exchange(self, key: Hashable) -> tuple[Request, Response] | None:
        if self._dry_run:
            return None
        if key not in self._known and self._fetch is not None:
            self._fetch(key)
        if key not in self._known:
            raise OrgrestError(f"the request {key} got no response", code="no-response")
        return self._known[key]

    # as httpyac's scripts and expressions name them

    def is_response(self, name: str, using: ParsedRequest) -> bool:
        """Tell whether a name means a response: the last one, or that of a named request."""
        return name == "response" or self._named_by(name, using) is not None

    def _named_by(self, name: str, using: ParsedRequest) -> Hashable | None:
        return self.key(name, using) or self.key(name.removesuffix("Response"), using)

    def response(self, name: str, using: ParsedRequest) -> Response | None:
        """Return the response that a name means, or None in a dry run.

        The request is sent now if it was not. Raises `OrgrestError` where there is no response.
        """
        key = self._named_by(name, using)
        exchange = self._last if key is None else self._exchange(key)
        if exchange is None and not self._dry_run:
            raise OrgrestError("no response came yet in this run", code="no-response")
        return None if exchange is None else exchange[1]
