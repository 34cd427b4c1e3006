"""Writes the report of a run as JUnit XML, which CI systems read.

Each document is a suite, and each request is a case. Most readers follow the schema that Jenkins
publishes (`junit-10.xsd` of its xUnit plugin). This schema has no attributes for a case's file and
line, so they are in the text. All failures of a request are in one `failure` element, because many
readers show only the first. Notes and the number of attempts are in `system-out`.

GitLab (see its page on unit test reports) ignores a second case with the same `classname` and
`name`, so a number is added to the names of later cases. CI systems compare the names of different
runs, so the names contain no values of variables. GitLab reads the reasons for failures only from
the content of elements.

Readers take a run in which every request was skipped for a success. If a run ended early without a
failure, an error says so.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

from orgrest.run.suite.summary import answers, end_of_run, reasons, remarks, unique_title

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from orgrest.run.record import Record

# Characters that XML 1.0 does not allow.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def pieces(run: Record, records: Iterable[Record]) -> Iterator[bytes]:
    """Yield the report in pieces."""
    summary = run["summary"]
    if summary["ended"] and not (summary["failed"] or summary["error"]):
        end = end_of_run(run, -1, "orgrest", summary["ended"])
        records = chain(records, (end,))
        summary = {**summary, "requests": summary["requests"] + 1, "error": 1}
    counts = {"tests": summary["requests"], **_counts(summary), "time": _time(summary["duration"])}
    yield b'<?xml version="1.0" encoding="UTF-8"?>\n'
    del counts["skipped"]  # only suites have this attribute
    yield f"<testsuites{_attributes(name='orgrest', **counts)}>\n".encode()
    names: Counter[tuple[str, str]] = Counter()
    for _, document_records in groupby(records, key=lambda record: record["order"][0]):
        yield _suite(document_records, names).encode()
    yield b"</testsuites>\n"


def _suite(records: Iterator[Record], names: Counter[tuple[str, str]]) -> str:
    first = next(records)
    counts, duration, cases = Counter[str](), 0.0, []
    for record in chain((first,), records):
        counts[record["outcome"]] += 1
        duration += record["duration"]
        cases.append(_case(record, unique_title(record, names)))
    head = _attributes(
        name=_suite_name(first),
        tests=len(cases),
        **_counts(counts),
        time=_time(duration),
        timestamp=first["started"][:19],
    )
    return f"  <testsuite{head}>\n{''.join(cases)}  </testsuite>\n"


def _suite_name(record: Record) -> str:
    words = [record["document"]]
    words += [f"row {record['row']}"] if record["row"] is not None else []
    words += [f"repetition {record['turn']}"] if record["turn"] > 1 else []
    return ", ".join(words)


def _time(seconds: float) -> str:
    return f"{seconds:.3f}"


def _counts(counts: Mapping[str, Any]) -> dict[str, int]:
    return {"failures": counts["failed"], "errors": counts["error"], "skipped": counts["skipped"]}


def _case(record: Record, name: str) -> str:
    time = _time(record["duration"])
    head = _attributes(name=name, classname=record["file"], time=time)
    inside, notes = _result(record), remarks(record)
    if notes:
        text = _text("\n".join(notes))
        inside += f"      <system-out>{text}</system-out>\n"
    if not inside:
        return f"    <testcase{head}/>\n"
    return f"    <testcase{head}>\n{inside}    </testcase>\n"


def _result(record: Record) -> str:
    lines = list(reasons(record))
    message = lines[0] if lines else ""
    outcome = record["outcome"]
    if outcome == "skipped":
        return f"      <skipped{_attributes(message=message)}>{_text(message)}</skipped>\n"
    if outcome == "passed":
        return ""
    element = "failure" if outcome == "failed" else "error"
    kind = "assertion" if outcome == "failed" else "request"
    head = _attributes(message=message, type=kind)
    where = record["file"] if record["line"] is None else f"{record['file']}:{record['line']}"
    text = _text("\n".join([where, *lines, "", *answers(record)]))
    return f"      <{element}{head}>{text}</{element}>\n"


def _attributes(**attributes: object) -> str:
    return "".join(f" {name}={_quoted(str(value))}" for name, value in attributes.items())


def _quoted(text: str) -> str:
    return quoteattr(_FORBIDDEN.sub("\ufffd", text))


def _text(text: str) -> str:
    return escape(_FORBIDDEN.sub("\ufffd", text), {"\r": "&#13;"})
