"""The command `fuzz`, which looks for bugs in implementations of Luau."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scriptschema.commands import program
from scriptschema.commands.campaign_display import Display, Lines, as_json
from scriptschema.commands.campaign_options import config_of, duration, names, seeds_in
from scriptschema.commands.console import LARGEST, NonEmptyPath, counted, report, stoppable
from scriptschema.commands.program import section
from scriptschema.commands.trust import trusted_campaign

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from scriptschema.fuzzing.campaign.config import Config
    from scriptschema.fuzzing.campaign.folder import Campaign
    from scriptschema.fuzzing.campaign.session import Session
    from scriptschema.fuzzing.campaign.workers import Workers

FOUND = 3
"""The exit status if there is a new find and --fail-on-find is given."""

DEMO_SECONDS = 30.0

_targets = section("Targets")
_work = section("The campaign")
_programs = section("Programs")
_judges = section("What counts as a bug")
_told = section("Output")


@program.command("fuzz")
@_targets(
    "-t",
    "--target",
    "words",
    multiple=True,
    metavar="TARGET",
    help="What runs the programs; see below.",
)
@_targets(
    "--variant",
    "variants",
    multiple=True,
    metavar="WORDS",
    help="Also run each program with these arguments; repeatable.",
)
@_targets(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    metavar="S",
    help="The time limit of a run in seconds.",
)
@_targets(
    "--memory", type=click.IntRange(1), metavar="MB", help="The memory limit of a run in megabytes."
)
@_targets(
    "--crash",
    metavar="REGEX",
    help="Output of a command that this matches is a crash.",
)
@_targets(
    "--error",
    metavar="REGEX",
    help="Output of a command that this matches is an ordinary error of the program.",
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
    help="The number of processes that fuzz.",
)
@_work(
    "--cluster",
    "address",
    metavar="ADDRESS",
    help="Fuzz on a Dask cluster: tcp://HOST:PORT of its scheduler, or local:N.",
)
@_work(
    "--engine",
    type=click.Choice(["own", "afl"]),
    help="What makes mutants: own (the default), or AFL++ on a build with its compiler.",
)
@_work("--for", "seconds", callback=duration, metavar="TIME", help="The time limit: 30s, 10m, 8h.")
@_work(
    "-n",
    "--count",
    type=click.IntRange(1),
    metavar="N",
    help="The maximum number of programs.",
)
@_programs("--seed", type=int, metavar="N", help="The seed of all random choices.")
@_programs(
    "--size",
    type=click.IntRange(1, LARGEST),
    metavar="N",
    help="The approximate number of nodes of a program.",
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
    help="The programs' type annotations.",
)
@_programs(
    "--style",
    type=click.Choice(["random", "plain"]),
    help="Write one in four programs in a random style (random, the default), or none (plain).",
)
@_programs(
    "--broken",
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    help="The share of sources that are not Luau, which targets must refuse (0).",
)
@_programs(
    "--luau",
    metavar="VERSION",
    help="The version of Luau that programs are for: the newest of which all targets have all.",
)
@_programs(
    "--without",
    callback=names,
    metavar="NAMES",
    help="Libraries and members not to use: buffer,math.tan",
)
@_programs(
    "--only",
    callback=names,
    metavar="NAMES",
    help="Use no other libraries: string,table",
)
@_programs(
    "--only-compile",
    is_flag=True,
    help="Compile the programs, which then need not end, without running them.",
)
@_judges("--checker", metavar="COMMAND", help="A type checker; see below.")
@_judges("--printer", metavar="COMMAND", help="A command that reads a program and prints it.")
@_judges("--judge", metavar="MODULE:FUNCTION", help="A function that judges programs.")
@_judges(
    "--known",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A file with signatures of known bugs, which are only counted.",
)
@_judges(
    "--compare",
    type=click.Choice(["output", "errors", "positions"]),
    help="Compare output, also error messages, or also the positions in these.",
)
@_judges(
    "--ulps",
    type=click.IntRange(0),
    metavar="N",
    help="Treat numbers at most N doubles apart as equal.",
)
@_told(
    "--fail-on-find",
    is_flag=False,
    flag_value="undefined",
    type=click.Choice(
        ["memory", "crash", "result", "assertion", "hang", "undefined", "message", "position"]
    ),
    metavar="[SEVERITY]",
    help=f"Status {FOUND} if there is a new find of this severity, or a worse one.",
)
@_work("--trust", is_flag=True, help="Run the campaign's commands without asking.")
@_told("--json", "as_events", is_flag=True, help="Print each event as a line of JSON.")
@_told(
    "--demo",
    is_flag=True,
    help="Fuzz luau-web for half a minute, in a temporary folder.",
)
def fuzz(
    output: Path | None,
    jobs: int,
    address: str | None,
    seconds: float | None,
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

    Programs are made, mutated, run by each TARGET with each variant, and judged: crashes, reports
    of sanitizers, failed assertions, internal errors, hangs, and differences between targets and
    variants are bugs. Each is reduced and kept once, in FOLDER/finds/. An existing campaign is
    continued.

    TARGET is luau-web or luau-web:FOLDER (npm), pluau (PyPI), command:COMMAND, which reads {file}
    or standard input, or persistent:COMMAND, which runs one program after the other. In COMMAND,
    {variant} is where a variant's arguments are put.

    The severities of --fail-on-find, the worst first: memory (sanitizers, used up), crash, result
    (incorrect), assertion, hang, undefined (behaviour), message, position. The default is
    undefined; what differs in messages or positions alone is one entry each.

    With --engine afl the first TARGET is a program built with AFL++'s compiler, ./harness or
    command:COMMAND. N instances of AFL++ run it, with mutants of this package; what they keep is
    judged on all targets.

    With --types sound and --checker, a program that the checker accepts in strict mode and that
    fails with an error of type is a bug of the checker.

    --seeds FOLDER has sources or trees, for example a conformance suite: they are run first, and
    then mutated. Unreadable files are reported.

    A campaign from somebody else has commands: they are shown, and run if you say so, or with
    --trust.

    With --broken a share of the sources are not programs: tokens are missing or changed. A TARGET
    that runs one to its end instead of refusing it, or that crashes or does not finish, has a bug.

    With --only-compile a TARGET compiles programs and does not run them (services get "run": false;
    a command must only compile). Programs are then less restricted: they need not end, and may fail
    early.
    """
    from scriptschema.files import FileError
    from scriptschema.fuzzing.campaign.afl import AflEngine, EngineError
    from scriptschema.fuzzing.campaign.cluster import Cluster, ClusterError
    from scriptschema.fuzzing.campaign.session import CampaignError, Session
    from scriptschema.fuzzing.oracles.judging import JudgeError
    from scriptschema.fuzzing.oracles.severity import is_at_least
    from scriptschema.fuzzing.targets.description import TargetError

    if demo:
        import tempfile

        output = output or Path(tempfile.mkdtemp(prefix="scriptschema-demo-")) / "campaign"
        seconds = seconds or DEMO_SECONDS
        options["words"] = options["words"] or ("luau-web",)
    if output is None:
        raise click.UsageError("name the folder of the campaign: -o FOLDER")
    config = config_of(output, **options)
    display: Any = as_json if as_events else Display() if sys.stderr.isatty() else Lines()
    try:
        with (
            stoppable(f"`scriptschema fuzz -o {output}` goes on"),
            trusted_campaign(output, config, trust=trust) as campaign,
            _workers(campaign, address, jobs) as workers,
        ):
            if isinstance(workers, Cluster):
                workers.require(campaign.config)
                jobs = workers.threads
            elif isinstance(workers, AflEngine):
                jobs = 1  # judges
            session = Session(
                campaign,
                jobs=jobs,
                seconds=seconds,
                programs=count,
                workers=workers,
                seeds=() if seeds_folder is None else seeds_in(seeds_folder, campaign.config),
                on_event=display,
            )
            session.run()
    except (
        *(FileError, TargetError, JudgeError, CampaignError, ClusterError, EngineError),
    ) as error:
        report(error)
        sys.exit(1)
    new = session.state.finds.new
    if not as_events:
        _summarize(session, output)
    if demo:
        _report(output)
        explain(output, campaign.config, session.programs_done, [*session.state.finds.by_name])
    if fail_on_find and any(is_at_least(find.signature, fail_on_find) for find in new):
        sys.exit(FOUND)


