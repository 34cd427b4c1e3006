"""The command `fuzz`, which looks for bugs in implementations of Luau."""

from __future__ import annotations

import contextlib
import re
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scriptschema.commands import program
from scriptschema.commands.campaign_display import Display, Lines, as_json
from scriptschema.commands.campaign_options import (
    WITHOUT_TYPES,
    config_of,
    duration,
    names,
    seeds_in,
    version_name,
)
from scriptschema.commands.console import LARGEST, NonEmptyPath, Number, counted, stoppable
from scriptschema.commands.program import section
from scriptschema.commands.trust import trusted_campaign

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from scriptschema.fuzzing.campaign.config import Config
    from scriptschema.fuzzing.campaign.folder import Campaign
    from scriptschema.fuzzing.campaign.session import Session
    from scriptschema.fuzzing.campaign.workers import Workers

FIND_STATUS = 3
"""The exit status if there is a new find and --fail-on-find is used."""

DEMO_SECONDS = 30.0

_targets = section("Targets")
_work = section("The campaign")
_programs = section("Programs")
_judges = section("What counts as a bug")
_output = section("Output")


@program.command("fuzz")
@_targets(
    "-t",
    "--target",
    "words",
    multiple=True,
    metavar="TARGET",
    help="The implementation of Luau to test; see above.",
)
@_targets(
    "--variant",
    "variants",
    multiple=True,
    metavar="WORDS",
    help="Also run each program with these arguments; can be repeated.",
)
@_targets(
    "--timeout",
    "seconds",
    type=Number(0, min_open=True),
    metavar="S",
    help="The time limit for each run, in seconds (default: 5).",
)
@_targets(
    "--memory",
    "megabytes",
    type=click.IntRange(1),
    metavar="MB",
    help="The memory limit for each run, in megabytes (default: 256).",
)
@_targets(
    "--crash",
    metavar="REGEX",
    help="Treat command output that matches this regular expression as a crash.",
)
@_targets(
    "--error",
    metavar="REGEX",
    help="Treat command output that matches this regular expression as an ordinary error "
    "of the program.",
)
@_targets(
    "--config",
    "config_path",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="A TOML file with targets and options.",
)
@_work(
    "-o",
    "--output",
    type=NonEmptyPath(path_type=Path),
    metavar="FOLDER",
    help="The folder of the campaign.",
)
@_work(
    "-j",
    "--jobs",
    default=1,
    show_default=True,
    type=click.IntRange(1),
    metavar="N",
    help="The number of worker processes.",
)
@_work(
    "--cluster",
    "address",
    metavar="ADDRESS",
    help="Run on a Dask cluster: tcp://HOST:PORT of its scheduler, or local:N.",
)
@_work(
    "--engine",
    type=click.Choice(["own", "afl"]),
    help="The source of mutants: own (scriptschema itself, the default), or afl (AFL++, for a "
    "target built with its compiler).",
)
@_work(
    "--for",
    "limit",
    callback=duration,
    metavar="TIME",
    help="The time limit: 30s, 10m, 8h, not counting the programs that probe the targets at the "
    "start. After that, reducing the finds takes up to another minute.",
)
@_work(
    "-n",
    "--count",
    type=click.IntRange(1),
    metavar="N",
    help="The maximum number of programs.",
)
@_programs("--seed", type=int, metavar="N", help="The seed for all random choices.")
@_programs(
    "--size",
    type=click.IntRange(1, LARGEST),
    metavar="N",
    help="The approximate number of nodes in each program.",
)
@_programs(
    "--seeds",
    "seeds_folder",
    type=NonEmptyPath(path_type=Path, exists=True),
    metavar="FOLDER",
    help="A folder of sources or trees to start from.",
)
@_programs(
    "--types",
    type=click.Choice(["none", "random", "sound"]),
    help="Which type annotations the programs have.",
)
@_programs(
    "--style",
    type=click.Choice(["random", "plain"]),
    help="The style in which programs are written: plain, or random (the default), which gives one "
    "program in four a random style.",
)
@_programs(
    "--broken",
    type=Number(0, 1),
    metavar="SHARE",
    help="The share of generated sources that are not valid Luau, and that targets must reject "
    "(default: 0).",
)
@_programs(
    "--compiled",
    type=Number(0, 1),
    metavar="SHARE",
    help="The share of programs that are only compiled, not run (default: 0.25).",
)
@_programs(
    "--luau",
    callback=version_name,
    metavar="VERSION",
    help="The version of Luau to generate programs for (default: the newest version that "
    "all targets support, apart from syntax that a target is reported to lack).",
)
@_programs(
    "--without",
    callback=names,
    metavar="NAMES",
    help="Libraries and members to avoid, such as buffer,math.tan",
)
@_programs(
    "--only",
    callback=names,
    metavar="NAMES",
    help="The only libraries to use, such as string,table",
)
@_judges(
    "--checker", metavar="COMMAND", help="A type checker to test, with --types sound; see above."
)
@_judges(
    "--printer",
    metavar="COMMAND",
    help="A printer to test: a command that reads a program and prints it.",
)
@_judges(
    "--judge",
    metavar="MODULE:FUNCTION",
    help="A Python function that decides whether a program shows a bug.",
)
@_judges(
    "--known",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A file with signatures of known bugs, which are counted but not reported.",
)
@_judges(
    "--compare",
    type=click.Choice(["output", "errors", "positions"]),
    help="The scope of the comparison: only the output, also the error messages, or also the "
    "positions in the messages.",
)
@_judges(
    "--ulps",
    type=click.IntRange(0),
    metavar="N",
    help="Treat numbers that differ by at most N units in the last place as equal.",
)
@_output(
    "--fail-on-find",
    is_flag=False,
    flag_value="undefined",
    type=click.Choice(
        ["memory", "crash", "result", "assertion", "hang", "undefined", "message", "position"]
    ),
    metavar="[SEVERITY]",
    help=f"Exit with status {FIND_STATUS} if there is a new find of this severity or worse.",
)
@_work("--trust", is_flag=True, help="Run the campaign's commands without asking.")
@_output("--json", "as_events", is_flag=True, help="Print each event as a line of JSON.")
@_output(
    "--demo",
    is_flag=True,
    help="Fuzz luau-web for half a minute, in a temporary folder.",
)
def fuzz(
    output: Path | None,
    jobs: int,
    address: str | None,
    limit: float | None,
    count: int | None,
    fail_on_find: str | None,
    seeds_folder: Path | None,
    as_events: bool,
    demo: bool,
    trust: bool,
    **options: Any,
) -> None:
    """Look for bugs in implementations of Luau.

    \b
    scriptschema fuzz --target luau-web -o campaign/ --jobs 2 --for 10m
    scriptschema fuzz --target 'command:luau {variant} {file}' --variant=-O0 --variant=-O2 -o out/
    scriptschema fuzz -o campaign/

    Programs are generated, mutated, run by each TARGET with each variant, and judged: crashes,
    sanitizer reports, failed assertions, internal errors, hangs, and differences between targets
    and variants are bugs. Each bug is stored once, with a reduced program, in FOLDER/finds/. An
    existing campaign is continued.

    TARGET is luau-web or luau-web:FOLDER (npm), pluau (PyPI), command:COMMAND, which reads {file}
    or standard input, or persistent:COMMAND, which runs many programs in one process, one after
    another. {variant} in COMMAND is replaced with the variant's arguments.

    --fail-on-find accepts these severities, worst first: memory (a sanitizer's report, or out of
    memory), crash (also an uncaught exception, a panic, an internal error or an unexpected exit
    status), result (a wrong result, and all other kinds of finds), assertion (a failed assertion),
    hang, undefined (undefined behaviour), message (different error messages), and position
    (different positions in error messages). --fail-on-find alone means --fail-on-find=undefined.
    All differences in messages together count as one find, and so do all differences in positions.

    With --engine afl, the first TARGET is a program built with AFL++'s compiler, given as ./harness
    or command:COMMAND. With --jobs N, N instances of AFL++ run it with scriptschema's mutants. The
    inputs that AFL++ keeps are judged on all targets.

    With --types sound and --checker, a program that the checker accepts in strict mode but that
    fails with a type error shows a bug in the checker.

    --seeds names a FOLDER of sources or trees, for example a conformance suite. They are run first,
    and then mutated. The next run continues with those that this run did not reach. Programs with
    features that a TARGET lacks are only mutated. A program that requires a module gets an empty
    table instead. Programs that are not valid are repaired. Unreadable files and the number of
    changed programs are reported.

    The commands of somebody else's campaign are shown to you, and run only if you agree or use
    --trust.

    With --broken SHARE, this share of the sources is not valid Luau: tokens are missing or changed,
    for example. A TARGET has a bug if it runs such a source to completion instead of rejecting it,
    or if it crashes or does not finish.

    One program in four is only compiled: its code is in a function that is never called. This code
    may loop forever or fail anywhere. With --compiled 1, all programs are only compiled.
    """
    from scriptschema.fuzzing.campaign.afl import AflEngine
    from scriptschema.fuzzing.campaign.cluster import Cluster
    from scriptschema.fuzzing.campaign.session import Session
    from scriptschema.fuzzing.oracles.severity import is_at_least

    if demo:
        import tempfile

        output = output or Path(tempfile.mkdtemp(prefix="scriptschema-demo-")) / "campaign"
        limit = limit or DEMO_SECONDS
        options["words"] = options["words"] or ("luau-web",)
    if output is None:
        raise click.UsageError("missing folder for the campaign: use -o FOLDER")
    config = config_of(output, **options)
    if config is not None and config.checker and config.types != "sound":
        raise click.UsageError(f"--checker requires --types sound: {WITHOUT_TYPES}")
    display: Any = as_json if as_events else Display() if sys.stderr.isatty() else Lines()
    with (
        stoppable(f"to continue, run `scriptschema fuzz -o {output}`"),
        trusted_campaign(output, config, trust=trust) as campaign,
        _workers(campaign, address, jobs) as workers,
    ):
        if isinstance(workers, Cluster):
            workers.require(campaign.config)
            jobs = workers.threads
        elif isinstance(workers, AflEngine):
            jobs = 1  # judges
        with _said_if_slow():
            session = Session(
                campaign,
                jobs=jobs,
                seconds=limit,
                programs=count,
                workers=workers,
                on_event=display,
            )
        if seeds_folder is not None:  # now that the targets' version is known
            session.state.seeds.add(seeds_in(seeds_folder, campaign.config))
        session.run()
    new = session.state.finds.new
    if not as_events:
        _summarize(session, output)
    if demo:
        _report(output)
        explain(output, campaign.config, session.programs_done, [*session.state.finds.by_name])
    if fail_on_find and any(is_at_least(find.signature, fail_on_find) for find in new):
        sys.exit(FIND_STATUS)


