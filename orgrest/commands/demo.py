"""The command ``orgrest demo``, which evaluates a sample document against a local server.

This document is the tour, `tour.org` in this folder. It is an ordinary document, except that it
has `@PORT@` in place of the server's port.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orgrest.commands import program

if TYPE_CHECKING:
    from collections.abc import Callable

PORT = "@PORT@"


@program.command()
@click.argument("path", required=False, type=click.Path(path_type=Path, dir_okay=False))
def demo(path: Path | None) -> None:
    """Run a tour of orgrest against a server on this machine.

    The first request is printed with its response. The whole tour, an Org document with all
    responses, is written to PATH, which must not exist yet, or to a temporary file.

    \b
    orgrest demo tour.org
    """
    succeeded = run(path, click.echo)
    sys.exit(0 if succeeded else 1)


def tour(port: int) -> str:
    """Return the text of the tour for a server on this port."""
    text = Path(__file__).with_name("tour.org").read_text("utf-8")
    return text.replace(PORT, str(port))


def run(path: Path | None, say: Callable[[str], None]) -> bool:
    """Evaluate the tour and write it to `path`, or to a temporary file if `path` is None.

    Returns whether all requests succeeded. `say` prints text. Raises FileError if `path` exists or
    cannot be written.
    """
    import tempfile

    from orgrest.commands.demo_server import serve
    from orgrest.files import FileError, write
    from orgrest.http.transport.client import Client
    from orgrest.http.values import Inputs
    from orgrest.run.run import Run
    from orgrest.run.services import Services
    from orgrest.run.settings import Settings

    if path is None:
        number, name = tempfile.mkstemp(prefix="orgrest-tour-", suffix=".org")
        os.close(number)
        path = Path(name)
    elif path.exists():
        raise FileError(
            "the file already exists: move it, or choose another path",
            file=str(path),
        )
    with serve() as port, Client() as client:
        folder = path.resolve().parent
        done = Run(
            tour(port),
            file=str(path),
            settings=Settings(Inputs(directory=folder, environ=os.environ)),
            services=Services(client=client),
        )
        outcomes = list(done.outcomes())
    write(path, done.document.text.encode())
    say("\n* ".join(done.document.text.split("\n* ")[:2]))
    failed = [outcome for outcome in outcomes if outcome.state == "failed"]
    for outcome in failed:
        say(str(outcome.reason))
    answered = sum(len(outcome.exchanges) for outcome in outcomes)
    say(f"{answered} requests answered, {len(failed)} failed. The whole tour is in {path}")
    say("Its first section is shown above. Next, read the tutorial: docs/orgrest/tutorial.md")
    return not failed
