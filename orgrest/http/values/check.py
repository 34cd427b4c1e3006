"""Checks requests before sending: their known values, and errors that would prevent sending."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from orgrest.http.values.expansion import Expansion
from orgrest.http.values.javascript import UNKNOWN
from orgrest.http.values.values import Values
from orgrest.model import ExpansionError, Headers, Notice, OrgrestError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from orgrest.http.syntax import (
        Body,
        Definition,
        HeaderLine,
        HeaderVariable,
        ParsedRequest,
        Template,
    )
    from orgrest.http.values.context import Context

_MOST = 2**20  # characters; a check only displays values


@attrs.frozen
class Checked:
    """A request as far as it is known before sending; `UNKNOWN` marks unknown values.

    `body` is its text in pieces, each with its index in the body's template. `problems` would
    prevent the request from being sent, `notices` would not.
    """

    url: str
    headers: Headers
    body: tuple[tuple[str, int], ...]
    problems: tuple[OrgrestError, ...]
    notices: tuple[Notice, ...]


def check(
    parsed: ParsedRequest, context: Context, definitions: Iterable[Definition] = ()
) -> Checked:
    """Complete a request as far as possible, and report all of its errors.

    `definitions` are checked whether the request uses them or not. Files are not read, but it is
    reported if they could not be.
    """
    return _Check(parsed, context).checked(definitions)


def value_of(name: str, parsed: ParsedRequest, context: Context) -> str | None:
    """Return the value of a variable in a request, None if it is undefined.

    A value that only a run provides is `UNKNOWN`, as is one that cannot be computed.
    """
    return _Check(parsed, context).value_of(name)


class _Check(Expansion):
    """A completion that continues after errors."""

    def __init__(self, parsed: ParsedRequest, context: Context) -> None:
        self._problems = list(parsed.problems)
        super().__init__(parsed, Values(parsed, context, most=_MOST, problems=self._problems))

    def value_of(self, name: str) -> str | None:
        """Return the value of a variable as far as it is known; None if it is undefined."""
        return self._values.used(name, 0) if self._values.is_defined(name) else None

    def checked(self, definitions: Iterable[Definition]) -> Checked:
        for definition in definitions:
            self._values.used(definition.name, definition.span.start)
        url = self._url()
        headers = self._headers()
        body: tuple[tuple[str, int], ...] = ()
        where = self._parsed.body
        if where is not None:
            kind = next((value for name, value in headers if name.lower() == "content-type"), "")
            plain = where.file is None and not where.files
            if plain and not kind.lower().startswith("multipart/"):
                body = tuple(self._values.pieces(where.template))
            else:
                self._body(where, headers)
        return Checked(url, headers, body, tuple(self._problems), tuple(self._notices))

    def _check_url(self, url: str, template: Template) -> None:
        if UNKNOWN in url:
            return
        try:
            super()._check_url(url, template)
        except ExpansionError as error:
            self._problems.append(error)

    def _header(self, item: HeaderLine | HeaderVariable) -> Iterable[tuple[str, str]]:
        try:
            return super()._header(item)
        except ExpansionError as error:
            self._problems.append(error)
            return []

    def _check_header(self, name: str, value: str, offset: int) -> None:
        super()._check_header(name.replace(UNKNOWN, "x"), value, offset)

    def _header_block(self, text: str, name: str, offset: int) -> list[tuple[str, str]]:
        return [] if UNKNOWN in text else super()._header_block(text, name, offset)

    def _read(self, path: Template) -> bytes:
        name = self._values.text(path)
        try:
            if UNKNOWN not in name:
                self._values.context.locate(name)
        except OrgrestError as error:
            problem = self._error(path.offset(0), error.reason, "unreadable-file")
            self._problems.append(problem)
        return b""

    def _check_boundary(self, kind: str, body: bytes, where: Body) -> None:
        if UNKNOWN not in kind:
            super()._check_boundary(kind, body, where)
