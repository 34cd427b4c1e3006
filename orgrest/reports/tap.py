"""The report of a run in the Test Anything Protocol, version 13.

Each request is a test. The reasons for a failure follow as YAML, and notes as comments.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from orgrest.rendering.sanitize import visible
from orgrest.run.suite.summary import place, reasons, remarks, unique_title

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from orgrest.run.record import Record


def pieces(run: Record, records: Iterable[Record]) -> Iterator[bytes]:
    """Yield the report in pieces."""
    yield b"TAP version 13\n"
    yield f"1..{run['summary']['requests']}\n".encode()
    titles: Counter[tuple[str, str]] = Counter()
    for number, record in enumerate(records, 1):
        title = unique_title(record, titles)
        yield _test(number, title, record).encode("utf-8", "backslashreplace")
        for note in remarks(record):
            yield f"# {visible(note, one_line=True)}\n".encode("utf-8", "backslashreplace")
    if ended := run["summary"]["ended"]:
        yield f"Bail out! {visible(ended, one_line=True)}\n".encode("utf-8", "backslashreplace")


def _test(number: int, title: str, record: Record) -> str:
    outcome, why = record["outcome"], list(reasons(record))
    status = "not ok" if outcome in ("failed", "error") else "ok"
    line = f"{status} {number} - {_words(f'{place(record)} {title}')}"
    if outcome == "skipped":
        return f"{line} # SKIP {_words(' '.join(why))}\n"
    if outcome == "passed":
        return f"{line}\n"
    # A JSON string is also a YAML string. Perl's parser takes text in a list item for a key if it
    # contains a colon, so each item has a real one.
    severity = "fail" if outcome == "failed" else "error"
    messages = "".join(f"    - message: {json.dumps(reason)}\n" for reason in why)
    return f"{line}\n  ---\n  severity: {severity}\n  messages:\n{messages}  ...\n"


def _words(text: str) -> str:
    """Return `text` with TAP directives and newlines escaped."""
    return visible(text, one_line=True).replace("\\", "\\\\").replace("#", "\\#")
