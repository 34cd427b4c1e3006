"""Versions of Luau: their notation, and which features exist in which version.

The default everywhere is the original schema of 57 messages, which has no version. Everything else
is marked with the version that introduced it: the first release whose command-line tools accept it,
or `SEED` if that release is older. Removed features are also marked with the version that removed
them. The command-line tools enable the flags of new features. A program that embeds Luau gets these
features only when their flags are removed.

Source: https://github.com/luau-lang/luau/releases
"""

from __future__ import annotations

import re
from typing import Final

import attrs


@attrs.frozen(order=True)
class Version:
    """A release of Luau. `number` is 711 for 0.711. Releases are ordered by age."""

    number: int

    @classmethod
    def parse(cls, text: str | Version) -> Version:
        """Return the version for `text`: a number such as `0.711`, or `today` for the newest.

        A Version is returned as is. Raises ValueError for any other string, and for a release older
        than `SEED` or newer than `TODAY`.
        """
        if isinstance(text, Version):
            return text
        if text == "today":
            return TODAY
        match = re.fullmatch(r"0\.([0-9]{3})", text)
        version = cls(int(match[1])) if match else None
        if version is None or not SEED.number <= version.number <= TODAY.number:
            raise ValueError(
                f"unknown version of Luau {text!r}: expected {SEED} to {TODAY}, "
                f"or 'today' ({TODAY})"
            )
        return version

    def __str__(self) -> str:
        return f"0.{self.number}"


SEED: Final = Version(677)
"""The oldest supported version, which corresponds to the original schema."""

TODAY: Final = Version(735)
"""The newest known version."""


@attrs.frozen
class Span:
    """The versions that have a feature: from `since` up to, but not including, `until`."""

    since: Version = SEED
    until: Version | None = None

    def __contains__(self, version: Version) -> bool:
        return self.since <= version and (self.until is None or version < self.until)


def has(luau: Version | None, span: Span | None) -> bool:
    """Return whether the version `luau` has a feature that exists in the versions of `span`.

    If `span` is None, every version has the feature. If `luau` is None (the original schema), only
    features without a span exist.
    """
    return span is None or (luau is not None and luau in span)
