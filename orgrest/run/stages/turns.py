"""The iterations of a request, for httpyac's `@loop` and `@disabled` and for JetBrains' lists.

A request that contains `{{$.clients..id}}` is sent once for each element that this JSONPath
selects. The path begins with the name of a variable whose value is JSON. If a request contains
several such paths, each iteration uses the next element of every list. Source: JetBrains' HTTP
Client documentation, "Iterate over collections".
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from orgrest import classes
from orgrest.http.responses import all_found
from orgrest.http.syntax import LOOP
from orgrest.http.values import Values
from orgrest.http.values.global_variables import text_of
from orgrest.http.values.references import names_in
from orgrest.model import OrgrestError, Text, possible, secrets_in, short
from orgrest.regular import compiled
from orgrest.run.outcomes import EvaluationError, Outcome
from orgrest.run.results import resolved
from orgrest.run.stages.scripts import before, prepare
from orgrest.structured import json_or

if TYPE_CHECKING:
    import re
    from collections.abc import Generator, Iterator

    from orgrest.http.syntax import Directive, ParsedRequest
    from orgrest.http.values import Context
    from orgrest.http.values.context import NeededError
    from orgrest.run.job import Job
    from orgrest.run.outcomes import Task
    from orgrest.run.results import Needing

MOST_TURNS: Final = 10_000
"""The maximum number of iterations of a request, over a list or with `@loop`."""
_TOO_MANY: Final = f"@loop can send a request at most {MOST_TURNS:,} times"
_ROOT: Final = compiled(r"\$\.(?P<name>[A-Za-z_][\w-]*)(?=[.\[])")


def tasks(
    job: Job, *, again: bool = False
) -> Generator[Task | Outcome | NeededError, OrgrestError | None, None]:
    """Yield the tasks of a loop, or an outcome for a request that is not sent.

    The loop ends after an error, as in httpyac. A failed assertion does not end it.

    Also yields a NeededError for each token or response that is needed first. The scripts above the
    request line run first, unless the loop's request was sent before and `again` is false.
    """
    task, parsed = job.task, job.parsed
    context = job.context = task.context.request()
    disabled, loop = parsed.directive("disabled"), parsed.directive("loop")
    try:
        if (disabled and disabled.value.text) or loop:
            yield from prepare(job)  # the directives may use variables that a script sets
        if disabled and (
            yield from resolved(context, partial(_is_disabled, disabled, parsed, context))
        ):
            yield _not_sent(task, "it is disabled", "disabled")
            return
        if loop is None:
            yield task
            return
        scripts = (*parsed.shared_scripts, *parsed.scripts)
        sent = job.work.results.known(classes.evolve(task.id, turn=0)) is not None
        if (again or not sent) and any(
            script.when == "before" and script.runs != "once" for script in scripts
        ):
            for need in task.needed:
                error = need if isinstance(need, EvaluationError) else (yield need)
                if error is not None:
                    raise error
            yield from before(job)
            if job.declined:
                yield job.outcome()
                return
            task = classes.evolve(task, needed=(), prepared=job)
        turn, match = 0, LOOP.fullmatch(loop.value.text)
        condition = match["condition"] if match else None
        iterations, start = [], loop.value.offset(0)
        if condition is None:
            found = partial(_turns, match, start, parsed, context)
            iterations = yield from resolved(context, lambda: list(found()))
        dry = job.work.settings.dry_run
        while True:
            if condition is None:
                if turn == len(iterations):
                    break
                values = iterations[turn]
            else:
                values = {"$index": str(turn)}
                inner = context.iterated(values)
                holds = partial(_holds, condition, start, parsed, inner)
                # a dry run has one iteration, since it runs no scripts
                if turn if dry else not (yield from resolved(context, holds)):
                    break
            if turn == MOST_TURNS:
                raise EvaluationError.at(parsed.source, start, _TOO_MANY)
            step = classes.evolve(task.id, turn=turn)
            yield classes.evolve(task, id=step, context=context.iterated(values))
            turn += 1
            outcome = job.work.results.latest.get(step)
            ended = outcome is not None and outcome.state == "failed"
            if ended and (condition is not None or turn < len(iterations)):
                yield _not_sent(task, f"not sent again, because iteration {turn} failed")
                return
        if turn == 0:
            job.decline("its @loop has no iterations")
            yield job.outcome()
    except Exception as error:
        yield job.failed(error)


def _not_sent(task: Task, why: str, code: str = "") -> Outcome:
    reason = EvaluationError(why, file=task.file, line=task.line, code=code)
    title = task.parsed[0].title
    return Outcome(task.line, task.name, "skipped", reason=reason, file=task.file, title=title)


def _is_disabled(condition: Directive, parsed: ParsedRequest, context: Context) -> bool:
    """Return whether `@disabled` applies. In a dry run, conditions on responses are false."""
    code = condition.value.text
    return code in ("", "true") or _holds(code, condition.value.offset(0), parsed, context)


def _holds(code: str, offset: int, parsed: ParsedRequest, context: Context) -> bool:
    try:
        return Values(parsed, context).value(f"!({code})", offset) == "false"
    except OrgrestError as error:
        error.reason = error.reason.replace(f"!({code})", code)
        raise


def _turns(
    match: re.Match[str] | None, start: int, parsed: ParsedRequest, context: Context
) -> Iterator[dict[str, str]]:
    """Yield the variables for each iteration of `@loop`, whose value is at the offset `start`.

    In a dry run, a list from a response counts as one iteration.
    """
    invalid = partial(EvaluationError.at, parsed.source, start)
    if match is None:
        raise invalid("@loop must be `for 3`, `for name of list` or `while expression`")
    if match["count"]:
        if int(match["count"]) > MOST_TURNS:
            raise invalid(_TOO_MANY)
        for index in range(int(match["count"])):
            yield {"$index": str(index)}
        return
    list_text = match["list"].strip()
    items = json_or(list_text)
    if items is None:
        values = Values(parsed, context)
        list_text = values.value(list_text, start)
        if values.blanks:
            unknown = Text(f"<{match['name']}>", possible(secrets_in(list_text)))
            yield {"$index": "0", match["name"]: unknown}
            return
        items = json_or(list_text)
    if not isinstance(items, list) or len(items) > MOST_TURNS:
        most = f"{MOST_TURNS:,}"
        raise invalid(
            f"@loop requires a JSON list of at most {most} items, found {short(list_text)!r}"
        )
    for index, item in enumerate(items):
        yield {"$index": str(index), match["name"]: _item_of(list_text, item, context)}


def _item_of(list_text: str, item: Any, context: Context) -> str:
    """Return a list's item as a string. If the whole list is a secret, so is the item."""
    secrets, text = secrets_in(list_text), text_of(item)
    if any(secret.text == list_text for secret in secrets):
        return context.secrets.computed(text, secrets)
    return Text(text, possible(secrets))


