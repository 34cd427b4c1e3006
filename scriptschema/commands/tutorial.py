"""The command `tutorial`, which creates the tutorial's folder and prints what to type next."""

from __future__ import annotations

from pathlib import Path

import click

from scriptschema.commands import program

NEXT = """\
{folder} contains minify.py, a program with a bug that the tutorial finds. Now run:

  cd {folder}
  scriptschema fuzz --target 'command:python3 minify.py {{file}}' -o campaign --count 60 --seed 11
"""


@program.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), metavar="DIR")
def tutorial(folder: Path) -> None:
    """Create the tutorial's folder, with the program to test.

    DIR must be new or empty. The tutorial needs nothing else, and writes only to DIR.

    \b
    scriptschema tutorial first-bug
    """
    from scriptschema import files

    target = Path(__file__).with_name("tutorial_target.py").read_bytes()
    with files.errors_of(folder):
        if folder.exists() and any(folder.iterdir()):
            raise files.FileError(f"{folder}: the folder is not empty: choose a new one")
        files.write(folder / "minify.py", target)
    click.echo(NEXT.format(folder=folder), nl=False)
