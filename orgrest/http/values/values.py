"""Computes the values of a request's variables.

Each value is computed only once, except for expressions and dynamic values. The values of some
definitions are even kept for the rest of the run (see `kept`).
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote

from orgrest import classes
from orgrest.http.syntax import Definition, ParsedRequest, Template
from orgrest.http.values.context import Kept
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
from orgrest.model import ExpansionError, OrgrestError, Text, secrets_in, to_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from orgrest.http.values.context import Context
    from orgrest.http.values.sources import Found
    from orgrest.model import Source

Place: TypeAlias = "tuple[str | None, int | None, int | None]"
"""A file, a line and a column. Each is None if it is unknown."""
MAX_SIZE = 64 * 2**20
"""The maximum total length of the values inserted into a request, in characters."""
MAX_DEPTH = 100
"""The maximum nesting depth of variables whose values refer to other variables."""
_COMPARED = 200
"""The maximum number of variables to compare with an undefined one."""


@classes.frozen
class Origin:
    """A variable that a request uses, with its first value and the source of that value."""

    name: str
    value: str
    origin: str


def definition_of(source: Found, parsed: ParsedRequest) -> tuple[Source, Definition] | None:
    """Return the definition that a request's variable comes from, with its source, or None."""
    if isinstance(source, Definition):
        return parsed.source, source
    return source.definition if isinstance(source, Given) else None


