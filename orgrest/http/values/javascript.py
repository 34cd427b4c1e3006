"""Evaluates httpyac's JavaScript in double braces: `{{1 + 1}}`, `{{token.slice(1)}}`.

Variables are texts here; in httpyac a variable from an environment, a response or a script may be
a number. If the type is not known, an expression is evaluated with both, and the results must be
equal.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Protocol

from orgrest.http.responses import text_of
from orgrest.http.syntax import Definition
from orgrest.http.values import sources
from orgrest.http.values.global_variables import text_of as json_text
from orgrest.http.values.references import UNKNOWN, names_of, references
from orgrest.http.values.sources import CAPTURED, Given, JavaScript, Literal, Scripted
from orgrest.model import ExpansionError, OrgrestError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from orgrest.http.syntax import ParsedRequest
    from orgrest.http.values.context import Context
    from orgrest.http.values.sources import Found
    from orgrest.model import Response, Secret


class Variables(Protocol):
    """The interface through which an expression gets the values of a request's variables."""

    context: Context
    parsed: ParsedRequest
    blanks: int

    @property
    def checks(self) -> bool:
        """Whether nothing is sent: values that only a run provides are `UNKNOWN`."""

    def find(self, name: str, view: int | None = None) -> Found | None:
        """Return the source of a name's value, or None."""

    def is_itself(self, name: str, view: int | None) -> bool:
        """Return whether the definition of a name is at `view`, so that its value uses itself."""

    def value(self, name: str, offset: int, view: int | None = None) -> str:
        """Return the value of a variable."""

    def logged(self, compute: Callable[[], str | None]) -> str | None:
        """Compute a value that differs at each use, or return it from an earlier attempt."""

    def blank(self, name: str) -> str:
        """Return the placeholder for a value that another request has yet to provide."""

    def error(self, offset: int, reason: str, code: str) -> ExpansionError:
        """Return the error for an offset in the source."""


class Expressions:
    """Evaluates the expressions of one request; short-lived, to avoid a reference cycle with it."""

    def __init__(self, values: Variables, made: dict[str, Any]) -> None:
        """Use the values of the request's variables, and cached results by expression."""
        self._values = values
        self._made = made

    def value(self, code: str, offset: int, view: int | None) -> str:
        """Return the text of the value of an expression at `offset`. Raises `ExpansionError`."""
        values = self._values
        if values.checks:
            return UNKNOWN
        try:
            return self._value(code, offset, view)
        except ExpansionError:
            raise
        except OrgrestError as error:
            raise values.error(offset, error.reason, error.code or "bad-expression") from error

    def _value(self, code: str, offset: int, view: int | None) -> str:
        values, parsed = self._values, self._values.parsed
        context, blanks = values.context, values.blanks
        texts: dict[str, Any] = {}
        others: dict[str, Any] = {}
        got: dict[str, Response] = {}
        secrets = context.secrets
        read = set(secrets.within_all(map(json_text, context.globals.values.values())))
        for name in dict.fromkeys(name for name, _ in names_of(code)):
            found = values.find(name, view)
            if isinstance(found, Scripted):
                texts[name] = others[name] = found.made
                read |= secrets.within(found.text or "")
            elif found is not None or values.is_itself(name, view):
                text = values.value(name, offset, view)
                read |= secrets.within(text)
                if values.context.placeholders and text == f"<{name}>":  # of @loop
                    return values.blank(code)
                texts[name], others[name] = self._as_javascript(name, text, view)
            elif sources.is_response(name, parsed, context):
                response = sources.response(name, parsed, context)
                if response is None:
                    return values.blank(code)
                if name != "response" and sources.key_of(name, parsed, context) is not None:
                    body = text_of(response.body, response.headers)
                    texts[name] = others[name] = parsed_or(body)
                    read |= secrets.within(body)
                else:
                    got[name] = response
                    read |= secrets.within(text_of(response.body, response.headers))
        held = secrets.show_to_scripts(read)
        if values.blanks > blanks:
            return values.blank(code)
        try:
            made = values.logged(lambda: self._either(code, texts, others, got)) or ""
        except OrgrestError:
            if values.context.placeholders and "$global" in code:  # set by scripts that did not run
                return values.blank(code)
            raise
        return secrets.computed(made, held)

    def _either(
        self,
        code: str,
        texts: dict[str, Any],
        others: dict[str, Any],
        got: dict[str, Response],
    ) -> str:
        """Evaluate with variables as texts and as parsed values; both results must be equal."""
        found: dict[str, Any] = {}
        failure: OrgrestError | None = None
        for variables in [texts] if texts == others else [texts, others]:
            try:
                text, value = self._compute(code, variables, got)
                found[text] = value
            except OrgrestError as error:
                failure = failure or error
        if len(found) > 1:
            names = [name for name in texts if texts[name] != others[name]]
            raise OrgrestError(
                f"{code} depends on whether {' and '.join(names)} is a text or a number: "
                f"write String({names[0]}) or Number({names[0]})",
                code="bad-expression",
            )
        if not found:
            raise failure or OrgrestError(f"{code} gives nothing")
        ((text, value),) = found.items()
        if "{{" in text:
            raise OrgrestError(f"{code} gives a text with {{{{, which is not looked at again")
        self._made[text] = value
        return text

    def _compute(
        self, code: str, variables: Mapping[str, Any], got: Mapping[str, Response]
    ) -> tuple[str, Any]:
        from orgrest.http.scripts import ScriptInput

        context = self._values.context
        seed = context.inputs.seed
        given = ScriptInput(variables, context.globals.values, responses=got, seed=seed)
        return context.engine.evaluate(code, given)

    def _as_javascript(self, name: str, text: str, view: int | None) -> tuple[Any, Any]:
        """Return a variable's value as text, and as the other type that its source may give it."""
        found = self._values.find(name, view)
        if isinstance(found, Definition):
            whole = found.value.text
            every = list(references(whole, 0, len(whole), (), bool, restclient=False))
            alone = len(every) == 1 and (every[0].start, every[0].end) == (0, len(whole))
            if not alone or every[0].literal is not None:
                return text, text
            return self._as_javascript(every[0].name, text, found.span.start)
        if isinstance(found, JavaScript):
            made = self._made.get(text, text)
            return made, made
        # A literal :var may be an item of @loop.
        known = isinstance(found, Literal) and found.origin not in (CAPTURED, ":var")
        if known or (isinstance(found, Given) and (found.origin == ":var" or found.kind == "text")):
            return text, text
        return text, parsed_or(text)


