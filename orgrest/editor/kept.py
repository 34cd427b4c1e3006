"""What an editor remembers of one version of a document for the next one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

K = TypeVar("K", bound="Hashable")
V = TypeVar("V")


class Kept(Generic[K, V]):
    """What was worked out, by all that it hangs on.

    What a version does not ask for goes, unless it asks for nothing at all.
    """

    def __init__(self, before: Kept[K, V] | None = None) -> None:
        """Begin with what was asked for of the version `before`."""
        self._now: dict[K, V] = {}
        self._before: dict[K, V] = (before._now or before._before) if before else {}

    def get(self, key: K, make: Callable[[], V]) -> V:
        """Return what is known by a key, else what `make` gives."""
        found = self._now.get(key)
        if found is None:
            found = self._before.get(key)
            if found is None:
                found = make()
            self._now[key] = found
        return found
