"""Requests that are sent once for each element of a list: `{{$.clients..id}}`, JetBrains'.

The paths are JSONPaths in an object of all variables. Several in one request advance together.
Source: JetBrains' HTTP Client documentation, "Iterate over collections".
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from orgrest.http.responses import all_found
from orgrest.http.values import Values
from orgrest.http.values.global_variables import text_of
from orgrest.http.values.references import names_in
from orgrest.model import OrgrestError, Text, possible, secrets_in
from orgrest.run.outcomes import EvaluationError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orgrest.http.syntax import ParsedRequest
    from orgrest.http.values import Context
    from orgrest.run.job import Job

MOST_TURNS: Final = 10_000
"""How often a request is sent at most, for a list or by `@loop`."""
_ROOT: Final = re.compile(r"\$\.(?P<name>[A-Za-z_][\w-]*)(?=[.\[])")


def turns(job: Job) -> list[Context]:
    """Return the context of each turn of the job's request. Raises EvaluationError."""
    found = job.resolved(lambda: list(contexts(job.parsed, job.context)))
    if not found:
        job.decline("the list is empty for which this is sent: nothing is sent")
    return found


def contexts(parsed: ParsedRequest, context: Context) -> Iterator[Context]:
    """Yield the context of each turn of a request; its own one if it has no such path.

    In a dry run, a list that another request has yet to provide has one turn. Raises
    EvaluationError if a path is malformed, or the lists have different lengths.
    """
    paths = list(dict.fromkeys(_paths(parsed)))
    if not paths:
        yield context
        return
    found = {path: _elements(path, parsed, context) for path in paths}
    lengths = {len(one) for one in found.values()}
    if len(lengths) > 1:
        told = ", ".join(f"{path} {len(one)}" for path, one in found.items())
        raise EvaluationError(f"lists that advance together have as many elements: {told}")
    for turn in range(min(lengths.pop(), MOST_TURNS + 1)):
        if turn == MOST_TURNS:
            raise EvaluationError(f"a request is sent for {MOST_TURNS:,} elements at most")
        values = {path: one[turn] for path, one in found.items()}
        yield context.block(context.values, {**context.literal, "$index": str(turn), **values})


def _paths(parsed: ParsedRequest) -> Iterator[str]:
    return (name for name in names_in(parsed) if name.startswith("$."))


def _elements(path: str, parsed: ParsedRequest, context: Context) -> list[str]:
    match = _ROOT.match(path)
    if match is None:
        raise EvaluationError(f"{{{{{path}}}}} begins with the name of a variable: $.list..name")
    values = Values(parsed, context)
    text = values.value(match["name"], parsed.span.start)
    if values.blanks:
        return [f"<{path}>"]
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        why = f"{match['name']} is no JSON, in which {path} could be looked for"
        raise EvaluationError(why) from None
    try:
        secrets = possible(secrets_in(text))
        return [
            Text(text_of(one), secrets) for one in all_found(f'{{"{match["name"]}": {text}}}', path)
        ]
    except OrgrestError as error:
        raise EvaluationError(f"{{{{{path}}}}}: {error.reason}") from None
