"""Documents as pytest tests: a collector for each document, an item for each request.

A document's setup is sent before its first selected request, its teardown after the last one. A
request that others refer to is sent when the first of them needs it, whether selected or not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from orgrest.model import explained
from orgrest.options import pair
from orgrest.run.logins import Logins
from orgrest.run.services import Services
from orgrest.run.settings import Settings
from orgrest.run.suite.control import Control
from orgrest.run.suite.summary import reasons
from orgrest.run.suite.unit import Opened, Unit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from orgrest.run.plan import Step
    from orgrest.run.record import Record


class RequestFailedError(Exception):
    """A request was not answered, or an assertion failed; the message has the details."""


class Document(pytest.File):
    """A document with requests."""

    _opened: Opened | None = None
    _control: Control | None = None

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the requests except for setup and teardown."""
        opened = self._open()
        try:
            problems = list(opened.problems())
            if problems:
                where = f"{self.path}:{problems[0]['line']}"
                raise self.CollectError(f"{where}: {problems[0]['reason']}")
            taken: dict[str, int] = {}
            for step in opened.steps("request"):
                name = step.name or f"line {step.line}"
                taken[name] = taken.get(name, 0) + 1
                if taken[name] > 1:
                    name = f"{name} (line {step.line})"
                yield RequestItem.from_parent(self, name=name, line=step.line, tags=step.tags)
        finally:
            self._end()

    def setup(self) -> None:
        """Send the requests named or tagged setup."""
        self._opened = opened = self._open()
        for step in opened.steps("setup"):
            _send(opened, step)

    def teardown(self) -> None:
        """Send all requests named or tagged teardown, then raise the first failure."""
        opened = self._opened
        if opened is None:  # reading the document failed
            return
        failures = []
        try:
            for step in opened.steps("teardown"):
                try:
                    _send(opened, step)
                except RequestFailedError as error:
                    failures.append(error)
        finally:
            self._end()
        if failures:
            raise failures[0]

    def send(self, line: int) -> list[Record]:
        """Send the request at a line; return its records. Raises RequestFailedError."""
        opened = self._opened
        assert opened is not None  # noqa: S101 - pytest sets a collector up before its items
        step = next(one for one in opened.steps("request") if one.line == line)
        return _send(opened, step)

    def _open(self) -> Opened:
        from orgrest.http.transport.client import Client
        from orgrest.http.values import Inputs

        option = self.config.getoption
        try:
            variables = dict(map(pair, option("orgrest_var")))
        except ValueError as error:
            raise pytest.UsageError(f"--orgrest-var: {error}") from None
        folder = self.path.parent
        inputs = Inputs.of_user(folder, overrides=variables, environments=option("orgrest_env"))
        self._control = Control(Client)
        try:
            services = Services.of_user(client=self._control.client, logins=Logins())
            unit = Unit(0, str(self.path))
            return Opened(unit, Settings(inputs), services, self._control)
        except Exception as error:
            self._end()
            raise self.CollectError(str(explained(error))) from None

    def _end(self) -> None:
        if self._opened is not None:
            self._opened.run.close()
        if self._control is not None:
            self._control.close()
        self._opened = self._control = None


class RequestItem(pytest.Item):
    """A request as a test."""

    def __init__(self, *, line: int, tags: frozenset[str], **given: Any) -> None:
        """Create the item of the request at `line` of the document."""
        super().__init__(**given)
        self.funcargs: dict[str, object] = {}  # some plugins, such as pytest-lsp, need it
        self._line = line
        for tag in tags:
            self.extra_keyword_matches.add(tag)

    def runtest(self) -> None:
        """Send the request."""
        document = self.parent
        assert isinstance(document, Document)  # noqa: S101 - the only parent
        records = document.send(self._line)
        if records and all(one["outcome"] == "skipped" for one in records):
            pytest.skip(records[0]["reason"] or "not to be sent")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *_: Any) -> Any:
        """Show the message of a failed request, without a traceback."""
        if isinstance(excinfo.value, RequestFailedError):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the position of the request."""
        return self.path, self._line - 1, self.name


def _send(opened: Opened, step: Step) -> list[Record]:
    records = list(opened.send(step))
    failures = [one for one in records if one["outcome"] in ("failed", "error")]
    if failures:
        raise RequestFailedError("\n\n".join(map(_shown, failures)))
    return records


def _shown(record: Record) -> str:
    lines = [f"{record['file']}:{record['line']}: {record['outcome']}"]
    lines += (f"  {line}" for line in reasons(record))
    for one in record["exchanges"]:
        lines += ["", f"  {one['request']['method']} {one['request']['url']}"]
        response = one["response"]
        if response is not None:
            lines.append(f"  {response['status']} {response['reason']}")
            text = response["body"].get("text", "")
            lines += (f"  {line}" for line in text[:1000].splitlines())
    return "\n".join(lines)
