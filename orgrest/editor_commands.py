"""The commands that serve editors."""

from __future__ import annotations

import json
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import click

from orgrest.files import write_result
from orgrest.model import OrgrestError


@click.command()
def emacs() -> None:
    """Print the line that sets Emacs up, for the init file.

    It loads the package's own orgrest.el and names the Python that has orgrest.
    """
    folder = str(files("orgrest") / "editors")
    # -P: a click.py in the folder of a document is not to be imported
    command = (sys.executable, "-P", "-m", "orgrest")
    words = " ".join(_lisp(word) for word in command)
    line = (
        f"(progn (add-to-list 'load-path {_lisp(folder)}) (require 'orgrest) "
        f"(setq orgrest-command '({words})))"
    )
    try:
        click.echo(line.encode() + b"\n", nl=False)
    except UnicodeEncodeError:
        click.echo(f"orgrest: the name of a folder is not UTF-8: {line}", err=True)
        sys.exit(2)


def _lisp(text: str) -> str:
    """Write a text as an Emacs Lisp string that stands on one line."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n").replace("\r", "\\r") + '"'


_CALL: dict[str, type | tuple[type, ...]] = {
    "document": str,
    "file": str,
    "directory": str,
    "line": int,
    "body": str,
    "arguments": dict,
    "results": list,
    "values": dict,
    "literal": dict,
}


@click.command()
def babel() -> None:
    """Evaluate a block for Org Babel; used by orgrest.el.

    Standard input is a JSON object: "document", the whole text, of the file "file" in the folder
    "directory"; the "line" of the block, its "body" with all references expanded, its header
    "arguments" (texts, or null), the words of its "results", and its variables: "values" as they
    are written in the document, which may hold variables, and "literal" ones.

    Prints a JSON object: "result", what Babel's function is to return (a text, a list of items,
    rows in which null is a rule, or null), "notes", and in "old", unless it is null, from where to
    where an old result stands that Org would not remove; or, with status 1, "error".
    """
    from orgrest import arguments as header
    from orgrest import data
    from orgrest.evaluate import Evaluation, Options
    from orgrest.transport import Client
    from orgrest.variables import Scope

    call = _read_call(sys.stdin.buffer.read())
    arguments = header.Arguments(
        {name: None if value is None else str(value) for name, value in call["arguments"].items()},
        tuple(map(str, call["results"])),
        dict.fromkeys([*call["values"], *call["literal"]], ""),
    )
    scope = Scope.of_user(call["file"], Path(call["directory"]))
    try:
        with Client() as client:
            evaluation = Evaluation(
                call["document"], file=call["file"], scope=scope, client=client, options=Options()
            )
            reply = evaluation.babel(
                call["line"],
                call["body"],
                arguments,
                {name: data.to_text(value) for name, value in call["values"].items()},
                {name: data.to_text(value) for name, value in call["literal"].items()},
            )
        for path, content in reply.outcome.files:
            write_result(path, content)
    except OrgrestError as error:
        click.echo(json.dumps({"error": _safe(str(error), scope.secrets)}))
        sys.exit(1)
    notes = [_safe(note, scope.secrets) for note in reply.outcome.notes]
    click.echo(json.dumps({"result": reply.value, "notes": notes, "old": reply.old}))


def _read_call(text: bytes) -> dict[str, Any]:
    try:
        call = json.loads(text)
    except ValueError as error:
        raise click.UsageError(f"standard input is not JSON: {error}") from error
    if not isinstance(call, dict):
        raise click.UsageError("standard input is not a JSON object")
    for name, kind in _CALL.items():
        if not isinstance(call.get(name), kind):
            raise click.UsageError(f"the JSON object has no {name}, or one of the wrong type")
    return call


def _safe(text: str, secrets: frozenset[str]) -> str:
    from orgrest.results import mask, visible

    return visible(mask(text, secrets))


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
    from orgrest.server import serve_stdio, serve_tcp

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
