"""Fills in the variables of a document's requests for an export, as in a dry run."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from orgrest import classes
from orgrest.convert.shared import kept
from orgrest.convert.shared.exports import Export, ExportedRequest, Variable
from orgrest.convert.shared.model import Note
from orgrest.convert.shared.texts import title
from orgrest.http import responses
from orgrest.http.parsing.directives import rule_of
from orgrest.http.responses import ResponseReference
from orgrest.http.syntax import ParsedRequest
from orgrest.http.values import Context, Origin
from orgrest.http.values.dynamic import find
from orgrest.http.values.expansion import value_of
from orgrest.http.values.references import UNKNOWN, names_in
from orgrest.http.values.sources import CAPTURED, DYNAMIC, SCRIPT
from orgrest.model import Request, explained, secrets_in
from orgrest.run.outcomes import Exchange, Outcome, Task
from orgrest.run.run import Run
from orgrest.run.services import Services
from orgrest.run.settings import Settings
from orgrest.run.stages.send import keeps_cookies, options

_SAID: Final = frozenset({"name", "tag", "import", "no-redirect", "no-cookie-jar", "timeout",
                          "inject-variables", "no-gql-parsing", "force-region-delimiter",
                          "no-client-cert", "disabled", "loop", "prompt"})  # fmt: skip
"""The directives that an export takes into account. Others are reported as lost."""
_FROM_ENVIRONMENT: Final = re.compile(
    r'(?:\$(?:processEnv|dotenv)\s+|\$env\.|process\.env\.|env\(\s*")'
    # The name must be usable in a script of curl commands, which sets `cookies` and `response`.
    r'(?P<name>(?!(?:cookies|response)\b)(?:[A-Za-z]|_\w)\w*)(?:"\s*\))?',
    re.ASCII,
)
_ONLY_REFERENCE: Final = re.compile(r"(?:\{\{\s*|:)(?P<name>[^{}]+?)(?:\s*\}\})?")
_PLAIN_PATH: Final = re.compile(r"(?:\.[A-Za-z_]\w*|\[\d+\]|\['[A-Za-z_]\w*'\])+", re.ASCII)
_BLANK: Final = re.compile(r"<[^<>]+>")


@classes.frozen
class _Item:
    """A parsed request and its expansion, or the reason why the expansion is incomplete."""

    place: str
    name: str
    parsed: ParsedRequest
    request: Request | None
    origins: tuple[Origin, ...]
    options: Mapping[str, Any]
    reason: str
    keeps_cookies: bool
    filled: bool = False
    """Whether markers replace the unknown values in `request`."""


@classes.frozen
class _Document:
    """A document, and the settings for its dry runs."""

    text: str
    file: str
    plain: bool
    settings: Settings

    def completed(
        self, *, complete: bool, overrides: Mapping[str, str] | None = None
    ) -> tuple[dict[tuple[str, int], _Item], list[str], frozenset[str]]:
        """Expand the requests in a dry run. Return (requests, error messages, secrets).

        A request's key is its place and its index among the requests at that place. If `complete`
        is false, values that are only known during a run are replaced with names in angle brackets.
        """
        inputs = self.settings.inputs
        inputs = classes.evolve(inputs, overrides={**inputs.overrides, **(overrides or {})})
        settings = classes.evolve(
            self.settings,
            inputs=inputs,
            dry_run=True,
            complete=complete,
            allow_write=(Path("/"),),  # no file is written: any name will do
        )
        run = self._run(settings)
        items: dict[tuple[str, int], _Item] = {}
        failed: list[str] = []
        for outcome in run.outcomes():
            if outcome.task is not None:
                for item in self._items(outcome.task, outcome):
                    number = sum(place == item.place for place, _ in items)
                    items[item.place, number] = item
            elif outcome.reason is not None:
                failed.append(str(outcome.reason))
        return items, failed, run.context.secrets.texts

    def suspects(self) -> tuple[str, ...]:
        return tuple(str(suspect) for suspect in self._run(self.settings).plan.suspects)

    def _run(self, settings: Settings) -> Run:
        services = Services.of_user()
        return Run(
            self.text, file=self.file, settings=settings, services=services, plain=self.plain
        )

    def _items(self, task: Task, outcome: Outcome) -> Iterator[_Item]:
        done = {
            (exchange.request.line, exchange.request.column): exchange
            for exchange in outcome.exchanges
        }
        for parsed in task.parsed:
            at = parsed.source.position(parsed.span.start)
            exchange: Exchange | None = done.get((at.line, at.column))
            reason = "a script skipped it" if outcome.reason is None else str(outcome.reason)
            yield _Item(
                f"{task.file or self.file}:{at.line}",
                parsed.name or task.name or title(parsed.method, parsed.target.text)[:80],
                parsed,
                None if exchange is None else exchange.request,
                tuple(_known(parsed, task.context)) if exchange is None else exchange.variables,
                options(task, parsed, self.settings),
                "" if exchange is not None else reason,
                keeps_cookies(task, parsed),
            )


def read(
    text: str,
    *,
    file: str,
    plain: bool,
    settings: Settings,
    beside: str | None,
    dynamic: Mapping[str, str],
) -> Export:
    """Return an export of the requests that `settings` selects in a document.

    `file` is the document's name, and `plain` is true for a request file. For `beside`, see
    `Export`. References to variables are kept where `kept` allows it. `dynamic` maps the dynamic
    values that the other tool also has to their names there. Raises OrgrestError if a selected name
    or line does not exist.
    """
    document = _Document(text, file, plain, settings)
    shown, failed, secrets = document.completed(complete=False)
    exact, _, more = document.completed(complete=True)
    secrets |= more
    items = {key: _better(exact.get(key), item) for key, item in shown.items()}
    origins = [origin for item in items.values() for origin in item.origins]
    defined = {origin.name for origin in origins if origin.origin != DYNAMIC}
    has_seed = settings.inputs.seed is not None  # then orgrest sends the same values each time
    dynamic = {name: dynamic[name] for name in dynamic if not has_seed and name not in defined}
    around = text + "".join(repr(item.request) for item in items.values())
    begins = _begins(items.values())
    table = kept.markers(_values(items.values(), secrets, dynamic), begins, around)
    # With markers for the values that a request lacks, the rest of the request can be completed.
    lacked = {name for item in items.values() for name in _lacked(item)}
    overrides = {name: marker for name, marker in table.items() if name in lacked}
    if overrides:
        filled, _, _ = document.completed(complete=True, overrides=overrides)
        items = {key: _filled(item, filled.get(key), overrides) for key, item in items.items()}
        values = _values(items.values(), secrets, dynamic)
        new = {name: value for name, value in values.items() if name not in table}
        table |= kept.markers(new, begins, around + repr(table))
    marked, _, _ = document.completed(complete=True, overrides=table)
    calls: list[ExportedRequest] = []
    named = {item.name for item in items.values()}
    variables = kept.Variables(secrets)
    for key, item in items.items():
        again = marked[key].request if key in marked else None
        if (again or item.request) is None:
            failed.append(item.reason)
            continue
        own = _own(item)
        try:
            known = {
                marker: marker if item.filled and own.get(name) is None else own.get(name)
                for name, marker in table.items()
            }
            merged = _merged(item, again, table, known, secrets, dynamic)
            texts = "\n".join(merged.texts())
            used = [name for name, marker in table.items() if marker in texts]
            found = {name: _reference(name, item, named) for name in used}
            late = {
                name: Origin(name, "", f"the response of {reference.name}")
                for name, reference in found.items()
                if reference is not None and own.get(name) is None
            }
            late |= {origin.name: origin for origin in _late(item) if origin.name in used}
            lost = (*_lost(item.parsed), *merged.notes)
            if not has_seed:
                markers = {name: table[name] for name in used if name in dynamic}
                computed = _computed(item, again, texts, markers)
                lost += tuple(_frozen(name for name in own if name not in computed))
            notes = [Note(item.place, reason) for reason in lost]
            kept_variables = {
                name: Variable(dynamic[name], own.get(name, ""))
                if name in dynamic
                else variables.of(
                    name,
                    own.get(name),
                    _environment_variable(name, item.parsed, settings.inputs.environ),
                    late=name in late,
                    response=_response(found[name]) if name in late else None,
                )
                for name in used
            }
            calls.append(
                ExportedRequest(
                    item.name,
                    item.place,
                    merged.request,
                    item.options.get("follow", True),
                    item.options.get("timeout"),
                    {table[name]: variable for name, variable in kept_variables.items()},
                    (*item.parsed.shared_scripts, *item.parsed.scripts, *item.parsed.assertions),
                    tuple(notes),
                    _added(item.parsed, merged.request),
                    item.keeps_cookies,
                    {
                        kept_variables[origin.name]: Note(item.place, reason)
                        for origin, reason in _needed(late.values())
                    },
                )
            )
        except Exception as error:
            failed.append(f"{item.place}: {explained(error).reason}")
    name = Path(file).stem or "requests"
    suspects = document.suspects()
    return Export(name, tuple(calls), variables.all(), tuple(failed), secrets, suspects, beside)


def _merged(
    item: _Item,
    again: Request | None,
    table: Mapping[str, str],
    values: Mapping[str, str | None],
    secrets: frozenset[str],
    dynamic: Container[str],
) -> kept.Merged:
    """Return an item's request, keeping references to variables where possible.

    `again` is the same request with markers in place of variables. `table` maps variable names to
    markers, and `values` maps markers to values.
    """
    if again is not None:
        private = {name for name, value in values.items() if value and kept.holds(value, secrets)}
        changing = [marker for name, marker in table.items() if name in dynamic]
        return kept.merged(item.request, again, values, private, changing)
    assert item.request is not None  # noqa: S101 - else it is not exported
    merged = kept.Merged(item.request)
    if item.origins:
        merged.fix("the request")
    if item.reason:
        merged.notes.append(f"values in angle brackets are only known during a run: {item.reason}")
    return merged


def _environment_variable(name: str, parsed: ParsedRequest, environ: Container[str]) -> str:
    """Return the environment variable that the value of a variable comes from, or ""."""
    match = _FROM_ENVIRONMENT.fullmatch(_source(name, parsed))
    known = match is not None and (match["name"] in environ or not match[0].startswith("$dotenv"))
    return match["name"] if match is not None and known else ""


def _source(name: str, parsed: ParsedRequest) -> str:
    """Return the name that a variable is only another name for, or "" if it is computed."""
    seen: set[str] = set()
    while name not in seen:
        seen.add(name)
        definition = parsed.definition(name)
        if definition is None or _FROM_ENVIRONMENT.fullmatch(name):
            return name
        text = definition.value.text.strip()
        match = _ONLY_REFERENCE.fullmatch(text)
        if match is None and definition.operator != ":=":
            return ""
        name = match["name"] if match else text
    return ""


def _reference(name: str, item: _Item, named: Container[str]) -> ResponseReference | None:
    """Return the variable `name` as a reference to a response, or None if it is not one.

    `named` contains the names of the exported requests.
    """
    source = _source(name, item.parsed)
    reference = responses.read(source) or responses.read_short(source)
    if reference is None or reference.what != "response":
        return None
    wanted = source, f"the response of {reference.name}"
    is_known = reference.name in named
    is_known = is_known or any((each.name, each.origin) == wanted for each in item.origins)
    return reference if is_known else None


def _response(reference: ResponseReference | None) -> tuple[str, str] | None:
    """Return the request and the JSONPath for a value in a JSON response. See `Variable`."""
    if reference is None or reference.part != "body" or reference.path.endswith(".length"):
        return None
    path = re.sub(r"^\$?\.?(?=\w)", ".", reference.path).removeprefix("$")
    if not _PLAIN_PATH.fullmatch(path) or path.startswith((".asJson.", ".asXml.")):
        return None
    return reference.name, "$" + re.sub(r"\['(\w+)'\]", r".\1", path)


def _added(parsed: ParsedRequest, request: Request) -> frozenset[str]:
    written = {header.name.text.lower() for header in parsed.header_lines}
    return frozenset(name.lower() for name, _ in request.headers) - written


def _better(exact: _Item | None, shown: _Item) -> _Item:
    if exact is not None and exact.request is not None:
        return exact
    reason = "it requires the response to another request" if exact is None else exact.reason
    return classes.evolve(shown, reason=reason)


def _lacked(item: _Item) -> Iterator[str]:
    """Yield the variables of a request whose values are missing, if it is incomplete."""
    if item.reason:
        own = _own(item)
        names = dict.fromkeys((*names_in(item.parsed), *own))
        yield from (name for name in names if own.get(name) is None)


def _filled(item: _Item, filled: _Item | None, overrides: Mapping[str, str]) -> _Item:
    """Complete an item with markers (`overrides`) in place of missing values, if possible."""
    if not item.reason or filled is None or filled.request is None:
        return item
    seen = {*overrides, *(origin.name for origin in item.origins)}
    more = (
        origin
        for origin in filled.origins
        if origin.name not in seen and not any(each in origin.value for each in overrides.values())
    )
    return classes.evolve(item, request=filled.request, origins=(*item.origins, *more), filled=True)


def _known(parsed: ParsedRequest, context: Context) -> Iterator[Origin]:
    """Yield the variables of a request whose values are known."""
    for name in names_in(parsed):
        value = value_of(name, parsed, context)
        if value is not None and UNKNOWN not in value:
            yield Origin(name, value, "")


def _own(item: _Item) -> dict[str, str | None]:
    """Map the names of a request's variables to their values, or to None if unknown."""
    unknown = set(_unknown(item))
    return {origin.name: None if origin in unknown else origin.value for origin in item.origins}


