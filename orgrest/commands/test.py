"""``orgrest test``: runs documents as tests, and reports the outcomes.

The exit status is 0 if all requests got responses and all assertions passed. It is 1 if not, if
there are no requests, or if time ran out (``--max-time``, ``--wait-timeout``). It is 2 for a usage
error, an unreadable document, or if no request matches ``--name`` or ``--tag``. It is 130 after
Ctrl-C, SIGTERM or SIGHUP.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from orgrest import __version__
from orgrest.commands import program
from orgrest.commands.completion import documents
from orgrest.commands.console import (
    check_outputs,
    complain,
    count_of,
    safe,
    store,
    stored_in,
)
from orgrest.commands.options import client_of, inputs_of, parts_of, settings_of, with_options
from orgrest.commands.reports import chosen, write_all
from orgrest.options import TEST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from orgrest.http.transport.client import Client
    from orgrest.http.values import Inputs
    from orgrest.run.control import Control
    from orgrest.run.history import History
    from orgrest.run.services import Services
    from orgrest.run.settings import Settings
    from orgrest.run.suite.jobs import SuiteRun
    from orgrest.run.suite.summary import Brief
    from orgrest.run.suite.unit import Unit

_COLORS = {"passed": "green", "failed": "red", "error": "red", "skipped": "yellow"}
_WORDS = {"passed": "ok", "failed": "FAILED", "error": "ERROR", "skipped": "skipped"}
_GRACE = 1.5
"""The number of seconds after `--max-time` at which requests in progress are abandoned, so that
reports can still be written."""
_ATTEMPT, _PAUSE = 5.0, 0.2  # seconds: of an attempt of --wait-for, and between two of them
_MOST_LEFT = 20  # the maximum number of operations listed as not exercised


@program.command()
@click.argument(
    "files", nargs=-1, required=True, metavar="FILE|FOLDER...", shell_complete=documents
)
@with_options(TEST)
def test(**given: Any) -> None:
    """Run documents as tests.

    Folders are searched for .org, .http and .rest files. Nothing is written into the documents.
    Requests named or tagged `setup` are sent before all other requests in their document. Requests
    named or tagged `teardown` are sent last, even after failures or Ctrl-C. To print a report, use
    `-` as its FILE.

    \b
    orgrest test .
    orgrest test api.http --env dev --junit report.xml
    orgrest test tests/ -j 4 --html report.html
    """
    options = SimpleNamespace(reports=chosen(given), given=given, **given)
    if options.write and (options.repeat > 1 or options.data):
        raise click.UsageError(
            "--write cannot be combined with --repeat or --data: each result can only be "
            "written once"
        )
    if options.globals is not None and options.jobs > 1:
        raise click.UsageError(
            "--globals cannot be combined with --jobs: each document uses the variables set "
            "by the previous one"
        )
    sys.exit(_test(options))


def _test(options: SimpleNamespace) -> int:
    from orgrest.files import FileError
    from orgrest.run.control import Control
    from orgrest.run.history import History

    plan = _plan(options)
    history = History(complain, fail=True)
    parts = parts_of(TEST, options.given)
    settings = settings_of(parts, inputs_of(parts, Path()), alone=False)
    services = _services(options, settings.inputs, history)

    client, budget = client_of(parts)
    control = Control(client, budget)
    for warning in control.client.warnings:
        complain(f"warning: {warning}")
    try:
        _wait(options, client(), control)  # this client's requests do not count towards the limits
        services.client = control.client
        return _run(options, plan, settings, services, control)
    except FileError as error:  # about the file of --jsonl or --globals
        complain(str(error))
        return 1
    finally:
        control.close()
        history.close()


def _wait(options: SimpleNamespace, client: Client, control: Control) -> None:
    from orgrest.model import OrgrestError

    with client:
        try:
            for url in options.wait_for:
                _wait_for(url, client, options.wait_timeout, control.budget.deadline)
        except OrgrestError as error:
            control.stop(str(error))
        except KeyboardInterrupt:
            control.interrupt()


def _wait_for(url: str, client: Client, seconds: float, deadline: float | None) -> None:
    """Wait until a URL responds with a status below 500.

    Raises OrgrestError after `seconds`, at the `deadline` of the run (`time.monotonic`), or
    immediately if no request can be sent to the URL.
    """
    from orgrest.http.transport.limits import TIME_OVER
    from orgrest.model import BAD_CERTIFICATE, OrgrestError, Request, TransportError
    from orgrest.run.settings import may_pass

    end, limit = time.monotonic() + seconds, f"within {seconds:g} s (--wait-timeout)"
    if deadline is not None and deadline < end:
        end, limit = deadline, f"before {TIME_OVER}"
    request = Request("GET", url if "://" in url else f"http://{url}")
    while True:
        left = end - time.monotonic()
        try:
            timeout = max(0.05, min(left, _ATTEMPT))
            response = client.send(request, follow=False, timeout=timeout)
            if response.status < 500:
                return
            why = f"status {response.status}"
        except TransportError as error:
            why = error.reason
            # A server may have a temporary certificate until its own one has been issued.
            if not may_pass(error) and error.code != BAD_CERTIFICATE:
                raise OrgrestError(f"could not wait for {request.url}: {why}") from None
        if time.monotonic() + _PAUSE >= end:
            raise OrgrestError(f"{request.url} was not ready {limit}: {why}")
        time.sleep(_PAUSE)


def _plan(options: SimpleNamespace) -> list[Unit]:
    from orgrest.http.values import environments
    from orgrest.run.suite import finding
    from orgrest.run.suite.unit import Unit

    files = finding.find(options.files)
    inputs = (*files, *options.env_file, options.data, options.openapi, options.ca)
    outputs = {**options.reports, "jsonl": options.jsonl, "globals": options.globals}
    check_outputs(outputs, inputs)
    data: list[tuple[int | None, dict[str, str]]] = [(None, {})]
    if options.data is not None:
        data = list(enumerate(finding.rows(options.data), 1))
    runs = [
        (file, turn, row, values)
        for turn in range(1, options.repeat + 1)
        for file in files
        for row, values in data
    ]
    environments.require(options.environments, (Path(file).resolve().parent for file in files))
    named = frozenset(options.files)
    return [Unit(number, *run, found=run[0] not in named) for number, run in enumerate(runs)]


def _services(options: SimpleNamespace, inputs: Inputs, history: History) -> Services:
    from orgrest.http.values.global_variables import GlobalVariables
    from orgrest.run.descriptions import Descriptions
    from orgrest.run.logins import Logins
    from orgrest.run.services import Services
    from orgrest.run.writable_files import write

    return Services.of_user(
        globals_=options.globals and stored_in(options.globals, GlobalVariables),
        logins=Logins(),
        history=history,
        descriptions=Descriptions(options.openapi, inputs),
        write=write if options.write else None,
    )


def _run(
    options: SimpleNamespace,
    plan: Sequence[Unit],
    settings: Settings,
    services: Services,
    control: Control,
) -> int:
    from contextlib import ExitStack

    from orgrest.files import FileError
    from orgrest.http.sandbox import children
    from orgrest.run.suite.jobs import SuiteRun

    with ExitStack() as stack:
        head, spool = {}, None
        if options.reports or options.jsonl:
            from orgrest.run.suite.spool import Spool

            head = _head()
            spool = stack.enter_context(Spool(options.jsonl, head))
        run = SuiteRun(plan, settings, services, control, jobs=options.jobs, spool=spool)
        abandoned = False
        stack.enter_context(children.of_run(control.budget.deadline))
        hold_signals = stack.enter_context(_interruptible(control))
        try:
            for brief in _with_progress(run.briefs(), plan, options):
                _print_outcome(brief, quiet=options.quiet)
        except KeyboardInterrupt:  # a second Ctrl-C, or the end of the grace period
            abandoned = True
        hold_signals()
        if abandoned:
            for brief in run.abandon():
                _print_outcome(brief, quiet=options.quiet)
        status = _status(options, run, control)
        openapi = services.descriptions.coverage()
        ended = _ended(options, run, control)
        summary = {**run.summary.as_data(), "ended": ended, "openapi": openapi}
        _print_summary(run, summary, len({unit.file for unit in plan}))
        if spool is not None:
            failure = run.failure
            if failure is None:
                try:
                    spool.write({"summary": summary})
                except FileError as error:
                    failure = error
            if failure is not None:
                complain(str(failure))
                status = status or 1
            if not write_all(options.reports, {**head, "summary": summary}, spool.records):
                status = status or 1
        if services.globals_ is not None:
            store(options.globals, services.globals_)
        if abandoned:
            children.end()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)  # a normal exit would wait for requests in progress
    return status


def _head() -> dict[str, Any]:
    from datetime import UTC, datetime

    started = datetime.now(UTC).isoformat(timespec="milliseconds")
    return {"orgrest": __version__, "started": started}


def _status(options: SimpleNamespace, run: SuiteRun, control: Control) -> int:
    if control.interrupted:
        return 130
    if run.unreadable:
        return 2
    if not any(run.summary.counts.values()):
        return 2 if options.names or options.tags else 1
    return 0 if run.summary.held and not control.why else 1


def _ended(options: SimpleNamespace, run: SuiteRun, control: Control) -> str | None:
    """Return why the run ended early or had nothing to send, or None."""
    if control.why or any(run.summary.counts.values()):
        return control.why or None
    chosen = " with this name or tag" if options.names or options.tags else ""
    return f"no requests found{chosen}"


@contextmanager
def _interruptible(control: Control) -> Iterator[Callable[[], None]]:
    """End the run at the first Ctrl-C, SIGTERM or SIGHUP, and abandon open requests at the second.

    Open requests are also abandoned `_GRACE` seconds after `--max-time`. Call the yielded function
    before writing reports: the `with` block then ignores signals. If the run was interrupted,
    signals are ignored until the process ends.
    """
    import signal

    held = False

    def hold() -> None:
        nonlocal held
        held = True
        if timed:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def end(*_: object) -> None:
        if held:
            return
        if control.interrupted:
            raise KeyboardInterrupt
        control.interrupt()
        # Not with click: the interrupted code may be writing to the same stream.
        os.write(2, b"orgrest: interrupted: the teardown is sent, then reports are written\n")

    def late(*_: object) -> None:
        if control.why and not held:
            raise KeyboardInterrupt

    kinds = [signal.SIGINT, signal.SIGTERM]
    if getattr(signal, "SIGHUP", None) and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        kinds.append(signal.SIGHUP)  # there is no SIGHUP on Windows, and nohup ignores it
    before = [signal.signal(kind, end) for kind in kinds]
    timed = control.budget.deadline is not None and hasattr(signal, "SIGALRM")  # not on Windows
    if timed:
        kinds.append(signal.SIGALRM)
        before.append(signal.signal(signal.SIGALRM, late))
        left = (control.budget.deadline or 0) + _GRACE - time.monotonic()
        signal.setitimer(signal.ITIMER_REAL, max(left, 0.001))
    try:
        yield hold
    finally:
        if timed:
            signal.setitimer(signal.ITIMER_REAL, 0)
        for kind, handler in zip(kinds, before, strict=True):
            signal.signal(kind, signal.SIG_IGN if control.interrupted else handler)


def _print_outcome(brief: Brief, *, quiet: bool) -> None:
    if quiet and brief.outcome in ("passed", "skipped"):
        return
    word = click.style(f"{_WORDS[brief.outcome]:8}", fg=_COLORS[brief.outcome])
    status = "" if brief.status is None else f"  {brief.status}"
    took = "" if brief.outcome == "skipped" else f"  {brief.duration:.3f} s"
    took += f"  {brief.attempts} attempts" if brief.attempts > 1 else ""
    part = "" if brief.part == "request" else f"  ({brief.part})"
    what = safe(f"{brief.place}  {brief.title}", one_line=True)
    click.echo(f"{word}{what}{part}{status}{took}", err=True)
    for line in (*brief.why, *(() if quiet else brief.notes)):
        click.echo(f"        {safe(line, one_line=True)}", err=True)


def _print_summary(run: SuiteRun, summary: dict[str, Any], documents: int) -> None:
    for request in summary["percentiles"]:
        times = "  ".join(
            f"{name} {request[name]:.3f}" for name in ("p50", "p90", "p95", "p99", "max")
        )
        click.echo(
            f"{request['place']}  {request['title']}  x{request['count']}  {times} s", err=True
        )
    for description in summary["openapi"]:
        _print_coverage(description)
    counts = run.summary.counts
    parts = [
        count_of(count, "error") if name == "error" else f"{count} {name}"
        for name, count in counts.items()
        if count
    ]
    color = "green" if run.summary.held else "red"
    sums = click.style(", ".join(parts) or "nothing sent", fg=color)
    what = count_of(documents, "document")
    checked = f"; {count_of(summary['assertions'], 'assertion')} checked"
    if summary["unasserted"]:
        sent = counts["passed"] + counts["failed"]
        have = "has" if summary["unasserted"] == 1 else "have"
        checked += f"; {summary['unasserted']} of {count_of(sent, 'request')} {have} no assertions"
    ended = f"; {summary['ended']}" if summary["ended"] else ""
    click.echo(f"{what}: {sums} in {summary['duration']:.2f} s{checked}{ended}", err=True)


def _print_coverage(description: dict[str, Any]) -> None:
    every = description["operations"]
    left = [operation["operation"] for operation in every if not operation["requests"]]
    name = safe(description["file"], one_line=True)
    click.echo(f"{name}: {len(every) - len(left)} of {len(every)} operations exercised", err=True)
    foreign = [
        f"{request['request']} x{request['requests']}" for request in description["undescribed"]
    ]
    listed = [("not exercised", left), ("not described", foreign)]
    listed.append(("could not be read", description["unreadable"]))
    for what, every in listed:
        for item in every[:_MOST_LEFT]:
            click.echo(f"        {what}: {safe(item, one_line=True)}", err=True)
        if len(every) > _MOST_LEFT:
            click.echo(f"        {what}: {len(every) - _MOST_LEFT} more", err=True)


def _with_progress(
    briefs: Iterable[Brief], plan: Sequence[Unit], options: SimpleNamespace
) -> Iterator[Brief]:
    if len(plan) < 2 or options.quiet or not sys.stderr.isatty():
        yield from briefs
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("Documents", total=len(plan))
        for brief in briefs:
            progress.update(bar, completed=brief.unit)
            yield brief
