"""The commands of the language server (`COMMANDS`), which any editor can bind to keys.

Each command takes one argument, `{"uri": ..., "line": N}`. Lines are counted from 0. `position` can
be given instead of `line`.

- ``orgrest.send`` sends the request at that line. In a request file, the response is shown in a
  separate document, and the command returns `{"text", "language", "status", "duration", "uri",
  ...}`. In an Org file, the result is inserted below the block, and the command returns
  `{"line", "outcome", "message", ...}`.
- ``orgrest.sendAllAbove`` sends all requests from the top to that line. In the returned object,
  `results` lists the result of each request.
- ``orgrest.copyAsCurl`` returns the request as a working curl command, secrets included.
- ``orgrest.requestAsHar`` returns the request in HTTP Archive (HAR) format, secrets included.
- ``orgrest.cancel`` cancels all runs of the document, and returns the number of runs.
- ``orgrest.chooseEnvironment`` asks for the environment of the documents in this folder, remembers
  it, and returns `{"environments", "chosen"}`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from orgrest import classes
from orgrest.editor.server.documents import OpenDocument
from orgrest.editor.server.server import Server
from orgrest.http.values import Context
from orgrest.http.values.environments import Environments, why_none
from orgrest.model import OrgrestError, Request, explained
from orgrest.org.blocks import ALL_LANGUAGES
from orgrest.rendering.masking import mask
from orgrest.rendering.sanitize import visible
from orgrest.run.outcomes import Task
from orgrest.run.settings import Settings

_NO_ENVIRONMENT = "no environment"

Token: TypeAlias = int | str | None
"""The client's token for reporting the progress of a command, or None if it is not reported."""


def _settings(server: Server, document: OpenDocument, **given: Any) -> Settings:
    choices = server.choices
    allowed = choices.settings["allowWrite"]
    return Settings(server.inputs(document), allow_write=allowed, timeout=choices.timeout, **given)


async def _send(server: Server, document: OpenDocument, line: int, token: Token) -> dict[str, Any]:
    from orgrest.editor.server.sending import send

    number = document.text.line_number(line)
    settings = _settings(server, document, languages=ALL_LANGUAGES, lines=(number,))
    outcomes = await send(server, document, settings, token)
    return {"line": line, **_first(outcomes, "nothing")}


async def _send_all_above(
    server: Server, document: OpenDocument, line: int, token: Token
) -> dict[str, Any]:
    from orgrest.editor.server.sending import send

    number = document.text.line_number(line)
    settings = _settings(server, document, until=number)
    outcomes = await send(server, document, settings, token)
    texts = [outcome["text"] for outcome in outcomes if "text" in outcome]
    last = _first(outcomes[::-1], "no request above this position")
    whole = {"text": "\n".join(texts)} if texts else {}
    return {"line": line, **last, **whole, "results": outcomes}


def _first(outcomes: list[dict[str, Any]], why: str) -> dict[str, Any]:
    return outcomes[0] if outcomes else {"outcome": "skipped", "message": why}


async def _copy_as_curl(server: Server, document: OpenDocument, line: int, _token: Token) -> str:
    from orgrest.convert.curl import sending, to_command
    from orgrest.run.stages.send import keeps_cookies, options

    commands = []
    for request, task in await _completed(server, document, line):
        words: list[str] = []
        for parsed in task.parsed:
            place = parsed.source.position(parsed.span.start)
            if (place.line, place.column) == (request.line, request.column):
                follows = options(task, parsed, _settings(server, document))["follow"]
                jar = "" if keeps_cookies(task, parsed) else None
                words = sending(follows=follows, jar=jar)
        commands.append(to_command(request, options=words))
    return "\n".join(commands)


async def _request_as_har(
    server: Server, document: OpenDocument, line: int, _token: Token
) -> dict[str, Any] | None:
    from orgrest.convert.har import to_request

    requests = await _completed(server, document, line)
    return to_request(requests[-1][0]) if requests else None


