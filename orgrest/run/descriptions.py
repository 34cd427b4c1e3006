"""The OpenAPI descriptions that a run checks its exchanges against.

A request's description is selected by the last line `# @openapi FILE` above the end of the request.
Without such a line, the header argument `:openapi` selects it, or else the run's option. The value
`no` selects no description. The value `auto` selects the first description near the document that
applies to the request.
"""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orgrest import classes
from orgrest.model import OrgrestError, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from orgrest.description.files import Locate
    from orgrest.description.model import Description
    from orgrest.description.schemas import Schemas
    from orgrest.http.syntax import ParsedRequest
    from orgrest.http.values import Context, Inputs
    from orgrest.model import Request, Response
    from orgrest.org.blocks import Arguments

_MOST_REPORTED = 20  # problems reported for one exchange
_MOST_COUNTED = 1_000  # undescribed requests that are counted
_MARK = "@openapi"


@classes.define
class Exercised:
    """The number of `requests` to an operation, and of those that `failed` the check.

    `statuses` contains the statuses of the responses.
    """

    requests: int = 0
    failed: int = 0
    statuses: set[int] = classes.field(factory=set)


@classes.frozen
class _Entry:
    description: Description
    schemas: Schemas
    counts: dict[str, Exercised]
    foreign: Counter[str] = classes.field(factory=Counter)  # requests that match no operation


