"""The commands for the finds of a campaign: `reproduce`, `bisect`, `export` and `report`."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scriptschema.commands import program
from scriptschema.commands.console import INPUT_FOLDER, counted, refuse_control_characters, report
from scriptschema.commands.trust import trust_option, trusted_find

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scriptschema.fuzzing.campaign.finds import Find
    from scriptschema.fuzzing.oracles.verdict import Verdict
    from scriptschema.fuzzing.targets.outcome import Run

LINES = 20
"""The maximum number of lines that `reproduce` shows of each output."""


@program.command("reproduce")
@click.argument("folders", type=INPUT_FOLDER, nargs=-1, required=True, metavar="FIND...")
@click.option(
    "--original",
    is_flag=True,
    help="Run the original program instead of the reduced one.",
)
@click.option(
    "--replay",
    is_flag=True,
    help="Restart the failed process and resend the last requests to it, or run a command again, "
    "several times if necessary.",
)
@trust_option
def reproduce(folders: tuple[Path, ...], original: bool, replay: bool, trust: bool) -> None:
    """Run finds again on the targets of their campaign.

    FIND is a folder in a campaign's finds/. If FIND is a campaign's folder, all its finds are run.
    The exit status is 0 if every bug occurs again, otherwise 1. If even a one-line program
    fails on a target, this is an error.

    \b
    scriptschema reproduce campaign/finds/NAME
    """
    from scriptschema.fuzzing.targets.outcome import visible

    paths = [path for path, _ in _finds_in(folders)]
    if not paths:
        click.echo("the campaign contains no finds", err=True)
    status = 0
    for path in paths:
        if len(paths) > 1:
            click.echo(f"{visible(str(path))}\n")
        if not _reproduce(path, original, replay, trust):
            status = 1
        if path is not paths[-1]:
            click.echo()
    sys.exit(status)


def _finds_in(folders: Iterable[Path]) -> list[tuple[Path, Find]]:
    """Return (folder, find) for each folder of a find, and for each find of a campaign's folder."""
    from scriptschema.fuzzing.campaign import config, finds

    found: list[tuple[Path, Find]] = []
    for folder in folders:
        is_campaign = (folder / config.FILE).is_file()
        found += [*finds.load_all(folder)] if is_campaign else [(folder, finds.load(folder))]
    return found


def _reproduce(folder: Path, original: bool, replay: bool, trust: bool) -> bool:
    """Run a find's program, print what happens, and return whether its bug occurs again."""
    from scriptschema.fuzzing.campaign import finds
    from scriptschema.fuzzing.campaign import replay as replaying
    from scriptschema.fuzzing.campaign.runner import try_commands
    from scriptschema.fuzzing.oracles.judging import UNCLEAR
    from scriptschema.fuzzing.rewriting import REWRITINGS
    from scriptschema.fuzzing.targets import outcome
    from scriptschema.fuzzing.targets.base import written
    from scriptschema.fuzzing.targets.outcome import visible

    with _using_targets():
        find, config = trusted_find(folder, trust=trust)
        stem, style = find.stem, find.smallest.style
        if original:
            stem, style = finds.PROGRAM, find.program.style
        click.echo(visible(finds.source_of(folder, stem)).rstrip("\n") + "\n")
        rewrite = REWRITINGS.get(find.signature.detail)
        tree = finds.tree_of(folder, stem)
        rewritten = rewrite(tree) if rewrite else None
        if rewritten is not None:
            click.echo(f"{find.signature.detail}:\n\n{visible(written(rewritten, style).program)}")
        if replay:
            for number, judged in enumerate(replaying.replay(config, folder, find, tree, style), 1):
                if judged[0] is not None:
                    click.echo(f"run {number}")
        else:
            judged = replaying.run(config, find, tree, style)
        verdict, runs = judged
        _print_outcomes(verdict, runs)
        is_shown = replaying.shows(config, find, verdict)
        # If something does not work, a bug is not fixed, and any program shows a difference.
        if not is_shown or find.signature.kind in UNCLEAR:
            try_commands(config, runs)
    click.echo(visible(f"{find.signature}: {'reproduced' if is_shown else 'not reproduced'}"))
    if not is_shown and not replay and find.signature.kind == outcome.ONCE:
        if finds.requests_of(folder):
            click.echo("it may depend on earlier requests: try --replay, which sends them again")
        else:
            click.echo("it may not happen every time: try --replay, which runs it several times")
    return is_shown


