"""Code shared by the `corpus` commands: reading files, and reporting problems."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from scriptschema.commands.console import (
    INPUT,
    counted,
    drop_unknown_option,
    luau_option,
    message_class,
    message_option,
    progress,
    report,
)

if TYPE_CHECKING:
    from scriptschema.files import FileError, Input
    from scriptschema.fuzzing.corpora.reading import Reader
    from scriptschema.versions import Version

CommandT = TypeVar("CommandT", bound=Callable[..., Any])

FORMS = click.Choice(["binary", "text", "json", "luau"])

inputs_argument = click.argument("inputs", nargs=-1, required=True, type=INPUT, metavar="INPUT...")


def reading_options(command: CommandT) -> CommandT:
    """Return the command with the options that `make_reader` needs."""
    for option in (
        click.option(
            "--delimited", is_flag=True, help="The inputs are streams (as written by generate -n)."
        ),
        luau_option,
        drop_unknown_option,
        message_option,
        click.option(
            "--from",
            "from_format",
            type=FORMS,
            help="The format of the inputs (default: from the suffix or the content).",
        ),
    ):
        command = option(command)
    return command


def make_reader(
    from_format: Any,
    message_name: str,
    drop_unknown: bool,
    delimited: bool,
    luau: Version | None,
) -> Reader:
    """Return the reader that the options describe. Raises a usage error for unknown messages."""
    from scriptschema import files
    from scriptschema.fuzzing.corpora.reading import Reader

    unknown = files.DROP if drop_unknown else files.ERROR
    return Reader(message_class(message_name, luau), from_format, unknown, delimited, luau)


def report_losses(incomplete: int, luau: Version | None) -> None:
    """Print the number of sources that trees cannot represent completely."""
    if incomplete:
        text = f"{counted(incomplete, 'source')} with syntax that the schema lacks"
        click.echo(text + ("" if luau else ": use `--luau today` to keep it"), err=True)


def items_of(inputs: Iterable[Path], what: str) -> Iterator[Input | FileError]:
    """Yield the files to read, with a progress bar."""
    from scriptschema.fuzzing.corpora.reading import corpus_files

    return progress(list(corpus_files(inputs)), what)


def apart(inputs: Iterable[Path], output: Path) -> None:
    """Raise a usage error if the output is one of the input folders or inside one."""
    from scriptschema.files import FileError
    from scriptschema.fuzzing.corpora.reading import require_apart

    try:
        require_apart(inputs, output)
    except FileError as error:
        raise click.UsageError(str(error)) from None


class Failures:
    """Prints errors to standard error, and counts them."""

    def __init__(self) -> None:
        self.number = 0

    def report(self, error: Exception) -> None:
        """Print an error, and count it."""
        self.number += 1
        report(error)

    @contextlib.contextmanager
    def caught(self) -> Iterator[None]:
        """Report a FileError that is raised in the `with` block, and continue after the block."""
        from scriptschema.files import FileError

        try:
            yield
        except FileError as error:
            self.report(error)


@contextlib.contextmanager
def failures() -> Iterator[Failures]:
    """Report a FileError raised in the `with` block. Exit with status 1 if there were failures."""
    failed = Failures()
    with failed.caught():
        yield failed
    if failed.number:
        sys.exit(1)
