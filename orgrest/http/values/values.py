"""The values of one request's variables, each computed once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from orgrest.http.syntax import Definition, ParsedRequest, Template
from orgrest.http.values.references import UNKNOWN, defined_at, references
from orgrest.http.values.sources import (
    AuthToken,
    Computed,
    Given,
    JavaScript,
    Literal,
    Scripted,
    Use,
    find,
    key_of,
)
from orgrest.model import ExpansionError, OrgrestError, Text, secrets_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from orgrest.http.values.context import Context
    from orgrest.http.values.sources import Found

MAX_SIZE = 64 * 2**20
"""The maximum total length of the values of variables in a request."""
MAX_DEPTH = 100
"""The maximum nesting of variables in each other's values."""


@attrs.frozen
class Origin:
    """A variable that a request uses: its (first) value, and its source."""

    name: str
    value: str
    origin: str


class Values:
    """The variables of a request that is being completed.

    Without `problems`, an error in a variable is raised. With `problems`, it is added to them, and
    the value becomes `UNKNOWN`. `defined` are the values of the document's definitions that
    scripts of this request already saw: random parts of them must not change.
    """

    def __init__(
        self,
        parsed: ParsedRequest,
        context: Context,
        *,
        most: int = MAX_SIZE,
        problems: list[OrgrestError] | None = None,
        defined: Mapping[object, str] | None = None,
    ) -> None:
        self.context = context
        self.parsed = parsed
        self._most = most
        self._problems = problems
        self._found: dict[tuple[str, int | None], Found] = {}
        self._values: dict[object, str] = dict(defined or {})
        self._used: dict[str, tuple[str, Found]] = {}
        self._open: list[tuple[str, object]] = []
        self.url: str | None = None
        """The request's URL, once that is completed."""
        self.blanks = 0
        """The number of placeholders used for values."""
        self._blank: set[object] = set()  # the values that hold a placeholder
        self._made: dict[str, Any] = {}  # results of expressions, by text
        self._size = 0  # total length of the values inserted so far in the request
        self._log: list[str | None] = []  # values that differ at each use, in order
        self._at = 0  # the next entry of the log
        lengths = parsed.known.lengths
        if parsed.restclient:
            lengths = lengths | context.lengths
        self._lengths = sorted(lengths, reverse=True)

    def again(self) -> None:
        """Restart the completion, keeping the values computed so far."""
        self._size = self._at = 0

    def logged(self, compute: Callable[[], str | None]) -> str | None:
        """Compute a value that differs at each use, or return it from an earlier attempt."""
        if self._at == len(self._log):
            self._log.append(compute())
        self._at += 1
        return self._log[self._at - 1]

    @property
    def checks(self) -> bool:
        """Whether nothing is sent: values that only a run provides are `UNKNOWN`."""
        return self._problems is not None

    @property
    def defined(self) -> dict[object, str]:
        """The values so far of the document's definitions, for others with the same request."""
        return {
            key: value
            for key, value in self._values.items()
            if isinstance(key, int) and key not in self._blank
        }

    def text(self, template: Template, start: int = 0, end: int | None = None) -> str:
        """Return the template's text from `start` to `end` with its variables replaced."""
        return self._joined(template, self.pieces(template, start, end))

    @staticmethod
    def _joined(template: Template, pieces: Iterable[tuple[str, int]]) -> str:
        texts = [text for text, _ in pieces]
        secrets = secrets_in(template.text).union(*map(secrets_in, texts))
        whole = "".join(texts)
        return Text(whole, secrets) if secrets else whole

    def pieces(
        self,
        template: Template,
        start: int = 0,
        end: int | None = None,
        view: int | None = None,
    ) -> Iterator[tuple[str, int]]:
        """Yield the pieces of the expanded `text`, each with its index in the template.

        `view` is the offset of the definition whose value the template is, in a request file.
        """
        source = template.text
        stop = len(source) if end is None else end
        restclient = self.parsed.restclient
        defined = self.is_defined if restclient else self._has_colon
        at = start
        for found in references(source, start, stop, self._lengths, defined, restclient=restclient):
            yield source[at : found.start], at
            at = found.end
            if found.literal is not None:
                yield found.literal, found.start
                continue
            offset = template.offset(found.start)
            value = self.used(found.name, offset, view)
            self._size += len(value)
            if self._size > self._most:
                if self._problems is not None:  # only a run can be sure of that
                    yield UNKNOWN, start
                    return
                reason = f"the values of variables grow beyond {self._most // 2**20} MiB here"
                raise self.error(offset, reason, "too-large")
            yield value, found.start
        yield source[at:stop], at

    def is_defined(self, name: str) -> bool:
        """Return whether a variable is defined; one whose lookup fails counts as defined."""
        try:
            return self.find(name) is not None
        except OrgrestError:
            return True

    def _has_colon(self, name: str) -> bool:
        """Return whether a request file defines a variable as restclient does: `:name = value`."""
        definition = self.parsed.definition(name)
        return definition is not None and definition.mark == ":"

    def is_itself(self, name: str, view: int | None) -> bool:
        """Return whether the definition of a name is at `view`, so that its value uses itself."""
        definition = None if view is None else self.parsed.definition(name)
        return definition is not None and definition.span.start == view

    def is_reference(self, text: str, at: int) -> bool:
        """Return whether the `:` before `at` refers to a variable that is defined."""
        return defined_at(text, at, len(text), self._lengths, self.is_defined) is not None

    def used(self, name: str, offset: int, view: int | None = None) -> str:
        """Return the text that replaces a variable used at `offset`."""
        try:
            value = self.value(name, offset, view)
            found = self.find(name, view)
            if isinstance(found, Given) and found.kind == "object":
                reason = f"{name} is an object in {found.origin}: {{{{{name}.MEMBER}}}} is a text"
                raise self.error(offset, reason, "no-value")
            return value
        except ExpansionError as error:
            if self._problems is None:
                raise
            self._problems.append(error)
            return UNKNOWN

    def value(self, name: str, offset: int, view: int | None = None) -> str:
        """Return the value of a variable that is used at `offset`. Raises `ExpansionError`."""
        try:
            found = self.find(name, view)
        except OrgrestError as error:  # of a file with environments
            reason = f"{name} is not defined here, and may be in an environment: {error}"
            if error.code in ("null", "no-secret"):
                reason = str(error)
            raise self.error(offset, reason, "bad-environment") from error
        if found is None and self.is_itself(name, view):
            raise self.error(offset, _loop(self._open, name, view), "self-reference")
        if found is None:
            reason = _why_undefined(name, self.parsed, self.context)
            raise self.error(offset, reason, "undefined-variable")
        # The value of a definition does not depend on where it is used.
        key: object = found.span.start if isinstance(found, Definition) else name
        if isinstance(found, JavaScript):
            key = (name, view)
        if key in self._values:
            self.blanks += key in self._blank
            return self._values[key]
        if (name, key) in self._open:
            raise self.error(offset, _loop(self._open, name, key), "self-reference")
        if len(self._open) >= MAX_DEPTH:
            reason = f"more than {MAX_DEPTH} variables inside each other"
            raise self.error(offset, reason, "self-reference")
        self._open.append((name, key))
        blanks = self.blanks
        try:
            value = self._compute(found, name, offset, view)
        finally:
            self._open.pop()
        if self.blanks > blanks:
            self._blank.add(key)
        if not (isinstance(found, JavaScript) or (isinstance(found, Computed) and not found.once)):
            self._values[key] = value
        self._used.setdefault(name, (value, found))
        return value

    def blank(self, name: str) -> str:
        """Return the placeholder for a value that another request has yet to provide."""
        self.blanks += 1
        return f"<{name}>"

    def origins(self) -> Iterator[Origin]:
        """Yield the names used so far, in order, with the sources of their values."""
        for name, (value, found) in self._used.items():
            if isinstance(found, Definition):
                source = self.parsed.source
                line = source.position(found.span.start).line
                yield Origin(name, value, f"{source.file or 'line'}:{line}")
            else:
                yield Origin(name, value, found.origin)

    def error(self, offset: int, reason: str, code: str) -> ExpansionError:
        """Return the error for an offset in the request's source."""
        return ExpansionError.at(self.parsed.source, offset, reason, code)

    def find(self, name: str, view: int | None = None) -> Found | None:
        """Return the source of a name's value, None if undefined. Raises `OrgrestError`."""
        found = self._found.get((name, view))
        if found is None:
            found = find(Use(name, self.parsed, self.context, view))
            if found is not None:
                self._found[name, view] = found
        return found

    def _compute(self, found: Found, name: str, offset: int, view: int | None) -> str:
        if isinstance(found, Literal):
            return found.text
        if isinstance(found, Scripted):
            if found.text is None:
                reason = (
                    f"{name} is what a script made, and has no text: {{{{{name}(...)}}}} calls it"
                )
                raise self.error(offset, reason, "no-value")
            return found.text
        if isinstance(found, Given):
            return self.text(Template(found.text, ((0, offset),)))
        if isinstance(found, Computed):
            return self._computed(found, name, offset)
        if isinstance(found, AuthToken):
            return _token(self, found, name, offset)
        if isinstance(found, JavaScript):
            from orgrest.http.values.javascript import Expressions

            return Expressions(self, self._made).value(found.code, offset, view)
        if found.operator == ":=":
            from orgrest.http.values.expressions import Expression

            return Expression(found.value, self).value()
        view = None if self.parsed.restclient else found.span.start
        return self._joined(found.value, self.pieces(found.value, view=view))

    def _computed(self, found: Computed, name: str, offset: int) -> str:
        if found.in_run and self._problems is not None:
            return UNKNOWN
        try:
            value = found.compute() if found.once else self.logged(found.compute)
        except OrgrestError as error:
            raise self.error(offset, error.reason, error.code or "no-value") from error
        if value is None:
            return self.blank(name)
        unknown = not value and secrets_in(value)  # the user's, whose provider is not asked
        return Text(self.blank(name), unknown) if unknown else value


