"""The commands that serve editors."""

from __future__ import annotations

import sys

import click


@click.command()
@click.option(
    "--tcp",
    metavar="[HOST:]PORT",
    help="Listen there (127.0.0.1 without HOST; port 0: a free one) instead of using stdio.",
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
