"""What an editor knows of assertions: what their words mean, and what came of them when sent."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

import attrs

from orgrest.editor.diagnostics.model import Diagnostic
from orgrest.http.assertions import OPERATORS, SUBJECTS
from orgrest.http.printing import print_request
from orgrest.model import Source, Span
from orgrest.rendering.masking import mask
from orgrest.rendering.sanitize import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from orgrest.editor.analysis import Analysis
    from orgrest.editor.parts import Part
    from orgrest.http.syntax import ParsedRequest
    from orgrest.model import Verdict
    from orgrest.run.outcomes import Outcome

_Key: TypeAlias = tuple[str, int]
"""What a request is known by: what is sent, and how many requests above send the same."""

_MOST_LINES = 20  # of a difference


def about(part: Part, inside: int) -> tuple[str, Span] | None:
    """Return what the words of the assertion at a place mean, and where it stands; or None."""
    for request in part.parsed.requests:
        for one in request.assertions:
            if not one.span.start <= inside <= one.span.end:
                continue
            subject = SUBJECTS[one.subject]
            operator = OPERATORS[one.operator.removeprefix("not ")]
            negated = "It does not hold that: " if one.operator.startswith("not ") else ""
            texts = (
                f"**{subject.name}** {subject.path}".rstrip(),
                subject.description,
                f"**{one.operator}** {operator.expected}".rstrip(),
                negated + operator.description,
            )
            return "\n\n".join(texts), one.span
    return None


@attrs.frozen
class _Last:
    """What came of a request when it was sent last: a line, and its assertions; no secrets."""

    summary: str
    verdicts: tuple[Verdict, ...] = ()


class Sent:
    """The requests of a text that is sent, by their lines and by those where outcomes are told."""

    def __init__(self, analysis: Analysis) -> None:
        """Look where the requests stand."""
        self.requests: dict[int, _Key] = {}
        self.starts: dict[int, list[_Key]] = {}
        text = Source(analysis.text)
        for key, part, request in _requests(analysis):
            line = text.position(part.region.to_file(request.span.start)).line
            block = part.region.block
            self.requests[line] = key
            self.starts.setdefault(block.line + 1 if block else line, []).append(key)


class LastOutcomes:
    """What came of the requests of a document, as long as their texts stay as they were sent."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._known: dict[_Key, _Last] = {}

    def keep(self, sent: Sent, outcome: Outcome) -> None:
        """Take in what came of a block or request of the text that was sent."""

        def safe(text: str) -> str:
            return visible(mask(text, outcome.secrets))

        for exchange in outcome.exchanges:
            key = sent.requests.get(exchange.request.line or 0)
            if key is not None and exchange.response is not None:
                verdicts = tuple(_masked(one, safe) for one in exchange.tests)
                status = f"{exchange.response.status} in {exchange.response.duration:.3f} s"
                self._known[key] = _Last(f"{status}{counted(verdicts)}", verdicts)
        if outcome.reason is not None:
            for key in sent.starts.get(outcome.line, ()):
                self._known[key] = _Last(f"failed: {safe(outcome.reason.reason)}")

    def diagnostics(self, analysis: Analysis) -> list[Diagnostic]:
        """Return where an assertion did not hold: at its line, else at its request's."""
        found: list[Diagnostic] = []
        known = dict(self._known)  # another thread may keep more meanwhile
        if all(verdict.held for last in known.values() for verdict in last.verdicts):
            return found  # most of the time, while typing
        for key, part, request in _requests(analysis):
            for verdict in known.get(key, _Last("")).verdicts:
                span = None if verdict.held else _place(part, request, verdict)
                if span is not None:
                    lines = verdict.difference[:_MOST_LINES]
                    message = "\n".join([f"{verdict.name}: {verdict.reason}", *lines])
                    found.append(Diagnostic(span, "error", "failed-assertion", message))
        return found

    def summaries(self, analysis: Analysis) -> dict[int, str]:
        """Return what came of the requests of each lens, by where that stands in the file."""
        found: dict[int, str] = {}
        known = dict(self._known)
        for key, part, request in _requests(analysis) if known else ():
            last = known.get(key)
            if last is not None:
                block = part.region.block
                at = block.start if block else part.region.to_file(request.span.start)
                found[at] = f"{found[at]}; {last.summary}" if at in found else last.summary
        return found


def _requests(analysis: Analysis) -> Iterator[tuple[_Key, Part, ParsedRequest]]:
    """Yield the requests of a document, each with what it is known by."""
    seen = Counter[str]()
    for part in analysis.parts:
        for request in part.parsed.requests:
            text = print_request(request)
            yield (text, seen[text]), part, request
            seen[text] += 1


def _place(part: Part, request: ParsedRequest, verdict: Verdict) -> Span | None:
    """Return where a verdict is told: None where its assertion is not there any more."""
    for one in request.assertions:
        if one.text.text == verdict.name:
            start = one.text.offset(0)
            return part.region.to_file_span(Span(start, start + len(one.text.text)))
    block = part.region.block
    if verdict.subject and (block is None or verdict.line != block.line + 1):
        return None
    target = request.target
    return part.region.to_file_span(
        Span(request.span.start, max(request.span.start, target.offset(len(target.text))))
    )


def _masked(one: Verdict, safe: Callable[[str], str]) -> Verdict:
    lines = tuple(safe(line) for line in one.difference)
    return attrs.evolve(one, reason=safe(one.reason), difference=lines, expected=None, actual=None)


def counted(verdicts: tuple[Verdict, ...]) -> str:
    """Tell behind a comma how many assertions held, and which is the first that did not."""
    if not verdicts:
        return ""
    failed = [one for one in verdicts if not one.held]
    if not failed:
        return f", {len(verdicts)} assertion{'s' if len(verdicts) > 1 else ''} held"
    return f", {len(failed)} of {len(verdicts)} assertions FAILED: {failed[0].name}"
