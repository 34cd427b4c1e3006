"""The commands for editors."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import click

from orgrest.commands import program
from orgrest.commands.completion import documents
from orgrest.commands.console import complain, safe, text_of
from orgrest.commands.options import inputs_of, settings_of, with_options
from orgrest.options import EXPORT


@program.command()
def emacs() -> None:
    """Print the line of the init file that sets up Emacs.

    It loads the package's own orgrest.el and names the Python that has orgrest. Emacs starts
    without an error when they are gone.

    \b
    orgrest emacs >> ~/.emacs.d/init.el
    """
    folder = str(Path(__file__).parents[1] / "editor")
    # -P: never import a click.py from the document's folder
    command = (sys.executable, "-P", "-m", "orgrest")
    words = " ".join(_lisp(word) for word in command)
    line = (
        f"(let ((folder {_lisp(folder)})) (add-to-list 'load-path folder) "
        f"(if (require 'orgrest nil t) (setq orgrest-command '({words})) "
        '(message "orgrest is not in %s any more: see this line of the init file" folder)))'
    )
    try:
        click.echo(line.encode() + b"\n", nl=False)
    except UnicodeEncodeError:
        complain(f"the name of a folder is not UTF-8: {line}")
        sys.exit(2)


def _lisp(text: str) -> str:
    """Return a text as a one-line Emacs Lisp string."""
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


@program.command()
@click.option("--serve", is_flag=True, help="Answer an object a line, until the input ends.")
def babel(serve: bool) -> None:
    """Evaluate a block for Org Babel.

    Used by orgrest.el. Standard input is a JSON object: "document", the whole text, of the file
    "file" in the folder "directory"; the "line" of the block, its "body" with all references
    expanded, its header "arguments" (texts, or null), the words of its "results", and its
    variables: "values" as they are written in the document, which may hold variables, and "literal"
    ones.

    Prints a JSON object: "result", what Babel's function is to return (a text, a list of items,
    rows in which null is a rule, or null), "notes", and in "old", unless it is null, from where to
    where an old result stands that Org would not remove; or, with status 1, "error".

    \b
    orgrest babel < call.json
    """
    if not serve:
        answer = _evaluated(_read_call(sys.stdin.buffer.read()))
        click.echo(json.dumps(answer))
        sys.exit("error" in answer)
    for line in sys.stdin.buffer:
        try:
            call = _read_call(line)
            with contextlib.suppress(OSError):  # calls are independent of each other
                os.chdir(call["directory"])
            answer = _evaluated(call)
        except click.UsageError as error:
            answer = {"error": error.message}
        click.echo(json.dumps(answer))


def _evaluated(call: dict[str, Any]) -> dict[str, Any]:
    """Evaluate the block that a call from Babel describes; return the object to print."""
    from orgrest.editor import babel as evaluation
    from orgrest.http.transport.client import Client
    from orgrest.http.values import Inputs
    from orgrest.model import OrgrestError
    from orgrest.org import arguments as header
    from orgrest.org import data
    from orgrest.run import writable_files

    arguments = header.Arguments(
        {name: None if value is None else str(value) for name, value in call["arguments"].items()},
        tuple(map(str, call["results"])),
        dict.fromkeys([*call["values"], *call["literal"]], ""),
    )
    inputs = Inputs.of_user(Path(call["directory"]))
    try:
        with Client() as client:
            reply = evaluation.evaluate(
                call["document"],
                evaluation.Call(
                    call["line"],
                    call["body"],
                    arguments,
                    {name: data.to_text(value) for name, value in call["values"].items()},
                    {name: data.to_text(value) for name, value in call["literal"].items()},
                ),
                file=call["file"],
                inputs=inputs,
                client=client,
            )
        for path, content in reply.outcome.files:
            writable_files.write(path, content)
    except OrgrestError as error:
        return {"error": safe(str(error), frozenset())}
    notes = [safe(note, reply.outcome.secrets) for note in reply.outcome.notes]
    return {"result": reply.value, "notes": notes, "old": reply.old}


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


@program.command()
@click.argument("file", shell_complete=documents)
@with_options(EXPORT)
def curl(file: str, **given: Any) -> None:
    """Print requests as complete curl commands, secrets included.

    Used by orgrest.el. Nothing is sent; a request that needs another one's response is an error.

    \b
    orgrest curl api.http --line 12
    """
    import attrs

    from orgrest.convert.curl import to_command
    from orgrest.files import is_request_file
    from orgrest.org.blocks import ALL_LANGUAGES
    from orgrest.run.run import Run
    from orgrest.run.services import Services

    path, text = text_of(file, given["stdin_name"])
    found = settings_of(EXPORT, given, inputs_of(EXPORT, given, path.resolve().parent))
    settings = attrs.evolve(found, languages=ALL_LANGUAGES, dry_run=True, complete=True)
    services, plain = Services.of_user(), is_request_file(path)
    run = Run(text, file=str(path), settings=settings, services=services, plain=plain)
    commands: list[str] = []
    for outcome in run.outcomes():
        if outcome.reason is not None:
            complain(safe(str(outcome.reason), outcome.secrets))
            sys.exit(1)
        commands += (to_command(exchange.request) for exchange in outcome.exchanges)
    click.echo("\n".join(commands))


@program.command()
@click.argument("file", default="-", shell_complete=documents)
@click.option("--offset", type=int, required=True, metavar="N", help="The offset, in characters.")
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
    """Print the completion candidates at an offset, as JSON.

    The offset is in FILE, or in standard input: the number of characters before it, where a line
    end is one character. Each candidate is an object: label, kind, start, end (what is replaced),
    insert, documentation.

    \b
    orgrest complete notes.org --offset 120
    """
    from orgrest.editor.completion import complete as candidates
    from orgrest.editor.used_files import Described
    from orgrest.files import File, FileError, decode, entries, is_request_file
    from orgrest.http.values import Context, Inputs

    path = None if file == "-" else Path(file)
    try:
        text = decode(sys.stdin.buffer.read())[0] if path is None else File.read(path).text
    except FileError as error:
        complain(str(error))
        sys.exit(2)
    requests = document == "http" or (
        document is None and path is not None and is_request_file(path)
    )
    folder = directory or (path.resolve().parent if path else Path())
    described = Described()
    try:
        found = candidates(
            text,
            offset,
            document="http" if requests else "org",
            files=lambda name: entries(folder, name),
            environ=os.environ,
            described=lambda name: described.get(name, Context(Inputs.of_user(folder))),
            beside=lambda: described.beside(Context(Inputs.of_user(folder))),
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


@program.command()
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
        raise click.BadParameter(f"{tcp} is not [HOST:]PORT", param_hint="--tcp")

    def announce(found: int) -> None:
        complain(f"listening on port {found}")

    try:
        sys.exit(serve_tcp(host.strip("[]") or "127.0.0.1", int(port), announce))
    except OSError as error:
        raise click.ClickException(f"cannot listen on {tcp}: {error.strerror}") from error