class Descriptions:
    """The descriptions that a run has read, shared by its threads.

    `default` is the description that the run's options select. `inputs` limits the files that this
    description may refer to. `on_read` is called with the path of each file that is read for it.
    """

    def __init__(
        self,
        default: Path | str | None = None,
        inputs: Inputs | None = None,
        on_read: Callable[[Path], None] | None = None,
    ) -> None:
        """Read the default description, if any. Raises OrgrestError if it cannot be read."""
        self._lock = threading.Lock()
        self._read: dict[Path, _Entry | OrgrestError] = {}
        self._reported: set[Path] = set()
        self._default = "" if default is None else str(default)
        self._path = Path(default).resolve() if isinstance(default, Path) else None
        if self._path is not None:
            from orgrest.description.files import below

            allowed = () if inputs is None else inputs.allow_read
            if on_read is not None:
                on_read(self._path)
            self._get(self._path, self._default, below(self._path.parent, allowed, on_read))

    def concern(self, parsed: ParsedRequest, arguments: Arguments) -> bool:
        """Return whether a request might have to be checked against a description."""
        return bool(self._default or "openapi" in arguments or parsed.source.holds(_MARK))

    def verdict(
        self,
        parsed: ParsedRequest,
        context: Context,
        arguments: Arguments,
        exchange: tuple[Request, Response],
    ) -> tuple[Verdict | None, list[str]]:
        """Return the verdict on an exchange, and notes about what was not checked.

        The verdict is None if no description applies to the exchange.
        """
        place = parsed.source.position(parsed.span.start)
        verdict = Verdict(
            "openapi", False, subject="openapi", file=parsed.source.file, line=place.line
        )
        from orgrest.description.files import AUTO, NONE
        from orgrest.description.model import named_above

        above = named_above(parsed.source.text, parsed.span.end)
        given = above[0] if above else arguments.get("openapi")
        name = given or self._default
        try:
            if not name or name == NONE:
                return None, []
            path = None if given else self._path
            if path is None and name == AUTO:
                return self._beside(context, exchange, verdict)
            entry = self._get(path or context.locate(name), name, context.locate)
            return self._judged(entry, exchange, context, verdict)
        except OrgrestError as error:
            return classes.evolve(verdict, reason=str(error)), []

    def _beside(
        self,
        context: Context,
        exchange: tuple[Request, Response],
        verdict: Verdict,
    ) -> tuple[Verdict | None, list[str]]:
        """Check an exchange against the first description near the document that applies.

        A description applies if it lists the request's host. A description with the request's
        operation also applies if it lists no hosts, or if the request is sent to this machine.
        """
        from orgrest.description.files import beside

        request, notes, any_beside = exchange[0], [], False
        for path in beside(context.directory):
            any_beside = True
            try:
                entry = self._get(context.locate(str(path)), path.name, context.locate)
            except OrgrestError as error:
                if path not in self._reported:
                    self._reported.add(path)
                    notes.append(f"openapi: {error}")
                continue
            description = entry.description
            is_known = description.operation(request.method, request.url) is not None
            named = bool(description.hosts) and description.is_of_server(request.url)
            if named or (is_known and description.matches_server_or_localhost(request.url)):
                judged, more = self._judged(entry, exchange, context, verdict)
                return judged, [*notes, *more]
        if context.directory not in self._reported:
            self._reported.add(context.directory)
            missing = "describes this request" if any_beside else "was found"
            where = "in the document's folder or its parents"
            notes.append(f"openapi: not checked, as no description {where} {missing}")
        return None, notes

    def _get(self, path: Path, name: str, locate: Locate) -> _Entry:
        with self._lock:
            entry = self._read.get(path)
            if entry is None:
                from orgrest.description.files import read
                from orgrest.description.schemas import Schemas

                try:
                    description = read(path, name, locate)
                    counts = {operation.name: Exercised() for operation in description.operations}
                    entry = _Entry(description, Schemas(description), counts)
                except OrgrestError as error:
                    entry = error
                self._read[path] = entry
        if isinstance(entry, OrgrestError):
            raise OrgrestError(str(entry))
        return entry

    def _judged(
        self,
        entry: _Entry,
        exchange: tuple[Request, Response],
        context: Context,
        verdict: Verdict,
    ) -> tuple[Verdict | None, list[str]]:
        from orgrest.description.checks import of_exchange

        request, response = exchange
        description = entry.description
        match = description.operation(request.method, request.url)
        if match is None:
            if not description.is_of_server(request.url):
                return None, []
            return self._undescribed(entry, request, verdict), []
        operation, values = match
        findings = of_exchange(operation, values, request, response)
        problems = findings.problems
        if findings.parts:
            work, wrong = entry.schemas.job(findings.parts)
            problems += (*wrong, *(context.engine.validate_parts(work) if work["parts"] else ()))
        with self._lock:
            count = entry.counts[operation.name]
            count.requests += 1
            count.statuses.add(response.status)
            count.failed += bool(problems)
        if len(problems) > _MOST_REPORTED:
            problems = [*problems[:_MOST_REPORTED], f"and {len(problems) - _MOST_REPORTED} more"]
        name = f"openapi {operation.name} {response.status}"
        notes = [f"openapi: {part}" for part in findings.unchecked]
        return classes.evolve(
            verdict, name=name, held=not problems, reason="; ".join(problems)
        ), notes

    def _undescribed(self, entry: _Entry, request: Request, verdict: Verdict) -> Verdict:
        from urllib.parse import urlsplit

        from orgrest.rendering.masking import mask

        description = entry.description
        path = mask(urlsplit(request.url).path or "/", request.secrets)
        with self._lock:
            if len(entry.foreign) < _MOST_COUNTED:
                entry.foreign[f"{request.method} {path}"] += 1
        reason = f"{description.name} does not describe this operation"
        if description.unreadable:
            reason += f", but parts of it could not be read: {description.unreadable[0]}"
        name = f"openapi {request.method} {request.url}"
        return classes.evolve(verdict, name=name, reason=reason)

    def coverage(self) -> list[dict[str, Any]]:
        """Return the operations of each description, with the number of requests to each."""
        with self._lock:
            entries = [entry for entry in self._read.values() if isinstance(entry, _Entry)]
            return [
                {
                    "file": entry.description.name,
                    "operations": [
                        {
                            "operation": operation.name,
                            "summary": operation.summary,
                            "requests": count.requests,
                            "failed": count.failed,
                            "statuses": sorted(count.statuses),
                            "unseen": _unseen(operation.statuses, count.statuses),
                        }
                        for operation in entry.description.operations
                        for count in (entry.counts[operation.name],)
                    ],
                    "undescribed": [
                        {"request": request, "requests": count}
                        for request, count in sorted(entry.foreign.items())
                    ],
                    "unreadable": entry.description.unreadable,
                }
                for entry in entries
            ]


def _unseen(described: list[str], seen: set[int]) -> list[str]:
    texts = {str(status) for status in seen} | {f"{status // 100}XX" for status in seen}
    return [status for status in described if status.upper() not in texts and status != "default"]
