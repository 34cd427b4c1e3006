"""Writes a run's exchanges as an HTTP Archive 1.2, which browser tools and proxies can read.

Source: the HAR 1.2 specification by Jan Odvarko, and its W3C draft. Each document is a page. Times
are in milliseconds, or -1 for a phase that did not occur. As specified, `connect` includes `ssl`.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from orgrest.convert.har import NO_RESPONSE, head_of, named
from orgrest.run.record import CUT, encoded
from orgrest.run.suite.summary import place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from orgrest.run.record import Record


def pieces(run: Record, records: Iterable[Record]) -> Iterator[bytes]:
    """Yield the archive in pieces. It contains only requests that were sent or attempted."""
    creator = {"name": "orgrest", "version": run["orgrest"]}
    head = {"version": "1.2", "creator": creator}
    yield b'{"log":' + encoded(head)[:-1] + b',"entries":['
    pages: list[Record] = []
    separator = b"\n"
    for number, document_records in groupby(records, key=lambda record: record["order"][0]):
        page = f"page_{number}"
        sent: list[tuple[int, bytes]] = []
        for record in document_records:
            if record["exchanges"] and (not pages or pages[-1]["id"] != page):
                pages.append(_page(record, page))
            for exchange_record in record["exchanges"]:
                for each in (*exchange_record["earlier"], exchange_record):
                    exchange = {**each, **(each["sent"] or {})}
                    if exchange["number"]:
                        sent.append((exchange["number"], encoded(_entry(record, exchange, page))))
        for _, entry in sorted(sent):
            yield separator + entry
            separator = b",\n"
    yield b'\n],"pages":' + _list(pages) + b"}}\n"


def _list(values: list[Record]) -> bytes:
    return b"[" + b",\n".join(map(encoded, values)) + b"]"


def _page(record: Record, name: str) -> Record:
    return {
        "startedDateTime": record["started"],
        "id": name,
        "title": record["document"],
        "pageTimings": {"onContentLoad": -1, "onLoad": -1},
    }


def _entry(record: Record, exchange: Record, page: str) -> Record:
    timings = _timings(exchange)
    total = sum(value for name, value in timings.items() if name != "ssl" and value >= 0)
    return {
        "pageref": page,
        "startedDateTime": exchange["started"],
        "time": round(total, 3),
        "request": _request(exchange["request"]),
        "response": _response(exchange["response"], exchange["error"] or record["reason"]),
        "cache": {},
        "timings": timings,
        "comment": ": ".join(filter(None, (place(record), record["outcome"], exchange["error"]))),
    }


def _timings(exchange: Record) -> dict[str, float]:
    timing = exchange["timing"]
    if timing is None:
        wait = (exchange["duration"] or 0.0) * 1000
        return {"send": 0, "wait": round(wait, 3), "receive": 0}
    connect, tls = timing["connect"], timing["tls"]
    connect_and_tls = None if connect is None else connect + (tls or 0.0)
    return {
        "blocked": -1,
        "dns": _milliseconds(timing["resolve"]),
        "connect": _milliseconds(connect_and_tls),
        "ssl": _milliseconds(tls),
        "send": 0,
        "wait": _milliseconds(timing["wait"]),
        "receive": _milliseconds(timing["download"]),
    }


def _milliseconds(seconds: float | None) -> float:
    return -1 if seconds is None else round(seconds * 1000, 3)


def _request(request: Record) -> Record:
    body = request["body"]
    size = body["size"] if body else 0
    entry = head_of(request["method"], request["url"], request["headers"], size)
    if body:
        entry["postData"] = {"mimeType": body["type"], "params": [], **_content(body)}
    return entry


def _content(body: Record) -> Record:
    """Return the content of a body, in base64 if it is binary.

    The specification defines `encoding` only for responses, but importers know it for requests too.
    """
    content: Record = {"text": body["text"]} if "text" in body else {}
    if not content:
        content = {"text": body["base64"], "encoding": "base64"}
    return {**content, "comment": CUT} if body["cut"] else content


def _response(response: Record | None, why: str | None) -> Record:
    if response is None:
        return {**NO_RESPONSE, "statusText": why or ""}
    body = response["body"]
    mime_type = body["type"] or "x-unknown"
    return {
        **NO_RESPONSE,
        "status": response["status"],
        "statusText": response["reason"],
        "httpVersion": f"HTTP/{response['version']}",
        "headers": named(response["headers"]),
        "content": {"size": body["size"], "mimeType": mime_type, **_content(body)},
        "redirectURL": next((v for n, v in response["headers"] if n.lower() == "location"), ""),
    }
