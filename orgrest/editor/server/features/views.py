"""Data for editors' own views: the history, and a document's session.

The requests `orgrest/history` and `orgrest/session`, and `orgrest/pasted` for text that is about to
be pasted; docs/language-server.md describes them. No secret is in any answer.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams
from pygls.uris import to_fs_path

from orgrest.editor.server.documents import to_place
from orgrest.model import OrgrestError, Span
from orgrest.rendering.masking import mask
from orgrest.rendering.sanitize import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orgrest.editor.server.server import Server
    from orgrest.run.history import KeptRun
    from orgrest.run.record import Record

_MOST_RUNS = 50
_MOST_REQUESTS = 1000
"""The maximum number of requests listed from the history."""


async def history(server: Server, params: Any) -> dict[str, Any]:
    """Answer `orgrest/history`: the last runs, or with `run` and `number` one request of a run.

    Raises JsonRpcException if there is no history, or if it does not contain that request.
    """
    run, number = getattr(params, "run", None), getattr(params, "number", None)
    folders = getattr(params, "folders", None)
    try:
        if run is None:
            return {"runs": await asyncio.to_thread(_runs, _paths(folders))}
        if not isinstance(run, str) or not isinstance(number, int):
            raise JsonRpcInvalidParams("a run is an id, a number is that of a request in it")
        return await asyncio.to_thread(_answer, server, run, number)
    except OrgrestError as error:
        reason = visible(str(error))
        raise JsonRpcException(reason, types.LSPErrorCodes.RequestFailed) from error


def _paths(given: Any) -> list[Path]:
    """Return the folders with these URIs; URIs that are not files are left out."""
    uris = [one for one in given if isinstance(one, str)] if isinstance(given, list) else []
    found = [to_fs_path(one) for one in uris if urlsplit(one).scheme == "file"]
    return [Path(one) for one in found if one]


def _runs(folders: list[Path]) -> list[dict[str, Any]]:
    """Return the last runs; with `folders`, those of documents below one of them."""
    from orgrest.run.history import runs

    found: list[dict[str, Any]] = []
    count = 0
    for run in runs():
        documents = [Path(run.directory, one) for one in run.documents]
        if folders and not any(one.is_relative_to(x) for one in documents for x in folders):
            continue
        requests = [_summary(run, number) for number in range(len(run.records))]
        found.append({"run": run.id, "started": run.started, "cut": run.cut, "requests": requests})
        count += len(requests)
        if len(found) == _MOST_RUNS or count > _MOST_REQUESTS:
            break
    return found


def _summary(run: KeptRun, number: int) -> dict[str, Any]:
    record = run.records[number]
    last = record["exchanges"][-1] if record["exchanges"] else None
    response = last["response"] if last else None
    return {
        "number": number,
        "uri": _file(run, record).as_uri(),
        "line": (record["line"] or 1) - 1,
        "name": record["name"],
        "outcome": record["outcome"],
        "method": last["request"]["method"] if last else "",
        "url": last["request"]["url"] if last else "",
        "status": response["status"] if response else None,
    }


def _file(run: KeptRun, record: Record) -> Path:
    """Return the file that contains a request of a run: its document, or an imported file."""
    document = Path(run.directory, record["document"])
    same = record["file"] == record["document"]
    return document if same else document.parent / record["file"]


def _answer(server: Server, which: str, number: int) -> dict[str, Any]:
    """Return a request of the history in the format of `orgrest/response`."""
    from orgrest.run.history import run_called, runs

    run = run_called(which, runs())
    if not 0 <= number < len(run.records):
        raise OrgrestError(f"the run {which} has no request {number} any more")
    record = run.records[number]
    for exchange in record["exchanges"]:
        if exchange["response"] is not None:
            shown = dict(_shown(server, exchange["request"], exchange["response"]))
            exchange["response"]["body"] |= shown
    uri = _file(run, record).as_uri()
    return {
        "token": None,
        "textDocument": {"uri": Path(run.directory, record["document"]).as_uri(), "version": 0},
        "request": {"uri": uri, "line": (record["line"] or 1) - 1},
        "record": record,
    }


def _shown(server: Server, request: Record, kept: Record) -> Iterator[tuple[str, Any]]:
    """Yield the fields that an editor needs to show a body, as far as it was kept."""
    from base64 import b64decode

    from orgrest.editor.server.notifications import shown
    from orgrest.model import Request, Response
    from orgrest.rendering.results import render
    from orgrest.run.outcomes import Exchange

    body = kept["body"]
    kind = body["type"].partition(";")[0]
    if "text" in body:
        kind, data = f"{kind}; charset=utf-8", body["text"].encode()
    else:
        data = b64decode(body["base64"])
    sent = Request(request["method"], request["url"])
    response = Response(
        kept["status"], kept["reason"], kept["version"], (("Content-Type", kind),), data, 0, ""
    )
    exchange = Exchange(sent, response, render(sent, response))
    yield from shown(exchange, response, frozenset(), server.bodies)
    if body["cut"]:
        yield "problem", "The history keeps only the beginning of this body."


def session(server: Server, params: Any) -> dict[str, Any]:
    """Answer `orgrest/session`: the cookies and the captured variables of an open document.

    With `clear`, `cookies` or `variables`, these are forgotten now.
    """
    from datetime import UTC, datetime

    from orgrest.http.transport.cookies import domain_of
    from orgrest.http.values.global_variables import GlobalVariables, text_of

    document, _ = server.target([{"uri": params.textDocument.uri, "line": 0}])
    clear = getattr(params, "clear", None)
    if clear == "cookies":
        document.cookies.clear()
    elif clear == "variables":
        document.captured = {}
        document.globals = GlobalVariables()
        server.look_soon(document, 0)
    elif clear is not None:
        raise JsonRpcInvalidParams("what is cleared is `cookies` or `variables`")
    cookies = [
        {
            "name": one.name,
            "domain": domain_of(one),
            "path": one.path,
            "expires": one.expires and datetime.fromtimestamp(one.expires, UTC).isoformat(),
        }
        for one in document.cookies
    ]
    secrets = document.secrets | document.globals.secrets()
    set_by_scripts = {name: text_of(one) for name, one in document.globals.values.items()}
    variables = [
        {"name": name, "value": visible(mask(value, secrets))}
        for name, value in {**document.captured, **set_by_scripts}.items()
    ]
    return {"cookies": cookies, "variables": variables}


async def pasted(server: Server, params: Any) -> dict[str, str] | None:
    """Answer `orgrest/pasted`: the replacement for a text pasted over a range of a document.

    None if the text is not in a format that can be imported, or requests cannot be inserted there.
    """
    from orgrest.editor.pasted import find

    document, _ = server.target([{"uri": params.textDocument.uri, "line": 0}])
    if not isinstance(params.text, str):
        raise JsonRpcInvalidParams("what is pasted is a text")
    old, given = document.text, params.text.replace("\r\n", "\n")
    start, end = (old.offset(to_place(one)) for one in (params.range.start, params.range.end))
    whole = old.text[:start] + given + old.text[end:]
    stop = start + len(given)
    found = await asyncio.to_thread(find, whole, document.kind, Span(start, stop))
    if found is None or found.edit.start < start or whole[stop : found.edit.end].strip():
        return None
    text = whole[start : found.edit.start] + found.edit.text + whole[found.edit.end : stop]
    if found.edit.end > stop:  # keep the line end
        text = text.removesuffix("\n")
    return {"title": found.title, "text": text}
