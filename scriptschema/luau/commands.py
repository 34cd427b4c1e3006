"""The commands `render`, `check`, `repair` and `parse`: trees to Luau sources and back.

A command takes files and whole folders. A file that fails is reported, the others are done, and the
exit status is 1. A program that requires a module is two sources: it becomes a folder that holds
`program.luau` and `module0.luau`, the name by which it requires it, and is read back from there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from scriptschema.console import FORMATS, INPUT, from_option, progress, refuse_terminal, report

if TYPE_CHECKING:
    from scriptschema.base import Message
    from scriptschema.files import Format, Input
    from scriptschema.luau.names import Names
    from scriptschema.messages import ModuleSet

PROGRAM: Final = "program.luau"
MODULE: Final = "module0.luau"
SOURCE_ENDINGS: Final = (".luau", ".lua")

inputs_argument = click.argument("inputs", nargs=-1, required=True, type=INPUT, metavar="INPUT...")
names_option = click.option(
    "--names",
    "names_path",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Tables of names (.toml or .json) in place of the built-in ones.",
)
output_option = click.option(
    "-o", "--output", metavar="FILE|DIR", help="Where to write; else standard output."
)


@click.command("render")
@inputs_argument
@from_option
@output_option
@names_option
@click.option("--types/--no-types", default=True, help="Write type annotations (the default).")
@click.option("--indent", default=2, show_default=True, type=click.IntRange(0, 16), metavar="N")
def render_command(
    inputs: tuple[Path, ...],
    from_format: str | None,
    output: str | None,
    names_path: Path | None,
    types: bool,
    indent: int,
) -> None:
    """Write trees as Luau sources (.luau).

    An INPUT is a file (.pb, .textproto, .json), a folder (all files below it) or - for standard
    input. A tree is written as it is: use repair first for a program that Luau compiles. A tree
    with a module becomes a folder with program.luau and module0.luau; on standard output its two
    sources follow each other.

    \b
    python -m scriptschema render program.pb
    python -m scriptschema render trees/ -o sources/
    """
    from scriptschema import files
    from scriptschema.luau.render import render
    from scriptschema.messages import ModuleSet

    names = load_names(names_path)
    options: dict[str, Any] = {"names": names, "types": types, "indent": " " * indent}

    def run(item: Input, target: Path) -> None:
        tree = files.read(ModuleSet, item.path, form_of(from_format))
        if target == files.STANDARD:
            files.write(target, encode(render(tree, **options)))
        else:
            write_sources(target, tree, **options)

    sys.exit(run_all(files.expand(inputs), output, ".luau", "rendering", run))


@click.command("check")
@inputs_argument
@from_option
def check_command(inputs: tuple[Path, ...], from_format: str | None) -> None:
    """Tell why trees are no programs that Luau compiles.

    Prints a line for each problem: the file, the path in the tree, the rule and what is wrong. The
    exit status is 1 if there is a problem.

    \b
    python -m scriptschema check corpus/
    """
    from scriptschema import files
    from scriptschema.luau.scope import check
    from scriptschema.messages import ModuleSet

    found = 0

    def run(item: Input, _: Path) -> None:
        nonlocal found
        tree = files.read(ModuleSet, item.path, form_of(from_format))
        for problem in check(tree):
            found += 1
            click.echo(f"{files.name_of(item.path)}: {problem}")

    items = files.expand(inputs)
    status = run_each([(item, item.path) for item in items], "checking", run)
    sys.exit(1 if found else status)


@click.command("repair")
@inputs_argument
@from_option
@click.option("--to", "to_format", type=FORMATS, help="The format to write; else the inputs'.")
@output_option
def repair_command(
    inputs: tuple[Path, ...], from_format: str | None, to_format: str | None, output: str | None
) -> None:
    """Turn any trees into programs that Luau compiles, changing as little as possible.

    \b
    python -m scriptschema repair program.pb -o repaired.pb
    python -m scriptschema repair corpus/ -o repaired/
    """
    from scriptschema import files
    from scriptschema.luau.scope import repair
    from scriptschema.messages import ModuleSet

    items = files.expand(inputs)
    form = form_of(to_format) or form_of(from_format) or common_form(items)

    def run(item: Input, target: Path) -> None:
        tree = files.read(ModuleSet, item.path, form_of(from_format))
        write_tree(item, target, repair(tree), form)

    sys.exit(run_all(items, output, form, "repairing", run))


@click.command("parse")
@inputs_argument
@click.option(
    "--to", "to_format", type=FORMATS, default="binary", show_default=True, help="What to write."
)
@output_option
@names_option
@click.option(
    "--save-names",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.json",
    help="Where to write the tables with the sources' own names, for the others' --names.",
)
@click.option(
    "--losses", is_flag=True, help="List all that the trees say otherwise, or not at all."
)
def parse_command(
    inputs: tuple[Path, ...],
    to_format: str,
    output: str | None,
    names_path: Path | None,
    save_names: Path | None,
    losses: bool,
) -> None:
    """Read Luau sources into trees.

    An INPUT is a source, a folder (all .luau and .lua files below it) or - for standard input. A
    program that requires "./module0" takes the module0.luau beside it along. Trees have indexes for
    names: all sources share the tables that --save-names writes.

    \b
    python -m scriptschema parse program.luau --to text
    python -m scriptschema parse examples/luau/ -o trees/ --save-names names.json
    """
    from scriptschema import files
    from scriptschema.luau.names import NameReader
    from scriptschema.luau.parse import ParseError, parse

    if save_names is not None and save_names.suffix != ".json":
        raise click.UsageError(f"--save-names writes JSON: call it {save_names.stem}.json")
    start = load_names(names_path)
    reader = NameReader(start)
    form: Format = form_of(to_format) or "binary"
    lost = 0

    def run(item: Input, target: Path) -> None:
        nonlocal lost
        source, module = read_sources(item.path)
        paths = {"program": files.name_of(item.path), "module": str(item.path.with_name(MODULE))}
        try:
            result = parse(source, module=module, names=reader)
        except ParseError as error:
            raise files.FileError(f"{paths[error.source]}:{error}") from None
        write_tree(item, target, result.tree, form)
        lost += len(result.losses)
        for loss in result.losses if losses else ():
            click.echo(f"{paths[loss.source]}:{loss}", err=True)

    items = source_files(inputs)
    status = run_all(items, output, form, "parsing", run)
    if lost and not losses:
        click.echo(
            f"{lost} things that the schema lacks were left out or rewritten: --losses lists them",
            err=True,
        )
    if save_names is not None:
        import json

        data = json.dumps(reader.names.to_dict(), indent=1) + "\n"
        try:
            files.write(save_names, data.encode())
        except files.FileError as error:
            report(error)
            status = 1
    elif reader.names != start:
        click.echo("the sources' own names are not in the trees: --save-names keeps them", err=True)
    sys.exit(status)


def form_of(name: str | None) -> Format | None:
    """The format that an option names."""
    from scriptschema import files

    return next((form for form in files.FORMATS if form == name), None)


def common_form(items: Sequence[Input]) -> Format:
    """The format that the files have; a usage error if they have several."""
    from scriptschema import files

    forms = {files.ENDINGS[i.path.suffix] for i in items if i.path.suffix in files.ENDINGS}
    if len(forms) > 1:
        raise click.UsageError(f"the files are in {' and '.join(sorted(forms))}: choose with --to")
    return next(iter(forms), "binary")


def load_names(path: Path | None) -> Names:
    """The tables of names in that file, or the built-in ones; a usage error for a wrong file."""
    from scriptschema.luau.names import DEFAULT, Names

    if path is None:
        return DEFAULT
    try:
        return Names.load(path)
    except (OSError, ValueError) as error:
        raise click.BadParameter(str(error), param_hint="--names") from None


def source_files(inputs: Sequence[Path]) -> list[Input]:
    """The sources to read, each with the name of its tree.

    In a folder these are the files with a source's ending. A module beside a program is read with
    it, and a folder that holds nothing else gives its name to the tree.
    """
    from scriptschema import files

    named = set(inputs)
    found: dict[Path, Input] = {}
    for item in files.expand(inputs):
        relative = item.relative
        if item.path not in named:
            if relative.suffix not in SOURCE_ENDINGS:
                continue
            if relative.name == MODULE and item.path.with_name(PROGRAM).is_file():
                continue
            if relative.name == PROGRAM and relative.parent.name:
                beside = {path.name for path in item.path.parent.iterdir()}
                relative = relative.parent if beside == {PROGRAM, MODULE} else relative
        if relative.suffix in SOURCE_ENDINGS:
            relative = relative.with_suffix("")
        found[item.path] = files.Input(item.path, relative)
    return list(found.values())


def module_of(path: Path) -> Path | None:
    """The module beside a source that is no module itself, if there is one."""
    module = path.with_name(MODULE)
    return module if path.name != MODULE and module.is_file() else None


def read_sources(path: Path) -> tuple[bytes, bytes | None]:
    """The source in a file, and that of the module if it names it. Raises FileError."""
    from scriptschema import files

    try:
        if path == files.STANDARD:
            return sys.stdin.buffer.read(), None
        source = path.read_bytes()
        module = module_of(path) if b"./module0" in source else None
        return source, module.read_bytes() if module else None
    except OSError as error:
        raise files.FileError(f"{path}: {files.reason_of(error)}") from None


def source_files_of(tree: ModuleSet, name: str, **options: Any) -> dict[str, bytes]:
    """The sources of a tree by file: `name` with an ending, or two files in a folder `name`.

    `options` are those of `render`. The program comes last: where it is, all is there.
    """
    from scriptschema.luau.render import render_module_set

    sources = render_module_set(tree, **options)
    if sources.module is None:
        return {f"{name}.luau": encode(sources.program)}
    return {
        f"{name}/{MODULE}": encode(sources.module),
        f"{name}/{PROGRAM}": encode(sources.program),
    }


def write_sources(target: Path, tree: ModuleSet, **options: Any) -> None:
    """Write a tree's source to the file `target`, or its two to a folder of that name, less ending.

    `options` are those of `render`. Raises FileError.
    """
    from scriptschema import files

    sources = source_files_of(tree, target.stem, **options)
    for name, data in sources.items():
        files.write(target if len(sources) == 1 else target.parent / name, data)


def encode(source: str) -> bytes:
    """The bytes of a source."""
    return source.encode("utf-8", "surrogateescape")


def write_tree(item: Input, target: Path, tree: Message, form: Format) -> None:
    """Write the tree that was made of `item`. Raises FileError."""
    from scriptschema import files

    try:
        data = files.serialize(tree, form)
    except ValueError as error:
        raise files.FileError(f"{files.name_of(item.path)}: {error}") from None
    files.write(target, data)


def run_all(
    items: Sequence[Input],
    output: str | None,
    form: str,
    what: str,
    run: Callable[[Input, Path], None],
) -> int:
    """Run `run` for each input and the file to write, which gets the ending of the format `form`.

    Returns the exit status; raises a usage error where it cannot be told what to write to.
    """
    from scriptschema import files

    ending = next((ending for ending, name in files.ENDINGS.items() if name == form), form)
    try:
        targets = files.outputs(items, output, ending)
    except files.FileError as error:
        raise click.UsageError(str(error)) from None
    if form == "binary" and files.STANDARD in targets:
        refuse_terminal()
    return run_each(list(zip(items, targets, strict=True)), what, run)


def run_each(
    pairs: Sequence[tuple[Input, Path]], what: str, run: Callable[[Input, Path], None]
) -> int:
    """Run `run` for each pair, report those that fail, and return the exit status."""
    from scriptschema import files

    status = 0
    for item, target in progress(pairs, what):
        try:
            run(item, target)
        except (files.FileError, ImportError) as error:
            report(error)
            status = 1
    return status
