"""The commands `corpus stats` and `corpus diff`, which describe a corpus and compare two."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from scriptschema.commands import program
from scriptschema.commands.console import INPUT
from scriptschema.commands.corpus.inputs import (
    failures,
    inputs_argument,
    items_of,
    make_reader,
    reading_options,
)

json_option = click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
plot_option = click.option(
    "--plot",
    "plot_file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.svg",
    help="Also write charts.",
)


@program.command("stats")
@inputs_argument
@reading_options
@json_option
@plot_option
def stats_command(
    inputs: tuple[Path, ...], as_json: bool, plot_file: Path | None, **options: Any
) -> None:
    """Describe a corpus: sizes, depths and features.

    The features are the parts of the schema, each with its number of uses. Sizes in bytes always
    refer to the binary format.

    \b
    scriptschema corpus stats corpus/
    scriptschema generate -n 1000 | scriptschema corpus stats --delimited -
    scriptschema corpus stats corpus/ --json --plot corpus.svg
    """
    check_plot(plot_file)
    import json

    from scriptschema.commands.corpus import report
    from scriptschema.fuzzing.corpora.statistics import CorpusStats

    reader = make_reader(**options)
    stats = CorpusStats(luau=reader.luau)
    with failures() as failed:
        with failed.caught():
            for tree in reader.read_all(items_of(inputs, "reading"), failed.report):
                stats.add_scan(tree.scan)
            if plot_file:
                write_plot(plot_file, report.plot(stats))
        if as_json:
            click.echo(json.dumps(stats.as_json(), indent=2))
        else:
            report.print_report(stats)


@program.command("diff")
@click.argument("one", type=INPUT)
@click.argument("two", type=INPUT)
@reading_options
@json_option
@plot_option
def diff_command(
    one: Path, two: Path, as_json: bool, plot_file: Path | None, **options: Any
) -> None:
    """Compare the features and sizes of two corpora.

    The features are the same as for distill: messages and the fields that hold them, alternatives,
    operators, globals and library members. The number beside a feature says how many trees have it.

    \b
    scriptschema corpus diff before/ after/
    scriptschema corpus diff before/ after/ --plot difference.svg
    """
    check_plot(plot_file)
    import json

    from scriptschema.commands.corpus import difference
    from scriptschema.fuzzing.corpora.statistics import CorpusStats

    reader = make_reader(**options)
    one_counts, two_counts = (
        difference.FeatureCounts(CorpusStats(luau=reader.luau)) for _ in range(2)
    )
    both = one_counts, two_counts
    names = str(one), str(two)
    with failures() as failed:
        with failed.caught():
            for path, counts in zip((one, two), both, strict=True):
                for tree in reader.read_all(items_of([path], "reading"), failed.report):
                    counts.add(tree.scan)
            if plot_file:
                write_plot(plot_file, difference.plot(names, both))
        if as_json:
            click.echo(json.dumps(difference.as_json(both), indent=2))
        else:
            difference.print_difference(names, both)


def check_plot(path: Path | None) -> None:
    """Raise a usage error unless the file's suffix is `.svg`."""
    if path and path.suffix != ".svg":
        raise click.BadParameter(
            f"{path}: charts are SVG files, so the name must end in .svg", param_hint="--plot"
        )


def write_plot(path: Path, chart: bytes) -> None:
    """Write a chart to a file. Raises FileError."""
    from scriptschema import files

    files.require_parent(path)
    files.write(path, chart)
