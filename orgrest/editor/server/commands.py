"""The commands of the language server, for any editor to bind to a key: `COMMANDS`.

Each takes one argument, `{"uri": ..., "line": N}` (lines from 0; `position` may stand for `line`):

- ``orgrest.send`` sends the request there. In a request file the answer is shown in a document of
  its own, and the command gives `{"text", "language", "status", "duration", "uri", ...}`; in an Org
  file the result is put in below the block, and it gives `{"line", "state", "message", ...}`.
- ``orgrest.sendAllAbove`` sends all from the top to that line; `results` has what each gave.
- ``orgrest.copyAsCurl`` gives the request as a curl command, secrets included: it has to work.
- ``orgrest.chooseEnvironment`` asks for the environment of the documents in this folder, remembers
  it, and gives `{"environments", "chosen"}`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

import attrs
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from orgrest.editor.positions import Place
from orgrest.editor.server.documents import Document
from orgrest.editor.server.run import Run
from orgrest.editor.server.sending import send
from orgrest.editor.server.server import Server
from orgrest.http.values import Scope
from orgrest.model import OrgrestError
from orgrest.org.blocks import ALL_LANGUAGES
from orgrest.rendering.masking import mask
from orgrest.rendering.sanitize import visible
from orgrest.run.settings import Settings

_NO_ENVIRONMENT = "no environment"

Token: TypeAlias = int | str | None
"""What the client calls the progress of a command; None where it is not to be shown."""


async def _send(server: Server, document: Document, line: int, token: Token) -> dict[str, Any]:
    number = document.text.line_number(document.text.offset(Place(line, 0)))
    settings = Settings(server.inputs(document), languages=ALL_LANGUAGES, lines=(number,))
    found = await send(server, document, settings, token)
    return {"line": line, **(found[0] if found else {"state": "skipped", "message": "nothing"})}


async def _send_all_above(
    server: Server, document: Document, line: int, token: Token
) -> dict[str, Any]:
    number = document.text.line_number(document.text.offset(Place(line, 0)))
    settings = Settings(server.inputs(document), until=number)
    found = await send(server, document, settings, token)
    texts = [one["text"] for one in found if "text" in one]
    last = found[-1] if found else {"state": "skipped", "message": "no request above"}
    whole = {"text": "\n".join(texts)} if texts else {}
    return {"line": line, **last, **whole, "results": found}


async def _copy_as_curl(server: Server, document: Document, line: int, _token: Token) -> str:
    from orgrest.http.curl import to_command

    number = document.text.line_number(document.text.offset(Place(line, 0)))
    run = Run(
        document.text.text,
        file=document.name,
        settings=Settings(
            server.inputs(document),
            languages=ALL_LANGUAGES,
            lines=(number,),
            dry_run=True,
            complete=True,
        ),
        plain=document.kind == "http",
    )
    commands: list[str] = []
    try:
        async for outcome in run.outcomes():
            if outcome.reason is not None:
                reason = visible(mask(outcome.reason.reason, outcome.secrets))
                raise JsonRpcException(reason, types.LSPErrorCodes.RequestFailed)
            commands += (to_command(exchange.request) for exchange in outcome.exchanges)
    except OrgrestError as error:
        raise JsonRpcException(error.reason, types.LSPErrorCodes.RequestFailed) from error
    return "\n".join(commands)


async def _choose_environment(
    server: Server, document: Document, _line: int, _token: Token
) -> dict[str, Any]:
    folder = server.folder(document)
    try:
        names = Scope(server.inputs(document)).environment.every.names
    except OrgrestError as error:
        raise JsonRpcException(visible(str(error)), types.LSPErrorCodes.RequestFailed) from error
    if not names:
        reason = "there is no environment: no environment file is beside the document"
        raise JsonRpcException(reason, types.LSPErrorCodes.RequestFailed)
    now = ", ".join(server.choices.of(folder)) or _NO_ENVIRONMENT
    question = f"Environment of the documents in {folder.name}? It is {now} now."
    answer = await server.choose(question, (*names, _NO_ENVIRONMENT), types.MessageType.Info)
    if answer is not None and answer in (*names, _NO_ENVIRONMENT):
        try:
            server.choices.choose(folder, () if answer == _NO_ENVIRONMENT else (answer,))
        except OrgrestError as error:
            server.show_message(f"the choice is not remembered: {error}", types.MessageType.Warning)
        server.look_again()
    return {"environments": list(names), "chosen": list(server.choices.of(folder))}


@attrs.frozen
class Command:
    """A command: what menus call it, and what runs it; that is given the line (from 0)."""

    title: str
    run: Callable[[Server, Document, int, Token], Awaitable[Any]]


COMMANDS: Mapping[str, Command] = {
    "orgrest.send": Command("Send request", _send),
    "orgrest.sendAllAbove": Command("Send all above", _send_all_above),
    "orgrest.copyAsCurl": Command("Copy as curl", _copy_as_curl),
    "orgrest.chooseEnvironment": Command("Choose environment", _choose_environment),
}


def command(name: str, uri: str, line: int) -> types.Command:
    """Return one of the commands for a line, as the protocol has it."""
    return types.Command(COMMANDS[name].title, name, arguments=[{"uri": uri, "line": line}])
