"""The verdict of an oracle on a program, and the signature that identifies a bug."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any, Final

import attrs

from scriptschema.fuzzing.targets import outcome

DIFFERENCE: Final = "difference"
"""The kind of a verdict on runs that behave differently."""

_NO_WORD: Final = re.compile(r"[^a-z0-9]+")


@attrs.frozen(order=True)
class Signature:
    """The identity of a bug: verdicts with equal signatures are about the same bug.

    `kind` names the outcome (`crash`) or the oracle (`difference`). `detail` contains the top stack
    frames, innermost first, or a normalised message. If necessary to distinguish bugs, `construct`
    lists features that the reduced program uses: `math.floor, pcall`.
    """

    kind: str
    detail: str = ""
    construct: str = ""

    def __str__(self) -> str:
        text = f"{self.kind}: {self.detail}" if self.detail else self.kind
        return f"{text} ({self.construct})" if self.construct else text

    @property
    def bare(self) -> Signature:
        """The signature without a construct."""
        return attrs.evolve(self, construct="")

    @property
    def seen(self) -> Signature:
        """The signature that was seen once, or the signature itself if the bug was reproduced."""
        if self.kind != outcome.ONCE:
            return self
        kind, _, detail = self.detail.partition(": ")
        return Signature(kind, detail)

    def agrees(self, other: Signature, targets: Mapping[str, int]) -> bool:
        """Return whether two verdicts are about the same bug, ignoring constructs.

        A difference may appear in more or fewer variants of a target: which variants differ depends
        on what the compiler calculates at each level. It must appear in the same targets. `targets`
        contains the target of each run, by the run's name.
        """
        if not outcome.agree(self.kind, other.kind):
            return False
        if self.detail == other.detail:
            return True
        (_, here, first), (_, there, second) = (
            each.detail.rpartition(" / ") for each in (self, other)
        )
        if not (self.kind == DIFFERENCE and here and there):
            return False
        runs, others = {*first.split(", ")}, {*second.split(", ")}
        same = {*map(targets.get, runs)} == {*map(targets.get, others)}
        return same and (runs <= others or runs >= others)

    @property
    def name(self) -> str:
        """The name of the find's folder, readable and unique."""
        readable = _NO_WORD.sub("-", f"{self.kind} {self.construct or self.detail}".lower())
        digest = hashlib.blake2b(str(self).encode("utf-8", "replace"), digest_size=4).hexdigest()
        return f"{readable[:40].strip('-')}-{digest}"


@attrs.frozen
class Difference:
    """The first line that two runs print differently.

    `line` is the line's number, counted from 1. `left` and `right` are the two texts, or None if a
    run has no such line. `left_target` and `right_target` are the names of the runs. If the lines
    differ only in numbers, `ulps` is their largest distance in units in the last place.
    """

    line: int
    left_target: str
    right_target: str
    left: str | None
    right: str | None
    ulps: int | None = None

    @property
    def sides(self) -> list[tuple[str, str | None]]:
        """The name of each of the two runs, and its version of the line."""
        return [(self.left_target, self.left), (self.right_target, self.right)]


@attrs.frozen
class Verdict:
    """A bug that the runs of a program reveal: its signature, and a readable description.

    `printed` is the text that a printer printed for the program, if any.
    """

    signature: Signature
    message: str
    difference: Difference | None = None
    printed: str = ""

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Verdict:
        """Return the verdict stored in JSON data. Raises KeyError or TypeError for invalid data."""
        difference = value.get("difference")
        return cls(
            Signature(**value["signature"]),
            value["message"],
            Difference(**difference) if difference else None,
            value.get("printed", ""),
        )
