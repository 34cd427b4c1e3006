"""The requests `orgrest/history` and `orgrest/pasted` (for text that is about to be pasted).

Their responses contain no secrets. docs/language-server.md describes them.
"""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams
from pygls.uris import to_fs_path

from orgrest.editor.server.documents import to_span
from orgrest.model import OrgrestError, Span
from orgrest.rendering.sanitize import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orgrest.editor.server.server import Server
    from orgrest.run.history import KeptRun
    from orgrest.run.record import Record

_MOST_RUNS = 50
_MOST_REQUESTS = 1000
"""Once more than this number of requests are listed, no more runs of the history are added."""


async def history(server: Server, params: Any) -> dict[str, Any]:
    """Answer `orgrest/history` with the latest runs, or with a single request of a run.

    The parameters `run` and `number` (counted from 0) select a single request. If `clear` is true,
    the runs are removed first. Raises JsonRpcException if the history or the request is missing.
    """
    run, number = getattr(params, "run", None), getattr(params, "number", None)
    folders = getattr(params, "folders", None)
    try:
        if run is None and getattr(params, "clear", False) is True:
            await asyncio.to_thread(_forget, _paths(folders))
        if run is None:
            return {"runs": await asyncio.to_thread(_runs, _paths(folders))}
        if not isinstance(run, str) or not isinstance(number, int):
            raise JsonRpcInvalidParams("expected the id of a run and the number of a request in it")
        return await asyncio.to_thread(_answer, server, run, number)
    except OrgrestError as error:
        reason = visible(str(error))
        raise JsonRpcException(reason, types.LSPErrorCodes.RequestFailed) from error


def _paths(uris_given: Any) -> list[Path]:
    """Return the folders in a list of `file` URIs. Everything else is ignored."""
    uris = (
        [uri for uri in uris_given if isinstance(uri, str)] if isinstance(uris_given, list) else []
    )
    paths = [to_fs_path(uri) for uri in uris if urlsplit(uri).scheme == "file"]
    return [Path(path) for path in paths if path]


def _forget(folders: list[Path]) -> None:
    from orgrest.run.history import forget, runs

    forget(runs(folders))


def _runs(folders: list[Path]) -> list[dict[str, Any]]:
    """Return the latest runs of documents in or below `folders` as JSON."""
    from orgrest.run.history import runs
    from orgrest.run.suite.summary import last_own

    listed: list[dict[str, Any]] = []
    count = 0
    for run in runs(folders):
        requests = [
            _summary(run, number, last)
            for number, record in enumerate(run.records)
            if (last := last_own(record)) is not None
        ]
        listed.append({"run": run.id, "started": run.started, "cut": run.cut, "requests": requests})
        count += len(requests)
        if len(listed) == _MOST_RUNS or count > _MOST_REQUESTS:
            break
    return listed


def _summary(run: KeptRun, number: int, last: Record) -> dict[str, Any]:
    """Return a request in a run. `last` is its last exchange."""
    record, response = run.records[number], last["response"]
    return {
        "number": number,
        "uri": _file(run, record).as_uri(),
        "line": (record["line"] or 1) - 1,
        "name": record["name"],
        "outcome": record["outcome"],
        "method": last["request"]["method"],
        "url": last["request"]["url"],
        "status": response["status"] if response else None,
    }


def _file(run: KeptRun, record: Record) -> Path:
    return Path(run.directory, record["file"])


def _answer(server: Server, which: str, number: int) -> dict[str, Any]:
    """Return a request in the history, in the format of `orgrest/response`."""
    from orgrest.run.history import run_called, runs

    run = run_called(which, runs())
    if not 0 <= number < len(run.records):
        raise OrgrestError(f"run {which} no longer has request {number}")
    record = run.records[number]
    for exchange in record["exchanges"]:
        if exchange["response"] is not None:
            exchange["response"]["body"] |= dict(_shown(server, exchange))
    uri = _file(run, record).as_uri()
    return {
        "token": None,
        "textDocument": {"uri": Path(run.directory, record["document"]).as_uri(), "version": 0},
        "request": {"uri": uri, "line": (record["line"] or 1) - 1},
        "record": record,
    }


def _shown(server: Server, kept: Record) -> Iterator[tuple[str, Any]]:
    """Yield the fields that an editor needs to show a body from the history."""
    from orgrest.editor.server.notifications import shown
    from orgrest.rendering.results import render
    from orgrest.run.outcomes import Exchange
    from orgrest.run.record import replayed

    request, response = replayed(kept)
    exchange = Exchange(request, response, partial(render, request, response))
    yield from shown(exchange, response, frozenset(), server.bodies)
    if kept["response"]["body"]["cut"]:
        yield "problem", "[truncated: the history keeps only the beginning of this body]"


async def pasted(server: Server, params: Any) -> dict[str, str] | None:
    """Answer `orgrest/pasted` with a replacement for text pasted over a range of a document.

    The answer is None if the text cannot be imported, or if requests cannot be inserted there.
    """
    from orgrest.editor.pasted import find

    document = server.document_of(params)
    if not isinstance(getattr(params, "text", None), str):
        raise JsonRpcInvalidParams("the pasted content must be text")
    old, pasted_text = document.text, params.text.replace("\r\n", "\n")
    try:
        replaced = to_span(old, params.range)
    except AttributeError:
        raise JsonRpcInvalidParams("the parameter range is missing or incomplete") from None
    start = replaced.start
    whole = old.text[:start] + pasted_text + old.text[replaced.end :]
    stop = start + len(pasted_text)
    pasted_request = await asyncio.to_thread(find, whole, document.kind, Span(start, stop))
    if (
        pasted_request is None
        or pasted_request.edit.start < start
        or whole[stop : pasted_request.edit.end].strip()
    ):
        return None
    text = (
        whole[start : pasted_request.edit.start]
        + pasted_request.edit.text
        + whole[pasted_request.edit.end : stop]
    )
    if pasted_request.edit.end > stop:  # keep the line ending
        text = text.removesuffix("\n")
    return {"title": pasted_request.title, "text": text}
