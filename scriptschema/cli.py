"""The command line, `python -m scriptschema`: it reads, writes and prints, and nothing else does.

What a command needs is imported when it runs: `--help` should come at once.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from scriptschema import corpus_commands
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
from scriptschema.luau import commands as luau_commands


class _Commands(click.Group):
    """Reports what no command does: that standard output cannot be written to."""

    def invoke(self, context: click.Context) -> Any:
        from scriptschema.files import FileError

        try:
            return super().invoke(context)
        except BrokenPipeError:
            raise  # click ends the program silently
        except (FileError, OSError) as error:
            report(error)
            sys.exit(1)


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="scriptschema")
def main() -> None:
    """Luau programs as protobuf trees, for fuzzing and property tests."""


@main.command()
@click.option("--descriptor-set", is_flag=True, help="Print an encoded FileDescriptorSet instead.")
def schema(descriptor_set: bool) -> None:
    """Print the schema as a .proto file.

    \b
    python -m scriptschema schema > script.proto && protoc --cpp_out=. script.proto
    """
    from scriptschema import files, interop

    if descriptor_set:
        refuse_terminal()
        files.write(files.STANDARD, interop.file_descriptor_set())
    else:
        files.write(files.STANDARD, interop.proto_source().encode())


@main.command()
@click.argument("inputs", nargs=-1, required=True, type=INPUT, metavar="INPUT...")
@click.option("--to", "to_format", type=FORMATS, required=True, help="The format to write.")
@from_option
@click.option("-o", "--output", metavar="FILE|DIR", help="Where to write; else standard output.")
@message_option
@drop_unknown_option
def convert(
    inputs: tuple[Path, ...],
    to_format: str,
    from_format: str | None,
    output: str | None,
    message_name: str,
    drop_unknown: bool,
) -> None:
    """Convert trees between binary (.pb), text format (.textproto) and JSON (.json).

    An INPUT is a file, a folder (all files below it) or - for standard input. The format is told
    from a file's ending or with --from. Unknown fields are an error. A file that cannot be
    converted is reported, the others are done, and the exit status is 1.

    \b
    python -m scriptschema convert program.pb --to text
    python -m scriptschema convert corpus/ --from text --to binary -o trees/
    """
    from scriptschema import files

    cls = message_class(message_name)
    forms: dict[Any, Any] = {None: None, **{form: form for form in files.FORMATS}}
    ending = {form: ending for ending, form in files.ENDINGS.items()}[forms[to_format]]
    items = files.expand(inputs)
    try:
        targets = files.outputs(items, output, ending)
    except files.FileError as error:
        raise click.UsageError(str(error)) from None
    if to_format == "binary" and files.STANDARD in targets:
        refuse_terminal()
    failed = 0
    for item, target in progress(list(zip(items, targets, strict=True)), "converting"):
        try:
            unknown = files.DROP if drop_unknown else files.ERROR
            message = files.read(cls, item.path, forms[from_format], unknown)
            try:
                data = files.serialize(message, forms[to_format])
            except ValueError as error:
                raise files.FileError(f"{files.name_of(item.path)}: {error}") from None
            files.write(target, data)
        except (files.FileError, ImportError) as error:
            failed += 1
            report(error)
    if failed:
        sys.exit(1)


@main.command()
@click.argument("path", type=INPUT, metavar="INPUT")
@from_option
@message_option
def show(path: Path, from_format: Any, message_name: str) -> None:
    """Print a tree as a person reads it, and its totals: nodes, depth and bytes.

    \b
    python -m scriptschema show program.pb
    """
    from scriptschema import files, wire

    cls = message_class(message_name)
    try:
        message = files.read(cls, path, from_format)
        size = len(wire.encode(message))
    except (files.FileError, ImportError, ValueError) as error:
        report(error)
        sys.exit(1)
    from scriptschema.outline import outline, print_outline

    print_outline(outline(message), size)


main.add_command(corpus_commands.generate)
main.add_command(corpus_commands.stats)
main.add_command(luau_commands.render_command)
main.add_command(luau_commands.check_command)
main.add_command(luau_commands.repair_command)
main.add_command(luau_commands.parse_command)
