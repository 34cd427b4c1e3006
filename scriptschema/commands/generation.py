"""The command `generate`, which generates random trees and corpora."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from scriptschema.commands import program
from scriptschema.commands.console import (
    FORMATS,
    LARGEST,
    Number,
    counted,
    luau_option,
    message_class,
    message_option,
    progress,
    refuse_terminal,
    report,
    stoppable,
)
from scriptschema.commands.program import section

if TYPE_CHECKING:
    from scriptschema.generation.bulk import Kind, Recipe
    from scriptschema.generation.programs import ProgramOptions
    from scriptschema.generation.programs.annotations import Types
    from scriptschema.versions import Version

T = TypeVar("T")


def _style(_: object, __: object, value: str | None) -> int | Literal["random"] | None:
    if value is None or value == "plain":
        return None
    if value == "random":
        return "random"
    if not (value.isascii() and value.isdigit()):
        raise click.BadParameter(
            f"invalid style {value!r}: expected random, plain or a seed such as 7"
        )
    return int(value)


_trees = section("Trees")
_programs = section("Programs")
_written = section("Output")


@program.command()
@_trees(
    "-n", "count", type=click.IntRange(0), metavar="N", help="The number of trees (default: 1)."
)
@_trees(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    metavar="N",
    help="The seed of the first tree.",
)
@_trees(
    "--size",
    type=click.IntRange(1, LARGEST),
    default=200,
    show_default=True,
    metavar="NODES",
    help="The approximate number of nodes in each tree.",
)
@message_option
@_trees("--swarm", is_flag=True, help="In each tree, use only a random half of all alternatives.")
@_trees(
    "--weights",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="A TOML file with the frequencies of alternatives, idioms and libraries.",
)
@_programs(
    "--programs",
    is_flag=True,
    help="Generate programs that can be run. Nearly all end without an error.",
)
@_programs("--repaired", is_flag=True, help="Repair random trees into programs that Luau compiles.")
@_programs(
    "--broken",
    is_flag=True,
    help="Generate sources that are not valid Luau, to test a parser's error handling.",
)
@_programs(
    "--wrong",
    type=Number(0, 1),
    metavar="SHARE",
    help="The share of operands and arguments that are deliberately wrong (default: 0.05, or 0 "
    "with sound types).",
)
@_programs(
    "--types",
    type=click.Choice(["none", "random", "sound"]),
    help="The type annotations with --programs: none, random, or sound (accepted by a type checker "
    "in strict mode).  [default: random]",
)
@_programs(
    "--varying", is_flag=True, help="Allow --programs to print values that change from run to run."
)
@luau_option
@_written(
    "--format",
    "to_format",
    type=click.Choice([*FORMATS.choices, "luau"]),
    help="The format of the output (default: from the suffix of FILE, or binary).",
)
@_written(
    "--style",
    callback=_style,
    shell_complete=lambda *_: ["random", "plain"],
    metavar="random|plain|SEED",
    help="The style of sources: random for each source, plain (the default), or a seed that "
    "determines one style for all sources.",
)
@_written(
    "-j",
    "--jobs",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="N",
    help="The number of processes.",
)
@_written(
    "-o",
    "--output",
    default="-",
    metavar="DIR|FILE|-",
    help="The file or folder to write (default: standard output).",
)
def generate(
    count: int | None,
    seed: int,
    size: int,
    message_name: str,
    swarm: bool,
    weights: Path | None,
    programs: bool,
    repaired: bool,
    broken: bool,
    wrong: float | None,
    types: Types | None,
    varying: bool,
    luau: Version | None,
    to_format: Any,
    style: int | Literal["random"] | None,
    jobs: int,
    output: str,
) -> None:
    """Generate random trees, programs or invalid sources.

    The first tree is generated from the seed S, the next from S+1, and so on. With -n, each tree
    becomes a file in the folder, named by its seed. Existing files in the folder are not replaced.
    To continue after an interruption, run the same command again. Standard output and a FILE that
    ends in .pbstream get a stream: each tree is preceded by its length as a varint.

    Without -n, a single tree or source is written to standard output or FILE, without a length
    unless FILE ends in .pbstream. The same applies to -n 1 if FILE has the suffix of a format. As
    source, a program with a module becomes a folder with program.luau and module0.luau. On standard
    output and in a FILE.luau, the module becomes a function in the program. An existing FILE is
    replaced.

    \b
    scriptschema generate --programs --format luau
    scriptschema generate --programs -n 1000 --format luau -o sources/
    scriptschema generate -n 1000 --size 500 --jobs 2 -o corpus/
    """
    from concurrent.futures import BrokenExecutor

    from scriptschema import files
    from scriptschema.generation.bulk import Recipe
    from scriptschema.generation.grammar import grammar_of
    from scriptschema.generation.weights import WeightsError, read_weights

    cls = message_class(message_name, luau)
    kinds: dict[Kind, bool] = {"program": programs, "repaired": repaired, "broken": broken}
    kind: Kind = next((each for each, chosen in kinds.items() if chosen), "tree")
    if sum(kinds.values()) > 1:
        raise click.UsageError("--programs, --repaired and --broken cannot be combined")
    options: ProgramOptions = {}
    if wrong is not None:
        options["wrong"] = wrong
    if types is not None:
        options["types"] = types
    if varying:
        options["deterministic"] = False
    if options and kind not in ("program", "broken"):
        raise click.UsageError("--wrong, --types and --varying require --programs or --broken")
    try:
        table = read_weights(weights)
        if kind in ("program", "broken"):
            from scriptschema.generation import programs as program_generator

            program_generator.grammar_of(table, luau=luau, **options)
        else:
            grammar_of(table, luau)
    except (WeightsError, OSError) as error:
        reason = files.reason_of(error).removeprefix(f"{weights}: ")
        raise click.BadParameter(f"{weights}: {reason}", param_hint="--weights") from None
    path = Path(output)
    streams = path == files.STANDARD or path.suffix == files.STREAM_ENDING
    endings: dict[str, Any] = {**files.ALL_ENDINGS, files.STREAM_ENDING: "binary"}
    form = to_format or endings.get(path.suffix, "luau" if broken else "binary")
    if kind != "tree" and cls.__name__ != "ModuleSet":
        option = "--programs" if programs else f"--{kind}"
        raise click.UsageError(f"{option} generates ModuleSets, not {message_name}")
    if form == "luau" and kind == "tree":
        raise click.UsageError("only programs can be written as source code: add --programs")
    if broken and form != "luau":
        raise click.UsageError("invalid sources have no tree: omit --format, or use --format luau")
    if form == "luau" and streams and (path != files.STANDARD or count not in (None, 1)):
        raise click.UsageError("several sources can only be written to a folder: use -o FOLDER")
    is_one = count is None or (count == 1 and path.suffix in endings)
    is_file = streams or (is_one and not path.is_dir() and not output.endswith("/"))
    if is_file and endings.get(path.suffix, form) != form:
        raise click.UsageError(
            f"{output}: the suffix {path.suffix} means {endings[path.suffix]}, not {form}: choose "
            "another name, or another --format"
        )
    if style is not None and form != "luau":
        raise click.UsageError("--style requires --format luau")
    recipe = Recipe(cls, size, table, swarm, form, kind, options, style, luau)
    seeds = range(seed, seed + (1 if count is None else count))
    if path == files.STANDARD and form == "binary":
        refuse_terminal()
    try:
        if path != files.STANDARD:
            files.require_parent(path)
        if streams and form != "luau" and (count is not None or path != files.STANDARD):
            write_stream(recipe, seeds, jobs, path)
        elif is_file:
            write_one(recipe, seed, path)
        elif path.exists() and not path.is_dir():
            raise click.UsageError(
                f"{output} is a file: several trees can only be written to a folder"
            )
        else:
            write_folder(recipe, seeds, jobs, path)
    except (files.FileError, ValueError, BrokenExecutor) as error:
        report(error)
        sys.exit(1)


def write_stream(recipe: Recipe, seeds: range, jobs: int, path: Path) -> None:
    """Write a stream to a file (completely or not at all) or, tree by tree, to standard output."""
    from scriptschema import files
    from scriptschema.generation.bulk import interrupts_later

    with files.errors_of("standard output" if path == files.STANDARD else path):
        if path == files.STANDARD:
            for data in make_all(recipe.make, recipe.size, seeds, jobs):
                sys.stdout.buffer.write(files.delimited(data))
                sys.stdout.buffer.flush()
            return
        with stoppable("nothing was written"), contextlib.ExitStack() as stack:
            with interrupts_later():
                file = stack.enter_context(files.replacing(path))
            for data in make_all(recipe.make, recipe.size, seeds, jobs):
                file.write(files.delimited(data))


def write_one(recipe: Recipe, seed: int, path: Path) -> None:
    """Write the result for one seed to a file or to standard output."""
    from scriptschema import files
    from scriptschema.luau.sources import write_sources

    is_named = path == files.STANDARD or path.suffix in files.SOURCE_ENDINGS
    one_file = recipe.kind == "broken" or is_named
    if recipe.form == "luau" and not one_file:
        write_sources(path, recipe.program(seed), style=recipe.style_of(seed))
    else:
        files.write(path, recipe.make(seed))


def write_folder(recipe: Recipe, seeds: range, jobs: int, folder: Path) -> None:
    """Write a file for each seed, or a folder if the program has a module.

    Existing files are not replaced. Raises FileError if they come from other options.
    """
    from scriptschema import files
    from scriptschema.generation.bulk import interrupts_later
    from scriptschema.luau.sources import PROGRAM

    with files.errors_of(folder):
        folder.mkdir(exist_ok=True)
        existing = {entry.name for entry in os.scandir(folder)}
    ending = files.ending_of(recipe.form)

    def exists(seed: int) -> bool:
        if f"{seed}{ending}" in existing:
            return True
        return str(seed) in existing and (folder / str(seed) / PROGRAM).is_file()

    left = [seed for seed in seeds if not exists(seed)]
    if len(left) < len(seeds):
        sample = next(seed for seed in seeds if exists(seed))
        for name, data in recipe.files_of(sample).items():
            refuse_other_trees(folder / name, data)
        click.echo(
            f"{len(seeds) - len(left):,} of {counted(len(seeds), 'tree')} already exist",
            err=True,
        )
    with stoppable("to continue, run the same command again"):
        for made in make_all(recipe.files_of, recipe.size, left, jobs):
            with interrupts_later():  # an interrupt must not leave temporary files
                for name, data in made.items():
                    files.write(folder / name, data, below=folder)


def refuse_other_trees(path: Path, expected: bytes) -> None:
    """Raise FileError if the content of `path` differs from `expected`.

    This prevents a folder from containing trees that were generated with different options.
    """
    from scriptschema import files

    existing = files.content_of(path)
    if existing is None:  # one source is expected and two exist, or the reverse
        path = path.parent
    if existing != expected:
        raise files.FileError(
            f"{path} exists, but was not generated with these options: use another folder, or "
            "delete the file to generate it again"
        )


def make_all(make: Callable[[int], T], size: int, seeds: Sequence[int], jobs: int) -> Iterator[T]:
    """Yield the results of `bulk.make_all`, with a progress bar."""
    from scriptschema.generation import bulk

    results = bulk.make_all(make, size, seeds, min(jobs, max(1, len(seeds))))
    return progress(results, "generating", len(seeds), least=2)
