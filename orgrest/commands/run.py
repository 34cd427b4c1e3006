"""Evaluates one file: reads it, reports the outcome of each request, and saves the results."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orgrest import classes
from orgrest.commands import report
from orgrest.commands.console import complain, safe
from orgrest.commands.saving import MODES
from orgrest.files import Encoding, File, FileError, decode_document, is_request_file
from orgrest.model import explained

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orgrest.commands.watch import Watched
    from orgrest.run.outcomes import Outcome
    from orgrest.run.services import Services
    from orgrest.run.settings import Settings

MANY = 20  # the number of requests from which a progress bar is shown


@classes.frozen
class RunOutput:
    """What a run prints and where results go. `mode` is a key of `saving.MODES`.

    `stdin_name` is the file name for the text on standard input. `watched` records the files that
    are read and written. The other fields are the values of the options with the same names.
    """

    mode: str
    save: str | None
    volatile: tuple[str, ...]
    explain: bool
    quiet: bool
    json: bool
    stdin_name: Path | None
    watched: Watched | None = None


@classes.frozen
class _Read:
    """The input of an evaluation.

    `name` is the input's name in messages, and `folder` is the folder for relative paths. `file` is
    None for standard input. If `plain` is true, the input is a request file.
    """

    name: str
    folder: Path
    text: str
    encoding: Encoding
    file: File | None
    plain: bool


def evaluate(given: str, settings: Settings, services: Services, shown: RunOutput) -> int:
    """Evaluate a file, or standard input for ``-``, and return the exit status.

    A KeyboardInterrupt is raised again after the results so far are saved.
    """
    try:
        source = _read(given, shown)
    except FileError as error:
        complain(str(error))
        if shown.watched is not None:
            shown.watched.read(Path(given).absolute())  # it may be created or repaired later
        return 2
    if shown.watched is not None and source.file is not None:
        shown.watched.document(source.file, source.folder)
    if source.plain and shown.mode not in ("", "dry run"):
        raise click.UsageError(
            f"--{shown.mode} requires an Org document; the responses of {source.name} are "
            "printed instead"
        )
    if source.file is not None and not source.plain and not shown.mode:
        try:
            source.file.check_writable()
        except FileError as error:
            complain(f"{error}: no request was sent (use --stdout to print the results)")
            return 1
    return _evaluate(source, settings, services, shown)


def _read(given: str, shown: RunOutput) -> _Read:
    if given == "-":
        text, encoding = decode_document(sys.stdin.buffer.read(), "standard input")
        path = shown.stdin_name
        if path is None:
            return _Read("standard input", Path(), text, encoding, None, True)
        return _Read(str(path), path.resolve().parent, text, encoding, None, is_request_file(path))
    path = Path(given)
    file = File.read(path)
    folder = path.resolve().parent
    return _Read(given, folder, file.text, file.encoding, file, is_request_file(path))


def _evaluate(
    source: _Read,
    settings: Settings,
    services: Services,
    shown: RunOutput,
) -> int:
    from orgrest.run.run import Run

    try:
        run = Run(
            source.text,
            file=source.name,
            settings=settings.of_document(source.folder),
            services=services,
            plain=source.plain,
        )
        plan = run.plan
    except Exception as error:
        complain(str(explained(error)))
        return 2
    if not (plan.steps or source.plain or source.name.endswith(".org")):
        complain(f"{source.name}: read as Org, because the name does not end in .http or .rest")
    if not shown.quiet:
        for notice in plan.warnings:
            complain(f"{source.name}: {notice}")
    results = MODES[shown.mode](
        source.name,
        None if source.plain else source.file,
        source.encoding,
        shown.save,
        shown.volatile,
    )
    failed = False
    try:
        for outcome in _with_progress(run.outcomes(), len(plan.steps), shown):
            try:
                for reported in (*outcome.needed, outcome):
                    failed |= _report(reported, source, settings, shown)
                results.keep(outcome, run)
            except OSError:  # standard output is closed
                raise
            except Exception as error:
                complain(str(explained(error)))
                failed = True
            if shown.watched is not None:
                shown.watched.wrote(path for path, _ in outcome.files)
            client = services.client
            if client is not None and client.budget.spent and outcome.state == "failed":
                complain(f"{source.name}: stopped: {client.budget.spent}")
                break
    except KeyboardInterrupt:
        complain(f"{source.name}: interrupted; the results so far were saved")
        raise
    finally:  # even if standard output was closed
        if not source.plain:
            results.end(run, source.text)
    return int(failed or results.failed)


def _report(outcome: Outcome, source: _Read, settings: Settings, shown: RunOutput) -> bool:
    """Report the outcome of a block or request, and return whether it is a failure."""
    failed = outcome.fails(strictly=settings.fail)
    name = outcome.file or source.name
    if shown.json:
        for line in report.json_lines(
            name, outcome, failed, with_text=source.plain, explained=shown.explain
        ):
            click.echo(line)
    if outcome.reason is not None:
        prefix = "" if failed else "skipped: "
        complain(prefix + safe(str(outcome.reason), outcome.secrets))
    for note in outcome.notes:
        where = "" if note.startswith(name) else f"{name}:{outcome.line}: "
        complain(safe(f"note: {where}{note}", outcome.secrets))
    if outcome.tests and not shown.json and not shown.quiet:
        from orgrest.rendering.results import test_line

        for test in outcome.tests:
            where = f"{name}:{test.line or outcome.line}"
            for line in (
                f"{where}: {test_line(test)}",
                *(f"  {difference}" for difference in test.difference),
            ):
                complain(safe(line, outcome.secrets))
    for exchange in outcome.exchanges if not shown.json else ():
        if shown.mode == "dry run":
            explained = report.explain(exchange) if shown.explain else ""
            click.echo(explained + report.wire(exchange))
        elif source.plain:
            report.print_response(exchange)
    if not shown.quiet and shown.mode != "dry run":
        for exchange in outcome.exchanges:
            click.echo(report.line(exchange), err=True)
    return failed


def _with_progress(outcomes: Iterator[Outcome], count: int, shown: RunOutput) -> Iterator[Outcome]:
    """Yield the outcomes. If there are many requests, show a progress bar on a terminal."""
    if shown.quiet or count < MANY or not sys.stderr.isatty() or shown.mode == "dry run":
        yield from outcomes
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(
        outcomes, "Requests", total=count, console=Console(stderr=True), transient=True
    )
