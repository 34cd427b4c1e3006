"""The OpenAPI descriptions of a run: each exchange is checked against its one, and counted.

A request's description is that of the last line `# @openapi FILE` above its end, else the header
argument `:openapi`, else the one that the run was started with.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from orgrest.model import OrgrestError, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from orgrest.description.model import Description
    from orgrest.http.scripts import Engine
    from orgrest.http.syntax import ParsedRequest
    from orgrest.http.values import Scope
    from orgrest.model import Request, Response
    from orgrest.org.arguments import Arguments

_MOST_TOLD = 20  # problems of one exchange
_MARK = "@openapi"


@attrs.define
class Exercised:
    """How often an operation was answered, with which statuses, and how often not as described."""

    requests: int = 0
    failed: int = 0
    statuses: set[int] = attrs.field(factory=set)


class Descriptions:
    """The descriptions that a run has read, which its threads share; `default` is the run's own."""

    def __init__(self, default: Path | None = None) -> None:
        """Begin with the default one read, if there is one. Raises OrgrestError if it cannot be."""
        self._lock = threading.Lock()
        self._read: dict[Path, Description | OrgrestError] = {}
        self._counts: dict[Path, dict[str, Exercised]] = {}
        self._default = None if default is None else default.resolve()
        if default is not None:
            self._get(default.resolve(), str(default))

    def verdict(
        self,
        parsed: ParsedRequest,
        scope: Scope,
        arguments: Arguments,
        exchange: tuple[Request, Response],
        started: Callable[[], Engine],
    ) -> Verdict | None:
        """Return whether an exchange is as described; None if there is no description for it."""
        if self._default is None and "openapi" not in arguments and _MARK not in parsed.source.text:
            return None
        place = parsed.source.position(parsed.span.start)
        verdict = Verdict(
            "openapi", False, subject="openapi", file=parsed.source.file, line=place.line
        )
        try:
            path, name = self._path(parsed, scope, arguments)
            if path is None:
                return None
            description = self._get(path, name)
            return self._judged(description, path, exchange, started, verdict)
        except OrgrestError as error:
            return attrs.evolve(verdict, reason=str(error))

    def _path(
        self, parsed: ParsedRequest, scope: Scope, arguments: Arguments
    ) -> tuple[Path | None, str]:
        from orgrest.description.model import named_above

        above = named_above(parsed.source.text, parsed.span.end)
        given = above[0] if above else arguments.get("openapi")
        if given:
            return scope.locate(given), given
        return self._default, "" if self._default is None else str(self._default)

    def _get(self, path: Path, name: str) -> Description:
        with self._lock:
            found = self._read.get(path)
            if found is None:
                from orgrest.description.model import Description
                from orgrest.files import read_bytes

                try:
                    found = Description.read(read_bytes(path), name)
                    self._counts[path] = {one.name: Exercised() for one in found.operations}
                except OrgrestError as error:
                    found = error
                self._read[path] = found
        if isinstance(found, OrgrestError):
            raise OrgrestError(str(found))
        return found

    def _judged(
        self,
        description: Description,
        path: Path,
        exchange: tuple[Request, Response],
        started: Callable[[], Engine],
        verdict: Verdict,
    ) -> Verdict | None:
        from orgrest.description.checks import job, of_exchange

        request, response = exchange
        found = description.operation(request.method, request.url)
        if found is None:
            if not description.is_of_server(request.url):
                return None
            name = f"openapi {request.method} {request.url}"
            reason = f"{description.name} describes no such operation"
            return attrs.evolve(verdict, name=name, reason=reason)
        operation, values = found
        findings = of_exchange(description, operation, values, request, response)
        problems = findings.problems
        if findings.parts:
            problems += started().validate_parts(job(description, findings.parts))
        with self._lock:
            count = self._counts[path][operation.name]
            count.requests += 1
            count.statuses.add(response.status)
            count.failed += bool(problems)
        if len(problems) > _MOST_TOLD:
            problems = [*problems[:_MOST_TOLD], f"and {len(problems) - _MOST_TOLD} more"]
        name = f"openapi {operation.name} {response.status}"
        return attrs.evolve(verdict, name=name, held=not problems, reason="; ".join(problems))

    def coverage(self) -> list[dict[str, Any]]:
        """Return, for each description, its operations and how often each was exercised."""
        with self._lock:
            read = [(path, one) for path, one in self._read.items() if path in self._counts]
            return [
                {
                    "file": one.name,
                    "operations": [
                        {
                            "operation": operation.name,
                            "summary": operation.summary,
                            "requests": count.requests,
                            "failed": count.failed,
                            "statuses": sorted(count.statuses),
                        }
                        for operation in one.operations
                        for count in (self._counts[path][operation.name],)
                    ],
                }
                for path, one in read
                if not isinstance(one, OrgrestError)
            ]
