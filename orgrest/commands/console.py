"""Helpers for commands: error messages and shared options."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from orgrest.http.values.global_variables import GlobalVariables

_Command = TypeVar("_Command", bound="Callable[..., object]")


def complain(text: str) -> None:
    """Print an error to standard error."""
    click.echo(f"orgrest: {text}", err=True)


def open_page(url: str) -> bool:
    """Open a page in the user's browser; return whether a browser was started.

    Without a screen, only browsers in the terminal are available, if the user chose one with
    `BROWSER`.
    """
    import os
    import webbrowser

    screens = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    if sys.platform.startswith("linux") and not any(os.environ.get(one) for one in screens):
        return False
    try:
        return webbrowser.open(url)
    except (webbrowser.Error, OSError):
        return False


class MissingFileError(click.ClickException):
    """An argument on the command line is not the name of a file."""

    exit_code = 2


def require_files(given: Sequence[str], *, may_come: bool = False) -> None:
    """Raise MissingFileError unless each name is an existing file, or `-`.

    With `may_come`, a file that does not exist is accepted.
    """
    from difflib import get_close_matches
    from shlex import quote

    for name in given:
        path = Path(name)
        if re.match(r"[a-z][a-z0-9+.-]*://", name, re.IGNORECASE):
            send = f"echo {quote(f'GET {name}')} | orgrest"
            raise MissingFileError(f"{name}: a URL, not a file; to send a request: {send}")
        if name != "-" and path.is_dir():
            raise MissingFileError(
                f"{name}: a folder: `orgrest test {quote(name)}` runs the documents in it"
            )
        if name != "-" and not may_come and not path.exists():
            context = click.get_current_context()
            group = context.command
            commands = group.list_commands(context) if isinstance(group, click.Group) else []
            near = get_close_matches(name, commands, n=1) if name == given[0] else []
            meant = f": did you mean `orgrest {near[0]}`?" if near else ""
            raise MissingFileError(f"{name or repr(name)}: No such file or directory{meant}")


def require_environments(names: Collection[str], folders: Iterable[Path]) -> None:
    """Raise OrgrestError for an environment that no document of the folders has.

    Some documents of a run may lack an environment. If an environment file is broken, it may have
    been defined there.
    """
    from orgrest.model import OrgrestError

    if not names:
        return
    from orgrest.http.values import environments

    found = [environments.find(folder) for folder in dict.fromkeys(folders)]
    known = sorted({name for one in found for name in one.names})
    for name in names:
        if name not in known and not any(one.broken for one in found):
            listed = ", ".join(known) or "none: no environment file is beside the document"
            raise OrgrestError(f"there is no environment {name}; there are {listed}")


def text_of(file: str, stdin_name: Path | None) -> tuple[Path, str]:
    """Return a document's path and text; `-` is standard input, as the text of `stdin_name`.

    Raises OrgrestError if it cannot be read.
    """
    from orgrest.files import File, decode_document

    if file != "-":
        path = Path(file)
        return path, File.read(path).text
    text, _ = decode_document(sys.stdin.buffer.read(), "standard input")
    return stdin_name or Path("standard input.http"), text


def safe(text: str, secrets: frozenset[str]) -> str:
    """Return text with secrets masked and control characters visible."""
    from orgrest.rendering.masking import mask
    from orgrest.rendering.sanitize import visible

    return visible(mask(text, secrets))


def globals_in(file: Path) -> GlobalVariables:
    """Return the global variables in a file; empty if it does not exist. Raises OrgrestError."""
    from orgrest.files import read_bytes
    from orgrest.http.values.global_variables import GlobalVariables

    if not file.exists():
        return GlobalVariables()
    return GlobalVariables.read(read_bytes(file), str(file))
