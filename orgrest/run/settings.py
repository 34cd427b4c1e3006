"""The settings of a run: values only, created once from options, files and environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from orgrest.http.values import Inputs
from orgrest.run.plan import Choice
from orgrest.run.retry_policy import RetryPolicy

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@attrs.frozen
class Settings:
    """What is evaluated, and how; `inputs` is where the values of variables come from.

    `names` and `lines` choose blocks; empty, all are meant.

    Of these, `choice` says which a run of tests takes.

    With `until`, only those that start at that line or above it are. In a dry run a name in angle
    brackets stands for an answer that another block would get; with `complete` that is an error.
    `retry_policy` says when requests are sent again, and when the run ends.

    `fail` counts a status of 400 and above as a failure; with `bail` the first failure ends the run
    of tests; with `write`, its results go into the documents.

    `limit` is how many bytes of a body are shown, None for the usual; the rest goes into a file.
    Below the folders of `allow_write` documents may write any file. With `insecure` documents may
    ask for what the client does then: it verifies no certificates. They may choose one of the
    `proxies`.

    Without `languages`, a document that has restclient blocks is taken for one of ob-restclient's:
    its blocks in http and rest are some other tool's. Elsewhere, all three languages are evaluated.
    """

    inputs: Inputs = attrs.field(factory=Inputs)
    languages: frozenset[str] = frozenset()
    names: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()
    choice: Choice = attrs.field(factory=Choice)
    dry_run: bool = False
    complete: bool = False
    timeout: float | None = None
    limit: int | None = None
    allow_write: tuple[Path, ...] = ()
    insecure: bool = False
    proxies: tuple[str, ...] = ()
    until: int | None = None
    retry_policy: RetryPolicy = attrs.field(factory=RetryPolicy)
    fail: bool = False
    bail: bool = False
    write: bool = False

    def is_above(self, line: int | None) -> bool:
        """Tell whether what starts at a line (from 1; None is the first) is not below `until`."""
        return self.until is None or (line or 1) <= self.until

    def of_document(self, directory: Path, overrides: Mapping[str, str] | None = None) -> Settings:
        """Return the settings for a document in a folder; `overrides` count where none is set."""
        inputs = self.inputs
        overrides = {**(overrides or {}), **inputs.overrides}
        return attrs.evolve(
            self, inputs=attrs.evolve(inputs, directory=directory, overrides=overrides)
        )
