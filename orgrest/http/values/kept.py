"""Keeps the values of definitions that a run computes once, such as `@id = {{$random.uuid}}`.

As in httpyac, `@name = value` is computed when the run passes the line: before the request of the
section is sent or, if the line is below the request, after the response has arrived. Later requests
use the same value. If a request uses a definition that the run has not passed, the value is
computed at that moment.

A value is not kept if it also depends on something that changes during a run: the response to a
named request, a prompt, a secret, the variables of an iteration or of a `run` line, or a variable
that has no value yet. Such a definition is expanded at each use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from orgrest.http.syntax import Definition
from orgrest.http.values import sources
from orgrest.http.values.context import Kept
from orgrest.http.values.references import names_of, references_in
from orgrest.http.values.sources import AuthToken, Computed, Given, JavaScript, Literal, Scripted
from orgrest.model import OrgrestError

if TYPE_CHECKING:
    from orgrest.http.values.expressions import Variables
    from orgrest.http.values.sources import Found
    from orgrest.model import Source

_CHANGING = frozenset({"an iteration", "run"})  # origins
_MAX_DEPTH = 20  # of nested definitions
_MAX_SIZE = 64 * 2**20  # of all kept values, in characters


def at_use(
    values: Variables, source: Found, place: tuple[Source, Definition], name: str, offset: int
) -> Kept | None:
    """Return the value of a definition that a request uses, or None if it is not kept.

    `place` consists of the definition's source and the definition. Raises `ExpansionError` if the
    value cannot be computed.
    """
    context, parsed, start = values.context, values.parsed, place[1].span.start
    key, entries = (place[0], start), context.kept.entries
    entry = entries.get(key)
    if isinstance(entry, Kept) and not (context.replaced or context.iteration):
        return entry
    dependencies = _Dependencies(values)
    if not dependencies.lasts(source):
        return None
    if isinstance(entry, OrgrestError):
        raise entry.with_traceback(None)
    if key in entries:
        return entry
    if not dependencies.response:
        return _computed(values, source, place, name, offset)
    region = parsed.region
    own = place[0] is parsed.source and region and region.start <= start < region.end
    if place[1].when == "after" and not own and context.answers.last is not None:
        line = place[0].position(start).line
        reason = (
            f"{name}, defined on line {line}, is computed from the response to the request above "
            "that line, but this run has not received that response"
        )
        raise values.error(offset, reason, "no-response")
    return None


def pass_by(definition: Definition, values: Variables, *, again: bool) -> None:
    """Compute the value of a definition in the section of a request, and keep it.

    `values` looks up the variables of the request. If the run has already passed the definition,
    the value is computed again only if `again` is set. An error is raised only when a request uses
    the definition.
    """
    source, start, store = values.parsed.source, definition.span.start, values.context.kept
    entry = store.entries.get((source, start))
    if isinstance(entry, Kept):
        if not (entry.passed and again):
            entry.passed = True
            return
        store.size -= len(entry.value)
    store.entries.pop((source, start), None)
    dependencies = _Dependencies(values)
    try:
        if dependencies.lasts(definition):
            entry = _computed(values, definition, (source, definition), definition.name, start)
            if entry is not None:
                entry.passed = True
    except OrgrestError as error:
        later = definition.when == "before" or not dependencies.response
        store.entries[source, start] = None if later else error


def _computed(
    values: Variables, source: Found, place: tuple[Source, Definition], name: str, offset: int
) -> Kept | None:
    """Compute the value of a variable and keep it. Returns None if it cannot be kept."""
    store = values.context.kept
    result = values.compute_apart(source, name, offset)
    if result is None or store.size + len(result.value) > _MAX_SIZE:
        return None
    store.size += len(result.value)
    store.entries[place[0], place[1].span.start] = result
    return result


class _Dependencies:
    """Decides whether values may be kept. `response` is set if they depend on the last response."""

    def __init__(self, values: Variables) -> None:
        self._values = values
        self._known: dict[object, bool] = {}  # False while in progress
        self.response = False

    def lasts(self, source: Found, view: int | None = None, depth: int = 0) -> bool:
        """Return whether the value of a source may be kept for the rest of the run."""
        if isinstance(source, Literal):
            return source.origin not in _CHANGING
        if isinstance(source, Computed):
            return not source.in_run
        if isinstance(source, AuthToken | Scripted):
            return isinstance(source, Scripted)
        if isinstance(source, JavaScript):
            return all(self._code_lasts(name, view, depth) for name, _ in names_of(source.code))
        if isinstance(source, Given):
            text, view = source.text, None
        else:
            text, view = source.value.text, source.span.start
        key: object = text if view is None else view
        if key not in self._known:
            self._known[key] = False
            self._known[key] = depth < _MAX_DEPTH and all(
                self._name_lasts(reference.name, view, depth + 1)
                for reference in references_in(text)
            )
        return self._known[key]

    def _name_lasts(self, name: str, view: int | None, depth: int) -> bool:
        try:
            source = self._values.find(name, view)
        except OrgrestError:  # an environment file is broken
            return False
        return source is not None and self.lasts(source, view, depth)

    def _code_lasts(self, name: str, view: int | None, depth: int) -> bool:
        """Return whether a name in an expression has a value that may be kept."""
        parsed, context = self._values.parsed, self._values.context
        if self._values.is_defined(name):
            return self._name_lasts(name, view, depth)
        if not sources.is_response(name, parsed, context):
            return True
        is_last = name == "response" and sources.key_of(name, parsed, context) is None
        self.response |= is_last
        return is_last