@contextlib.contextmanager
def _using_targets() -> Iterator[None]:
    """Kill what targets leave behind. Report an invalid configuration, and exit with status 1."""
    from scriptschema.fuzzing.targets.processes import leaving_nothing

    try:
        with leaving_nothing():
            yield
    except ValueError as error:
        report(error)
        sys.exit(1)


def _print_outcomes(verdict: Verdict | None, runs: list[Run]) -> None:
    """Print a program's runs, and the verdict on them."""
    from scriptschema.fuzzing.targets.outcome import visible

    for run in runs:
        _show(run)
    if verdict is None:
        return
    click.echo(visible(f"{verdict.signature.kind}: {verdict.message}"))
    if verdict.difference is not None:
        for target, line in verdict.difference.sides:
            click.echo(f"  {target}: {'(nothing)' if line is None else visible(line)}")
    _show_text(verdict.printed)


def _show(run: Run) -> None:
    status = "" if run.outcome.status is None else f", status {run.outcome.status}"
    click.echo(f"{run.target}: {run.outcome.kind}{status} ({run.outcome.seconds:.2f} s)")
    for text in (run.outcome.output, run.outcome.error, run.outcome.report):
        _show_text(text)


def _show_text(text: str) -> None:
    from scriptschema.fuzzing.oracles.differential import lines_of
    from scriptschema.fuzzing.targets.outcome import visible

    lines = lines_of(text)
    for line in lines[:LINES]:
        click.echo(f"  {visible(line[:200])}")
    if len(lines) > LINES:
        click.echo(f"  ... {len(lines) - LINES} more lines")


def reduce_find(folder: Path, *, trust: bool) -> None:
    """Reduce the find in `folder` as far as possible, and print its size before and after.

    If `trust` is true, runs the find's commands without asking the user. Exits with status 1 after
    an error, or if the bug does not occur again.
    """
    from scriptschema.fuzzing.campaign import config, finds
    from scriptschema.fuzzing.campaign.folder import Campaign
    from scriptschema.fuzzing.campaign.reduction import reduce_find
    from scriptschema.fuzzing.campaign.runner import Runner, try_commands
    from scriptschema.fuzzing.targets.outcome import visible

    campaign = folder.absolute().parent.parent
    in_campaign = (campaign / config.FILE).is_file()
    opened = Campaign(campaign, None) if in_campaign else contextlib.nullcontext()
    with opened, _using_targets():  # raises if the campaign is running
        find, settings = trusted_find(folder, trust=trust)
        with contextlib.closing(Runner(settings)) as runner:
            try_commands(runner.config)
            tree = reduce_find(runner, find, folder)
        if tree is not None:
            finds.add_reduced(folder, find, tree)
    if tree is None or find.reduced is None:
        click.echo(visible(f"{find.signature}: not reproduced"), err=True)
        sys.exit(1)
    tests = counted(find.reduction_tests, "test")
    click.echo(f"{find.program.size} -> {find.reduced.nodes:,}, {tests}", err=True)


