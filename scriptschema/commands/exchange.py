"""The commands `schema`, `convert` and `show`: for other programs, and for reading."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scriptschema.commands import program
from scriptschema.commands.batch import form_of, run_all, tree_files, write_tree
from scriptschema.commands.console import (
    FORMATS,
    INPUT,
    counted,
    drop_unknown_option,
    from_option,
    luau_option,
    message_class,
    message_option,
    refuse_terminal,
    report,
)

if TYPE_CHECKING:
    from scriptschema.commands.outline import Line
    from scriptschema.files import Input
    from scriptschema.versions import Version


@program.command()
@click.option("--descriptor-set", is_flag=True, help="Print an encoded FileDescriptorSet instead.")
@luau_option
def schema(descriptor_set: bool, luau: Version | None) -> None:
    """Print the schema as a .proto file.

    \b
    scriptschema schema > script.proto && protoc --cpp_out=. script.proto
    """
    from scriptschema import files, interop

    if descriptor_set:
        refuse_terminal()
        files.write(files.STANDARD, interop.file_descriptor_set(luau))
    else:
        files.write(files.STANDARD, interop.proto_source(luau).encode())


@program.command()
@click.argument("inputs", nargs=-1, required=True, type=INPUT, metavar="INPUT...")
@click.option("--to", "to_format", type=FORMATS, required=True, help="The format to write.")
@from_option
@click.option("-o", "--output", metavar="FILE|DIR", help="Where to write (standard output).")
@message_option
@drop_unknown_option
@luau_option
@click.option(
    "--upstream",
    type=click.Choice(["to", "from"]),
    help="Write, or read, the trees in the schema of Luau's own today (0.735).",
)
def convert(
    inputs: tuple[Path, ...],
    to_format: str,
    from_format: str | None,
    output: str | None,
    message_name: str,
    drop_unknown: bool,
    luau: Version | None,
    upstream: str | None,
) -> None:
    """Convert trees between binary, text format and JSON.

    An INPUT is a file (.pb, .textproto, .json), a folder (all files in it with these endings, or,
    with --from, all files) or - for standard input. The format is told from a file's ending or with
    --from. Unknown fields are an error. A file that cannot be converted is reported, the others are
    done, and the exit status is 1, as it is where there is nothing to convert. With --upstream,
    what the other schema cannot say is left out and told.

    \b
    scriptschema convert program.pb --to text
    scriptschema convert corpus/ --from text --to binary -o trees/
    """
    from scriptschema import files

    cls = message_class(message_name, luau)
    unknown = files.DROP if drop_unknown else files.ERROR
    to: Any = to_format

    def run(item: Input, target: Path) -> None:
        form = form_of(from_format)
        if upstream == "from":
            tree, told = files.read_upstream(cls, item.path, form)
            write_tree(item, target, tree, to, luau)
        elif upstream == "to":
            tree = files.read(cls, item.path, form, unknown, luau)
            told = files.write_upstream(item, target, tree, to)
        else:
            tree = files.read(cls, item.path, form, unknown, luau)
            write_tree(item, target, tree, to, luau)
            told = []
        for one in told:
            click.echo(f"{files.name_of(item.path)}: {one}", err=True)

    items = tree_files(inputs, from_format)
    sys.exit(run_all(items, output, to_format, "converting", run))


@program.command()
@click.argument("path", type=INPUT, metavar="INPUT")
@from_option
@message_option
@luau_option
def show(path: Path, from_format: Any, message_name: str, luau: Version | None) -> None:
    """Print a tree and its number of nodes, depth and bytes.

    \b
    scriptschema show program.pb
    """
    from scriptschema import files, wire

    cls = message_class(message_name, luau)
    try:
        message = files.read(cls, path, from_format, luau=luau)
        size = len(wire.encode(message, luau=luau))
    except (files.FileError, ValueError) as error:
        report(error)
        sys.exit(1)
    from scriptschema.commands.outline import outline

    print_outline(outline(message), size)


_PLAIN = str.maketrans("├└│─", "|`|-")
"""Branches for terminals whose encoding has no lines."""


def print_outline(lines: Iterator[Line], size: int) -> None:
    """Print the lines and, last, the totals; in colour on a terminal. `size` is in bytes."""
    from rich.console import Console
    from rich.text import Text

    console = Console(soft_wrap=True, highlight=False)
    unicode = console.encoding.startswith("utf")
    if not unicode and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    nodes = depth = 0
    for line in lines:
        nodes += line.nodes
        depth = max(depth, line.depth)
        branches = line.branches if unicode else line.branches.translate(_PLAIN)
        text = Text(branches, style="dim")
        if line.step:
            text.append(f"{line.step} ", style="cyan not dim")
        text.append(line.name, style="bold not dim")
        for name, value in line.values:
            text.append(f" {name}=", style="not dim")
            text.append(value, style="green not dim")
        console.print(text)
    console.print(f"{counted(nodes, 'node')}, depth {depth}, {counted(size, 'byte')}")
