"""Versions of Luau: their notation, and what exists in which version.

The default everywhere is the seed's 57 messages, which have no version. Anything else has the
version since which Luau has it (and, if it was removed, until which): the first release whose
command-line tools accept it. These enable the flags of new features, which a program that embeds
Luau leaves disabled until the flag is removed. Anything older than `SEED` is marked with `SEED`.

Source: https://github.com/luau-lang/luau/releases
"""

from __future__ import annotations

import re
from typing import Final

import attrs


@attrs.frozen(order=True)
class Version:
    """A release of Luau; `number` is 711 for 0.711. Releases compare by age."""

    number: int

    @classmethod
    def parse(cls, text: str | Version) -> Version:
        """Read a version: `0.711`, or `today` for the newest known; a Version is returned as it is.

        Raises ValueError for any other text, and for an unknown release: older than `SEED`, or
        newer than `TODAY`.
        """
        if isinstance(text, Version):
            return text
        if text == "today":
            return TODAY
        found = re.fullmatch(r"0\.([0-9]{3})", text)
        version = cls(int(found[1])) if found else None
        if version is None or not SEED.number <= version.number <= TODAY.number:
            raise ValueError(
                f"{text!r} is not a version of Luau that is known: "
                f"give {SEED} to {TODAY}, or today, which is {TODAY}"
            )
        return version

    def __str__(self) -> str:
        return f"0.{self.number}"


SEED: Final = Version(677)
"""The version of the seed's schema, the oldest that is supported."""

TODAY: Final = Version(735)
"""The newest known version."""


@attrs.frozen
class Span:
    """The versions that have something: from `since` to before `until`."""

    since: Version = SEED
    until: Version | None = None

    def __contains__(self, version: Version) -> bool:
        return self.since <= version and (self.until is None or version < self.until)


def has(luau: Version | None, span: Span | None) -> bool:
    """Return whether a version has something; None is the seed, which has what has no span."""
    return span is None or (luau is not None and luau in span)
