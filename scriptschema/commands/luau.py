"""The commands `render`, `check`, `repair` and `parse`: trees to Luau sources and back.

Commands accept files and whole folders. A file that fails is reported, the other files are
processed, and the exit status is 1.
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scriptschema.commands import program
from scriptschema.commands.batch import (
    common_form,
    require_not_replaced,
    require_some,
    run_all,
    run_each,
    tree_files,
    write_tree,
    written_form,
)
from scriptschema.commands.console import (
    FORMATS,
    INPUT,
    from_option,
    lost_text,
    luau_option,
)

if TYPE_CHECKING:
    from scriptschema.files import Format, Input
    from scriptschema.luau.names import Names
    from scriptschema.luau.parse import ParseResult
    from scriptschema.luau.repair import Problem
    from scriptschema.versions import Version

inputs_argument = click.argument("inputs", nargs=-1, required=True, type=INPUT, metavar="INPUT...")
names_option = click.option(
    "--names",
    "names_path",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Tables of names (.toml or .json) that replace the built-in tables.",
)
output_option = click.option(
    "-o",
    "--output",
    metavar="FILE|DIR",
    help="The file or folder to write (default: standard output).",
)


@program.command("render")
@inputs_argument
@from_option
@output_option
@names_option
@click.option("--types/--no-types", default=True, help="Write type annotations (the default).")
@click.option("--indent", default=2, show_default=True, type=click.IntRange(0, 16), metavar="N")
@click.option(
    "--style",
    type=click.IntRange(0),
    metavar="SEED",
    help="Vary the style: quotes, numbers, separators, comments, white space.",
)
@luau_option
def render_command(
    inputs: tuple[Path, ...],
    from_format: Format | None,
    output: str | None,
    names_path: Path | None,
    types: bool,
    indent: int,
    style: int | None,
    luau: Version | None,
) -> None:
    """Write trees as Luau sources.

    An INPUT is a file (.pb, .textproto, .json), a folder (all files below it) or - for standard
    input. Trees are written unchanged. To get a program that Luau compiles, use repair first. A
    tree with a module becomes a folder with program.luau and module0.luau. On standard output, the
    two sources are printed one after the other.

    \b
    scriptschema render program.pb
    scriptschema render trees/ -o sources/
    """
    from scriptschema import files
    from scriptschema.luau.render import RenderOptions, render
    from scriptschema.luau.sources import encode, place_of, write_sources
    from scriptschema.messages import ModuleSet

    names = load_names(names_path)
    options: RenderOptions = {
        "names": names,
        "types": types,
        "indent": " " * indent,
        "style": style,
    }

    def run(item: Input, target: Path) -> None:
        tree = files.read(ModuleSet, item.path, from_format, luau=luau)
        if target == files.STANDARD:
            files.write(target, encode(render(tree, **options)))
        else:
            write_sources(target, tree, below=item.base_of(target), **options)
            place = place_of(target, tree)
            if place != target and target == Path(output or ""):
                click.echo(
                    f"the program has a module: it was written to the folder {place}, not to "
                    f"{target}",
                    err=True,
                )

    items = tree_files(inputs, from_format)
    kept = [item.path for item in items]
    sys.exit(run_all(items, output, "luau", "rendering", run, kept))


@program.command("check")
@inputs_argument
@from_option
@luau_option
def check_command(
    inputs: tuple[Path, ...], from_format: Format | None, luau: Version | None
) -> None:
    """Check that sources or trees are valid programs.

    Luau compiles every program for which no problem is reported. Three rules (`depth`, `registers`
    and `size`) are stricter than Luau, so Luau may also compile programs that break only these.

    An INPUT is a source (.luau, .lua, a pipe, or a file of a fuzzing engine), a tree, a folder with
    sources or trees, or - for a source from standard input (for a tree with --from). Prints a line
    for each problem: the file, the line and column in a source or the path in a tree, a message,
    and the rule. The exit status is 1 if there is a problem, or nothing to check. With --luau,
    features newer than that version are also problems.

    \b
    scriptschema check program.luau
    scriptschema check corpus/
    scriptschema check --luau 0.711 corpus/
    """
    from scriptschema import files
    from scriptschema.luau.repair import check
    from scriptschema.messages import ModuleSet
    from scriptschema.versions import TODAY

    problems = 0

    def run(item: Input, _: Path) -> None:
        nonlocal problems
        is_standard = item.path == files.STANDARD and from_format is None
        if is_standard or holds_source(item.path, from_format):
            for where, problem in _problems_of_source(item.path, luau):
                problems += 1
                click.echo(f"{where}: {problem.message} [{problem.rule}]")
            return
        tree = files.read(ModuleSet, item.path, from_format, luau=luau and TODAY)
        for problem in check(tree, luau=luau):
            problems += 1
            click.echo(f"{files.name_of(item.path)}: {problem}")

    items = tree_files(inputs, from_format, with_sources=True)
    require_some(items)
    status = run_each([(item, item.path) for item in items], "checking", run)
    sys.exit(1 if problems else status)


def holds_source(path: Path, form: str | None) -> bool:
    """Return whether a file contains Luau source and not a tree: by `form`, or else by its suffix.

    A fuzzing engine gives its files no known suffix. Such a file contains source unless it can be
    read as a tree. A pipe, which can be read only once, contains source.
    """
    from scriptschema import files
    from scriptschema.messages import ModuleSet
    from scriptschema.versions import TODAY

    if form is not None or path.suffix in files.ALL_ENDINGS or path == files.STANDARD:
        return (form or files.ALL_ENDINGS.get(path.suffix)) == "luau"
    for each in files.FORMATS if path.is_file() else ():
        with contextlib.suppress(files.FileError):
            files.read(ModuleSet, path, each, luau=TODAY)
            return False
    return True


def _problems_of_source(path: Path, luau: Version | None) -> list[tuple[str, Problem]]:
    """Return (`FILE:LINE:COLUMN`, problem) pairs for a source and its module."""
    from scriptschema.luau.repair import check
    from scriptschema.versions import TODAY

    read, paths = parsed(path, None, luau=luau or TODAY, places=True)
    problems = []
    for problem in check(read.tree, names=read.names, luau=luau):
        label, line, column = read.place_of(problem.path)
        problems.append((f"{paths[label]}:{line}:{column}", problem))
    return problems


def parsed(
    path: Path, form: str | None = "luau", **options: Any
) -> tuple[ParseResult, dict[str, str]]:
    """Parse a source and its module. Return the result, and the names of the two files.

    `form` is the value of the option `--from`. If it is None, the file may be a tree. `options` are
    those of `parse`. The keys of the names are `program` and `module`. Raises FileError.
    """
    from scriptschema import files
    from scriptschema.luau.parse import ParseError, parse
    from scriptschema.luau.sources import MODULE, read_sources

    source, module = read_sources(path)
    paths = {"program": files.name_of(path), "module": str(path.with_name(MODULE))}
    try:
        return parse(source, module=module, **options), paths
    except ParseError as error:
        hint = ""
        if form is None and path.suffix not in files.SOURCE_ENDINGS and path != files.STANDARD:
            hint = "; if this is a tree, use --from to give its format"
        raise files.FileError(f"{paths[error.source]}:{error}{hint}") from None


@program.command("repair")
@inputs_argument
@from_option
@click.option(
    "--to",
    "to_format",
    type=FORMATS,
    help="The format to write (default: from the suffix of -o, or that of the inputs).",
)
@output_option
@luau_option
def repair_command(
    inputs: tuple[Path, ...],
    from_format: Format | None,
    to_format: Format | None,
    output: str | None,
    luau: Version | None,
) -> None:
    """Turn trees into programs that Luau compiles.

    Makes as few changes as possible. With --luau, removes features newer than that version.

    \b
    scriptschema repair program.pb -o repaired.pb
    scriptschema repair corpus/ -o repaired/
    """
    from scriptschema import files
    from scriptschema.luau.repair import repair
    from scriptschema.messages import ModuleSet
    from scriptschema.versions import TODAY

    items = tree_files(inputs, from_format)
    form = written_form(items, output, to_format) or from_format or common_form(items)

    def run(item: Input, target: Path) -> None:
        tree = files.read(ModuleSet, item.path, from_format, luau=luau and TODAY)
        write_tree(item, target, repair(tree, luau=luau), form, luau)

    sys.exit(run_all(items, output, form, "repairing", run))


@program.command("parse")
@inputs_argument
@click.option(
    "--to",
    "to_format",
    type=FORMATS,
    help="The format to write (default: from the suffix of -o, or binary).",
)
@output_option
@names_option
@click.option(
    "--save-names",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.json",
    help="Also write tables of the names in the sources, for the --names option of other commands.",
)
@click.option(
    "--losses",
    is_flag=True,
    help="List everything that the trees represent differently, or not at all.",
)
@luau_option
def parse_command(
    inputs: tuple[Path, ...],
    to_format: Format | None,
    output: str | None,
    names_path: Path | None,
    save_names: Path | None,
    losses: bool,
    luau: Version | None,
) -> None:
    """Parse Luau sources into trees.

    An INPUT is a source, a folder (all .luau and .lua files below it) or - for standard input. If a
    program requires "./module0", the module0.luau beside it is read as well. Trees contain indexes
    instead of names. --save-names writes the tables of names, which all sources share. With --luau,
    the trees also contain extensions, for syntax that the schema's 57 messages cannot represent.
    Features newer than that version are errors.

    \b
    scriptschema parse program.luau --to text
    scriptschema parse examples/luau/ -o trees/ --save-names names.json
    """
    from scriptschema import files
    from scriptschema.luau.names import NameReader
    from scriptschema.luau.sources import source_files

    if save_names is not None and save_names.suffix != ".json":
        raise click.UsageError(f"--save-names writes JSON: use the name {save_names.stem}.json")
    start = load_names(names_path)
    reader = NameReader(start, luau)
    items = source_files(inputs)
    form = written_form(items, output, to_format) or "binary"
    named = set(inputs)
    kept = [item.path for item in items]
    lost = written = 0

    def run(item: Input, target: Path) -> None:
        nonlocal lost, written
        if item.path not in named:
            files.require_regular(item.path)
        result, paths = parsed(item.path, names=reader, luau=luau)
        write_tree(item, target, result.tree, form, luau)
        written += 1
        lost += len(result.losses)
        for loss in result.losses if losses else ():
            click.echo(f"{paths[loss.source]}:{loss}", err=True)

    names_files = [] if save_names is None else [save_names]
    require_not_replaced(names_files, kept)
    status = run_all(items, output, form, "parsing", run, [*kept, *names_files])
    if lost and not losses:
        click.echo(f"{lost_text(lost)}: use --losses to list them", err=True)
    if save_names is not None:
        import json

        data = json.dumps(reader.names.to_dict(), indent=1) + "\n"
        files.require_parent(save_names)
        files.write(save_names, data.encode())
    elif written and reader.names != start:
        click.echo(
            "the trees do not contain the names in the sources: use --save-names to keep them",
            err=True,
        )
    sys.exit(status)


def load_names(path: Path | None) -> Names:
    """Return the name tables in a file, or the built-in tables if `path` is None.

    Raises a usage error if the file is invalid.
    """
    from scriptschema.luau.names import DEFAULT, Names

    if path is None:
        return DEFAULT
    try:
        return Names.load(path)
    except (OSError, ValueError) as error:
        raise click.BadParameter(str(error), param_hint="--names") from None
