"""What the named requests of a document sent and got, for those that refer to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from orgrest.model import OrgrestError, Request, Response

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from orgrest.http.responses import Reference
    from orgrest.http.syntax import ParsedRequest
    from orgrest.model import Source


class Exchanges:
    """The exchanges of one run; in a dry run nothing is sent, and nothing comes back."""

    def __init__(self, *, dry_run: bool = False) -> None:
        """Begin with no request that has a name."""
        self._dry_run = dry_run
        self._known: dict[str, tuple[Request, Response] | None] = {}
        self._fetch: Callable[[str], None] | None = None
        self._resolve: Callable[[Source, str], str | None] | None = None
        self._last: tuple[Request, Response] | None = None

    def name_requests(
        self,
        keys: Iterable[str],
        fetch: Callable[[str], None],
        resolve: Callable[[Source, str], str | None] | None = None,
    ) -> None:
        """Let others refer to the requests of these keys; `fetch` sends one and keeps it.

        `resolve` gives the key that a name means in a source; without it, a name is the key.
        """
        for key in keys:
            self._known.setdefault(key, None)
        self._fetch, self._resolve = fetch, resolve

    def __contains__(self, name: str) -> bool:
        """Tell whether a request of this name can be referred to."""
        return name in self._known

    def keep(self, name: str, request: Request, response: Response) -> None:
        """Keep what the request of a name sent and got."""
        self._known[name] = (request, response)

    def key(self, name: str, source: Source) -> str | None:
        """Return the key of the request that a name means in a source, or None."""
        key = name if self._resolve is None else self._resolve(source, name)
        return key if key in self._known else None

    def answered(self, parsed: ParsedRequest, request: Request, response: Response) -> None:
        """Keep what a request sent and got: the last one, and if others may refer to it."""
        self._last = request, response
        if parsed.name is not None:
            self.keep(self.key(parsed.name, parsed.source) or parsed.name, request, response)

    def reference(self, text: str, source: Source) -> Reference | None:
        """Return what `{{text}}` in a source refers to in a named request's exchange, or None.

        Its `name` is the key of the request.
        """
        from orgrest.http import responses

        found = responses.read(text) or responses.read_short(text)
        key = None if found is None else self.key(found.name, source)
        return None if found is None or key is None else attrs.evolve(found, name=key)

    def part(self, reference: Reference) -> str | None:
        """Return what a reference gives, or None in a dry run.

        The request is sent now if it was not. Raises `OrgrestError` where there is nothing at that
        place, or no response.
        """
        from orgrest.http import responses

        exchange = self._exchange(reference.name)
        return None if exchange is None else responses.value(reference, *exchange)

    def _exchange(self, key: str) -> tuple[Request, Response] | None:
        if self._dry_run:
            return None
        if self._known[key] is None and self._fetch is not None:
            self._fetch(key)
        exchange = self._known[key]
        if exchange is None:
            raise OrgrestError(f"the request {key} got no response", code="no-response")
        return exchange

    # as httpyac's scripts and expressions name them

    def is_response(self, name: str, source: Source) -> bool:
        """Tell whether a name means a response: the last one, or that of a named request."""
        return name == "response" or self._named_by(name, source) is not None

    def _named_by(self, name: str, source: Source) -> str | None:
        return self.key(name, source) or self.key(name.removesuffix("Response"), source)

    def response(self, name: str, source: Source) -> Response | None:
        """Return the response that a name means, or None in a dry run.

        The request is sent now if it was not. Raises `OrgrestError` where there is no response.
        """
        key = self._named_by(name, source)
        exchange = self._last if key is None else self._exchange(key)
        if exchange is None and not self._dry_run:
            raise OrgrestError("no response came yet in this run", code="no-response")
        return None if exchange is None else exchange[1]
