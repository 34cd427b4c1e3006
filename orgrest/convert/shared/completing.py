"""Completes the requests of a document for an export, like a dry run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from orgrest.convert.shared import kept
from orgrest.convert.shared.exports import Call, Export, Variable
from orgrest.convert.shared.model import Note
from orgrest.http.parsing.directives import rule_of
from orgrest.http.syntax import HeaderLine, ParsedRequest
from orgrest.http.values import Context, Origin
from orgrest.http.values.expansion import value_of
from orgrest.http.values.references import UNKNOWN, names_in
from orgrest.model import Request
from orgrest.run.outcomes import Exchange, Outcome, Task
from orgrest.run.run import Run
from orgrest.run.services import Services
from orgrest.run.settings import Settings
from orgrest.run.stages.send import options

_SAID: Final = frozenset({"name", "tag", "import", "no-redirect", "timeout", "inject-variables",
                          "no-gql-parsing", "force-region-delimiter", "no-client-cert",
                          "disabled", "loop", "prompt"})  # fmt: skip
"""The directives that are carried out before a request is written, or written with it."""
_BLANK: Final = re.compile(r"<[^<>]+>")


@attrs.frozen
class _Item:
    """A request with its completed form, or the reason why it cannot be completed."""

    place: str
    name: str
    parsed: ParsedRequest
    request: Request | None
    origins: tuple[Origin, ...]
    options: Mapping[str, Any]
    reason: str


@attrs.frozen
class _Document:
    """The document, and the settings of its dry runs."""

    text: str
    file: str
    plain: bool
    settings: Settings

    def completed(
        self, *, complete: bool, overrides: Mapping[str, str] | None = None
    ) -> tuple[dict[tuple[str, int], _Item], list[str], frozenset[str]]:
        """Return the requests by place and number there, failures without a request, and secrets.

        Without `complete`, a name in angle brackets replaces values that only a run knows. Raises
        EvaluationError if nothing is chosen.
        """
        inputs = self.settings.inputs
        inputs = attrs.evolve(inputs, overrides={**inputs.overrides, **(overrides or {})})
        settings = attrs.evolve(self.settings, inputs=inputs, dry_run=True, complete=complete)
        services = Services.of_user()
        run = Run(self.text, file=self.file, settings=settings, services=services, plain=self.plain)
        items: dict[tuple[str, int], _Item] = {}
        failed: list[str] = []
        for outcome in run.outcomes():
            if outcome.task is not None:
                for one in self._items(outcome.task, outcome):
                    number = sum(place == one.place for place, _ in items)
                    items[one.place, number] = one
            elif outcome.reason is not None:
                failed.append(str(outcome.reason))
        return items, failed, run.context.secrets.texts

    def _items(self, task: Task, outcome: Outcome) -> Iterator[_Item]:
        done = {(one.request.line, one.request.column): one for one in outcome.exchanges}
        for parsed in task.parsed:
            at = parsed.source.position(parsed.span.start)
            exchange: Exchange | None = done.get((at.line, at.column))
            reason = "its script skips it" if outcome.reason is None else str(outcome.reason)
            yield _Item(
                f"{task.file or self.file}:{at.line}",
                parsed.name or task.name or _title(parsed),
                parsed,
                None if exchange is None else exchange.request,
                tuple(_known(parsed, task.context)) if exchange is None else exchange.variables,
                options(task.arguments, parsed, self.settings),
                "" if exchange is not None else reason,
            )


def read(text: str, *, file: str, plain: bool, settings: Settings) -> Export:
    """Return the requests that the settings choose in a document.

    References to variables remain where the value can be inserted later. Raises OrgrestError if
    nothing is chosen.
    """
    document = _Document(text, file, plain, settings)
    shown, failed, secrets = document.completed(complete=False)
    exact, _, more = document.completed(complete=True)
    secrets |= more
    items = {key: _better(exact.get(key), one) for key, one in shown.items()}
    around = text + "".join(repr(one.request) for one in items.values())
    table = kept.markers(_values(items.values(), secrets), _begins(items.values()), around)
    marked, _, _ = document.completed(complete=True, overrides=table)
    calls: list[Call] = []
    variables: dict[tuple[str, str | None], Variable] = {}
    for key, item in items.items():
        again = marked[key].request if key in marked else None
        notes = [Note(item.place, one) for one in _lost(item.parsed)]
        own = _own(item)
        if again is not None:
            values = {marker: own.get(name) for name, marker in table.items()}
            private = {one for one, value in values.items() if value and kept.holds(value, secrets)}
            found = kept.merged(item.request, again, values, private)
        elif item.request is not None:
            found = kept.Merged(item.request)
            if item.origins:
                found.fix("the request")
            if item.reason:
                notes.append(Note(item.place, "what is in angle brackets is known only in a run: "
                                              f"{item.reason}"))  # fmt: skip
        else:
            failed.append(item.reason)
            continue
        texts = "\n".join(found.texts())
        used = [name for name, marker in table.items() if marker in texts]
        variables = kept.table([*variables, *((one, own.get(one)) for one in used)], secrets)
        notes += (Note(item.place, one) for one in found.notes)
        calls.append(
            Call(
                item.name,
                item.place,
                found.request,
                item.options.get("follow", True),
                item.options.get("timeout"),
                {table[one]: variables[one, own.get(one)] for one in used},
                (*item.parsed.shared_scripts, *item.parsed.scripts, *item.parsed.assertions),
                tuple(notes),
                _added(item.parsed, found.request),
            )
        )
    title = Path(file).stem or "requests"
    return Export(title, tuple(calls), tuple(variables.values()), tuple(failed), secrets)


def _added(parsed: ParsedRequest, request: Request) -> frozenset[str]:
    """Return the names of the headers that a request does not have as written."""
    written = {one.name.text.lower() for one in parsed.headers if isinstance(one, HeaderLine)}
    return frozenset(name.lower() for name, _ in request.headers) - written


def _better(exact: _Item | None, shown: _Item) -> _Item:
    """Return `exact` if it was completed, else `shown`, which has names in angle brackets."""
    if exact is not None and exact.request is not None:
        return exact
    reason = "it needs the result of another request" if exact is None else exact.reason
    return attrs.evolve(shown, reason=reason)


def _known(parsed: ParsedRequest, context: Context) -> Iterator[Origin]:
    """Yield the known variables of a request that cannot be completed."""
    for name in names_in(parsed):
        value = value_of(name, parsed, context)
        if value is not None and UNKNOWN not in value:
            yield Origin(name, value, "")


def _own(item: _Item) -> dict[str, str | None]:
    """Return the values of a request's variables: None for those that only a run knows."""
    return {
        one.name: None if item.reason and _BLANK.search(one.value) else one.value
        for one in item.origins
    }


