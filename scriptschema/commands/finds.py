"""The commands for what a campaign found: `reproduce`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scriptschema.commands.console import NonEmptyPath, report

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scriptschema.fuzzing.campaign.finds import Find
    from scriptschema.fuzzing.campaign.replay import Shown
    from scriptschema.fuzzing.targets.outcome import Run

FIND = NonEmptyPath(path_type=Path)
LINES = 20
"""How many lines of what a run wrote are shown."""


@click.command("reproduce")
@click.argument("folder", type=FIND, metavar="FIND")
@click.option("--original", is_flag=True, help="The program as it was found, not the reduced one.")
@click.option(
    "--replay",
    is_flag=True,
    help="All that the process had been asked that broke, several times; or the program alone.",
)
def reproduce(folder: Path, original: bool, replay: bool) -> None:
    """Run a find's program again, on the targets of its campaign, and tell what comes of it.

    FIND is a folder in a campaign's finds/. The status is 0 if the bug shows again, else 1.
    """
    from scriptschema import files
    from scriptschema.fuzzing.campaign import finds
    from scriptschema.fuzzing.oracles.judging import JudgeError
    from scriptschema.fuzzing.targets import leftovers, outcome
    from scriptschema.fuzzing.targets.description import TargetError

    shown = None
    try:
        find = finds.load(folder)
        stem = finds.PROGRAM if original or find.reduced is None else finds.REDUCED
        click.echo(finds.source_of(folder, stem).rstrip("\n") + "\n")
        for number, shown in enumerate(_runs(find, folder, stem, replay), 1):
            if replay and shown.verdict is not None:
                click.echo(f"run {number}")
        leftovers.sweep()
    except (files.FileError, TargetError, JudgeError, ValueError) as error:
        report(error)
        sys.exit(1)
    is_shown = shown is not None and _tell(shown, find)
    click.echo(f"{find.signature}: {'shown again' if is_shown else 'not shown'}")
    if not is_shown and not replay and find.signature.kind == outcome.ONCE:
        click.echo("what it needs may have been before: try --replay")
    sys.exit(0 if is_shown else 1)


def _runs(find: Find, folder: Path, stem: str, replay: bool) -> Iterator[Shown]:
    from scriptschema.fuzzing.campaign import finds
    from scriptschema.fuzzing.campaign import replay as replaying
    from scriptschema.fuzzing.campaign.config import Config

    config, tree = Config.from_json(find.config), finds.tree_of(folder, stem)
    if replay:
        yield from replaying.replay(config, folder, find, tree)
    else:
        yield replaying.run(config, tree)


def _tell(shown: Shown, find: Find) -> bool:
    """Print what a program did; return whether it is what the find is known by."""
    from scriptschema.fuzzing.campaign.replay import is_of

    for run in shown.runs:
        _show(run)
    verdict = shown.verdict
    if verdict is None:
        return False
    click.echo(f"{verdict.signature.kind}: {verdict.message}")
    if verdict.difference is not None:
        for target, line in (
            (verdict.difference.left_target, verdict.difference.left),
            (verdict.difference.right_target, verdict.difference.right),
        ):
            click.echo(f"  {target}: {'(nothing)' if line is None else line}")
    return is_of(verdict.signature, find)


def _show(run: Run) -> None:
    status = "" if run.outcome.status is None else f", status {run.outcome.status}"
    click.echo(f"{run.target}: {run.outcome.kind}{status} ({run.outcome.seconds:.2f} s)")
    for text in (run.outcome.output, run.outcome.error, run.outcome.report):
        lines = text.splitlines()
        for line in lines[:LINES]:
            click.echo(f"  {line[:200]}")
        if len(lines) > LINES:
            click.echo(f"  ... {len(lines) - LINES} lines more")
