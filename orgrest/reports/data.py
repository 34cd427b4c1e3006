"""The JSON report of a run: its metadata, its summary, and all records in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orgrest.run.record import encoded
from orgrest.run.suite.spool import FORMAT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from orgrest.run.record import Record


def pieces(run: Record, records: Iterable[Record]) -> Iterator[bytes]:
    """Yield the report in pieces."""
    yield encoded({"format": FORMAT, **run})[:-1] + b',"requests":['
    separator = b"\n"
    for record in records:
        yield separator + encoded(record)
        separator = b",\n"
    yield b"\n]}\n"