class Values:
    """The variables of a request whose placeholders are being replaced.

    If `problems` is given, an error in a variable is added to it, and the value of the variable is
    `UNKNOWN`. Otherwise, the error is raised. `defined` contains the values of definitions that
    scripts of this request have already read. They are reused so that their random parts do not
    change.
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
        """The URL of the request, once its variables are replaced."""
        self.blanks = 0
        """The number of placeholders used in place of values."""
        self._blank: set[object] = set()  # the keys of values that contain a placeholder
        self._made: dict[str, Any] = {}  # results of expressions, by text
        self._size = 0  # total length of the values inserted so far in the request
        self._log: list[str | None] = []  # values that differ at each use, in order
        self._at = 0  # the next entry of the log
        # While a text from outside the document is expanded: the offset at which the document uses
        # the text, and a function that returns the position of an index of the text.
        self._outside: tuple[int, Callable[[int], Place]] | None = None
        lengths = parsed.known.lengths
        if parsed.restclient:
            lengths = lengths | context.lengths
        self._lengths = sorted(lengths, reverse=True)

    def again(self) -> None:
        """Restart the expansion of the request, but keep the values computed so far."""
        self._size = self._at = 0

    def logged(self, compute: Callable[[], str | None]) -> str | None:
        """Return the result of `compute()` and log it.

        After `again`, the logged results are returned first, in the same order. A result that is
        part of another variable's value is not logged, because that value is stored.
        """
        if len(self._open) > 1:
            return compute()
        if self._at == len(self._log):
            self._log.append(compute())
        self._at += 1
        return self._log[self._at - 1]

    @property
    def checks(self) -> bool:
        """Whether the request is only being checked, not run.

        In this case, each value that only a run provides is `UNKNOWN`.
        """
        return self._problems is not None

    @property
    def defined(self) -> dict[object, str]:
        """The values of the definitions computed so far, for reuse in this request."""
        return {
            key: value
            for key, value in self._values.items()
            if isinstance(key, int) and key not in self._blank
        }

    def text(self, template: Template, start: int = 0, end: int | None = None) -> str:
        """Return the template's text from `start` to `end` with its variables replaced."""
        return self.joined(template, self.pieces(template, start, end))

    @staticmethod
    def joined(template: Template, pieces: Iterable[tuple[str, int]]) -> str:
        """Join the pieces of an expanded template. The result keeps their secrets."""
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
        """Yield the pieces of the expanded template, each with its index in the template.

        The first piece is text as written, the second one the value of a variable, and so on.
        If the template is the value of a definition in a request file, `view` is the definition's
        offset.
        """
        source = template.text
        stop = len(source) if end is None else end
        restclient = self.parsed.restclient
        defined = self.is_defined if restclient else self._has_colon
        at = start
        for reference in references(
            source, start, stop, self._lengths, defined, restclient=restclient
        ):
            yield source[at : reference.start], at
            at = reference.end
            if reference.literal is not None:
                yield reference.literal, reference.start
                continue
            offset = template.offset(reference.start)
            value = self.used(reference.name, offset, view)
            self._size += len(value)
            if self._size > self._most:
                if self._problems is not None:  # only a run knows the actual sizes
                    yield UNKNOWN, start
                    return
                reason = f"the values of the variables exceed {self._most // 2**20} MiB in total"
                raise self.error(offset, reason, "too-large")
            yield value, reference.start
        yield source[at:stop], at

    def is_defined(self, name: str) -> bool:
        """Return whether a variable is defined. If its lookup fails, it counts as defined."""
        try:
            return self.find(name) is not None
        except OrgrestError:
            return True

    def similar(self, name: str, least: float, opened: Collection[str] = ()) -> str | None:
        """Return the variable whose name is most similar to `name`, or None.

        `least` is the minimum similarity, from 0 to 1. The variables `opened` depend on `name`, so
        they are not meant.
        """
        context = self.context
        settings: Iterable[str] = ()
        with suppress(OrgrestError):
            settings = context.environment.settings()
        names = chain(
            (definition.name for definition in self.parsed.known.all),
            *(context.captures, context.own, context.values, context.literal, context.iteration),
            settings,
        )
        others = [other for other in islice(names, _COMPARED) if other not in opened]
        if not others:
            return None
        from difflib import get_close_matches

        near = get_close_matches(name, others, n=1, cutoff=least)
        return near[0] if near and self.is_defined(near[0]) else None

    def _has_colon(self, name: str) -> bool:
        definition = self.parsed.definition(name)
        return definition is not None and definition.mark == ":"

    def is_itself(self, name: str, view: int | None) -> bool:
        """Return whether `name` is used in its own definition.

        `view` is the offset of the definition that contains the use. It is None outside
        definitions, and always None in restclient's language.
        """
        return self.parsed.known.at(name, view) is not None

    def is_reference(self, text: str, at: int) -> bool:
        """Return whether the `:` before the index `at` begins a reference to a variable."""
        return defined_at(text, at, len(text), self._lengths, self.is_defined) is not None

    def used(self, name: str, offset: int, view: int | None = None) -> str:
        """Return the text that replaces a variable at `offset`. Raises `ExpansionError`.

        If problems are collected, the error is added to them instead, and the text is `UNKNOWN`.
        """
        try:
            value = self.value(name, offset, view)
            source = self.find(name, view)
            if isinstance(source, Given) and source.kind == "object":
                reason = f"{name} is an object in {source.origin}: use {{{{{name}.MEMBER}}}}"
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
            source = self.find(name, view)
        except OrgrestError as error:  # an environment file is broken
            reason = (
                f"{name} is not defined in the document, and the environments could not "
                f"be read: {error}"
            )
            if error.code in ("null", "no-secret"):
                reason = str(error)
            raise self.error(offset, reason, "bad-environment") from error
        if source is None and self.is_itself(name, view):
            raise self.error(offset, _loop(self._open, name, view), "self-reference")
        if source is None:
            reason = _why_undefined(name, self, {opened for opened, _ in self._open})
            raise self.error(offset, reason, "undefined-variable")
        kept = self._kept(source, name, offset)
        if kept is not None:
            self._used.setdefault(name, (kept.value, source))
            return kept.value
        # The value of a definition does not depend on where it is used.
        key: object = source.span.start if isinstance(source, Definition) else name
        if isinstance(source, JavaScript):
            key = (name, view)
        if key in self._values:
            self.blanks += key in self._blank
            return self._values[key]
        if (name, key) in self._open:
            raise self.error(offset, _loop(self._open, name, key), "self-reference")
        if len(self._open) >= MAX_DEPTH:
            reason = f"variables are nested more than {MAX_DEPTH} levels deep"
            raise self.error(offset, reason, "self-reference")
        self._open.append((name, key))
        blanks = self.blanks
        try:
            value = self._compute(source, name, offset, view)
        finally:
            self._open.pop()
        if self.blanks > blanks:
            self._blank.add(key)
        source = self._found.get((name, view), source)  # `_computed` may have replaced it
        if not (
            isinstance(source, JavaScript) or (isinstance(source, Computed) and not source.once)
        ):
            self._values[key] = value
        self._used.setdefault(name, (value, source))
        return value

    def _kept(self, source: Found, name: str, offset: int) -> Kept | None:
        """Return the value that the run keeps for a definition, or None."""
        place = definition_of(source, self.parsed)
        if place is None or not place[1].when or self.checks:
            return None
        from orgrest.http.values.kept import at_use

        kept = at_use(self, source, place, name, offset)
        if kept is not None:
            self._made.update(kept.made)
            for inner, (value, found) in kept.used.items():
                if not isinstance(found, Definition) or kept.source is self.parsed.source:
                    self._used.setdefault(inner, (value, found))
        return kept

    def compute_apart(self, source: Found, name: str, offset: int) -> Kept | None:
        """Compute the value of a source without the values that are known so far.

        Returns None if another request provides a part of the value later.
        """
        apart = Values(self.parsed, self.context)
        value = apart._compute(source, name, offset, None)
        return None if apart.blanks else Kept(value, self.parsed.source, apart._used, apart._made)

    def blank(self, name: str) -> str:
        """Return the placeholder for a value that another request provides later."""
        self.blanks += 1
        return f"<{name}>"

    @property
    def definitions(self) -> tuple[Definition, ...]:
        """The definitions in the request's source that were used so far, in order."""
        sources = (source for _, source in self._used.values())
        return tuple(source for source in sources if isinstance(source, Definition))

    def origins(self) -> Iterator[Origin]:
        """Yield the variables used so far, in order, each with the source of its value."""
        for name, (value, origin) in self._used.items():
            if isinstance(origin, Definition):
                source = self.parsed.source
                line = source.position(origin.span.start).line
                yield Origin(name, value, f"{source.file or 'line'}:{line}")
            else:
                yield Origin(name, value, origin.origin)

    def error(self, offset: int, reason: str, code: str) -> ExpansionError:
        """Return an error at an offset in the request's source or in the current outside text."""
        file, line, column = self._place(offset)
        offset = offset if self._outside is None else self._outside[0]
        return ExpansionError(reason, file=file, line=line, column=column, code=code, offset=offset)

    def _place(self, offset: int) -> Place:
        if self._outside is not None:
            return self._outside[1](offset)
        return place_in(self.parsed.source, offset)

    def outside(
        self, text: str, offset: int, place: Callable[[int], Place | None] | None = None
    ) -> str:
        """Return a text from outside the document with its variables replaced.

        `offset` is where the text is used. `place` returns the position of an index of the text.
        Without a position, errors in the text are reported where it is used.
        """
        outer = self._outside
        start, place_of_use = outer or (offset, partial(place_in, self.parsed.source))
        self._outside = start, lambda index: (place and place(index)) or place_of_use(offset)
        try:
            return self.text(Template(text, ((0, 0),)))
        finally:
            self._outside = outer

    def find(self, name: str, view: int | None = None) -> Found | None:
        """Return the source that provides a variable's value, or None. Raises `OrgrestError`."""
        source = self._found.get((name, view))
        if source is None:
            source = find(Use(name, self.parsed, self.context, view))
            if source is not None:
                self._found[name, view] = source
        return source

    def _compute(self, origin: Found, name: str, offset: int, view: int | None) -> str:
        if isinstance(origin, Literal):
            return origin.text
        if isinstance(origin, Scripted):
            if origin.text is None:
                reason = (
                    f"{name} was set by a script to a function or object, which cannot be inserted "
                    f"as text: to call a function, write {{{{{name}(...)}}}}"
                )
                raise self.error(offset, reason, "no-value")
            return origin.text
        if isinstance(origin, Given):
            blanks = self.blanks
            text = self.outside(origin.text, offset, partial(_place_of, origin, name))
            is_known = self.blanks == blanks and UNKNOWN not in text
            return self._encoded(text) if origin.kind == "encoded" and is_known else text
        if isinstance(origin, Computed):
            return self._computed(origin, name, offset, view)
        if isinstance(origin, AuthToken):
            return _token(self, origin, name, offset)
        if isinstance(origin, JavaScript):
            return self._evaluated(origin, offset, view)
        outer, self._outside = self._outside, None
        try:
            if origin.operator == ":=":
                from orgrest.http.values.expressions import Expression

                return Expression(origin.value, self).value()
            view = None if self.parsed.restclient else origin.span.start
            return self.joined(origin.value, self.pieces(origin.value, view=view))
        finally:
            self._outside = outer

    def _encoded(self, text: str) -> str:
        """Return a percent-encoded text, as JavaScript's encodeURIComponent does."""
        encoded = quote(to_bytes(text), safe="!'()*~")
        return self.context.secrets.computed(encoded, self.context.secrets.within(text))

    def _evaluated(self, expression: JavaScript, offset: int, view: int | None) -> str:
        from orgrest.http.values.javascript import Expressions

        return Expressions(self, self._made).value(expression.code, offset, view)

    def _computed(self, computed: Computed, name: str, offset: int, view: int | None) -> str:
        if computed.in_run and self._problems is not None:
            return UNKNOWN
        try:
            value = computed.compute() if computed.once else self.logged(computed.compute)
        except OrgrestError as error:
            if computed.code:  # {{items.length}} is not a path in the response but an expression
                expression = JavaScript(computed.code)
                with suppress(OrgrestError):
                    value = self._evaluated(expression, offset, view)
                    self._found[name, view] = expression
                    return value
            raise self.error(offset, error.reason, error.code or "no-value") from error
        if value is None:
            return self.blank(name)
        unknown = not value and secrets_in(value)  # a user's secret in a dry run
        return Text(self.blank(name), unknown) if unknown else value