def _token(values: Values, found: AuthToken, name: str, offset: int) -> str:
    """Return a token of OAuth 2.0 as a value. Raises `ExpansionError`, `TokenNeededError`."""
    from orgrest.http.auth import oauth2

    used: list[str] = []

    def expand(text: str) -> str:
        used.append(values.text(Template(text, ((0, offset),))))
        return used[-1]

    context = values.context
    try:
        security = context.environment.value("Security")
        grant = oauth2.from_security(security, found.grant, expand)
        secrets, url = context.secrets.within_all(used), values.url
        value = UNKNOWN if values.checks else context.token(grant, secrets, url, found.kind)
    except OrgrestError as error:
        raise values.error(offset, error.reason, error.code or "no-value") from error
    return values.blank(name) if value is None else value


def _why_undefined(name: str, parsed: ParsedRequest, context: Context) -> str:
    reason = f"the variable {name} is not defined"
    if key_of(name, parsed, context) is not None:
        reason = f"{name} names a request: {{{{{name}.response.body}}}} is what it got"
    if parsed.restclient:
        return reason
    if names := context.environment.others_with(name):
        return f"{reason}; the environment {' or '.join(names)} has it: --env {names[0]}"
    if context.env(name) is not None:
        return f"{reason}; the environment variable is {{{{$processEnv {name}}}}}"
    return reason


def _loop(opened: list[tuple[str, object]], name: str, key: object) -> str:
    """Return why a variable whose value is being computed cannot be in it."""
    at = opened.index((name, key)) if (name, key) in opened else 0
    loop = " -> ".join([*(inside for inside, _ in opened[at:]), name])
    return f"the variable {name} refers to itself: {loop}"