def _summarize(session: Session, folder: Path) -> None:
    """Print the number of finds, and how many of them are not reduced yet."""
    from scriptschema.fuzzing.oracles.severity import LEAST, is_at_least

    left = session.state.triage.waiting
    found = [find.signature for find in session.state.finds.new]
    new = sum(is_at_least(signature, LEAST) for signature in found)
    what = f"{counted(new, 'new find')} in {folder / 'finds'}" if new else "nothing new was found"
    if len(found) > new:
        low = sorted(signature.kind for signature in found if not is_at_least(signature, LEAST))
        what += f"; there too: programs that differ in {'s and in '.join(low)}s alone"
    click.echo(f"{counted(session.programs_done, 'program')}: {what}", err=True)
    if left:
        click.echo(
            f"{counted(left, 'program')} not reduced to the end: `scriptschema fuzz -o {folder}` "
            "goes on with that",
            err=True,
        )


def _workers(
    campaign: Campaign, address: str | None, jobs: int
) -> AbstractContextManager[Workers | None]:
    """Return the cluster at an address, AFL++'s instances, or a context of None without either."""
    from contextlib import nullcontext

    from scriptschema.fuzzing.campaign.afl import AflEngine
    from scriptschema.fuzzing.campaign.cluster import Cluster

    if campaign.config.engine == "afl":
        if address is not None:
            raise click.UsageError("--cluster is not for --engine afl")
        return AflEngine(campaign, jobs)
    if address is None:
        return nullcontext()
    if not re.fullmatch(r"local:[1-9]\d*|\w+://.+", address):
        raise click.BadParameter(
            f"{address!r} is neither tcp://HOST:PORT nor local:N", param_hint="--cluster"
        )
    return Cluster(address)


def _report(folder: Path) -> None:
    """Write the report of a demonstration beside its folder, if the extra is installed."""
    from scriptschema.commands.finds import report_command

    page = folder.with_name("report.html")
    report_command.main([str(folder), "-o", str(page)], standalone_mode=False)
    click.echo(f"the report: {page}", err=True)


def explain(folder: Path, config: Config, programs: int, names: list[str]) -> None:
    """Print what a demonstration did, and what to do next."""
    runs = [target.run_name(variant) for target in config.targets for variant in target.variants]
    lines = [f"what was run: each program on {', '.join(runs)}"]
    if names:
        lines.append(f"run a find again: scriptschema reproduce {folder / 'finds' / names[0]}")
    elif not programs:
        lines.append("what came of it: nothing, the time was too short for a program; try --for 2m")
    else:
        lines.append(
            "what came of it: no crash, no hang, and no difference in what the programs print, as "
            "is to be expected of a released Luau in half a minute"
        )
    lines += [
        f"the programs that showed something new: {folder / 'corpus'}",
        "next, for longer: scriptschema fuzz --target luau-web -o campaign/ --jobs 2 --for 10m",
        "or on a build of your own: see scriptschema fuzz --help",
    ]
    click.echo("\n".join(lines), err=True)
