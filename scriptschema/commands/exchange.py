"""Commands to exchange data with other tools (`schema`, `dictionary`, `convert`), and `show`."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from scriptschema.commands import program
from scriptschema.commands.batch import run_all, tree_files, write_tree
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
from scriptschema.commands.luau import inputs_argument, load_names, names_option, output_option

if TYPE_CHECKING:
    from scriptschema.base import Message
    from scriptschema.files import Format, Input
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


@program.command("dictionary")
@click.option(
    "-o", "--output", metavar="FILE", help="The file to write (default: standard output)."
)
@names_option
@luau_option
def dictionary_command(output: str | None, names_path: Path | None, luau: Version | None) -> None:
    """Write Luau's tokens as a dictionary for libFuzzer and AFL++.

    Pass the file to libFuzzer with -dict, or to AFL++ with -x.

    \b
    scriptschema dictionary -o luau.dict
    scriptschema dictionary --luau today -o luau.dict
    """
    from scriptschema import files
    from scriptschema.luau.dictionary import dictionary

    target = files.STANDARD if output is None else Path(output)
    files.write(target, dictionary(load_names(names_path), luau).encode())


@program.command()
@inputs_argument
@click.option("--to", "to_format", type=FORMATS, required=True, help="The format to write.")
@from_option
@output_option
@message_option
@drop_unknown_option
@luau_option
@click.option(
    "--upstream",
    type=click.Choice(["to", "from"]),
    help="Convert to or from the current schema in Luau's own repository (0.735).",
)
def convert(
    inputs: tuple[Path, ...],
    to_format: Format,
    from_format: Format | None,
    output: str | None,
    message_name: str,
    drop_unknown: bool,
    luau: Version | None,
    upstream: str | None,
) -> None:
    """Convert trees between binary, text format and JSON.

    An INPUT is a file (.pb, .textproto, .json), a folder (all files in it with these suffixes, or,
    with --from, all files) or - for standard input. The format is given by the file's suffix or by
    --from. Unknown fields are an error. A file that cannot be converted is reported, and the others
    are converted. The exit status is 1 if a file fails, or if there is nothing to convert. With
    --upstream, parts that the output's schema cannot represent are left out and reported.

    \b
    scriptschema convert program.pb --to text
    scriptschema convert corpus/ --from text --to binary -o trees/
    """
    from scriptschema import files

    cls = message_class(message_name, luau)
    unknown = files.DROP if drop_unknown else files.ERROR

    def run(item: Input, target: Path) -> None:
        if upstream == "from":
            tree, losses = files.read_upstream(cls, item.path, from_format)
            write_tree(item, target, tree, to_format, luau)
        elif upstream == "to":
            tree = files.read(cls, item.path, from_format, unknown, luau)
            losses = files.write_upstream(item, target, tree, to_format)
        else:
            tree = files.read(cls, item.path, from_format, unknown, luau)
            write_tree(item, target, tree, to_format, luau)
            losses = []
        for loss in losses:
            click.echo(f"{files.name_of(item.path)}: {loss}", err=True)

    items = tree_files(inputs, from_format)
    sys.exit(run_all(items, output, to_format, "converting", run))


@program.command()
@click.argument("path", type=INPUT, metavar="INPUT")
@from_option
@message_option
@luau_option
def show(path: Path, from_format: Any, message_name: str, luau: Version | None) -> None:
    """Print a tree, its depth, and its size in nodes and bytes.

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
    print_outline(outline(message), size)


class Line(NamedTuple):
    """A line of an outline, which shows a message and its scalar values.

    `branches` contains the lines drawn before the message. `step` is the last step of the message's
    path. `nodes` is the number of messages on the line.
    """

    branches: str
    step: str
    name: str
    values: tuple[tuple[str, str], ...]
    depth: int
    nodes: int


def outline(tree: Message) -> Iterator[Line]:
    """Yield the lines of an outline of `tree`.

    Each message has a line, which includes its scalar values. A message with alternatives (`Expr`,
    `Stat` ...) shares its line with the alternative that is set.
    """
    from scriptschema.base import Message

    stack = [(tree, "", "", "", 0)]
    while stack:
        message, step, branch, below, depth = stack.pop()
        nodes = 1
        while isinstance(message.alternative, Message) and not _has_other_fields(message):
            step = ".".join(filter(None, (step, message.which)))
            message = message.alternative
            depth += 1
            nodes += 1
        values = []
        children = []
        for name, field in message.ALL_FIELDS.items():
            value = getattr(message, name)
            if field.rule == "repeated":
                children += [(item, f"{name}[{index}]") for index, item in enumerate(value)]
            elif isinstance(value, Message):
                children.append((value, name))
            elif value is not None:
                values.append((name, value.name if isinstance(value, IntEnum) else repr(value)))
        if message.ONEOF and message.which is None and not _has_other_fields(message):
            values.append((message.ONEOF, "nothing set"))
        yield Line(branch, step, type(message).__name__, tuple(values), depth, nodes)
        last = len(children) - 1
        stack.extend(
            (
                child,
                child_step,
                below + ("└── " if index == last else "├── "),
                below + ("    " if index == last else "│   "),
                depth + 1,
            )
            for index, (child, child_step) in reversed(list(enumerate(children)))
        )


def _has_other_fields(message: Message) -> bool:
    return any(field.oneof is None for field in message.ALL_FIELDS.values())


_PLAIN = str.maketrans("├└│─", "|`|-")
"""ASCII replacements for terminals whose encoding lacks box-drawing characters."""


def print_outline(lines: Iterator[Line], size: int) -> None:
    """Print the lines and then the totals, in colour on a terminal. `size` is in bytes."""
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
