"""Where the values of a document's variables come from, as the user has set it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def _paths(given: Any) -> tuple[Path, ...]:
    return tuple(given)


@attrs.frozen(kw_only=True)
class Inputs:
    """What a document's variables may be taken from.

    `directory` is the document's folder: paths start there, and only files below it, and below the
    folders of `allow_read`, are read. `environ` is what `env` reads, and `env_file` what it reads
    next; `netrc` is the netrc file. `overrides` are variables that win over all others;
    `remembered` are captures of earlier runs, over which all others win, and `secrets` the secrets
    of those runs: a capture may hold one. `environments` are chosen from those in the files around
    the document. `ask` asks the user (what for, whether to hide the answer), and gives None if
    nobody answers. `seed` makes dynamic values repeatable.
    """

    directory: Path = attrs.field(factory=Path)
    allow_read: tuple[Path, ...] = attrs.field(default=(), converter=_paths)
    environ: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    env_file: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    netrc: Path | None = None
    overrides: Mapping[str, str] = attrs.field(factory=dict)
    remembered: Mapping[str, str] = attrs.field(factory=dict)
    secrets: frozenset[str] = attrs.field(default=frozenset(), converter=frozenset, repr=False)
    environments: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    ask: Callable[[str, bool], str | None] | None = None
    seed: int | None = None

    @classmethod
    def of_user(cls, directory: Path, **given: Any) -> Inputs:
        """Take what this process' user has, besides what is given: environment and netrc file."""
        path = Path(os.environ.get("NETRC") or Path.home() / ".netrc")
        netrc = path if path.is_file() else None
        return cls(directory=directory, environ=os.environ, netrc=netrc, **given)
