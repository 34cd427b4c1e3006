"""What the named requests of a document sent and got, for those that refer to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orgrest.model import OrgrestError, Request, Response

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from orgrest.http.responses import Reference


class Exchanges:
    """The exchanges of one run; in a dry run nothing is sent, and nothing comes back."""

    def __init__(self, *, dry_run: bool = False) -> None:
        """Begin with no request that has a name."""
        self._dry_run = dry_run
        self._known: dict[str, tuple[Request, Response] | None] = {}
        self._fetch: Callable[[str], None] | None = None

    def name_requests(self, names: Iterable[str], fetch: Callable[[str], None]) -> None:
        """Let others refer to the requests of these names; `fetch` sends one and keeps it."""
        for name in names:
            self._known.setdefault(name, None)
        self._fetch = fetch

    def __contains__(self, name: str) -> bool:
        """Tell whether a request of this name can be referred to."""
        return name in self._known

    def keep(self, name: str, request: Request, response: Response) -> None:
        """Keep what the request of a name sent and got."""
        self._known[name] = (request, response)

    def reference(self, text: str) -> Reference | None:
        """Return what `{{text}}` refers to in the exchange of a named request, or None."""
        from orgrest.http import responses

        found = responses.read(text) or responses.read_short(text)
        return found if found is not None and found.name in self._known else None

    def part(self, reference: Reference) -> str | None:
        """Return what a reference gives, or None in a dry run.

        The request is sent now if it was not. Raises `OrgrestError` where there is nothing at that
        place, or no response.
        """
        from orgrest.http import responses

        name = reference.name
        if self._dry_run:
            return None
        if self._known[name] is None and self._fetch is not None:
            self._fetch(name)
        exchange = self._known[name]
        if exchange is None:
            raise OrgrestError(f"the request {name} got no response", code="no-response")
        return responses.value(reference, *exchange)
