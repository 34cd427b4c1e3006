"""The description of a target, given as a value of `--target` or as a TOML table.

Values of `--target`:

    luau-web                                   the npm package, in this folder or installed globally
    luau-web:tools                             the npm package in tools/node_modules
    pluau                                      the PyPI package
    command:luau {variant} {file}              a command that takes a file's name
    command:luau -                             a command that reads standard input
    persistent:node service.mjs                a process that runs many programs

A TOML table (`Description` lists all settings):

    [[targets]]
    kind = "command"
    command = "luau {variant} {file}"
    variants = ["-O0", "-O2"]
    seconds = 2.0                              time limit; a longer run is a hang
    megabytes = 512
    output = 1_000_000                         limit of standard output in bytes
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import attrs

from scriptschema.files import ReportedError

KINDS: Final = ("command", "persistent", "luau-web", "pluau")

LEVELS: Final = ("-O0", "-O1", "-O2")
"""Luau's optimization levels, which are the variants of targets that run the official Luau."""

WITH_COMMAND: Final = frozenset(["command", "persistent"])

MAX_MEGABYTES: Final = 1 << 30
"""The highest memory limit. Operating systems store limits in bytes, in 63 bits."""


class TargetError(ReportedError):
    """A target cannot be used as described. The message says why."""


@attrs.frozen
class Description:
    """The description of a target, as explained in the module's docstring.

    Each program runs with all `variants`. A variant is inserted into the command or sent with the
    program. `folder` is the folder where the npm package luau-web is installed.

    `crash` and `error` are regular expressions for a command's output. A match of `crash` makes the
    outcome an internal error of the target, and a match of `error` an error of the program. Without
    a match, the outcome depends on the exit status and the output.
    """

    kind: str
    command: str = ""
    variants: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    seconds: float = 5.0
    megabytes: int = 256
    output: int = 1_000_000
    folder: str = ""
    crash: str = ""
    error: str = ""

    def __attrs_post_init__(self) -> None:
        """Raise TargetError for invalid values."""
        if self.kind not in KINDS:
            raise TargetError(
                f"unknown kind of target {self.kind!r}; available: {', '.join(KINDS)}"
            )
        if bool(self.command.strip()) != (self.kind in WITH_COMMAND):
            what = "requires a command" if self.kind in WITH_COMMAND else "takes no command"
            raise TargetError(f"a target of kind {self.kind} {what}")
        for name in ("seconds", "megabytes", "output"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise TargetError(
                    f"the target setting `{name}` must be a number above 0, found {value!r}"
                )
        if not isinstance(self.megabytes, int) or self.megabytes > MAX_MEGABYTES:
            raise TargetError(
                "the target setting `megabytes` must be a whole number of at most "
                f"{MAX_MEGABYTES:,}, found {self.megabytes!r}"
            )
        if not all(isinstance(variant, str) for variant in self.variants):
            raise TargetError("the target setting `variants` must be a list of strings")
        if "{}" in self.command.split():
            raise TargetError(
                f"the target {self.command!r} contains {{}}: write {{file}} where it expects the "
                "name of the source file"
            )
        for name in ("crash", "error"):
            pattern = getattr(self, name)
            if pattern and self.kind != "command":
                raise TargetError(
                    f"the target setting `{name}` requires a target of kind command, "
                    f"found {self.kind}"
                )
            try:
                re.compile(pattern)
            except re.error as error:
                raise TargetError(
                    f"the target setting `{name}` is not a valid regular expression: {error}"
                ) from None
        if not self.variants:
            levels = LEVELS if self.kind not in WITH_COMMAND else ("",)
            object.__setattr__(self, "variants", levels)

    @property
    def name(self) -> str:
        """The name of the target without a variant, for messages and reports."""
        return self.command if self.command else self.kind

    def run_name(self, variant: str) -> str:
        """Return the name of the target with a variant, for messages and reports."""
        if "{variant}" in self.command:
            return self.command.replace("{variant}", variant)
        return " ".join([*self.name.split(), *variant.split()])


def from_table(table: Mapping[str, Any]) -> Description:
    """Return the description of a target, given a TOML or JSON table.

    Raises TargetError if it is invalid.
    """
    known = [field.name for field in attrs.fields(Description)]
    for name, value in table.items():
        if name not in known:
            raise TargetError(f"unknown target setting {name!r}; available: {', '.join(known)}")
        if name in ("kind", "command", "folder", "crash", "error") and not isinstance(value, str):
            raise TargetError(f"the target setting `{name}` must be a string, found {value!r}")
        if name == "variants" and not isinstance(value, list | tuple):
            raise TargetError(f"the target setting `variants` must be a list, found {value!r}")
    if "kind" not in table:
        raise TargetError(f"a target must have a kind: {', '.join(KINDS)}")
    return Description(**table)


def from_word(word: str, **others: Any) -> Description:
    """Return the description for a value of `--target` such as `pluau`.

    `others` are the values of other fields. Raises TargetError for an invalid description.
    """
    kind, colon, rest = word.partition(":")
    if kind in WITH_COMMAND:
        return Description(kind, rest, **others)
    if kind not in KINDS:
        known = "luau-web, luau-web:FOLDER, pluau, command:COMMAND, persistent:COMMAND"
        meant = f"; did you mean {f'command:{word}'!r}?" if "/" in word or " " in word else ""
        raise TargetError(f"unknown target {word!r}; expected {known}{meant}")
    if colon and kind != "luau-web":
        raise TargetError(f"the target {kind} takes no argument, found {word!r}")
    return Description(kind, folder=rest, **others)
