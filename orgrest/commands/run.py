"""Evaluates one file: reads it, reports the outcome of each request, and saves the results."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import click

from orgrest import classes
from orgrest.commands.console import complain
from orgrest.commands.report import show
from orgrest.commands.saving import MODES
from orgrest.files import Encoding, File, FileError, decode_document, is_request_file
from orgrest.model import explained

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orgrest.run.outcomes import Outcome
    from orgrest.run.services import Services
    from orgrest.run.settings import Settings

MANY = 20  # with at least this many requests, a progress bar is shown


@classes.frozen
class _Document:
    """The document to evaluate. `file` is None for standard input. `plain` means a request file."""

    name: str
    folder: Path
    text: str
    encoding: Encoding
    file: File | None
    plain: bool


def evaluate_file(
    path: str, settings: Settings, services: Services, output: SimpleNamespace
) -> int:
    """Evaluate a file, or standard input for ``-``, and return the exit status.

    `output` contains the command's options, a `mode` (a key of `saving.MODES`), and, with
    `--watch`, the object `watched` that records the files that the run reads and writes.

    On KeyboardInterrupt, the results so far are saved or printed, and the exception is raised
    again.
    """
    try:
        source = _read(path, output)
    except FileError as error:
        complain(str(error))
        if output.watched is not None:
            output.watched.read(Path(path).absolute())  # it may be created or repaired later
        return 2
    if output.watched is not None and source.file is not None:
        output.watched.document(source.file, source.folder)
    if source.plain and output.mode not in ("", "dry run"):
        raise click.UsageError(
            f"--{output.mode} requires an Org document; the responses of {source.name} are "
            "printed instead"
        )
    if source.file is not None and not source.plain and not output.mode:
        try:
            source.file.check_writable()
        except FileError as error:
            complain(f"{error}: no request was sent (use --stdout to print the results)")
            return 1
    return _evaluate_document(source, settings, services, output)


def _read(name: str, output: SimpleNamespace) -> _Document:
    if name == "-":
        text, encoding = decode_document(sys.stdin.buffer.read(), "standard input")
        path = output.stdin_name
        if path is None:
            return _Document("standard input", Path(), text, encoding, None, True)
        return _Document(
            str(path), path.resolve().parent, text, encoding, None, is_request_file(path)
        )
    path = Path(name)
    file = File.read(path)
    folder = path.resolve().parent
    return _Document(name, folder, file.text, file.encoding, file, is_request_file(path))


def _evaluate_document(
    source: _Document,
    settings: Settings,
    services: Services,
    output: SimpleNamespace,
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
    if not output.quiet:
        for notice in (*source.encoding.notes, *plan.warnings):
            complain(f"{source.name}: {notice}")
    results = MODES[output.mode](
        source.name,
        None if source.plain else source.file,
        source.encoding,
        output.save,
        output.volatile,
    )
    failed = False

    def report(outcome: Outcome) -> None:
        nonlocal failed
        try:
            for reported in (*outcome.needed, outcome):
                if output.watched is not None:
                    output.watched.wrote(path for path, _ in reported.files)
                failed |= show(
                    reported, source.name, output, plain=source.plain, fail=settings.fail
                )
            results.keep(outcome, run)
        except OSError:  # standard output is closed
            raise
        except Exception as error:
            complain(str(explained(error)))
            failed = True

    client, count = services.client, len(plan.steps)
    outcomes: Iterator[Outcome] = run.outcomes()
    if count >= MANY and sys.stderr.isatty() and not (output.quiet or output.mode == "dry run"):
        outcomes = _with_progress(outcomes, count)
    try:
        try:
            for outcome in outcomes:
                report(outcome)
                if client is not None and client.budget.spent and outcome.state == "failed":
                    run.reported(outcome)
                    for needed in run.unreported(insert=True):
                        report(needed)
                    complain(f"{source.name}: stopped: {client.budget.spent}")
                    break
        except KeyboardInterrupt:
            if client is not None:  # inserting a result may need a request
                client.budget.refuse("interrupted")
            for outcome in run.unreported(insert=True):
                report(outcome)
            raise
        finally:  # even if standard output was closed
            if not source.plain:
                results.end(run, source.text)
    except KeyboardInterrupt:
        place = ":".join(map(str, run.place or (source.name,)))
        saved = results.file is not None and source.text != results.file.text == run.document.text
        complain(f"{place}: interrupted{'; the results so far were saved' if saved else ''}")
        raise
    return int(failed or results.failed)


def _with_progress(outcomes: Iterator[Outcome], count: int) -> Iterator[Outcome]:
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    return iter(track(outcomes, "Requests", total=count, console=console, transient=True))