def place_in(source: Source, offset: int) -> Place:
    """Return the position of an offset in a source."""
    position = source.position(offset)
    return source.file, position.line, position.column


def _place_of(given: Given, name: str, index: int) -> Place | None:
    """Return the position of an index in a value from an imported file or an environment."""
    if given.definition is not None:
        source, definition = given.definition
        return place_in(source, definition.value.offset(index))
    if given.file is None:
        return None
    from orgrest.http.values.environments import line_of

    line = line_of(given.file, name, given.text)
    return None if line is None else (str(given.file), line, None)


def _token(values: Values, token: AuthToken, name: str, offset: int) -> str:
    from orgrest.http.auth import oauth2

    used: list[str] = []

    def expand(text: str) -> str:
        used.append(values.outside(text, offset))
        return used[-1]

    context = values.context
    try:
        security = context.environment.value("Security")
        grant = oauth2.from_security(security, token.grant, expand)
        secrets, url = context.secrets.within_all(used), values.url
        value = UNKNOWN if values.checks else context.token(grant, secrets, url, token.kind)
    except OrgrestError as error:
        raise values.error(offset, error.reason, error.code or "no-value") from error
    return values.blank(name) if value is None else value


def _why_undefined(name: str, values: Values, opened: set[str]) -> str:
    parsed, context = values.parsed, values.context
    reason = f"the variable {name} is not defined"
    if key_of(name, parsed, context) is not None:
        return f"{name} is the name of a request: use {{{{{name}.response.body}}}} for its response"
    if parsed.restclient:
        from orgrest.http.values import dynamic

        if name.startswith("$") and dynamic.is_known(name):
            instead = dynamic.instead_of(name)
            hint = f"; instead, write :value := {instead}, and :value here" if instead else ""
            where = "not defined in restclient's language, only in http blocks and request files"
            return f"{{{{{name}}}}} is {where}{hint}"
        return reason + _suggestion(name, values, opened)
    from orgrest.http import responses

    reference = responses.read(name)
    if reference is not None and parsed.source.places is None:
        return f"{reason}, because no request is named {reference.name}"
    if reference is not None and parsed.above is None:  # a block of an Org document
        return (
            f"{reason}; in Org documents, :var value={reference.name} defines {{{{value}}}} as "
            f"the result of the block named {reference.name}"
        )
    if names := context.environment.others_with(name):
        noun, object_ = ("environments", "one of them") if names[1:] else ("environment", "it")
        prefix = context.inputs.option_prefix
        example = f", for example with {prefix}env {names[0]}" if prefix else ""
        return (
            f"{reason}; it is defined in the {noun} {', '.join(names)}: select {object_}{example}"
        )
    if context.env(name) is not None:
        return f"{reason}; for the environment variable, write {{{{$processEnv {name}}}}}"
    return reason + _suggestion(name, values, opened)


def _suggestion(name: str, values: Values, opened: set[str]) -> str:
    """Return a hint that names the most similar variable, or "". Editors offer a fix instead."""
    similar = None if values.checks else values.similar(name, 0.7, opened)
    return f"; did you mean {similar}?" if similar else ""


def _loop(opened: list[tuple[str, object]], name: str, key: object) -> str:
    at = opened.index((name, key)) if (name, key) in opened else 0
    loop = " -> ".join([*(inside for inside, _ in opened[at:]), name])
    return f"the variable {name} refers to itself: {loop}"
