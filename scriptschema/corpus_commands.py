"""The commands that make corpora and describe them: `generate` and `stats`."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from scriptschema.console import (
    FORMATS,
    INPUT,
    drop_unknown_option,
    from_option,
    message_class,
    message_option,
    progress,
    refuse_terminal,
    report,
)
from scriptschema.luau.commands import PROGRAM, write_sources

if TYPE_CHECKING:
    from scriptschema.bulk import Maker, Recipe

T = TypeVar("T")


@click.command()
@click.option(
    "-n", "count", type=click.IntRange(0), metavar="N", help="How many trees; without it, one."
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="The first tree's seed."
)
@click.option(
    "--size",
    type=click.IntRange(1),
    default=200,
    show_default=True,
    metavar="NODES",
    help="The aimed number of nodes of each tree.",
)
@message_option
@click.option("--swarm", is_flag=True, help="Leave a random half of the alternatives out of each.")
@click.option(
    "--weights",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="A TOML file that says how often each alternative is taken.",
)
@click.option("--programs", is_flag=True, help="Repair the trees: programs that Luau compiles.")
@click.option(
    "--format",
    "to_format",
    type=click.Choice([*FORMATS.choices, "luau"]),
    help="Else what FILE's ending says, or binary. luau: the sources of --programs.",
)
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Processes.")
@click.option(
    "-o",
    "--output",
    default="-",
    metavar="DIR|FILE|-",
    help="Where to write; else standard output.",
)
def generate(
    count: int | None,
    seed: int,
    size: int,
    message_name: str,
    swarm: bool,
    weights: Path | None,
    programs: bool,
    to_format: Any,
    jobs: int,
    output: str,
) -> None:
    """Make random trees: the first from seed S, the next from S+1, and so on.

    With -n, a folder gets one file for each tree, named by its seed. Those that are there already
    are kept: run again after an interruption, the command goes on. Standard output, and a FILE that
    ends in .pbstream, get a stream: each tree after its length as a varint.

    Without -n, one tree goes to standard output or FILE as it is. As sources, a program that has a
    module is a folder with program.luau and module0.luau.

    \b
    python -m scriptschema generate -n 1000 --size 500 --jobs 2 -o corpus/
    python -m scriptschema generate --seed 17 --format text
    python -m scriptschema generate -n 1000 --swarm | fuzz-target
    python -m scriptschema generate --programs -n 1000 --format luau -o sources/
    """
    from scriptschema import files
    from scriptschema.bulk import Recipe
    from scriptschema.generate import WeightsError, grammar_of, read_weights

    cls = message_class(message_name)
    try:
        table = read_weights(weights) if weights else None
        grammar_of(table)
    except WeightsError as error:
        text = str(error).removeprefix(f"{weights}: ")
        raise click.BadParameter(f"{weights}: {text}", param_hint="--weights") from None
    except OSError as error:
        reason = f"{weights}: {error.strerror}"
        raise click.BadParameter(reason, param_hint="--weights") from None
    path = Path(output)
    streams = path == files.STANDARD or path.suffix == files.STREAM_ENDING
    endings: dict[str, Any] = {**files.ENDINGS, ".luau": "luau"}
    form = to_format or endings.get(path.suffix, "binary")
    if programs and cls.__name__ != "ModuleSet":
        raise click.UsageError(f"--programs makes ModuleSets, not {message_name}")
    if form == "luau" and not programs:
        raise click.UsageError("sources are made of programs: add --programs")
    if form == "luau" and streams and count is not None:
        raise click.UsageError("sources need a folder to be put in: name one with -o")
    recipe = Recipe(cls.__name__, size, table, swarm, form, programs)
    seeds = range(seed, seed + (1 if count is None else count))
    if path == files.STANDARD and form == "binary":
        refuse_terminal()
    try:
        if streams and count is not None:
            write_stream(recipe, seeds, jobs, path)
        elif streams or not (count is not None or path.is_dir() or output.endswith("/")):
            write_one(recipe, seed, path)
        elif path.exists() and not path.is_dir():
            raise click.UsageError(f"{output} is a file: several trees need a folder to be put in")
        else:
            write_folder(recipe, seeds, jobs, path)
    except (files.FileError, ImportError, ValueError, BrokenExecutor) as error:
        report(error)
        sys.exit(1)


def write_stream(recipe: Recipe, seeds: range, jobs: int, path: Path) -> None:
    """Write a stream to a file, whole or not at all, or to standard output as the trees come."""
    from scriptschema import files
    from scriptschema.bulk import interrupts_later

    try:
        if path == files.STANDARD:
            for data in make_all(recipe, seeds, jobs):
                sys.stdout.buffer.write(files.delimited(data))
                sys.stdout.buffer.flush()
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with stoppable("nothing was written"), contextlib.ExitStack() as stack:
            with interrupts_later():
                file = stack.enter_context(files.replacing(path))
            for data in make_all(recipe, seeds, jobs):
                file.write(files.delimited(data))
    except BrokenPipeError:
        raise  # click ends the program silently, as one expects before `| head`
    except OSError as error:
        name = "standard output" if path == files.STANDARD else path
        raise files.FileError(f"{name}: {files.reason_of(error)}") from None


def write_one(recipe: Recipe, seed: int, path: Path) -> None:
    """Write what is made from one seed to a file or to standard output."""
    from scriptschema import files

    if recipe.form == "luau" and path != files.STANDARD:
        write_sources(path, recipe.program(seed))
    else:
        files.write(path, recipe.make(seed))


def write_folder(recipe: Recipe, seeds: range, jobs: int, folder: Path) -> None:
    """Write a file, or a folder for a program of two sources, for each seed that has none."""
    from scriptschema import files
    from scriptschema.bulk import SourceRecipe, interrupts_later

    ending = next((e for e, form in files.ENDINGS.items() if form == recipe.form), ".luau")
    maker = SourceRecipe(recipe) if recipe.form == "luau" else recipe

    def files_of(seed: int, made: Any) -> dict[str, bytes]:
        return made if recipe.form == "luau" else {f"{seed}{ending}": made}

    try:
        folder.mkdir(parents=True, exist_ok=True)
        there = {entry.name for entry in os.scandir(folder)}
    except OSError as error:
        raise files.FileError(f"{folder}: {files.reason_of(error)}") from None

    def is_there(seed: int) -> bool:
        if f"{seed}{ending}" in there:
            return True
        return str(seed) in there and (folder / str(seed) / PROGRAM).is_file()

    left = [seed for seed in seeds if not is_there(seed)]
    if len(left) < len(seeds):
        known = next(seed for seed in seeds if is_there(seed))
        for name, data in files_of(known, maker.make(known)).items():
            refuse_other_trees(folder / name, data)
        click.echo(
            f"{len(seeds) - len(left):,} of {len(seeds):,} trees are there already", err=True
        )
    with stoppable("the same command goes on where it stopped"):
        for seed, made in zip(left, make_all(maker, left, jobs), strict=True):
            with interrupts_later():  # the temporary files are made and renamed, or not made
                for name, data in files_of(seed, made).items():
                    files.write(folder / name, data)


def refuse_other_trees(path: Path, wanted: bytes) -> None:
    """Raise FileError where `path` does not hold what it would be given now.

    A folder with some trees made in one way and some in another is nothing that anybody asked for.
    """
    from scriptschema import files

    try:
        found = path.read_bytes()
    except OSError as error:
        raise files.FileError(f"{path}: {files.reason_of(error)}") from None
    if found != wanted:
        raise files.FileError(
            f"{path} is there already and is not what these options make: "
            "name another folder, or remove the file to have it made again"
        )


@contextlib.contextmanager
def stoppable(consequence: str) -> Iterator[None]:
    """End the program in good order at an interrupt or a termination signal, and say what is left.

    A terminated process would leave the file that it is writing.
    """
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        click.echo(f"interrupted: {consequence}", err=True)
        sys.exit(130)
    finally:
        signal.signal(signal.SIGTERM, before)


def make_all(recipe: Maker[T], seeds: Sequence[int], jobs: int) -> Iterator[T]:
    """What `bulk.make_all` yields, with a progress bar."""
    from scriptschema import bulk

    made = bulk.make_all(recipe, seeds, min(jobs, max(1, len(seeds))))
    return progress(made, "generating", len(seeds), least=2)


@click.command()
@click.argument("inputs", nargs=-1, required=True, type=INPUT, metavar="INPUT...")
@from_option
@message_option
@drop_unknown_option
@click.option("--delimited", is_flag=True, help="The inputs are streams, as from generate -n.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option(
    "--plot",
    "plot_file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.svg|png",
    help="Draw the distributions and the alternatives (needs matplotlib).",
)
def stats(
    inputs: tuple[Path, ...],
    from_format: Any,
    message_name: str,
    drop_unknown: bool,
    delimited: bool,
    as_json: bool,
    plot_file: Path | None,
) -> None:
    """Say what a corpus holds: sizes, depths, and how often each part of the schema occurs.

    An INPUT is a file, a folder (all files below it) or - for standard input; the format is told
    from a file's ending or with --from. A file that ends in .pbstream is a stream of binary trees,
    each after its length as a varint; with --delimited, every input is a stream. What cannot be
    read is reported, the rest is counted, and the exit status is 1.

    Bytes are those of the trees in the binary format, in whatever format they were read.

    \b
    python -m scriptschema stats corpus/
    python -m scriptschema generate -n 1000 --swarm | python -m scriptschema stats --delimited -
    python -m scriptschema stats corpus/ --json --plot corpus.svg
    """
    if plot_file and plot_file.suffix not in (".svg", ".png"):
        raise click.BadParameter(
            f"{plot_file}: the ending must be .svg or .png", param_hint="--plot"
        )
    from scriptschema import corpus_report, files
    from scriptschema.corpus_stats import CorpusStats

    cls = message_class(message_name)
    found = CorpusStats()
    failed = 0
    unknown = files.DROP if drop_unknown else files.ERROR
    try:
        for item in progress(files.expand(inputs), "reading"):
            streams = delimited or item.path.suffix == files.STREAM_ENDING
            read = files.read_stream if streams else files.read_one
            for tree in read(cls, item.path, from_format, unknown):
                if isinstance(tree, files.FileError):
                    failed += 1
                    report(tree)
                else:
                    found.add(tree)
        if plot_file:
            files.write(plot_file, corpus_report.plot(found, plot_file.suffix[1:]))
    except (files.FileError, ImportError) as error:
        failed += 1
        report(error)
    if as_json:
        click.echo(json.dumps(found.as_json(), indent=2))
    else:
        corpus_report.print_report(found)
    if failed:
        sys.exit(1)
