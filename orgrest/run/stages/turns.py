"""The turns of a request: httpyac's `@disabled` and `@loop`; JetBrains' lists.

With `{{$.clients..id}}`, a request is sent once for each element of a list: the paths are JSONPaths
in an object of all variables. Several in one request advance together. Source: JetBrains' HTTP
Client documentation, "Iterate over collections".
"""

from __future__ import annotations

import json
import re
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import attrs

from orgrest.http.responses import all_found
from orgrest.http.values import Values
from orgrest.http.values.global_variables import text_of
from orgrest.http.values.references import names_in
from orgrest.model import OrgrestError, Text, possible, secrets_in
from orgrest.run.outcomes import EvaluationError, Outcome, failed
from orgrest.run.results import resolved
from orgrest.run.stages.scripts import prepare

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from orgrest.http.syntax import Directive, ParsedRequest
    from orgrest.http.values import Context
    from orgrest.http.values.context import NeededError
    from orgrest.run.job import Job
    from orgrest.run.outcomes import Task
    from orgrest.run.results import Needing

MOST_TURNS: Final = 10_000
"""The maximum number of times that a request is sent, for a list or by `@loop`."""
_ROOT: Final = re.compile(r"\$\.(?P<name>[A-Za-z_][\w-]*)(?=[.\[])")


_TURNS: Final = re.compile(r"for\s+(\d+)")
_WHILE: Final = re.compile(r"while\s+(?P<code>.+)")
_EACH: Final = re.compile(r"for\s+(?P<name>\w+)\s+of\s+(?P<list>.+)")


def tasks(job: Job) -> Generator[Task | Outcome | NeededError, OrgrestError | None, None]:
    """Yield the tasks of a loop, or an outcome for a request that is not sent.

    Also yields the needs that must be met first.
    """
    task, parsed, context = job.task, job.parsed, job.context
    disabled, loop = parsed.directive("disabled"), parsed.directive("loop")
    try:
        if (disabled and disabled.value.text) or loop:
            yield from prepare(job)  # the variables in them may be a script's
        if disabled and (
            yield from resolved(context, partial(_is_true, disabled, parsed, context))
        ):
            yield _not_sent(task, "it is disabled", "disabled")
            return
        if loop is None:
            yield task
            return
        turn, text = 0, loop.value.text.strip()
        condition = _WHILE.fullmatch(text)
        given = []
        if condition is None:
            given = yield from resolved(context, lambda: list(_turns(text, parsed, context)))
        dry = job.work.settings.dry_run
        while True:
            if condition is None:
                if turn == len(given):
                    break
                values = given[turn]
            else:
                values = {"$index": str(turn)}
                inner = context.block(literal=values)
                holds = partial(_holds, condition["code"], parsed.span.start, parsed, inner)
                # no script runs in a dry run, which has one turn
                if turn if dry else not (yield from resolved(context, holds)):
                    break
            if turn == MOST_TURNS:
                raise EvaluationError(f"@loop sends a request at most {MOST_TURNS:,} times")
            step = attrs.evolve(task.id, turn=turn)
            yield attrs.evolve(task, id=step, context=context.block(literal=values))
            turn += 1
        if turn == 0:
            yield _not_sent(task, "its @loop has no turn")
    except Exception as error:
        outcome = failed(task.line, task.name, error, task.file or "")
        yield attrs.evolve(outcome, file=task.file, title=parsed.title)


def _not_sent(task: Task, why: str, code: str = "") -> Outcome:
    reason = EvaluationError(why, file=task.file, line=task.line, code=code)
    title = task.parsed[0].title
    return Outcome(task.line, task.name, "skipped", reason=reason, file=task.file, title=title)


def _is_true(condition: Directive, parsed: ParsedRequest, context: Context) -> bool:
    """Return whether the condition of `@disabled` holds; without an expression it always does.

    In a dry run, a condition that needs a response does not hold. Raises OrgrestError.
    """
    code = condition.value.text
    return code in ("", "true") or _holds(code, condition.span.start, parsed, context)


def _holds(code: str, offset: int, parsed: ParsedRequest, context: Context) -> bool:
    """Return whether an expression is true in JavaScript. Raises OrgrestError."""
    try:
        return Values(parsed, context).value(f"!({code})", offset) == "false"
    except OrgrestError as error:
        error.reason = error.reason.replace(f"!({code})", code)
        raise


def _turns(text: str, parsed: ParsedRequest, context: Context) -> Iterator[dict[str, str]]:
    """Yield the variables of each turn of `@loop`. Raises OrgrestError.

    In a dry run, a list from a response has one turn.
    """
    if match := _TURNS.fullmatch(text.strip()):
        if int(match[1]) > MOST_TURNS:
            raise EvaluationError(f"@loop sends a request at most {MOST_TURNS:,} times")
        for index in range(int(match[1])):
            yield {"$index": str(index)}
        return
    match = _EACH.fullmatch(text.strip())
    if match is None:
        raise EvaluationError("@loop is written `for 3`, `for name of list` or `while expression`")
    given = match["list"].strip()
    items = _parsed(given)
    if items is None:
        values = Values(parsed, context)
        given = values.value(given, parsed.span.start)
        if values.blanks:
            unknown = Text(f"<{match['name']}>", possible(secrets_in(given)))
            yield {"$index": "0", match["name"]: unknown}
            return
        items = _parsed(given)
    if not isinstance(items, list) or len(items) > MOST_TURNS:
        reason = f"@loop goes over a JSON list of at most {MOST_TURNS:,} items, not {given[:60]!r}"
        raise EvaluationError(reason)
    secrets = possible(secrets_in(given))
    for index, item in enumerate(items):
        shown = item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)
        yield {"$index": str(index), match["name"]: Text(shown, secrets)}


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def of_elements(job: Job) -> Needing[list[Context]]:
    """Return the context of each turn of the job's request. Raises EvaluationError."""
    found = yield from resolved(job.context, lambda: list(contexts(job.parsed, job.context)))
    if not found:
        job.decline("the list is empty for which this is sent: nothing is sent")
    return found


def contexts(parsed: ParsedRequest, context: Context) -> Iterator[Context]:
    """Yield the context of each turn of a request; just `context` if it has no such path.

    In a dry run, a list from the response to another request has one turn. Raises
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
