"""Describes assertions for editors, and keeps the last outcome of each request for display."""

from __future__ import annotations

import json
import re
from collections import Counter, deque
from typing import TYPE_CHECKING, TypeAlias

from orgrest import classes
from orgrest.editor.diagnostics.model import Diagnostic
from orgrest.http.assertions import OPERATORS, SUBJECTS
from orgrest.http.syntax import HeaderLine
from orgrest.model import Source, Span
from orgrest.rendering.masking import mask
from orgrest.rendering.sanitize import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from orgrest.editor.analysis import Analysis
    from orgrest.editor.parsed_regions import ParsedRegion
    from orgrest.http.syntax import ParsedRequest
    from orgrest.model import Response, Verdict
    from orgrest.run.outcomes import Outcome

_Key: TypeAlias = tuple[object, int]
"""The identity of a request: its content, and the number of identical requests above it."""

_MOST_LINES = 20  # of a difference
_MOST_PATHS = 500  # into a response
_LONGEST = 2**20  # bytes of a response with paths
_PLAIN = re.compile(r"[A-Za-z_][\w-]*")
_KINDS: dict[type, str] = {
    dict: "An object",
    list: "A list",
    str: "A string",
    bool: "A boolean",
    type(None): "Null",
}


def about(part: ParsedRegion, inside: int) -> tuple[str, Span] | None:
    """Return the description of the assertion at an offset and the assertion's span, or None."""
    for request in part.parsed.requests:
        for assertion in request.assertions:
            if not assertion.span.reaches(inside):
                continue
            subject = SUBJECTS[assertion.subject]
            operator = OPERATORS[assertion.operator.removeprefix("not ")]
            negated = "Negated: " if assertion.operator.startswith("not ") else ""
            texts = (
                f"**{subject.name}** {subject.path}".rstrip(),
                subject.description,
                f"**{assertion.operator}** {operator.expected}".rstrip(),
                negated + operator.description,
            )
            return "\n\n".join(texts), assertion.span
    return None


@classes.frozen
class _Last:
    """The last outcome of a request, without secrets."""

    summary: str
    verdicts: tuple[Verdict, ...] = ()


class Sent:
    """A document's requests at the time of a run, by line.

    `requests` maps the line of each request to the request's identity. `starts` maps the line of
    each block, or of each request outside blocks, to the identities of its requests.
    """

    def __init__(self, analysis: Analysis) -> None:
        self.requests: dict[int, _Key] = {}
        self.starts: dict[int, list[_Key]] = {}
        text = Source(analysis.text)
        for key, part, request in _requests(analysis):
            line = text.position(part.region.to_file(request.span.start)).line
            block = part.region.block
            self.requests[line] = key
            self.starts.setdefault(block.line + 1 if block else line, []).append(key)


class LastOutcomes:
    """The outcomes of a document's requests, kept as long as the requests are unchanged."""

    def __init__(self) -> None:
        self._known: dict[_Key, _Last] = {}
        self.answered: dict[str, dict[str, str]] = {}
        """For each request name, the paths into its last response, with their descriptions."""
        self.sent: dict[object, dict[str, str]] = {}
        """The same for the content of each request, as `content_of` returns it."""

    def keep(self, sent: Sent, outcome: Outcome) -> None:
        """Record the outcome of a block or request. `sent` indexes the requests that were sent."""

        def safe(text: str) -> str:
            return visible(mask(text, outcome.secrets))

        for each in (*outcome.needed, outcome):
            for exchange in each.own:
                if exchange.response is None:
                    continue
                paths = dict(_paths(exchange.response))
                if each.name:
                    self.answered[each.name] = paths
                key = sent.requests.get(exchange.request.line or 0) if each is outcome else None
                if key is None:
                    continue
                self.sent[key[0]] = paths
                verdicts = tuple(_masked(test, safe) for test in exchange.tests)
                status = f"{exchange.response.status} in {exchange.response.duration:.3f} s"
                self._known[key] = _Last(f"{status}{counted(verdicts)}", verdicts)
        if outcome.reason is not None:
            state = "failed" if outcome.state == "failed" else "skipped"
            for key in sent.starts.get(outcome.line, ()):
                self._known[key] = _Last(f"{state}: {safe(outcome.reason.reason)}")

    def diagnostics(self, analysis: Analysis) -> list[Diagnostic]:
        """Return the failed assertions, at their own lines if possible, else at their requests."""
        results: list[Diagnostic] = []
        known = dict(self._known)  # another thread may add outcomes in the meantime
        if all(verdict.held for last in known.values() for verdict in last.verdicts):
            return results  # the usual case while typing
        for key, part, request in _requests(analysis):
            for verdict in known.get(key, _Last("")).verdicts:
                span = None if verdict.held else _place(part, request, verdict)
                if span is not None:
                    lines = verdict.difference[:_MOST_LINES]
                    message = "\n".join([f"{verdict.name}: {verdict.reason}", *lines])
                    results.append(Diagnostic(span, "error", "failed-assertion", message))
        return results

    def summaries(self, analysis: Analysis) -> dict[int, str]:
        """Return the summary of the last outcome for each code lens, by the offset of the lens."""
        lines: dict[int, str] = {}
        known = dict(self._known)
        for key, part, request in _requests(analysis) if known else ():
            last = known.get(key)
            if last is not None:
                block = part.region.block
                at = block.start if block else part.region.to_file(request.span.start)
                lines[at] = f"{lines[at]}; {last.summary}" if at in lines else last.summary
        return lines


