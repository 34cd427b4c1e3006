"""The commands that editors call: `orgrest complete`, `orgrest lsp`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import click

from orgrest.completion import complete as candidates
from orgrest.files import REQUEST_SUFFIXES, File, FileError, decode, entries


@click.command()
@click.argument("file", default="-")
@click.option("--offset", type=int, required=True, metavar="N", help="The place, in characters.")
@click.option(
    "--document",
    type=click.Choice(["org", "http"]),
    help="What the text is; by default FILE's suffix tells, and standard input is Org.",
)
@click.option(
    "--directory",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="Where the paths of < FILE bodies start, instead of FILE's folder.",
)
def complete(file: str, *, offset: int, document: str | None, directory: Path | None) -> None:
    """Print what can be put in at a place of FILE, or of standard input, as JSON.

    The place is the number of characters before it, where a line end is one character. Each
    candidate is an object: label, kind, start, end (what is replaced), insert, documentation.
    """
    path = None if file == "-" else Path(file)
    try:
        text = decode(sys.stdin.buffer.read())[0] if path is None else File.read(path).text
    except FileError as error:
        click.echo(f"orgrest: {error}", err=True)
        sys.exit(2)
    requests = document == "http" or (
        document is None and path is not None and path.suffix.lower() in REQUEST_SUFFIXES
    )
    folder = directory or (path.resolve().parent if path else Path())
    try:
        found = candidates(
            text,
            offset,
            document="http" if requests else "org",
            files=lambda name: entries(folder, name),
            environ=os.environ,
        )
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--offset") from None
    objects = [
        {
            "label": one.label,
            "kind": one.kind,
            "start": one.span.start,
            "end": one.span.end,
            "insert": one.insert,
            "documentation": one.documentation,
        }
        for one in found
    ]
    click.echo(json.dumps(objects))


@click.command()
@click.option(
    "--tcp",
    metavar="[HOST:]PORT",
    help="Listen there (127.0.0.1 without HOST; port 0: a free one) instead of using stdio.",
)
@click.option(
    "--stdio",
    is_flag=True,
    expose_value=False,
    help="Use standard input and output, as without options: some editors say so.",
)
def lsp(tcp: str | None) -> None:
    """Serve an editor as a language server.

    On standard input and output, or with --tcp for the first client that connects there. Whoever
    can connect can read files beside the documents and send requests.
    """
    from orgrest.lsp import serve_stdio, serve_tcp

    if tcp is None:
        sys.exit(serve_stdio())
    host, _, port = tcp.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise click.BadParameter(f"{tcp} is not [HOST:]PORT", param_hint="--tcp")

    def announce(found: int) -> None:
        click.echo(f"orgrest: listening on port {found}", err=True)

    try:
        sys.exit(serve_tcp(host.strip("[]") or "127.0.0.1", int(port), announce))
    except OSError as error:
        raise click.ClickException(f"cannot listen on {tcp}: {error.strerror}") from error
