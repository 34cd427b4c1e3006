"""The commands `dictionary`, Luau's tokens for engines, and `report`, a campaign as a page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scriptschema.commands import program
from scriptschema.commands.console import INPUT_FOLDER, luau_option, report
from scriptschema.commands.luau import load_names, names_option

if TYPE_CHECKING:
    from scriptschema.versions import Version


@program.command("dictionary")
@click.option("-o", "--output", metavar="FILE", help="Where to write (standard output).")
@names_option
@luau_option
def dictionary_command(output: str | None, names_path: Path | None, luau: Version | None) -> None:
    """Write Luau's tokens as a dictionary for libFuzzer and AFL++.

    libFuzzer reads it with -dict, AFL++ with -x.

    \b
    scriptschema dictionary -o luau.dict
    scriptschema dictionary --luau today -o luau.dict
    """
    from scriptschema import files
    from scriptschema.luau.dictionary import dictionary

    target = files.STANDARD if output is None else Path(output)
    files.write(target, dictionary(load_names(names_path), luau).encode())


@program.command("report")
@click.argument("folders", type=INPUT_FOLDER, nargs=-1, required=True, metavar="CAMPAIGN...")
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE.html",
    help="The page to write; - is standard output.",
)
def report_command(folders: tuple[Path, ...], output: str) -> None:
    """Write what campaigns found as one HTML page.

    The page needs no other file. CAMPAIGN is the folder of `scriptschema fuzz`, which may be
    running. What several found is shown once, the worst first. A find that cannot be read is
    reported, the others are shown, and the exit status is 1.

    \b
    scriptschema report campaign/ -o report.html
    """
    from scriptschema import __version__, files
    from scriptschema.fuzzing.campaign.statistics import now
    from scriptschema.fuzzing.report import content, page

    try:
        shown = content.gather_all(folders)
        made = b"".join(page.pieces(shown, __version__, now()))
        files.write(Path(output), made)
    except files.FileError as error:
        report(error)
        sys.exit(1)
    for problem in shown.problems:
        report(files.FileError(problem))
    if shown.problems:
        sys.exit(1)
