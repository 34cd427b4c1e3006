"""``orgrest history`` and ``orgrest diff``, which show and compare earlier responses."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orgrest.commands import program
from orgrest.commands.console import count_of, safe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orgrest.run.comparison import Difference, ShownResponse
    from orgrest.run.history import KeptRun
    from orgrest.run.record import Record

_JSON = partial(click.option, "--json", "as_json", is_flag=True)
_ALL = click.option(
    "--all",
    "everywhere",
    is_flag=True,
    help="Include all documents, not only those in this folder.",
)


@click.group(invoke_without_command=True)
@click.pass_context
def history(context: click.Context) -> None:
    """Show earlier requests and responses.

    Runs of `orgrest FILE`, `orgrest test` and editors are recorded in the user's cache folder,
    without secrets. The most recent runs are kept, at most 200 runs and 64 MiB. Set the environment
    variable ORGREST_HISTORY to another folder, or to `off` to keep no history.

    Only runs of documents in the current folder are listed and numbered, unless --all is used.

    \b
    orgrest history
    orgrest history list --all
    orgrest history show 1 --name login
    """
    if context.invoked_subcommand is None:
        context.invoke(list_, count=20, everywhere=False, as_json=False)


@history.command("list")
@click.option(
    "-n",
    "count",
    type=click.IntRange(1),
    default=20,
    metavar="N",
    help="The number of runs to list (default: 20).",
)
@_ALL
@_JSON(help="Print a line of JSON per run.")
def list_(count: int, everywhere: bool, as_json: bool) -> None:
    """List the most recent runs, newest first.

    \b
    orgrest history list -n 5 --all
    """
    import json
    from collections import Counter
    from itertools import islice

    for number, run in enumerate(islice(_runs(everywhere), count), 1):
        counts = Counter(record["outcome"] for record in run.records)
        failed, errors = counts["failed"], counts["error"]
        if as_json:
            row = {
                "run": run.id,
                "started": run.started,
                "documents": run.documents,
                "requests": len(run.records),
                "failed": failed,
                "error": errors,
            }
            click.echo(json.dumps(row, ensure_ascii=False))
            continue
        documents = ", ".join(_shortened(document, run) for document in run.documents)
        documents = safe(documents, one_line=True)
        more = " (and more that were not saved)" if run.cut else ""
        what = f"{count_of(len(run.records), 'request')}{more}"
        what += f", {failed} failed" if failed else ""
        what += f", {count_of(errors, 'error')}" if errors else ""
        click.echo(f"{number:>3}  {run.id}  {_local(run.started)}  {documents}  {what}")


@history.command()
@click.argument("run", default="1")
@click.option("--name", metavar="NAME", help="Show only requests with this name (or FILE:LINE).")
@_ALL
@_JSON(help="Print a line of JSON per request, as in reports.")
def show(run: str, name: str | None, everywhere: bool, as_json: bool) -> None:
    """Show the requests of a run and their responses.

    RUN is an id, the beginning of an id, or a number in the output of `orgrest history`. The most
    recent run is number 1.

    \b
    orgrest history show
    orgrest history show 2 --name login
    """
    import json

    from orgrest.model import OrgrestError
    from orgrest.run.history import run_called

    kept_run = run_called(run, _runs(everywhere))
    records = [
        candidate for candidate in kept_run.records if name is None or _is_called(candidate, name)
    ]
    if not records:
        raise OrgrestError(
            f"run {kept_run.id} has no request named {name}"
            if name
            else f"run {kept_run.id} sent no requests"
        )
    for record in records:
        if as_json:
            click.echo(json.dumps(record, ensure_ascii=False))
        else:
            click.echo(safe("\n".join(_lines(record, kept_run))))


@program.command()
@click.argument("name")
@click.option(
    "--with", "other", metavar="RUN", help="Compare with the run that has this id or number."
)
@click.option("--stored", is_flag=True, help="Compare with the result in the Org document.")
@click.option(
    "--volatile", multiple=True, metavar="HEADER", help="A header to ignore, in addition to Date."
)
@_ALL
@_JSON(help="Print the differences as JSON.")
def diff(
    name: str,
    *,
    other: str | None,
    stored: bool,
    volatile: tuple[str, ...],
    everywhere: bool,
    as_json: bool,
) -> None:
    """Compare the last two responses to a request.

    NAME is the name of a request or, for an unnamed request, its file and line: `api.http:12`. Only
    documents in the current folder are searched, unless --all is used. The exit status is 0 if the
    responses are the same, 1 if not, and 2 if they cannot be compared.

    \b
    orgrest diff login
    orgrest diff api.http:12 --with 3
    """
    import json

    from orgrest.model import OrgrestError
    from orgrest.run.comparison import compare, compare_shown
    from orgrest.run.history import run_called

    if other is not None and stored:
        raise click.UsageError("--with and --stored cannot be combined")
    all_runs = list(_runs(everywhere))
    matches = _matches(name, all_runs)
    run, new = next(matches, (None, None))
    if run is None or new is None:
        raise OrgrestError(
            f"no request named {name} in the history of this folder; `orgrest history show` "
            "lists requests, and --all includes all documents"
        )
    differences: list[Difference]
    if stored:
        differences = compare_shown(*_stored_and_new(name, Path(new["document"]), new))
        what = f"the result in {new['document']}"
    else:
        document = new["document"]
        if other is None:
            before = next((match for match in matches if match[1]["document"] == document), None)
        else:
            found = _matches(name, [run_called(other, all_runs)])
            in_other_run = [match for match in found if match[1] != new]
            same = [match for match in in_other_run if match[1]["document"] == document]
            before = next(iter(same or in_other_run), None)
        if before is None and other is None:
            raise OrgrestError(
                f"nothing to compare: the history has only one response to {name} in {document}"
            )
        if before is None:
            raise OrgrestError(
                f"run {other} has no earlier response to {name}: `orgrest history` lists the runs"
            )
        what = before[0].id
        differences = compare(before[1], new, volatile)
    if as_json:
        report = {
            "old": what,
            "new": run.id,
            "differences": [vars(difference) for difference in differences],
        }
        click.echo(json.dumps(report, ensure_ascii=False))
    else:
        click.echo(f"orgrest: {safe(what, one_line=True)} -> {run.id}", err=True)
        for difference in differences:
            click.echo(safe(str(difference)))
    sys.exit(1 if differences else 0)


def _runs(everywhere: bool) -> Iterator[KeptRun]:
    from orgrest.run.history import runs

    return runs(() if everywhere else (Path.cwd(),))


def _matches(name: str, among: list[KeptRun]) -> Iterator[tuple[KeptRun, Record]]:
    """Yield (run, record) each time that the request called `name` was sent, newest first."""
    from orgrest.run.suite.summary import own

    for run in among:
        for record in reversed(run.records):
            if own(record) and _is_called(record, name):
                yield run, record


def _is_called(record: Record, name: str) -> bool:
    return name in (record["name"], f"{Path(record['file']).name}:{record['line']}")


def _stored_and_new(name: str, path: Path, record: Record) -> tuple[ShownResponse, ShownResponse]:
    """Return the result stored in the Org document at `path`, and the response in `record`."""
    from orgrest.files import File, is_request_file
    from orgrest.model import OrgrestError

    if is_request_file(path):
        raise OrgrestError(
            "--stored requires an Org document: request files contain no results", file=str(path)
        )
    from orgrest.org.document import OrgDocument
    from orgrest.run.documents.stored import stored_and_new

    try:
        return stored_and_new(OrgDocument(File.read(path).text), name, record)
    except OrgrestError as error:
        raise OrgrestError(error.reason, file=str(path)) from error


def _lines(record: Record, run: KeptRun) -> Iterator[str]:
    place = f"{_shortened(record['file'], run)}:{record['line']}"
    why = f": {record['reason']}" if record["reason"] else ""
    yield f"# {place} {record['name'] or ''}".rstrip() + f"  {record['outcome']}{why}"
    for assertion in record["assertions"]:
        reason = f"  {assertion['reason']}" if assertion["reason"] else ""
        yield f"# {'ok    ' if assertion['passed'] else 'FAILED'}  {assertion['name']}{reason}"
    for exchange in record["exchanges"]:
        yield from map(_brief, exchange["earlier"])  # retries, redirects, token requests
        request, response = exchange["request"], exchange["response"]
        yield f"{request['method']} {request['url']}"
        yield from _message(request)
        if response is None:
            yield f"# no response: {exchange['error']}"
        else:
            if sent := exchange["sent"]:
                yield f"# response to: {sent['request']['method']} {sent['request']['url']}"
            yield f"HTTP/{response['version']} {response['status']} {response['reason']}"
            yield from _message(response)


def _brief(exchange: Record) -> str:
    request, response = (exchange["sent"] or exchange)["request"], exchange["response"]
    status = f"no response: {exchange['error']}" if response is None else response["status"]
    return f"# {exchange['reason']}: {request['method']} {request['url']}  {status}"


def _message(message: Record) -> Iterator[str]:
    yield from (f"{name}: {value}" for name, value in message["headers"])
    yield ""
    body = message["body"]
    if body is None:
        return
    if "text" not in body:
        yield f"[{body['size']} bytes of binary data]"
    elif body["text"]:
        yield body["text"]
    if body["cut"] and body["size"]:
        yield f"[truncated: only the beginning of {body['size']} bytes was saved]"
    yield ""


def _shortened(path: str, run: KeptRun) -> str:
    absolute = Path(path)
    if absolute.is_relative_to(run.directory):
        return str(absolute.relative_to(run.directory))
    return path


def _local(time: str) -> str:
    from datetime import datetime

    return datetime.fromisoformat(time).astimezone().strftime("%Y-%m-%d %H:%M:%S")