def _unknown(item: _Item) -> Iterator[Origin]:
    """Yield the variables of a request whose values are not known before a run."""
    return (origin for origin in item.origins if item.reason and _BLANK.search(origin.value))


def _late(item: _Item) -> Iterator[Origin]:
    """Yield those variables of a request whose values only a run provides, except for secrets."""
    return (origin for origin in _unknown(item) if not secrets_in(origin.value))


def _values(
    items: Iterable[_Item], secrets: frozenset[str], dynamic: Container[str]
) -> dict[str, str | None]:
    """Return the variables that exports may refer to, with their first known values."""
    values: dict[str, str | None] = {}
    for item in items:
        own = _own(item)
        for name in (*names_in(item.parsed), *own):
            value = own.get(name)
            # An export contains the values of all other expressions.
            remains = value is None or kept.PLAIN.fullmatch(name) or kept.holds(value, secrets)
            if values.get(name) is None and (remains or name in dynamic):
                values[name] = value
    return values


def _begins(items: Iterable[_Item]) -> set[str]:
    """Return the names of variables at the beginning of URLs."""
    names = set()
    for item in items:
        target = item.parsed.target.text
        if target.startswith("{{"):
            names.add(target[2:].partition("}}")[0].strip())
    return names


def _needed(late: Iterable[Origin]) -> Iterator[tuple[Origin, str]]:
    """Describe the values that only a run provides, unless they come from captures and scripts.

    Captures and scripts that are not exported are reported themselves.
    """
    for origin in late:
        if origin.origin not in (CAPTURED, SCRIPT):
            what = f"the value of {origin.name}"
            yield origin, f"{what}, which is only known during a run ({origin.origin})"


