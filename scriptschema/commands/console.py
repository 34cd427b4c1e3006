"""Code shared by all commands: options, errors, and the progress bar."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from scriptschema.commands.program import SETTINGS

if TYPE_CHECKING:
    from scriptschema.base import Message
    from scriptschema.versions import Version

T = TypeVar("T")

LARGEST = 1_000_000
"""The maximum number of nodes of a generated tree. Generating such a tree takes about ten
seconds."""

FORMATS = click.Choice(["binary", "text", "json"])


class NonEmptyPath(click.Path):
    """A path that is not empty.

    `Path` would treat an empty path, for example from an unset variable, as the current folder.
    """

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> str | bytes | os.PathLike[str]:
        """Return the path as click does, but fail for an empty string."""
        if value == "":
            self.fail("a file name is empty (perhaps a shell variable is not set)", param, ctx)
        return super().convert(value, param, ctx)


class Number(click.FloatRange):
    """A number in a range. `click.FloatRange` accepts `nan`: all comparisons with it are false."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number as click does, but fail for `nan`."""
        number = super().convert(value, param, ctx)
        if number != number:  # only nan differs from itself
            self.fail(f"{value!r} is not a number.", param, ctx)
        return number


class MissingFileError(click.ClickException):
    """A file on the command line does not exist or cannot be read."""

    exit_code = 2


class ExistingPath(NonEmptyPath):
    """The path of an existing file or folder, or `-` for standard input where that is allowed."""

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> str | bytes | os.PathLike[str]:
        """Return the path as click does. Raises MissingFileError if nothing exists there."""
        path = super().convert(value, param, ctx)
        if not (self.allow_dash and value == "-"):
            try:
                os.stat(path)  # noqa: PTH116 - a path of any type
            except OSError as error:
                raise MissingFileError(f"{value}: {error.strerror}") from None
        return path


INPUT = ExistingPath(path_type=Path, allow_dash=True)
INPUT_FOLDER = ExistingPath(path_type=Path)


def _message_names(_: object, __: object, incomplete: str) -> list[str]:
    from scriptschema.messages import MESSAGES

    return [name for name in MESSAGES if name.startswith(incomplete)]


message_option = click.option(
    "--message",
    "message_name",
    default="ModuleSet",
    show_default=True,
    metavar="NAME",
    shell_complete=_message_names,
    help="The message type of the trees, as named in the schema.",
)
from_option = click.option(
    "--from",
    "from_format",
    type=FORMATS,
    help="The format of the input (default: from the suffix).",
)
drop_unknown_option = click.option(
    "--drop-unknown", is_flag=True, help="Drop fields that are not in the schema."
)


def luau_version(_: object, __: object, text: str | None) -> Version | None:
    """Return the version of Luau that an option names. Raises a usage error if it is unknown."""
    from scriptschema.versions import Version

    try:
        return None if text is None else Version.parse(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


luau_option = click.option(
    "--luau",
    metavar="VERSION",
    callback=luau_version,
    help="Also use features of Luau that the schema lacks, up to this version: for example 0.711, "
    "or today (the newest).",
)


def message_class(name: str, luau: Version | None = None) -> type[Message]:
    """Return the message class called `name`.

    If the name is unknown, raises a usage error that suggests similar names.
    """
    from scriptschema.messages import schema

    messages = schema(luau).messages
    if name not in messages:
        import difflib

        from scriptschema.versions import TODAY

        if name in schema(TODAY).messages:
            text = f"{name} is a message for a newer version of Luau: use `--luau today`"
            raise click.BadParameter(text, param_hint="--message")
        near = difflib.get_close_matches(name, messages, n=3)
        listed = "`scriptschema schema` lists the messages"
        hint = f"did you mean {' or '.join(near)}?" if near else listed
        raise click.BadParameter(f"unknown message {name!r}; {hint}", param_hint="--message")
    return messages[name]


def counted(number: int, name: str) -> str:
    """Return a number with its noun, singular or plural, such as `1 tree` or `1,000 trees`."""
    return f"{number:,} {name}{'' if number == 1 else 's'}"


def lost_text(number: int) -> str:
    """Return a sentence that says how many parts of the sources are missing or changed in trees."""
    were = "was" if number == 1 else "were"
    return f"{counted(number, 'construct')} that the schema lacks {were} dropped or rewritten"


def report(error: Exception) -> None:
    """Print an error to standard error."""
    click.secho(f"scriptschema: {error}", err=True, fg="red", color=SETTINGS["color"])
    try:
        sys.stdout.flush()
    except OSError:
        # Python would otherwise flush again when it exits, fail, and change the exit status to 120.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def refuse_terminal() -> None:
    """Raise a usage error if binary data would be written to a terminal."""
    if sys.stdout.isatty():
        raise click.UsageError(
            "refusing to write binary data to the terminal: redirect the output, or use -o FILE"
        )


def refuse_control_characters(data: bytes) -> None:
    """Raise a usage error if text with control characters would be written to a terminal."""
    from scriptschema.fuzzing.targets.outcome import visible

    text = data.decode("utf-8", "surrogateescape")
    if sys.stdout.isatty() and visible(text) != text:
        raise click.UsageError(
            "refusing to write control characters to the terminal: redirect the output, "
            "or use -o FILE"
        )


def progress(
    items: Iterable[T], what: str, total: int | None = None, *, least: int = 20
) -> Iterator[T]:
    """Yield the items, and show a progress bar if standard error is a terminal.

    No bar is shown for fewer than `least` items. If `items` has no length, a bar requires `total`.
    """
    if total is None:
        total = len(items) if isinstance(items, Sequence) else 0
    if total < least or not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total, rate="")
        for item in items:
            yield item
            speed = bar.tasks[0].speed
            bar.update(task, advance=1, rate=f"{speed:,.0f}/s" if speed else "")


@contextlib.contextmanager
def stoppable(consequence: str) -> Iterator[None]:
    """On Ctrl-C or a termination signal, print `consequence`, and exit with status 130.

    `consequence` says what happened to the output, or how to continue.
    """
    try:
        yield
    except KeyboardInterrupt:
        click.echo(f"interrupted: {consequence}", err=True)
        sys.exit(130)
