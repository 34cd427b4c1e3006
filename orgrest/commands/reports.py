"""The reports of a run: the options that request them, and the command ``orgrest report``.

``orgrest report`` generates reports from a ``--jsonl`` file, even if the run was killed.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orgrest.commands import program
from orgrest.commands.console import check_outputs, complain
from orgrest.commands.options import with_options
from orgrest.options import REPORT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from orgrest.run.record import Record

_REPORTS = {
    "junit": "orgrest.reports.junit",
    "html": "orgrest.reports.html",
    "tap": "orgrest.reports.tap",
    "report-json": "orgrest.reports.data",
    "har": "orgrest.reports.har",
}
"""The module of each report. Its function `pieces` yields the report's bytes."""


def chosen(options: dict[str, Any]) -> dict[str, Path]:
    """Remove the report options from `options`. Return the output file of each requested report."""
    return {name: path for name in _REPORTS if (path := options.pop(name.replace("-", "_")))}


def write_all(
    reports: Mapping[str, Path], run: Record, records: Callable[[], Iterable[Record]]
) -> bool:
    """Write the reports of a run, and return whether all were written.

    `run` describes the whole run, and `records` returns the records of its requests.
    """
    from importlib import import_module

    from orgrest.files import write_pieces
    from orgrest.model import explained

    written = True
    for name, path in reports.items():
        try:
            pieces = import_module(_REPORTS[name]).pieces(run, records())
            if str(path) == "-":
                sys.stdout.buffer.writelines(pieces)
                sys.stdout.buffer.flush()
            else:
                write_pieces(path, pieces)
        except OSError:  # standard output is closed
            raise
        except Exception as error:
            complain(str(explained(error)))
            written = False
    return written


@program.command()
@click.argument("run", type=click.Path(path_type=Path), metavar="FILE")
@with_options(REPORT)
def report(run: Path, **given: Any) -> None:
    """Write reports about an earlier run of `orgrest test`.

    FILE is a file written by `orgrest test --jsonl FILE`. It may be incomplete, for example because
    the run was killed: then the reports contain an error, and the exit status is 1.

    \b
    orgrest report run.jsonl --html report.html
    """
    reports = chosen(given)
    if not reports:
        raise click.UsageError("no report requested: use --html FILE, for example")
    check_outputs(reports, [run])
    from orgrest.run.suite.spool import read
    from orgrest.run.suite.summary import KILLED, Brief, Summary, end_of_run

    head, records, summary = read(run)
    killed = not summary
    if killed:
        complain(
            f"{run}: the run was killed or has not ended yet: the reports contain only the "
            "requests that had finished"
        )
        last = records[-1]["order"][0] if records else 0
        records.append(end_of_run(head, last + 1, str(run), KILLED))
        sums = Summary(repeated=any(record["turn"] > 1 for record in records))
        for record in records:
            sums.count(Brief.of(record))
        took = sum(record["duration"] for record in records)
        summary = {**sums.as_data(), "duration": round(took, 3), "ended": KILLED}
    whole = {"orgrest": head["orgrest"], "started": head["started"], "summary": summary}
    written = write_all(reports, whole, lambda: records)
    sys.exit(0 if written and not killed else 1)
