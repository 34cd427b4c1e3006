"""What an oracle says of a program: a verdict, and the signature by which a bug is known."""

from __future__ import annotations

import hashlib
import re
from typing import Any, Final

import attrs

_NO_WORD: Final = re.compile(r"[^a-z0-9]+")


@attrs.frozen(order=True)
class Signature:
    """What a bug is known by: verdicts with the same signature are of one bug.

    `kind` is that of the outcome (`crash`) or of the oracle (`difference`), `detail` the top stack
    frames, the innermost first, or a message without what differs from run to run. `construct` is
    what the reduced program uses, where that is needed to tell bugs apart: `math.floor, pcall`.
    """

    kind: str
    detail: str = ""
    construct: str = ""

    def __str__(self) -> str:
        text = f"{self.kind}: {self.detail}" if self.detail else self.kind
        return f"{text} ({self.construct})" if self.construct else text

    @property
    def name(self) -> str:
        """What the find's folder is called: readable, and different for others."""
        readable = _NO_WORD.sub("-", f"{self.kind} {self.construct or self.detail}".lower())
        digest = hashlib.blake2b(str(self).encode("utf-8", "replace"), digest_size=4).hexdigest()
        return f"{readable[:40].strip('-')}-{digest}"


@attrs.frozen
class Difference:
    """The first line that two runs print differently, from 1 on; None where one has no such line.

    `left` and `right` are the lines, `left_target` and `right_target` who printed them; `ulps` how
    far apart numbers are in which alone the lines differ, in units in the last place.
    """

    line: int
    left_target: str
    right_target: str
    left: str | None
    right: str | None
    ulps: int | None = None


@attrs.frozen
class Verdict:
    """A bug in what a program's runs show: its signature, and a sentence for a person."""

    signature: Signature
    message: str
    difference: Difference | None = None

    def as_json(self) -> dict[str, Any]:
        """Everything as JSON's types."""
        return attrs.asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Verdict:
        """The inverse of `as_json`. Raises KeyError and TypeError for anything else."""
        difference = value.get("difference")
        return cls(
            Signature(**value["signature"]),
            value["message"],
            Difference(**difference) if difference else None,
        )
