"""The commands `corpus ...` that import, export, distill, merge, describe and compare corpora."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scriptschema.commands.console import NonEmptyPath, Number, counted, stoppable
from scriptschema.commands.corpus import statistics
from scriptschema.commands.corpus.inputs import (
    FORMS,
    apart,
    failures,
    inputs_argument,
    items_of,
    make_reader,
    reading_options,
    report_losses,
)
from scriptschema.commands.program import Group

if TYPE_CHECKING:
    from scriptschema.fuzzing.corpora.distill import Counts, Judge

FOLDER = NonEmptyPath(path_type=Path)
TO_CONTINUE = "to continue, run the same command again"

output_option = click.option(
    "-o", "--output", required=True, type=FOLDER, metavar="DIR", help="The corpus to write to."
)
coverage_option = click.option(
    "--coverage",
    "command",
    metavar="COMMAND",
    help="Use every line that COMMAND prints for a tree as a feature, instead of the schema's "
    "features.",
)
timeout_option = click.option(
    "--timeout",
    default=10.0,
    show_default=True,
    type=Number(0, min_open=True),
    metavar="S",
    help="The time limit for each run of COMMAND, in seconds.",
)


@click.group(cls=Group)
def corpus() -> None:
    """Import, export, distill, merge, describe and compare corpora.

    An INPUT is a folder (all files below it, except hidden files), a file or - for standard input.
    A file is a tree in binary (.pb), text format (.textproto) or JSON (.json), a Luau source
    (.luau, .lua) or a stream (.pbstream: trees in binary format, each preceded by its length as a
    varint). The format of other files, such as those in fuzzers' folders, is detected from their
    content: binary, text format or Luau. In AFL++'s folders, only inputs are read. Inside a folder,
    links to other folders are not followed, and pipes are not read. The maximum size of a tree or
    source is 64 MiB.

    If a file cannot be read, the command reports it, processes the others, and exits with status 1.
    No command changes its inputs.

    \b
    scriptschema corpus import afl-out/ -o corpus/
    scriptschema corpus stats corpus/
    """


@corpus.command("import")
@inputs_argument
@reading_options
@output_option
def import_command(inputs: tuple[Path, ...], output: Path, **options: Any) -> None:
    """Add trees in any format to a corpus.

    A corpus is a folder of trees in binary format. Each tree is stored once, named by its hash. If
    the import is interrupted, or the fuzzer has found more, run the same command again: only new
    and changed files are read.

    \b
    scriptschema corpus import afl-out/ -o corpus/
    scriptschema corpus import lpm-corpus/ --from text -o corpus/
    """
    from scriptschema.fuzzing.corpora import transfer

    reader = make_reader(**options)
    with failures() as failed, stoppable(TO_CONTINUE):
        apart(inputs, output)
        counts = transfer.import_trees(items_of(inputs, "importing"), output, reader, failed.report)
        text = f"{counted(counts.new, 'new tree')}, {counts.known:,} already present"
        if counts.skipped:
            text += f"; {counted(counts.skipped, 'file')} imported earlier"
        click.echo(text, err=True)
        report_losses(counts.incomplete, reader.luau)


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
    help="The folder or stream to write.",
)
def export_command(inputs: tuple[Path, ...], output: Path, to_format: Any, **options: Any) -> None:
    """Convert corpora to another format.

    In a folder, files keep their names, but get the suffix of the format, and existing files are
    not replaced. To continue after an interruption, run the same command again. A stream is written
    completely or not at all, and replaces an existing file.

    \b
    scriptschema corpus export corpus/ --to text -o lpm-corpus/
    scriptschema corpus export corpus/ --to luau -o afl-in/
    """
    from scriptschema import files
    from scriptschema.fuzzing.corpora import transfer

    reader = make_reader(**options)
    if to_format == "luau" and reader.cls.__name__ != "ModuleSet":
        raise click.UsageError(
            f"sources can only be written for ModuleSets, not for {reader.cls.__name__}"
        )
    stream = output.suffix == files.STREAM_ENDING
    if stream and to_format != "binary":
        raise click.UsageError("a stream must contain trees in binary format")
    with failures() as failed, stoppable("nothing was written" if stream else TO_CONTINUE):
        items = items_of(inputs, "exporting")
        if stream:
            files.require_parent(output)
            counts = transfer.export_stream(items, output, reader, failed.report)
        else:
            apart(inputs, output)
            counts = transfer.export_trees(items, output, to_format, reader, failed.report)
        click.echo(f"{counted(counts.new, 'tree')}, {counts.known:,} already present", err=True)
        report_losses(counts.incomplete, reader.luau)


@corpus.command("distill")
@inputs_argument
@reading_options
@coverage_option
@timeout_option
@output_option
def distill_command(inputs: tuple[Path, ...], **options: Any) -> None:
    """Select a few trees that together have all features of a corpus.

    Trees that differ only in names and constants have the same shape. Of each shape, only the
    smallest tree can be selected. The features are messages and the fields that hold them,
    alternatives, operators, globals and library members. The order of the trees does not matter.

    With --coverage, the features are the lines that COMMAND prints, such as the edges of
    afl-showmap. {} in COMMAND is replaced with the name of a file that contains the tree's source;
    {.pb}, {.textproto} and {.json} are replaced with the name of a file that contains the tree. A
    COMMAND without any of these reads the source from standard input. It runs without a shell.

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
    """Add trees with new features to a corpus.

    Only a few trees of the INPUTs are added, enough to cover all features that the corpus lacks.
    Features are the same as for distill.

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
        raise click.UsageError(f"--coverage requires ModuleSets, found {reader.cls.__name__}")
    with failures() as failed, stoppable(TO_CONTINUE):
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
                with Journal(journal) as results:
                    counts = run(coverage.CommandCoverage(test, results, failed.report))
            except CommandError as error:
                raise click.BadParameter(str(error), param_hint="--coverage") from None
            if not failed.number:
                journal.unlink()
        text = (
            f"{counted(counts.trees, 'tree')}, {counted(counts.shapes, 'shape')}, "
            f"{counted(counts.features, 'feature')} -> {counted(counts.kept, 'tree')}"
        )
        click.echo(text, err=True)
        report_losses(counts.incomplete, reader.luau)
        if counts.others and not merge:
            click.echo(f"{output} also contains {counts.others:,} older trees", err=True)


for _command in (statistics.stats_command, statistics.diff_command):
    corpus.add_command(_command)
