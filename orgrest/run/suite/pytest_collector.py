"""Documents as pytest tests: a collector for each document, and an item for each request.

A document's setup is sent before its first selected request, and its teardown after the last. A
request that others refer to is sent when it is first needed, even if it is not selected. If it
then fails, so does the test that needed it.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pytest

from orgrest.files import File, is_request_file
from orgrest.http.values import environments
from orgrest.model import OrgrestError, explained
from orgrest.options import pair
from orgrest.run.logins import Logins
from orgrest.run.plan import Choice
from orgrest.run.record import of_outcome
from orgrest.run.run import Run
from orgrest.run.services import Services
from orgrest.run.settings import Settings
from orgrest.run.suite.summary import answers, reasons

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from orgrest.http.transport.client import Client
    from orgrest.run.plan import Step, StepId
    from orgrest.run.record import Record


_SELECTED = pytest.StashKey["dict[DocumentFile, list[StepId]]"]()
"""The selected requests of each document."""
_WRONG = pytest.StashKey[str]()
"""The error about the environments selected for this session, or ""."""


class DocumentFile(pytest.File):
    """A document whose requests are tests."""

    _run: Run | None = None
    _client: Client | None = None

    @cached_property
    def _text(self) -> str:
        """The document as it was collected, even if it is changed before its requests are sent."""
        return File.read(self.path).text

    def collect(self) -> Iterator[pytest.Item]:
        """Yield an item for each request except setup and teardown."""
        run = self._open()
        try:
            for problem in run.problems(tests=True):
                reason = "" if problem.reason is None else problem.reason.reason
                raise self.CollectError(f"{self.path}:{problem.line}: {reason}")
            counts: Counter[str] = Counter()
            for step in run.plan.of("request"):
                name = step.name or f"line {step.line}"
                counts[name] += 1
                if counts[name] > 1:
                    where = f"line {step.line}" if step.name else counts[name]
                    name = f"{name} ({where})"
                yield RequestItem.from_parent(self, name=name, step=step)
        finally:
            self._end()

    def setup(self) -> None:
        """Send the requests that are named or tagged `setup`.

        Fails if a selected environment is unknown in the folders of all collected documents.
        """
        stash = self.session.stash
        if _SELECTED not in stash:
            stash[_SELECTED] = selected = _selected(self.session)
            stash[_WRONG] = _wrong_with_environments(self.config, selected)
        if stash[_WRONG]:
            raise pytest.fail.Exception(f"--orgrest-env: {stash[_WRONG]}", pytrace=False)
        self._run = run = self._open(Choice(ids=frozenset(stash[_SELECTED][self])))
        for step in run.plan.of("setup"):
            self._send(run, step)

    def teardown(self) -> None:
        """Send all requests that are named or tagged `teardown`, then raise the first failure."""
        run = self._run
        if run is None:  # the document could not be read
            return
        failures = []
        try:
            for step in run.plan.of("teardown"):
                try:
                    self._send(run, step)
                except pytest.fail.Exception as error:
                    failures.append(error)
        finally:
            self._end()
        if failures:
            raise failures[0]

    def send(self, step_id: StepId) -> list[Record]:
        """Send the request of a step, and return its own records.

        Fails the test if the request, or one that it needs, fails.
        """
        run = self._run
        assert run is not None  # noqa: S101 - pytest sets a collector up before its items
        step = next(candidate for candidate in run.plan.steps if candidate.id == step_id)
        return self._send(run, step)

    def _send(self, run: Run, step: Step) -> list[Record]:
        place = {"file": str(self.path)}
        outcomes = [*run.carry_out(step)]
        needed = [other for outcome in outcomes for other in outcome.needed]
        records = [of_outcome(outcome, place, fail=True) for outcome in (*needed, *outcomes)]
        failures = [record for record in records if record["outcome"] in ("failed", "error")]
        if failures:
            raise pytest.fail.Exception("\n\n".join(map(_shown, failures)), pytrace=False)
        return records[len(needed) :]

    def _pairs(self, name: str) -> list[tuple[str, str]]:
        try:
            return [pair(text) for text in self.config.getoption(f"orgrest_{name}")]
        except ValueError as error:
            raise pytest.UsageError(f"--orgrest-{name}: {error}") from None

    def _open(self, choice: Choice | None = None) -> Run:
        from orgrest.http.transport.client import Client
        from orgrest.http.values import Inputs
        from orgrest.http.values.context import overrides_of

        option = self.config.getoption
        overrides = overrides_of(self._pairs("var"), self._pairs("secret"))
        folder = self.path.parent
        inputs = Inputs.of_user(
            folder,
            overrides=overrides,
            environments=option("orgrest_env"),
            option_prefix="--orgrest-",
        )
        self._client = client = Client()
        try:
            services = Services.of_user(client=client, logins=Logins())
            run = Run(
                self._text,
                file=str(self.path),
                settings=Settings(inputs, choice=choice or Choice()),
                services=services,
                plain=is_request_file(self.path),
            )
            _ = run.plan
        except Exception as error:
            self._end()
            raise self.CollectError(str(explained(error))) from None
        return run

    def _end(self) -> None:
        if self._run is not None:
            self._run.context.close()
        if self._client is not None:
            self._client.close()
        self._run = self._client = None


class RequestItem(pytest.Item):
    """A request that runs as a pytest test."""

    def __init__(self, *, step: Step, **given: Any) -> None:
        """Create the item for a step of the document's plan."""
        super().__init__(**given)
        self.funcargs: dict[str, object] = {}  # some plugins, such as pytest-lsp, expect it
        self.step_id, self._line = step.id, step.line
        self.extra_keyword_matches.update(step.tags)

    def runtest(self) -> None:
        """Send the request. Fails the test if the request fails."""
        document = self.parent
        assert isinstance(document, DocumentFile)  # noqa: S101 - the only parent
        records = document.send(self.step_id)
        if records and all(record["outcome"] == "skipped" for record in records):
            pytest.skip(records[0]["reason"] or "the request was skipped")

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the position of the request, as pytest expects it."""
        return self.path, self._line - 1, self.name


def _selected(session: pytest.Session) -> dict[DocumentFile, list[StepId]]:
    selected: dict[DocumentFile, list[StepId]] = {}
    for item in session.items:
        if isinstance(item, RequestItem) and isinstance(item.parent, DocumentFile):
            selected.setdefault(item.parent, []).append(item.step_id)
    return selected


def _wrong_with_environments(config: pytest.Config, documents: Iterable[DocumentFile]) -> str:
    try:
        environments.require(
            config.getoption("orgrest_env"), (each.path.parent for each in documents)
        )
    except OrgrestError as error:
        return str(error)
    return ""


def _shown(record: Record) -> str:
    lines = (*reasons(record), "", *answers(record))
    where = f"{record['file']}:{record['line']}: {record['outcome']}"
    return "\n".join([where, *(f"  {line}".rstrip() for line in lines)])