@contextlib.contextmanager
def _said_if_slow() -> Iterator[None]:
    """Say what is being done before a campaign starts, if it takes more than a few seconds."""
    text = "preparing: reading the campaign, and probing the targets with short programs"
    timer = threading.Timer(4, click.echo, [text], {"err": True})
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _summarize(session: Session, folder: Path) -> None:
    from scriptschema.fuzzing.oracles.severity import LEAST, is_at_least

    left = session.state.triage.unreduced
    signatures = [find.signature for find in session.state.finds.new]
    new = sum(is_at_least(signature, LEAST) for signature in signatures)
    what = f"{counted(new, 'new find')} in {folder / 'finds'}" if new else "nothing new was found"
    if session.known:
        what += f"; {counted(session.known, 'program')} with known bugs"
    if len(signatures) > new:
        low = sorted(
            signature.kind for signature in signatures if not is_at_least(signature, LEAST)
        )
        what += f"; also saved: programs whose runs differ only in {'s and in '.join(low)}s"
    click.echo(f"{counted(session.programs_done, 'program')}: {what}", err=True)
    if left:
        click.echo(
            f"{counted(left, 'program')} not fully reduced: to continue, run `scriptschema "
            f"fuzz -o {folder}`",
            err=True,
        )
    if dropped := session.state.seeds.dropped:
        click.echo(
            f"{counted(len(dropped), 'seed program')} dropped, because workers died while running "
            f"them: {', '.join(dropped)} in {folder / 'corpus'}",
            err=True,
        )
    if seeds := len(session.state.seeds):
        click.echo(
            f"{counted(seeds, 'seed program')} not run yet: to continue, run `scriptschema fuzz "
            f"-o {folder}`",
            err=True,
        )