def of_elements(job: Job) -> Needing[list[Context]]:
    """Return a context for each iteration of the job's request (see `contexts`).

    If the request uses an empty list, it is declined, and there are no iterations. Raises the same
    errors as `contexts`.
    """
    turns = yield from resolved(job.context, lambda: list(contexts(job.parsed, job.context)))
    if not turns:
        job.decline("not sent: the list is empty")
    return turns


def contexts(parsed: ParsedRequest, context: Context) -> Iterator[Context]:
    """Yield a context for each iteration of a request, or only `context` if it uses no list.

    In a dry run, a list from a response counts as one iteration. Raises EvaluationError if a path
    is invalid, if the lists have different lengths, or if they are too long.
    """
    paths = list(dict.fromkeys(_paths(parsed)))
    if not paths:
        yield context
        return
    lists = {path: _elements(path, parsed, context) for path in paths}
    lengths = {len(elements) for elements in lists.values()}
    if len(lengths) > 1:
        counts = ", ".join(f"{path} {len(elements)}" for path, elements in lists.items())
        raise EvaluationError(
            f"lists in the same request must have the same number of elements: {counts}"
        )
    for turn in range(min(lengths.pop(), MOST_TURNS + 1)):
        if turn == MOST_TURNS:
            raise EvaluationError(f"a request can be sent for at most {MOST_TURNS:,} elements")
        values = {path: elements[turn] for path, elements in lists.items()}
        yield context.iterated({"$index": str(turn), **values})


def _paths(parsed: ParsedRequest) -> Iterator[str]:
    return (name for name in names_in(parsed) if name.startswith("$."))


def _elements(path: str, parsed: ParsedRequest, context: Context) -> list[str]:
    match = _ROOT.match(path)
    if match is None:
        raise EvaluationError(
            f"{{{{{path}}}}} must consist of a variable and a path in it, as in "
            "{{$.list..name}}"
        )
    values = Values(parsed, context)
    text = values.value(match["name"], parsed.span.start)
    if values.blanks:
        return [f"<{path}>"]
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        why = f"cannot look up {path}: {match['name']} is not valid JSON"
        raise EvaluationError(why) from None
    try:
        elements = all_found(f'{{"{match["name"]}": {text}}}', path)
        return [_item_of(text, element, context) for element in elements]
    except OrgrestError as error:
        raise EvaluationError(f"{{{{{path}}}}}: {error.reason}") from None
