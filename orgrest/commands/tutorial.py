"""The command ``orgrest tutorial``, which creates a folder with the files for the tutorial."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from orgrest.commands import program
from orgrest.commands.console import complain

NEXT = """\
{folder} contains tasks.py, a server for a list of tasks. Now run these commands in two terminals:

  cd {folder}
  python3 tasks.py

  cd {folder}
  echo 'GET http://127.0.0.1:8931/tasks' > tasks.http
  orgrest tasks.http
"""


@program.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), metavar="DIR")
def tutorial(folder: Path) -> None:
    """Create a folder with the server for the tutorial.

    DIR must be empty or not exist yet. The tutorial needs no other files, and writes only to DIR.

    \b
    orgrest tutorial first-requests
    """
    from orgrest.files import FileError, write

    server = Path(__file__).with_name("tutorial_server.py").read_bytes()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise FileError("the folder is not empty: choose a new one", file=str(folder))
        write(folder / "tasks.py", server)
    except OSError as error:
        complain(f"{folder}: {error.strerror}")
        sys.exit(2)
    click.echo(NEXT.format(folder=folder), nl=False)
