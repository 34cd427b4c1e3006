"""The commands that make corpora and describe them: `generate` and `stats`."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from scriptschema.bulk import Recipe


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
@click.option(
    "--format", "to_format", type=FORMATS, help="Else what FILE's ending says, or binary."
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
    to_format: Any,
    jobs: int,
    output: str,
) -> None:
    """Make random trees: the first from seed S, the next from S+1, and so on.

    With -n, a folder gets one file for each tree, named by its seed. Those that are there already
    are kept: run again after an interruption, the command goes on. Standard output, and a FILE that
    ends in .pbstream, get a stream: each tree after its length as a varint.

    Without -n, one tree goes to standard output or FILE as it is.

    \b
    python -m scriptschema generate -n 1000 --size 500 --jobs 2 -o corpus/
    python -m scriptschema generate --seed 17 --format text
    python -m scriptschema generate -n 1000 --swarm | fuzz-target
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
    form = to_format or files.ENDINGS.get(path.suffix, "binary")
    recipe = Recipe(cls.__name__, size, table, swarm, form)
    seeds = range(seed, seed + (1 if count is None else count))
    if path == files.STANDARD and form == "binary":
        refuse_terminal()
    try:
        if streams and count is not None:
            write_stream(recipe, seeds, jobs, path)
        elif streams or not (count is not None or path.is_dir() or output.endswith("/")):
            files.write(path, recipe.make(seed))
        elif path.exists() and not path.is_dir():
            raise click.UsageError(f"{output} is a file: several trees need a folder to be put in")
        else:
            write_folder(recipe, seeds, jobs, path)
    except (files.FileError, ImportError, ValueError, BrokenExecutor) as error:
        report(error)
        sys.exit(1)


def write_stream(recipe: Recipe, seeds: range, jobs: int, path: Path) -> None:
    """Write a stream of trees to a file, whole or not at all, or to standard output as they come."""
    from scriptschema import files

    try:
        if path == files.STANDARD:
            for data in make_all(recipe, seeds, jobs):
                sys.stdout.buffer.write(files.delimited(data))
                sys.stdout.buffer.flush()
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with stoppable("nothing was written"), files.replacing(path) as file:
            for data in make_all(recipe, seeds, jobs):
                file.write(files.delimited(data))
    except BrokenPipeError:
        raise  # click ends the program silently, as one expects before `| head`
    except OSError as error:
        raise files.FileError(f"{files.name_of(path)}: {files.reason_of(error)}") from None


def write_folder(recipe: Recipe, seeds: range, jobs: int, folder: Path) -> None:
    """Write a file for each of the seeds that has none."""
    from scriptschema import files

    [ending] = (ending for ending, form in files.ENDINGS.items() if form == recipe.form)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        there = {entry.name for entry in os.scandir(folder)}
    except OSError as error:
        raise files.FileError(f"{folder}: {files.reason_of(error)}") from None
    left = [seed for seed in seeds if f"{seed}{ending}" not in there]
    if len(left) < len(seeds):
        known = next(seed for seed in seeds if f"{seed}{ending}" in there)
        refuse_other_trees(folder / f"{known}{ending}", recipe.make(known))
        click.echo(
            f"{len(seeds) - len(left):,} of {len(seeds):,} trees are there already", err=True
        )
    with stoppable("the same command goes on where it stopped"):
        for seed, data in zip(left, make_all(recipe, left, jobs), strict=True):
            files.write(folder / f"{seed}{ending}", data)


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


def make_all(recipe: Recipe, seeds: Sequence[int], jobs: int) -> Iterator[bytes]:
    """What `bulk.make_all` yields, with a progress bar."""
    from scriptschema import bulk

    made = bulk.make_all(recipe, seeds, min(jobs, max(1, len(seeds))))
    return progress(made, "generating", len(seeds), least=2)


@click.command()
def stats() -> None:
    pass