def _computed(
    item: _Item, again: Request | None, texts: str, markers: Mapping[str, str]
) -> set[str]:
    """Return the dynamic values that the export computes at each use.

    `texts` contains the exported request's strings, and `markers` maps the names to markers.
    """
    definitions = (item.parsed.definition(origin.name) for origin in item.origins)
    inner = "\n".join(each.value.text for each in definitions if each is not None)
    whole = "" if again is None else "\n".join(kept.Merged(again).texts())
    return {
        name
        for name, marker in markers.items()
        if texts.count(marker) >= whole.count(marker) and name not in inner
    }


def _frozen(names: Iterable[str]) -> Iterator[str]:
    """Describe the dynamic values among the variables that change, such as `$uuid`."""
    for name in names:
        row = find(name) if name.startswith("$") else ""
        if not (isinstance(row, str) or row[0].secret or name == "$projectRoot"):
            reason = "replaced with its current value, because exports cannot compute it"
            yield f"{{{{{name}}}}}: {reason}; this value is sent each time"


def _lost(parsed: ParsedRequest) -> Iterator[str]:
    """Describe the parts of a request that exports do not contain."""
    for capture in parsed.captures:
        yield f"the variable {capture.name}, captured from the response"
    for saving in parsed.savings:
        yield f"saving the response to the file {saving.path.text}"
    for directive in parsed.directives:
        rule = rule_of(directive.name)
        if rule is not None and not rule.informs and rule.name not in _SAID:
            yield f"@{directive.name} {directive.value.text}".rstrip()
