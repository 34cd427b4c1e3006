"""The commands of the language server (`COMMANDS`), which any editor can bind to keys.

Each takes one argument, `{"uri": ..., "line": N}` (lines count from 0; a `position` may replace
`line`):

- ``orgrest.send`` sends the request at that line. In a request file the response is shown in a
  separate document, and the command returns `{"text", "language", "status", "duration", "uri",
  ...}`; in an Org file the result is inserted below the block, and the command returns
  `{"line", "outcome", "message", ...}`.
- ``orgrest.sendAllAbove`` sends all requests from the top to that line; `results` lists the result
  of each.
- ``orgrest.copyAsCurl`` returns the request as a working curl command, secrets included.
- ``orgrest.cancel`` ends all runs over the document, and returns their number.
- ``orgrest.chooseEnvironment`` asks for the environment of the documents in this folder, remembers
  it, and returns `{"environments", "chosen"}`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

import attrs
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from orgrest.editor.positions import Place
from orgrest.editor.server.documents import Document
from orgrest.editor.server.server import Server
from orgrest.http.values import Context
from orgrest.model import OrgrestError, explained
from orgrest.org.blocks import ALL_LANGUAGES
from orgrest.rendering.masking import mask
from orgrest.rendering.sanitize import visible
from orgrest.run.settings import Settings

_NO_ENVIRONMENT = "no environment"

Token: TypeAlias = int | str | None
"""The client's progress token for a command; None to show no progress."""


async def _send(server: Server, document: Document, line: int, token: Token) -> dict[str, Any]:
    from orgrest.editor.server.sending import send

    number = document.text.line_number(document.text.offset(Place(line, 0)))
    settings = Settings(server.inputs(document), languages=ALL_LANGUAGES, lines=(number,))
    found = await send(server, document, settings, token)
    return {"line": line, **(found[0] if found else {"outcome": "skipped", "message": "nothing"})}


async def _send_all_above(
    server: Server, document: Document, line: int, token: Token
) -> dict[str, Any]:
    from orgrest.editor.server.sending import send

    number = document.text.line_number(document.text.offset(Place(line, 0)))
    settings = Settings(server.inputs(document), until=number)
    found = await send(server, document, settings, token)
    texts = [one["text"] for one in found if "text" in one]
    last = found[-1] if found else {"outcome": "skipped", "message": "no request above"}
    whole = {"text": "\n".join(texts)} if texts else {}
    return {"line": line, **last, **whole, "results": found}


async def _copy_as_curl(server: Server, document: Document, line: int, _token: Token) -> str:
    from orgrest.convert.curl import to_command
    from orgrest.editor.server.background_run import BackgroundRun

    number = document.text.line_number(document.text.offset(Place(line, 0)))
    run = BackgroundRun(
        document.text.text,
        file=document.name,
        settings=Settings(
            server.inputs(document),
            languages=ALL_LANGUAGES,
            lines=(number,),
            dry_run=True,
            complete=True,
        ),
        services=server.services(document),
        plain=document.kind == "http",
        prompt=partial(server.prompt, document) if server.wants("prompts") else None,
    )
    commands: list[str] = []
    try:
        async for outcome in run.outcomes():
            if outcome.reason is not None:
                reason = visible(mask(outcome.reason.reason, outcome.secrets))
                raise JsonRpcException(reason, types.LSPErrorCodes.RequestFailed)
            commands += (to_command(exchange.request) for exchange in outcome.exchanges)
    except JsonRpcException:
        raise
    except Exception as error:
        reason = explained(error).reason
        raise JsonRpcException(reason, types.LSPErrorCodes.RequestFailed) from error
    return "\n".join(commands)


async def _choose_environment(
    server: Server, document: Document, _line: int, _token: Token
) -> dict[str, Any]:
    folder = server.folder(document)
    names = _environment_names(server, document)
    if not names:
        reason = "there is no environment: no environment file is beside the document"
        raise JsonRpcException(reason, types.LSPErrorCodes.RequestFailed)
    now = ", ".join(server.choices.of(folder)) or _NO_ENVIRONMENT
    question = f"Environment of the documents in {folder.name}? It is {now} now."
    answer = await server.choose(question, (*names, _NO_ENVIRONMENT), types.MessageType.Info)
    if answer is not None and answer in (*names, _NO_ENVIRONMENT):
        _choose(server, document, () if answer == _NO_ENVIRONMENT else (answer,))
    return {"environments": list(names), "chosen": list(server.choices.of(folder))}


async def _cancel(server: Server, document: Document, _line: int, _token: Token) -> int:
    runs = [run for run in server.runs if run.file == document.name]
    for run in runs:
        run.cancel()
    return len(runs)


def environments(server: Server, params: Any) -> dict[str, Any]:
    """Answer `orgrest/environments`: the names around a document, and those chosen for its folder.

    With `chosen`, these are chosen now. Raises JsonRpcException if an environment file is invalid,
    or if no file has an environment of this name.
    """
    document, _ = server.target([{"uri": params.textDocument.uri, "line": 0}])
    names = _environment_names(server, document)
    chosen = getattr(params, "chosen", None)
    if isinstance(chosen, list):
        if unknown := [one for one in chosen if one not in names]:
            reason = f"there is no environment {', '.join(map(str, unknown))}"
            raise JsonRpcException(visible(reason), types.LSPErrorCodes.RequestFailed)
        _choose(server, document, tuple(chosen))
    return {"environments": list(names), "chosen": list(server.choices.of(server.folder(document)))}


def _choose(server: Server, document: Document, names: tuple[str, ...]) -> None:
    try:
        server.choices.choose(server.folder(document), names)
    except OrgrestError as error:
        server.show_message(f"the choice is not remembered: {error}", types.MessageType.Warning)
    server.look_again()


def _environment_names(server: Server, document: Document) -> tuple[str, ...]:
    try:
        return tuple(Context(server.inputs(document)).environment.every.names)
    except OrgrestError as error:
        raise JsonRpcException(visible(str(error)), types.LSPErrorCodes.RequestFailed) from error


@attrs.frozen
class Command:
    """A command: its title, its handler, which gets the line (from 0), whether menus list it."""

    title: str
    run: Callable[[Server, Document, int, Token], Awaitable[Any]]
    in_menu: bool = True


COMMANDS: Mapping[str, Command] = {
    "orgrest.send": Command("Send request", _send),
    "orgrest.sendAllAbove": Command("Send all above", _send_all_above),
    "orgrest.copyAsCurl": Command("Copy as curl", _copy_as_curl),
    "orgrest.cancel": Command("Cancel", _cancel, in_menu=False),
    "orgrest.chooseEnvironment": Command("Choose environment", _choose_environment),
}


def command(name: str, uri: str, line: int) -> types.Command:
    """Return a command for a line as the protocol's type."""
    return types.Command(COMMANDS[name].title, name, arguments=[{"uri": uri, "line": line}])
