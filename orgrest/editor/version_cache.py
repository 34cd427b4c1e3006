"""A cache that carries results from one version of a document to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

K = TypeVar("K", bound="Hashable")
V = TypeVar("V")


class VersionCache(Generic[K, V]):
    """Computed values by cache key.

    Entries that a version does not use are dropped, unless it uses none at all.
    """

    def __init__(self, before: VersionCache[K, V] | None = None) -> None:
        """Start with the entries that the version `before` used."""
        self._now: dict[K, V] = {}
        self._before: dict[K, V] = (before._now or before._before) if before else {}

    def get(self, key: K, make: Callable[[], V]) -> V:
        """Return the cached value of a key, else the result of `make`."""
        found = self._now.get(key)
        if found is None:
            found = self._before.get(key)
            if found is None:
                found = make()
            self._now[key] = found
        return found
