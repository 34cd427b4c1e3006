"""The commands that editors use: ``orgrest lsp`` and ``orgrest emacs``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from orgrest.commands import program
from orgrest.commands.console import complain


@program.command()
def emacs() -> None:
    """Print a line that sets up orgrest in Emacs's init file.

    The line loads orgrest.el from the Python package, and sets the command that runs orgrest. If
    the package is removed later, Emacs still starts without an error.

    \b
    orgrest emacs >> ~/.emacs.d/init.el
    """
    folder = str(Path(__file__).parents[1] / "editor")
    # -P: never import a click.py from the document's folder
    command = (sys.executable, "-P", "-m", "orgrest")
    words = " ".join(_lisp(word) for word in command)
    line = (
        f"(let ((folder {_lisp(folder)})) (add-to-list 'load-path folder) (if (require "
        f"'orgrest nil t) (setq orgrest-command '({words})) (message \"orgrest is no longer in "
        '%s: update this line of your init file" folder)))'
    )
    try:
        click.echo(line.encode() + b"\n", nl=False)
    except UnicodeEncodeError:
        complain(f"cannot print the line, because the name of a folder in it is not UTF-8: {line}")
        sys.exit(2)


def _lisp(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n").replace("\r", "\\r") + '"'


@program.command()
@click.option(
    "--tcp",
    metavar="[HOST:]PORT",
    help=(
        "Listen on this address instead of using stdio (HOST: 127.0.0.1 by default; port 0: any "
        "free port)."
    ),
)
@click.option(
    "--stdio",
    is_flag=True,
    expose_value=False,
    help="Use standard input and output, which is the default (some editors pass this option).",
)
def lsp(tcp: str | None) -> None:
    """Run a language server for an editor.

    The editor communicates through standard input and output. With --tcp, the server listens on a
    TCP port instead, and serves the first client that connects. Any program that can connect can
    send requests, and can read files in the documents' folders and repositories.

    \b
    orgrest lsp
    orgrest lsp --tcp 4711
    """
    from orgrest.editor.server import types_on_demand

    types_on_demand.load()
    from orgrest.editor.server.start import serve_stdio, serve_tcp

    if tcp is None:
        sys.exit(serve_stdio())
    host, _, port = tcp.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise click.BadParameter(f"expected [HOST:]PORT, found {tcp}", param_hint="--tcp")

    def announce(free_port: int) -> None:
        complain(f"listening on port {free_port}")

    try:
        sys.exit(serve_tcp(host.strip("[]") or "127.0.0.1", int(port), announce))
    except OSError as error:
        raise click.ClickException(f"could not listen on {tcp}: {error.strerror}") from error
