"""Request files as people write them, and what the tools that they were written for send.

`corpus/expected.json` lists, for every file in `corpus/requests`, its requests in order. A request
has a method, a URL, headers and a body as sent (in UTF-8, None if there is no body), or it has
`error`, a part of the error message, or it is `skipped`. `judge` is the reference: `httpyac` means
that httpyac 6.16 sent exactly this for the file. Other references are the documentation of a tool,
and rules of orgrest itself, most of which make the file an error. `vars` and `env` are the options
of the run. A string that begins with `~` is a regular expression, for random values. `<...>`
replaces values of responses, which a dry run does not have.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from evaluated import Evaluated

from orgrest.http.values import Inputs

CORPUS = Path(__file__).parents[1] / "corpus"
EXPECTED: dict[str, dict[str, Any]] = json.loads((CORPUS / "expected.json").read_text("utf-8"))


def sent(file: Path, variables: dict[str, str], environments: list[str]) -> list[dict[str, Any]]:
    inputs = Inputs(
        directory=file.parent,
        overrides=variables,
        environments=environments,
        seed=1,
    )
    text, allowed = file.read_bytes().decode(), (file.parent,)
    found: list[dict[str, Any]] = []
    for outcome in Evaluated(
        text, inputs, file=file.name, plain=True, dry_run=True, allow_write=allowed
    ).outcomes:
        if outcome.state == "skipped":
            found.append({"skipped": True})
        elif outcome.reason is not None:
            found.append({"error": str(outcome.reason)})
        for exchange in outcome.exchanges:
            request = exchange.request
            found.append(
                {
                    "method": request.method,
                    "url": request.url,
                    "headers": [list(header) for header in request.headers],
                    "body": None if request.body is None else request.body.decode(),
                }
            )
    return found


def agrees(wanted: Any, found: Any) -> bool:
    if isinstance(wanted, str) and wanted.startswith("~"):
        return isinstance(found, str) and re.fullmatch(wanted[1:], found) is not None
    if isinstance(wanted, dict):
        if "error" in wanted:
            return wanted["error"] in found.get("error", "")
        return wanted.keys() == found.keys() and all(agrees(wanted[k], found[k]) for k in wanted)
    if isinstance(wanted, list):
        return len(wanted) == len(found) and all(map(agrees, wanted, found))
    return bool(wanted == found)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_file_is_sent_as_the_tool_it_was_written_for_sends_it(name: str) -> None:
    case = EXPECTED[name]
    found = sent(CORPUS / "requests" / name, case.get("vars", {}), case.get("env", []))
    assert agrees(case["requests"], found), json.dumps(found, indent=1, ensure_ascii=False)


def test_every_file_is_judged_and_there_are_many() -> None:
    files = {file.name for file in (CORPUS / "requests").glob("*.http")} - {"other.http"}
    assert files == set(EXPECTED)
    assert len(files) >= 120
    assert all(case["judge"] and case["requests"] for case in EXPECTED.values())
