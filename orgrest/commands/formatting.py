"""The command ``orgrest format``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orgrest.commands import program
from orgrest.commands.completion import documents
from orgrest.commands.console import complain, require_standard_input

if TYPE_CHECKING:
    from orgrest.files import Encoding


@program.command("format")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", shell_complete=documents)
@click.option(
    "--check", is_flag=True, help="Write nothing; exit with status 1 if a file would change."
)
@click.option("--diff", is_flag=True, help="Print the changes instead of writing them.")
@click.option(
    "--stdin-name",
    type=click.Path(path_type=Path),
    metavar="NAME",
    help="With FILE -: format standard input as if it were the file NAME, and print the result.",
)
def format(  # noqa: A001 - the command's name
    files: tuple[str, ...], *, check: bool, diff: bool, stdin_name: Path | None
) -> None:
    """Format request files, and requests in Org documents.

    Only spacing changes, not what is sent. If FILE is a folder, all its documents are formatted.

    \b
    orgrest format api.http
    orgrest format --check .
    """
    from orgrest.files import File, decode_document
    from orgrest.run.suite.finding import find

    require_standard_input(files, stdin_name)
    changed = 0
    if files == ("-",):
        text, encoding = decode_document(sys.stdin.buffer.read(), "standard input")
        new = _formatted(text, stdin_name or Path("standard input.http"))
        if check or diff:
            changed += _report(str(stdin_name or "-"), text, new, encoding, diff=diff)
        else:
            sys.stdout.buffer.write(encoding.encode(new))
            sys.stdout.buffer.flush()
    else:
        for name in find(files):
            file = File.read(Path(name))
            new = _formatted(file.text, file.path)
            if check or diff:
                changed += _report(name, file.text, new, file.encoding, diff=diff)
            elif file.save(new):
                complain(f"{name}: formatted")
    sys.exit(1 if check and changed else 0)


def _formatted(text: str, path: Path) -> str:
    from orgrest.editor import formatting
    from orgrest.files import is_request_file

    return formatting.formatted(text, "http" if is_request_file(path) else "org")


def _report(name: str, text: str, new: str, encoding: Encoding, *, diff: bool) -> bool:
    if text == new:
        return False
    if diff:
        from orgrest.commands.saving import print_differences

        print_differences(name, text, new, encoding)
    else:
        complain(f"would reformat {name}")
    return True
