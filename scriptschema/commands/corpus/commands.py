"""The commands `corpus ...` that import, export, distill, merge, describe and compare corpora."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scriptschema.commands.console import NonEmptyPath, counted, stoppable
from scriptschema.commands.corpus import statistics
from scriptschema.commands.corpus.inputs import (
    FORMS,
    apart,
    failures,
    inputs_argument,
    items_of,
    make_reader,
    reading_options,
    tell_losses,
)
from scriptschema.commands.program import Group

if TYPE_CHECKING:
    from scriptschema.fuzzing.corpora.distill import Counts, Judge

FOLDER = NonEmptyPath(path_type=Path)
GOES_ON = "the same command goes on where it stopped"

output_option = click.option(
    "-o", "--output", required=True, type=FOLDER, metavar="DIR", help="The corpus to write to."
)
coverage_option = click.option(
    "--coverage",
    "command",
    metavar="COMMAND",
    help="Keep every line that COMMAND prints for a tree, instead of the schema's features.",
)
timeout_option = click.option(
    "--timeout",
    default=10.0,
    show_default=True,
    type=click.FloatRange(0, min_open=True),
    metavar="S",
    help="Seconds for one run of COMMAND.",
)


@click.group(cls=Group)
def corpus() -> None:
    """Import, export, distill, merge, describe and compare corpora.

    An INPUT is a folder (all files below it, but hidden ones), a file or - for standard input. A
    file is a tree in binary (.pb), text format (.textproto) or JSON (.json), a Luau source (.luau,
    .lua) or a stream (.pbstream: binary trees, each after its length as a varint). Where the ending
    does not say, as in the folders of fuzzers, the content does. Of AFL++'s folders the inputs are
    read. Links to folders, pipes and files above 64 MiB are not.

    What cannot be read is reported, the rest is done, and the exit status is 1. No command changes
    its inputs.

    \b
    scriptschema corpus import afl-out/ -o corpus/
    scriptschema corpus stats corpus/
    """


@corpus.command("import")
@inputs_argument
@reading_options
@output_option
def import_command(inputs: tuple[Path, ...], output: Path, **options: Any) -> None:
    """Add trees of any format to a corpus.

    A corpus is a folder of binary trees, each once, named by its hash. Files that were imported
    before are not read again unless they have changed: after an interruption, or when the fuzzer
    has found more, run the same command again.

    \b
    scriptschema corpus import afl-out/ -o corpus/
    scriptschema corpus import lpm-corpus/ --from text -o corpus/
    """
    from scriptschema.fuzzing.corpora import transfer

    reader = make_reader(**options)
    with failures() as failed, stoppable(GOES_ON):
        apart(inputs, output)
        found = transfer.import_trees(items_of(inputs, "importing"), output, reader, failed.report)
        text = f"{counted(found.new, 'new tree')}, {found.known:,} there already"
        if found.skipped:
            text += f"; {counted(found.skipped, 'file')} imported before"
        click.echo(text, err=True)
        tell_losses(found.incomplete, reader.luau)


@corpus.command("export")
@inputs_argument
@reading_options
@click.option(
    "--to",
    "to_format",
    type=FORMS,
    default="binary",
    show_default=True,
    help="The format to write.",
)
@click.option(
    "-o",
    "--output",
    required=True,
    type=FOLDER,
    metavar="DIR|FILE.pbstream",
    help="The folder, or the stream, to write.",
)
def export_command(inputs: tuple[Path, ...], output: Path, to_format: Any, **options: Any) -> None:
    """Write the trees of corpora in another format.

    Files keep their names, with the format's ending. Existing files are kept: run again after an
    interruption, the command continues. A stream is written whole or not at all.

    \b
    scriptschema corpus export corpus/ --to text -o lpm-corpus/
    scriptschema corpus export corpus/ --to luau -o afl-in/
    """
    from scriptschema import files
    from scriptschema.fuzzing.corpora import transfer

    reader = make_reader(**options)
    if to_format == "luau" and reader.cls.__name__ != "ModuleSet":
        raise click.UsageError(f"sources are made of ModuleSets, not {reader.cls.__name__}")
    stream = output.suffix == files.STREAM_ENDING
    if stream and to_format != "binary":
        raise click.UsageError("a stream holds binary trees")
    with failures() as failed, stoppable("nothing was written" if stream else GOES_ON):
        items = items_of(inputs, "exporting")
        if stream:
            files.require_parent(output)
            found = transfer.export_stream(items, output, reader, failed.report)
        else:
            apart(inputs, output)
            found = transfer.export_trees(items, output, to_format, reader, failed.report)
        click.echo(f"{counted(found.new, 'tree')}, {found.known:,} there already", err=True)
        tell_losses(found.incomplete, reader.luau)


@corpus.command("distill")
@inputs_argument
@reading_options
@coverage_option
@timeout_option
@output_option
def distill_command(inputs: tuple[Path, ...], **options: Any) -> None:
    """Select a few trees that have all features of many.

    Of trees that are equal up to names and constants only the smallest is considered; of these a
    small set is kept that has all features: messages and the fields that hold them, alternatives,
    operators, globals and libraries' members. The order of the trees does not matter.

    With --coverage, what is kept is every line that COMMAND prints, such as the edges of
    afl-showmap. {} in it is replaced by the name of a file with the tree's source, {.pb},
    {.textproto} and {.json} by one with the tree; without any it gets the source on standard input.
    No shell runs it.

    \b
    scriptschema corpus distill corpus/ -o small/
    scriptschema corpus distill corpus/ -o small/ \\
        --coverage 'afl-showmap -q -e -o /dev/stdout -- ./luau {}'
    """
    reduce_corpus(inputs, merge=False, **options)


@corpus.command("merge")
@inputs_argument
@reading_options
@coverage_option
@timeout_option
@output_option
def merge_command(inputs: tuple[Path, ...], **options: Any) -> None:
    """Add the trees of other corpora that have new features.

    Trees are compared as by distill.

    \b
    scriptschema corpus merge found/ -o corpus/
    """
    reduce_corpus(inputs, merge=True, **options)


def reduce_corpus(
    inputs: tuple[Path, ...],
    *,
    merge: bool,
    output: Path,
    command: str | None,
    timeout: float,
    **options: Any,
) -> None:
    """Run `distill` or `merge`, and print the result."""
    from scriptschema.fuzzing.command_test import CommandError, CommandTest
    from scriptschema.fuzzing.corpora import coverage, distill
    from scriptschema.fuzzing.corpora.folder import CorpusFolder, Journal

    reader = make_reader(**options)
    if command is not None and reader.cls.__name__ != "ModuleSet":
        raise click.UsageError(f"--coverage is of ModuleSets, not {reader.cls.__name__}")
    with failures() as failed, stoppable(GOES_ON):
        apart(inputs, output)

        def run(judge: Judge) -> Counts:
            items = items_of(inputs, "reading")
            return distill.distill(items, output, reader, judge, failed.report, merge=merge)

        if command is None:
            counts = run(distill.by_schema(reader))
        else:
            try:
                test = CommandTest(command, max_time=timeout)
                journal = CorpusFolder(output).path / coverage.JOURNAL
                with Journal(journal) as kept:
                    counts = run(coverage.CommandCoverage(test, kept, failed.report))
            except CommandError as error:
                raise click.BadParameter(str(error), param_hint="--coverage") from None
            if not failed.number:
                journal.unlink()
        text = (
            f"{counted(counts.trees, 'tree')}, {counted(counts.shapes, 'shape')}, "
            f"{counted(counts.features, 'feature')} -> {counted(counts.kept, 'tree')}"
        )
        click.echo(text, err=True)
        tell_losses(counts.incomplete, reader.luau)
        if counts.others and not merge:
            click.echo(f"{output} holds {counts.others:,} more, which were there before", err=True)


for _command in (statistics.stats_command, statistics.diff_command):
    corpus.add_command(_command)
