"""The files that a client watches for the server: what open documents are checked against."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from orgrest.files import REQUEST_SUFFIXES
from orgrest.http.values import environments

if TYPE_CHECKING:
    from orgrest.editor.server.server import Server


async def watch_files(server: Server, _: types.InitializedParams) -> None:
    """Ask the client to watch environment files and request files, if it lets servers ask."""
    if not server.can("workspace", "did_change_watched_files", "dynamic_registration"):
        return
    names = (*environments.PATTERNS, *(f"*{suffix}" for suffix in sorted(REQUEST_SUFFIXES)))
    watchers = [types.FileSystemWatcher(f"**/{name}") for name in names]
    registration = types.Registration(
        "orgrest-files",
        types.WORKSPACE_DID_CHANGE_WATCHED_FILES,
        types.DidChangeWatchedFilesRegistrationOptions(watchers),
    )
    try:
        await server.client_register_capability_async(types.RegistrationParams([registration]))
    except JsonRpcException as error:
        server.log(f"files are not watched: {error.message}", types.MessageType.Warning)