def _workers(
    campaign: Campaign, address: str | None, jobs: int
) -> AbstractContextManager[Workers | None]:
    from contextlib import nullcontext

    from scriptschema.fuzzing.campaign.afl import AflEngine
    from scriptschema.fuzzing.campaign.cluster import Cluster

    if campaign.config.engine == "afl":
        if address is not None:
            raise click.UsageError("--cluster cannot be combined with --engine afl")
        return AflEngine(campaign, jobs)
    if address is None:
        return nullcontext()
    if not re.fullmatch(r"local:[1-9]\d*|\w+://.+", address):
        raise click.BadParameter(
            f"expected tcp://HOST:PORT or local:N, found {address!r}", param_hint="--cluster"
        )
    return Cluster(address)


def _report(folder: Path) -> None:
    from scriptschema.commands.finds import report_command

    page = folder.with_name("report.html")
    report_command.main([str(folder), "-o", str(page)], standalone_mode=False)
    click.echo(f"the report: {page}", err=True)


def explain(folder: Path, config: Config, programs: int, names: list[str]) -> None:
    """Print what a demonstration did, and what to do next."""
    lines = [f"each program was run on {', '.join(config.run_names)}"]
    if names:
        lines.append(f"to run a find again: scriptschema reproduce {folder / 'finds' / names[0]}")
    elif not programs:
        lines.append(
            "result: no program was run, because the time limit was too short; try --for 2m"
        )
    else:
        released = all(target.kind in ("luau-web", "pluau") for target in config.targets)
        expected = ", as expected after a short time with a released version of Luau"
        lines.append(f"result: no crashes, hangs or differences{expected if released else ''}")
    lines += [
        f"programs that showed something new: {folder / 'corpus'}",
        (
            "next, for a longer campaign: scriptschema fuzz --target luau-web -o campaign/ "
            "--jobs 2 --for 10m"
        ),
        "for your own build of Luau, see scriptschema fuzz --help",
    ]
    click.echo("\n".join(lines), err=True)
