"""What gives a document's variables their values: the user's inputs, and objects that act."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from orgrest.http.values.global_variables import GlobalVariables
    from orgrest.http.values.secrets import UserSecrets


def _paths(given: Any) -> tuple[Path, ...]:
    return tuple(given)


@attrs.define(kw_only=True, eq=False)
class Helpers:
    """The objects that give variables their values.

    `prompt` asks the user (the question, whether to hide the answer), and returns None if nobody
    answers. `on_read` is told of each file that a document names, before it is read. `globals_` are
    the global variables of scripts, None if each document has its own. `user_secrets` are those
    that the user keeps elsewhere, None if there are none.
    """

    prompt: Callable[[str, bool], str | None] | None = None
    on_read: Callable[[Path], None] | None = None
    globals_: GlobalVariables | None = None
    user_secrets: UserSecrets | None = None


@attrs.frozen(kw_only=True)
class Inputs:
    """The inputs from which a document's variables get their values.

    `directory` is the document's folder: paths are relative to it, and only files below it, and
    below the folders of `allow_read`, are read. `env` reads `environ` first, then `env_file`;
    `netrc` is the netrc file. `overrides` are variables that take precedence over all others;
    `remembered` are captures of earlier runs, with the lowest precedence, and `secrets` the secrets
    of those runs: a capture may contain one. `environments` are the names chosen from those in the
    files around the document. `seed` makes dynamic values reproducible.
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
    seed: int | None = None

    @classmethod
    def of_user(cls, directory: Path, **given: Any) -> Inputs:
        """Add the environment and netrc file of this process's user to what is given."""
        path = Path(os.environ.get("NETRC") or Path.home() / ".netrc")
        netrc = path if path.is_file() else None
        return cls(
            directory=directory,
            environ=os.environ,
            netrc=netrc,
            **given,
        )