def _values(items: Iterable[_Item], secrets: frozenset[str]) -> dict[str, str | None]:
    """Return the variables that may remain, each with its first known value.

    An expression only remains if its value is a secret or not known.
    """
    found: dict[str, str | None] = {}
    for item in items:
        own = _own(item)
        for name in (*names_in(item.parsed), *own):
            value = own.get(name)
            remains = value is None or kept.PLAIN.fullmatch(name) or kept.holds(value, secrets)
            if found.get(name) is None and remains:
                found[name] = value
    return found


def _begins(items: Iterable[_Item]) -> set[str]:
    """Return the names with which URLs begin."""
    names = set()
    for item in items:
        target = item.parsed.target.text
        if target.startswith("{{"):
            names.add(target[2:].partition("}}")[0].strip())
    return names


def _title(parsed: ParsedRequest) -> str:
    path = re.sub(r"^[a-z]+://[^/?#]*|^\{\{[^{}]*\}\}", "", parsed.target.text).partition("?")[0]
    return f"{parsed.method} {path.strip() or '/'}"[:80]


def _lost(parsed: ParsedRequest) -> Iterator[str]:
    """Yield the parts of a request that no export contains."""
    for capture in parsed.captures:
        yield f"the variable {capture.name} from the response"
    for saving in parsed.savings:
        yield f"the response in the file {saving.path.text}"
    for one in parsed.directives:
        rule = rule_of(one.name)
        if rule is not None and not rule.informs and rule.name not in _SAID:
            yield f"@{one.name} {one.value.text}".rstrip()