def _requests(analysis: Analysis) -> Iterator[tuple[_Key, ParsedRegion, ParsedRequest]]:
    seen = Counter[object]()
    for part in analysis.parts:
        for request in part.parsed.requests:
            what = content_of(request)
            yield (what, seen[what]), part, request
            seen[what] += 1


def content_of(request: ParsedRequest) -> object:
    """Return what a request sends, as a value that identifies the request."""
    headers = tuple(
        (header.name.text, header.value.text) if isinstance(header, HeaderLine) else header.name
        for header in request.headers
    )
    body = request.body
    text = None if body is None else (body.file or body.template).text
    return request.method, request.target.text, headers, text


def _place(part: ParsedRegion, request: ParsedRequest, verdict: Verdict) -> Span | None:
    """Return the span to mark for a verdict, or None if its assertion no longer exists."""
    for assertion in request.assertions:
        if assertion.text.text == verdict.name:
            start = assertion.text.offset(0)
            return part.region.to_file_span(Span(start, start + len(assertion.text.text)))
    block = part.region.block
    if verdict.subject and (block is None or verdict.line != block.line + 1):
        return None
    target = request.target
    return part.region.to_file_span(
        Span(request.span.start, max(request.span.start, target.offset(len(target.text))))
    )


def _masked(verdict: Verdict, safe: Callable[[str], str]) -> Verdict:
    lines = tuple(safe(line) for line in verdict.difference)
    return classes.evolve(
        verdict, reason=safe(verdict.reason), difference=lines, expected=None, actual=None
    )


def counted(verdicts: tuple[Verdict, ...]) -> str:
    """Return how many assertions passed or failed, as text to append to a summary.

    The text begins with a comma and names the first failed assertion. Without verdicts, it is
    empty.
    """
    if not verdicts:
        return ""
    failed = [verdict for verdict in verdicts if not verdict.held]
    if not failed:
        return f", {len(verdicts)} assertion{'s' if len(verdicts) > 1 else ''} passed"
    return f", {len(failed)} of {len(verdicts)} assertions FAILED: {failed[0].name}"


def _paths(response: Response) -> Iterator[tuple[str, str]]:
    """Yield (path, description) for each path into a response, without the values."""
    for name, _ in response.headers:
        yield f"headers.{name}", "A header of the last response."
    try:
        body = json.loads(response.body) if len(response.body) <= _LONGEST else None
    except (ValueError, RecursionError):
        return
    waiting = deque([("body.$", body)])
    for _ in range(_MOST_PATHS):
        if not waiting:
            return
        path, value = waiting.popleft()
        yield path, f"{_KINDS.get(type(value), 'A number')} in the last response."
        if isinstance(value, dict):
            waiting += ((f"{path}.{name}", value[name]) for name in value if _PLAIN.fullmatch(name))
        elif isinstance(value, list) and value:
            waiting.append((f"{path}[0]", value[0]))
