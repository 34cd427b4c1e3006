"""Helpers that several commands use: error messages, checks of arguments, and output."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from orgrest.http.transport.cookies import Cookies
    from orgrest.http.values.global_variables import GlobalVariables

_Stored = TypeVar("_Stored", "Cookies", "GlobalVariables")


def complain(text: str) -> None:
    """Print an error message to standard error."""
    click.echo(f"orgrest: {text}", err=True)


def open_page(url: str) -> bool:
    """Open a page in the user's browser, and return whether a browser was started.

    On Linux, this requires a display or the environment variable `BROWSER`.
    """
    import webbrowser

    screens = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    if sys.platform.startswith("linux") and not any(
        os.environ.get(variable) for variable in screens
    ):
        return False
    try:
        return webbrowser.open(url)
    except (webbrowser.Error, OSError):
        return False


class MissingFileError(click.ClickException):
    """Raised if an argument on the command line should be a file, but is not."""

    exit_code = 2


def require_files(names: Sequence[str], *, allow_missing: bool = False) -> None:
    """Raise MissingFileError unless each name is `-` or an existing file.

    With `allow_missing`, a file need not exist yet.
    """
    for name in names:
        path = Path(name)
        if name == "-" or (path.exists() and not path.is_dir()):
            continue
        from difflib import get_close_matches
        from shlex import quote

        if re.match(r"[a-z][a-z0-9+.-]*://", name, re.IGNORECASE):
            send = f"echo {quote(f'GET {name}')} | orgrest"
            raise MissingFileError(f"{name} is a URL, not a file; to send a request, run: {send}")
        if path.is_dir():
            raise MissingFileError(
                f"{name} is a folder; to run the documents in it, use `orgrest test {quote(name)}`"
            )
        if not allow_missing:
            context = click.get_current_context()
            group = context.command
            commands = group.list_commands(context) if isinstance(group, click.Group) else []
            similar = get_close_matches(name, commands, n=1) if name == names[0] else []
            hint = f"; did you mean `orgrest {similar[0]}`?" if similar else ""
            raise MissingFileError(f"{name or repr(name)}: No such file or directory{hint}")


def require_standard_input(files: Sequence[str], stdin_name: Path | None) -> None:
    """Raise UsageError if `--stdin-name` is given, but the command reads a file."""
    if stdin_name is not None and [*files] != ["-"]:
        raise click.UsageError(
            "--stdin-name is for standard input, so it cannot be combined with FILE"
        )


def check_outputs(outputs: Mapping[str, Path | None], inputs: Iterable[Path | str | None]) -> None:
    """Raise UsageError if an output file cannot be one, before anything is sent.

    Its folder may be missing, or it may be an input, an existing document, or another output.

    `outputs` maps option names to files, or to None for unused options. `-` is standard output.
    `inputs` are the files that the command reads. All paths and links to a file count as the same
    file.
    """
    from orgrest.files import DOCUMENT_SUFFIXES

    read = [Path(path) for path in inputs if path is not None and str(path) != "-"]
    written: dict[object, str] = {}
    for option, path in outputs.items():
        if path is None or path.is_char_device():
            continue
        if not path.parent.is_dir():
            raise click.UsageError(f"--{option} {path}: there is no folder {path.parent}")
        identity = _identity(path)
        if identity in map(_identity, read):
            raise click.UsageError(
                f"--{option} would overwrite {path}, which this command reads: choose another file"
            )
        suffix = Path(os.path.realpath(path)).suffix.lower()
        if suffix in DOCUMENT_SUFFIXES and path.exists():
            raise click.UsageError(
                f"--{option} would overwrite the document {path}: choose another file"
            )
        other = written.setdefault(identity, option)
        if other != option:
            if str(path) == "-":
                raise click.UsageError("only one report can be written to standard output")
            raise click.UsageError(
                f"--{other} and --{option} would both write to {path}: choose different files"
            )


def _identity(path: Path) -> object:
    try:
        status = path.stat()
    except OSError:  # the file does not exist yet
        return os.path.realpath(path)
    return status.st_dev, status.st_ino


def text_of(file: str, stdin_name: Path | None) -> tuple[Path, str]:
    """Return the path and the text of a document, or of standard input for `-`.

    The path of standard input is `stdin_name` (default: `standard input.http`). Raises OrgrestError
    if the document cannot be read.
    """
    from orgrest.files import File, decode_document

    if file != "-":
        path = Path(file)
        return path, File.read(path).text
    text, _ = decode_document(sys.stdin.buffer.read(), "standard input")
    return stdin_name or Path("standard input.http"), text


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun, such as `1 request` or `2 requests`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def safe(text: str, secrets: frozenset[str] = frozenset(), *, one_line: bool = False) -> str:
    """Return text for display, with secrets masked and control characters made visible.

    If `one_line` is true, newlines are also made visible.
    """
    from orgrest.rendering.masking import mask
    from orgrest.rendering.sanitize import visible

    return visible(mask(text, secrets), one_line=one_line)


def stored_in(file: Path, kind: type[_Stored]) -> _Stored:
    """Return the cookies or global variables stored in a file, or an empty object if it is missing.

    Raises OrgrestError if the file is invalid.
    """
    from orgrest.files import read_bytes

    return kind.read(read_bytes(file), str(file)) if file.exists() else kind()


def store(file: Path, values: _Stored) -> None:
    """Update the cookies or global variables in `file` with this run's changes.

    Other runs' changes to the file are kept. Raises OrgrestError if the file has become invalid or
    cannot be written.
    """
    from orgrest.files import FileError, locked, write
    from orgrest.model import OrgrestError

    with locked(file.resolve().parent):
        try:
            stored = stored_in(file, type(values))
        except OrgrestError as error:  # the file was damaged during the run
            raise FileError(error.reason, file=str(file)) from None
        values.apply_changes(stored)
        write(file, stored.written(), private=True)
