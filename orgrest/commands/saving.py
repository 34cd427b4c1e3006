"""Classes that save, print, compare, check or discard the results for a file.

`MODES` maps the name of each mode to its class. The method `keep` is called for each outcome, and
`end` when the run ends or is interrupted.
"""

from __future__ import annotations

import io
import os
import sys
import time
from typing import TYPE_CHECKING, TypeAlias

import click

from orgrest import classes
from orgrest.commands.console import complain
from orgrest.files import Encoding, File, FileChangedError, FileError
from orgrest.model import OrgrestError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from orgrest.run.outcomes import Outcome
    from orgrest.run.run import Run

SAVE_EVERY = 2.0  # seconds between saves without --save


@classes.define
class Results:
    """Discards the results for a file. Subclasses save, print, compare or check them.

    `name` is the file's name in messages. `file` is the document to save, and None for standard
    input and request files. `save` and `volatile` are the values of `--save` and `--volatile`.
    `failed` becomes true if a result could not be saved or, with `--check`, would change.
    """

    name: str
    file: File | None
    encoding: Encoding
    save: str | None = None
    volatile: tuple[str, ...] = ()
    failed: bool = False

    def keep(self, outcome: Outcome, run: Run) -> None:
        """Receive the outcome of a block."""

    def end(self, run: Run, before: str) -> None:
        """Handle the end of the run. `before` is the document's text before the run."""


class _Shown(Results):
    """Shows what saving would write. Nothing is saved."""

    def keep(self, outcome: Outcome, run: Run) -> None:
        del run
        for path in _not_written(outcome):
            complain(
                f"note: {self.name}:{outcome.line}: the file {path} was not written: --stdout and "
                "--diff only show results"
            )


class Printed(_Shown):
    """Prints the document with the results."""

    def end(self, run: Run, before: str) -> None:
        """Print the document with the results, in its original encoding."""
        del before
        stream = sys.stdout.buffer
        stream.write(self.encoding.encode(run.document.text))
        stream.flush()


class Compared(_Shown):
    """Prints the changes that saving would make."""

    def end(self, run: Run, before: str) -> None:
        """Print the differences between the old and the new document."""
        print_differences(self.name, before, run.document.text, self.encoding)


class Checked(Results):
    """Checks whether results would change. Nothing is saved."""

    def keep(self, outcome: Outcome, run: Run) -> None:
        """Compare the new result with the old result, and report a failure if they differ."""
        from orgrest.run import comparison
        from orgrest.run.documents import expect

        del run
        allowed = outcome.volatile or comparison.Volatile()
        allowed = classes.evolve(allowed, headers=(*allowed.headers, *self.volatile))
        old, new = outcome.change or ("", "")
        try:
            if comparison.difference(old, new, allowed):
                self._fail(outcome, "the result would change")
        except OrgrestError as error:
            self._fail(outcome, f":volatile: {error.reason}")
        for test in outcome.tests:
            if test.subject == expect.SUBJECT and not test.held and outcome.change is None:
                self._fail(outcome, test.reason)
        for path in _not_written(outcome):
            self._fail(outcome, f"the file {path} would change")

    def _fail(self, outcome: Outcome, why: str) -> None:
        self.failed = True
        complain(f"{self.name}:{outcome.line}: {why}")


@classes.define
class Saved(Results):
    """Saves the document with the results: at the end, after each request, or at intervals."""

    saved_at: float = classes.field(factory=time.monotonic)
    changed_on_disk: bool = False

    def keep(self, outcome: Outcome, run: Run) -> None:
        """Save the document after each request or at intervals, depending on `save`."""
        if self.file is None or outcome.change is None:
            return
        if self.encoding.codec != "utf-8" and self.encoding.lacks(outcome.change[1]):
            complain(
                f"{self.name}:{outcome.line}: the encoding of the file, "
                f"{self.encoding.codec}, cannot represent some characters of the response, "
                "which are written as \\uXXXX"
            )
        slow = time.monotonic() - self.saved_at > SAVE_EVERY
        if self.save == "each" or (self.save is None and slow):
            self._save(self.file, run.document.text, last=False)
            self.saved_at = time.monotonic()

    def end(self, run: Run, before: str) -> None:
        """Save the document, or a copy beside it if the file has changed since it was read."""
        del before
        if self.file is not None:
            self._save(self.file, run.document.text, last=True)

    def _save(self, file: File, text: str, *, last: bool) -> None:
        try:
            if not self.changed_on_disk:
                file.save(text)
        except FileChangedError as error:
            self.changed_on_disk = True
            self._fail(error)
        except FileError as error:
            if last:
                self._fail(error)
        if last and self.changed_on_disk:
            self._save_beside(file, text)

    def _save_beside(self, file: File, text: str) -> None:
        try:
            path = file.save_beside(text)
        except FileError as error:
            complain(str(error))
        else:
            complain(f"the document with the results was saved as {path}")

    def _fail(self, error: FileError) -> None:
        self.failed = True
        complain(str(error))


def print_differences(name: str, before: str, after: str, encoding: Encoding) -> None:
    """Print a diff of two versions of the document `name` that `patch` and `git apply -p0` take."""
    import difflib

    # The document's own bytes, in lines that end only in LF: the diff has to contain every CR.
    old, new = (io.BytesIO(encoding.encode(text)).readlines() for text in (before, after))
    # `git apply` refuses `./a.org`. A tab ends a name with spaces.
    file = os.fsencode(name.removeprefix("./")) + (b"\t" if " " in name else b"")
    for line in difflib.diff_bytes(difflib.unified_diff, old, new, file, file):
        end = b"" if line.endswith(b"\n") else b"\n\\ No newline at end of file\n"
        click.echo(line + end, nl=False)


def _not_written(outcome: Outcome) -> Iterator[Path]:
    for path, content in outcome.files:
        try:
            written = path.read_bytes() == content
        except OSError:
            written = False
        if not written:
            yield path


Mode: TypeAlias = type[Results]

MODES: Mapping[str, Mode] = {
    "": Saved,
    "dry run": Results,
    "stdout": Printed,
    "diff": Compared,
    "check": Checked,
}