async def _completed(
    server: Server, document: OpenDocument, line: int
) -> list[tuple[Request, Task]]:
    """Return the requests at a line with their variables filled in, each with its task.

    Nothing is sent. Raises JsonRpcException if a variable cannot be filled in.
    """
    from orgrest.editor.server.background_run import BackgroundRun

    number = document.text.line_number(line)
    settings = Settings(
        server.inputs(document),
        languages=ALL_LANGUAGES,
        lines=(number,),
        dry_run=True,
        complete=True,
        allow_write=(Path("/"),),  # no file is written: any name will do
    )
    run = BackgroundRun(server, document, settings, server.services(document))
    requests: list[tuple[Request, Task]] = []
    try:
        async for outcome in run.outcomes():
            if outcome.reason is not None:
                reason = visible(mask(outcome.reason.reason, outcome.secrets))
                raise JsonRpcException(reason, types.LSPErrorCodes.RequestFailed)
            if outcome.task is not None:
                requests += ((exchange.request, outcome.task) for exchange in outcome.exchanges)
    except JsonRpcException:
        raise
    except Exception as error:
        reason = explained(error).reason
        raise JsonRpcException(reason, types.LSPErrorCodes.RequestFailed) from error
    return requests


async def _choose_environment(
    server: Server, document: OpenDocument, _line: int, _token: Token
) -> dict[str, Any]:
    folder = server.folder(document)
    environments = _environments(server, document)
    names = environments.names
    if not names:
        reason = f"no environments: {why_none([environments])}"
        raise JsonRpcException(reason, types.LSPErrorCodes.RequestFailed)
    now = ", ".join(server.choices.of(folder)) or _NO_ENVIRONMENT
    question = f"Select the environment for documents in {folder.name} (currently {now})"
    answer = await server.choose(question, (*names, _NO_ENVIRONMENT), types.MessageType.Info)
    if answer is not None and answer in (*names, _NO_ENVIRONMENT):
        _choose(server, document, () if answer == _NO_ENVIRONMENT else (answer,))
    return {"environments": list(names), "chosen": list(server.choices.of(folder))}


async def _cancel(server: Server, document: OpenDocument, _line: int, _token: Token) -> int:
    runs = [run for run in server.runs if run.file == document.name]
    for run in runs:
        run.cancel()
    return len(runs)


def environments(server: Server, params: Any) -> dict[str, Any]:
    """Answer `orgrest/environments` with the names of all environments, and the chosen names.

    The names come from the client's settings, and from environment files in the document's folder
    and its parents up to the project's root. If the parameters contain `chosen`, these environments
    are first chosen for all documents in the folder. Raises JsonRpcException if an environment file
    is invalid, or if a chosen environment does not exist.
    """
    document = server.document_of(params)
    names = _environments(server, document).names
    chosen = getattr(params, "chosen", None)
    if isinstance(chosen, list):
        if unknown := [name for name in chosen if name not in names]:
            reason = f"no such environment: {', '.join(map(str, unknown))}"
            raise JsonRpcException(visible(reason), types.LSPErrorCodes.RequestFailed)
        _choose(server, document, tuple(chosen))
    return {"environments": list(names), "chosen": list(server.choices.of(server.folder(document)))}


def _choose(server: Server, document: OpenDocument, names: tuple[str, ...]) -> None:
    try:
        server.choices.choose(server.folder(document), names)
    except OrgrestError as error:
        server.show_message(f"could not save the choice: {error}", types.MessageType.Warning)
    server.look_again()


def _environments(server: Server, document: OpenDocument) -> Environments:
    try:
        return Context(server.inputs(document)).environment.every
    except OrgrestError as error:
        raise JsonRpcException(visible(str(error)), types.LSPErrorCodes.RequestFailed) from error


@classes.frozen
class Command:
    """A command: its title, its handler, and whether menus list it.

    The handler gets the number of the line, counted from 0.
    """

    title: str
    run: Callable[[Server, OpenDocument, int, Token], Awaitable[Any]]
    in_menu: bool = True


COMMANDS: Mapping[str, Command] = {
    "orgrest.send": Command("Send request", _send),
    "orgrest.sendAllAbove": Command("Send all above", _send_all_above),
    "orgrest.copyAsCurl": Command("Copy as curl", _copy_as_curl),
    "orgrest.requestAsHar": Command("As an HTTP archive", _request_as_har, in_menu=False),
    "orgrest.cancel": Command("Cancel", _cancel, in_menu=False),
    "orgrest.chooseEnvironment": Command("Select environment", _choose_environment),
}


def command(name: str, uri: str, line: int) -> types.Command:
    """Return the LSP command `name` for a line. Lines are counted from 0."""
    return types.Command(COMMANDS[name].title, name, arguments=[{"uri": uri, "line": line}])