def for_script(
    code: str, values: Variables, offset: int
) -> tuple[dict[str, Any], dict[str, Response], frozenset[Secret]]:
    """Return the variables that a script names, the responses so far, and the secrets.

    Variables without a value are left out: the script may set them itself.
    """
    variables: dict[str, Any] = {}
    got: dict[str, Response] = {}
    texts: list[str] = []
    context, parsed = values.context, values.parsed
    for word in dict.fromkeys(re.findall(r"[A-Za-z_$][\w$]*", code)):
        kebab = re.sub("[A-Z]", lambda match: f"-{match[0].lower()}", word)
        for name in (word, kebab) if kebab != word else (word,):  # as in httpyac: apiKey is api-key
            try:
                found = values.find(name)
                if isinstance(found, Scripted):
                    variables[word] = found.made
                    texts.append(found.text or "")
                elif found is not None and not isinstance(found, JavaScript):
                    texts.append(values.value(name, offset))
                    variables[word] = _for_script(found, texts[-1])
                else:
                    response = sources.answered(name, parsed, context)
                    if response is None:
                        continue
                    if name == "response" or sources.key_of(name, parsed, context) is None:
                        got[word] = response
                    else:
                        texts.append(text_of(response.body, response.headers))
                        variables[word] = parsed_or(texts[-1])
            except OrgrestError:
                continue
            break
    return variables, got, context.secrets.within_all(texts)


def _for_script(found: Found, text: str) -> Any:
    """Return a variable as a script sees it: as JSON, unless it is defined as a text.

    A text becomes a number only if JavaScript would write it the same way, so no digit is lost.
    """
    known = isinstance(found, Literal) and found.origin not in (CAPTURED, ":var")
    if (
        known
        or isinstance(found, Definition)
        or (isinstance(found, Given) and found.kind == "text")
    ):
        return text
    value = parsed_or(text)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    exact = abs(value) < 2**53 if isinstance(value, int) else value % 1 != 0
    return value if exact and json.dumps(value) == text else text


def parsed_or(text: str) -> Any:
    """Return the JSON value of a text, unless that is a string; else the text."""
    if text[:1] not in set("{[-0123456789tfn"):
        return text
    try:
        found = json.loads(text, parse_constant=lambda _: text)
    except (ValueError, RecursionError):
        return text
    return found
