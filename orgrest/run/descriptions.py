"""The OpenAPI descriptions of a run: each exchange is checked against its description and counted.

A request's description comes from the last line `# @openapi FILE` above its end, else from the
header argument `:openapi`, else from the options of the run. `no` means no description, `auto` a
description beside the document that describes the request.
"""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from orgrest.model import OrgrestError, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from orgrest.description.files import Locate
    from orgrest.description.model import Description
    from orgrest.description.schemas import Schemas
    from orgrest.http.syntax import ParsedRequest
    from orgrest.http.values import Context, Inputs
    from orgrest.model import Request, Response
    from orgrest.org.arguments import Arguments

_MOST_TOLD = 20  # problems of one exchange
_MOST_COUNTED = 1_000  # requests that are not described
_MARK = "@openapi"


@attrs.define
class Exercised:
    """The number of an operation's responses, of those not as described, and their statuses."""

    requests: int = 0
    failed: int = 0
    statuses: set[int] = attrs.field(factory=set)


@attrs.frozen
class _Known:
    """A description, its schemas and request counts; `foreign` counts undescribed requests."""

    description: Description
    schemas: Schemas
    counts: dict[str, Exercised]
    foreign: Counter[str] = attrs.field(factory=Counter)


class Descriptions:
    """The descriptions that a run has read, shared by its threads; `default` is the run's option.

    `inputs` decide which files the default description may refer to, and `on_read` is called with
    the path of each.
    """

    def __init__(
        self,
        default: Path | str | None = None,
        inputs: Inputs | None = None,
        on_read: Callable[[Path], None] | None = None,
    ) -> None:
        """Read the default description, if any. Raises OrgrestError if it cannot be read."""
        self._lock = threading.Lock()
        self._read: dict[Path, _Known | OrgrestError] = {}
        self._told: set[Path] = set()
        self._default = "" if default is None else str(default)
        self._path = Path(default).resolve() if isinstance(default, Path) else None
        if self._path is not None:
            from orgrest.description.files import below

            allowed = () if inputs is None else inputs.allow_read
            if on_read is not None:
                on_read(self._path)
            self._get(self._path, self._default, below(self._path.parent, allowed, on_read))

    def concern(self, parsed: ParsedRequest, arguments: Arguments) -> bool:
        """Return whether a request may have a description."""
        return bool(self._default or "openapi" in arguments or _MARK in parsed.source.text)

    def verdict(
        self,
        parsed: ParsedRequest,
        context: Context,
        arguments: Arguments,
        exchange: tuple[Request, Response],
    ) -> tuple[Verdict | None, list[str]]:
        """Return whether an exchange is as described, and notes about parts that are not checked.

        The verdict is None if the exchange has no description.
        """
        place = parsed.source.position(parsed.span.start)
        verdict = Verdict(
            "openapi", False, subject="openapi", file=parsed.source.file, line=place.line
        )
        from orgrest.description.beside import AUTO, NONE
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
            known = self._get(path or context.locate(name), name, context.locate)
            return self._judged(known, exchange, context, verdict)
        except OrgrestError as error:
            return attrs.evolve(verdict, reason=str(error)), []

    def _beside(
        self,
        context: Context,
        exchange: tuple[Request, Response],
        verdict: Verdict,
    ) -> tuple[Verdict | None, list[str]]:
        """Return the verdict by the description beside the document that covers the request."""
        from orgrest.description.beside import beside

        request, notes, found = exchange[0], [], False
        for path in beside(context.directory):
            found = True
            try:
                known = self._get(context.locate(str(path)), path.name, context.locate)
            except OrgrestError as error:
                if path not in self._told:
                    self._told.add(path)
                    notes.append(f"openapi: {error}")
                continue
            description = known.description
            is_known = description.operation(request.method, request.url) is not None
            named = bool(description.hosts) and description.is_of_server(request.url)
            if named or (is_known and description.may_be_meant(request.url)):
                judged, more = self._judged(known, exchange, context, verdict)
                return judged, [*notes, *more]
        if context.directory not in self._told:
            self._told.add(context.directory)
            what = "describes this request" if found else "is there"
            notes.append(f"openapi: no description beside the document {what}: it is not checked")
        return None, notes

    def _get(self, path: Path, name: str, locate: Locate) -> _Known:
        with self._lock:
            found = self._read.get(path)
            if found is None:
                from orgrest.description.files import read
                from orgrest.description.schemas import Schemas

                try:
                    description = read(path, name, locate)
                    counts = {one.name: Exercised() for one in description.operations}
                    found = _Known(description, Schemas(description), counts)
                except OrgrestError as error:
                    found = error
                self._read[path] = found
        if isinstance(found, OrgrestError):
            raise OrgrestError(str(found))
        return found

    def _judged(
        self,
        known: _Known,
        exchange: tuple[Request, Response],
        context: Context,
        verdict: Verdict,
    ) -> tuple[Verdict | None, list[str]]:
        from orgrest.description.checks import of_exchange

        request, response = exchange
        description = known.description
        found = description.operation(request.method, request.url)
        if found is None:
            if not description.is_of_server(request.url):
                return None, []
            return self._undescribed(known, request, verdict), []
        operation, values = found
        findings = of_exchange(operation, values, request, response)
        problems = findings.problems
        if findings.parts:
            work, wrong = known.schemas.job(findings.parts)
            problems += (*wrong, *(context.engine.validate_parts(work) if work["parts"] else ()))
        with self._lock:
            count = known.counts[operation.name]
            count.requests += 1
            count.statuses.add(response.status)
            count.failed += bool(problems)
        if len(problems) > _MOST_TOLD:
            problems = [*problems[:_MOST_TOLD], f"and {len(problems) - _MOST_TOLD} more"]
        name = f"openapi {operation.name} {response.status}"
        notes = [f"openapi: {one}" for one in findings.unchecked]
        return attrs.evolve(
            verdict, name=name, held=not problems, reason="; ".join(problems)
        ), notes

    def _undescribed(self, known: _Known, request: Request, verdict: Verdict) -> Verdict:
        """Return the verdict on a request that matches no operation, and count it."""
        from urllib.parse import urlsplit

        from orgrest.rendering.masking import mask

        description = known.description
        path = mask(urlsplit(request.url).path or "/", request.secrets)
        with self._lock:
            if len(known.foreign) < _MOST_COUNTED:
                known.foreign[f"{request.method} {path}"] += 1
        reason = f"{description.name} describes no such operation"
        if description.unreadable:
            reason += f", but not all could be read: {description.unreadable[0]}"
        name = f"openapi {request.method} {request.url}"
        return attrs.evolve(verdict, name=name, reason=reason)

    def coverage(self) -> list[dict[str, Any]]:
        """Return, for each description, its operations with the number of requests to each."""
        with self._lock:
            every = [one for one in self._read.values() if isinstance(one, _Known)]
            return [
                {
                    "file": known.description.name,
                    "operations": [
                        {
                            "operation": operation.name,
                            "summary": operation.summary,
                            "requests": count.requests,
                            "failed": count.failed,
                            "statuses": sorted(count.statuses),
                            "unseen": _unseen(operation.statuses, count.statuses),
                        }
                        for operation in known.description.operations
                        for count in (known.counts[operation.name],)
                    ],
                    "undescribed": [
                        {"request": request, "requests": count}
                        for request, count in sorted(known.foreign.items())
                    ],
                    "unreadable": known.description.unreadable,
                }
                for known in every
            ]


def _unseen(described: list[str], seen: set[int]) -> list[str]:
    """Return the described statuses that no response had."""
    texts = {str(one) for one in seen} | {f"{one // 100}XX" for one in seen}
    return [one for one in described if one.upper() not in texts and one != "default"]
