"""The secrets of a document: texts to mask, and which of the user's own its requests hold.

Each use of one of the user's secrets is noted where it happens: values that were computed from one
note it again when they are used again. So a request holds those noted while it was completed. What
a script has seen it can put anywhere, so that binds all further requests of the run.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from orgrest.model import Bound, OrgrestError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from orgrest.http.values.secrets import UserSecrets


class Secrets:
    """The secrets of a document, and those among them that it has taken from its user's."""

    def __init__(self, texts: set[str], known: UserSecrets | None) -> None:
        """Begin with `texts`, those of earlier runs; `known` are the user's."""
        self._texts = texts
        self._known = known
        self._noted: list[Bound] = []
        self._by_scripts: dict[str, Bound] = {}
        self._depth = 0  # of requests that wait for each other
        self._grant = 0  # where what the grant being read uses begins
        self.values: dict[str, tuple[str, Bound]] = {}
        """The secrets themselves, by name if they have one, and where each may be sent."""

    @property
    def texts(self) -> frozenset[str]:
        """The texts to mask, so far: of the environment, an env file, netrc, a provider."""
        return frozenset(self._texts)

    def add(self, text: str) -> str:
        """Return a text, registered as a secret."""
        if text.strip():
            self._texts.add(text)
        return text

    def protect(self, result: str, *inputs: str) -> str:
        """Return `result`, registered as a secret if an input contains one."""
        if any(secret in given for given in inputs for secret in self._texts):
            self.add(result)
        return result

    @property
    def mark(self) -> int:
        """A mark for `since`."""
        return len(self._noted)

    def since(self, mark: int) -> tuple[Bound, ...]:
        """Return what was taken since a mark."""
        return tuple(self._noted[mark:]) if len(self._noted) > mark else ()

    def note(self, taken: Iterable[Bound]) -> None:
        """Note that what is being computed holds these."""
        self._noted.extend(taken)

    def take(self, name: str, *, ask: bool) -> str | None:
        """Return one of the user's; None if its provider is not asked. Raises OrgrestError."""
        if self._known is None:
            raise OrgrestError("there is no list of secrets here", code="no-secret")
        bound = self._known.bound(name)
        self._noted.append(bound)
        if not ask:
            return None
        value = self._known.value(name)
        self.values[name] = value, bound
        return self.add(value)

    def hold(self, value: str, bound: Bound) -> None:
        """Note that what is being computed holds a secret that is not of the list."""
        self._noted.append(bound)
        self.values[value] = value, bound

    def show_to_scripts(self, taken: Iterable[Bound]) -> None:
        """Note that scripts see these."""
        self._by_scripts.update((one.name, one) for one in taken)

    @property
    def seen_by_scripts(self) -> tuple[Bound, ...]:
        """Those that scripts have seen: every request may hold them."""
        return tuple(self._by_scripts.values())

    @contextmanager
    def of_request(self) -> Iterator[None]:
        """A context in which a request is completed and sent; others may be meanwhile.

        What was taken outside of all requests, for instance for a loop, each of them may hold.
        """
        if not self._depth:
            self.show_to_scripts(self._noted)
        mark, self._depth = self.mark, self._depth + 1
        try:
            yield
        finally:
            self._depth -= 1
            del self._noted[mark:]

    @contextmanager
    def of_grant(self) -> Iterator[None]:
        """A context in which the credentials of a grant are read."""
        before, self._grant = self._grant, self.mark
        try:
            yield
        finally:
            self._grant = before

    def hand_over(self) -> tuple[Bound, ...]:
        """Return the user's secrets in the grant being read, which is exchanged for a token.

        The request that gets the token does not hold them.
        """
        bound = self.since(self._grant)
        del self._noted[self._grant :]
        return bound