def _builds(_: object, __: object, values: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return (name, command) pairs, parsed from NAME=COMMAND."""
    builds = [(name.strip(), command) for name, _, command in (v.partition("=") for v in values)]
    for name, command in builds:
        if not name or not command.strip():
            raise click.BadParameter("expected NAME=COMMAND, such as 'v1=build/v1/luau {file}'")
    names = [name for name, _ in builds]
    if len({*names}) < len(names) or len(names) < 2:
        raise click.BadParameter("expected at least two builds with different names, oldest first")
    return builds


@program.command("bisect")
@click.argument("folder", type=INPUT_FOLDER, metavar="FIND")
@click.option(
    "--build",
    "builds",
    multiple=True,
    required=True,
    callback=_builds,
    metavar="NAME=COMMAND",
    help="A build to try: COMMAND replaces the command of the target that shows the bug. Repeat "
    "this option for each build, oldest first.",
)
@click.option(
    "-t",
    "--target",
    "replaced",
    default="",
    metavar="TARGET",
    help="The campaign's target that the builds replace, if several targets may have the bug.",
)
@trust_option
def bisect_command(folder: Path, builds: list[tuple[str, str]], replaced: str, trust: bool) -> None:
    """Find the first build that shows a bug.

    FIND is a folder in a campaign's finds/. A binary search runs the find's program with some of
    the builds. A build shows the bug if its verdict has the same kind as the verdict stored in the
    find. The result is stored in the find, for the report. The exit status is 0 if the first build
    with the bug was found, otherwise 1, for example if all builds show the bug.

    TARGET is written as for `scriptschema fuzz`, for example 'command:luau {file}'.

    \b
    scriptschema bisect campaign/finds/NAME --build '0.600=luau-600 {file}' \\
        --build '0.650=luau-650 {file}' --build '0.700=luau-700 {file}'
    """
    import attrs

    from scriptschema.fuzzing.campaign import finds
    from scriptschema.fuzzing.campaign.replay import bisect

    def print_result(name: str, shows: bool) -> None:
        click.echo(f"{name}: {'shows the bug' if shows else 'does not show the bug'}")

    with _using_targets():
        find, config = trusted_find(folder, trust=trust)
        tree = finds.tree_of(folder, find.stem)
        bisection = bisect(config, find, tree, builds, print_result, replaced)
        click.echo(str(bisection))
        if bisection.first is not None:
            finds.save(folder, attrs.evolve(find, bisection=str(bisection)))
    sys.exit(0 if bisection.before is not None else 1)


@program.command("export")
@click.argument("folders", type=INPUT_FOLDER, nargs=-1, required=True, metavar="FIND...")
@click.option(
    "--to",
    "form",
    type=click.Choice(["markdown", "luau", "junit", "sarif"]),
    required=True,
    help="The output: an issue, a regression test, or results for CI.",
)
@click.option(
    "-o", "--output", metavar="FILE", help="The file to write (default: standard output)."
)
def export_command(folders: tuple[Path, ...], form: str, output: str | None) -> None:
    """Write finds as an issue, a regression test or CI results.

    FIND is a folder in a campaign's finds/. If FIND is a campaign's folder, all its finds are
    written. The worst bug comes first. With --to markdown, a find becomes an issue to paste into a
    bug tracker: the program, the outcome of each run, the versions, and the command that reproduces
    the bug. With --to junit or --to sarif, the finds become results for CI.

    With --to luau, a find becomes a regression test. It asserts that the program ends in the same
    way and prints the same output as in the first run that ended normally or with a Luau error.
    Check that this is the correct behaviour. If there is no such run, the test asserts only that
    the program terminates. Finds whose source is not valid Luau and bugs of a printer, which no
    program can test, are reported and left out, and the exit status is then 1.

    \b
    scriptschema export campaign/finds/NAME --to markdown
    scriptschema export campaign/ --to sarif -o finds.sarif
    """
    from scriptschema import files
    from scriptschema.fuzzing.oracles.severity import rank_of
    from scriptschema.fuzzing.report.exporting import export, no_test

    exported = sorted(_finds_in(folders), key=lambda each: rank_of(each[1].signature))
    problems = [no_test(folder, find) if form == "luau" else "" for folder, find in exported]
    exported = [each for each, why in zip(exported, problems, strict=True) if not why]
    left_out = [why for why in problems if why]
    for why in left_out:
        report(files.FileError(why))
    target = files.STANDARD if output is None else Path(output)
    if exported or not left_out:
        data = export(exported, form)
        if target == files.STANDARD:
            refuse_control_characters(data)
        files.write(target, data)
    if left_out:
        sys.exit(1)


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
    """Write the finds of campaigns as one HTML page.

    The page is self-contained. CAMPAIGN is a campaign's folder, in which `scriptschema fuzz` may
    still be running. The worst bug comes first. A bug that several campaigns found is shown once.
    Unreadable finds are reported, the others are shown, and the exit status is then 1.

    \b
    scriptschema report campaign/ -o report.html
    """
    from scriptschema import __version__, files
    from scriptschema.fuzzing.campaign.statistics import now
    from scriptschema.fuzzing.report import content, page

    shown = content.gather_all(folders)
    files.write(Path(output), b"".join(page.pieces(shown, __version__, now())))
    for problem in shown.problems:
        report(files.FileError(problem))
    if shown.problems:
        sys.exit(1)
