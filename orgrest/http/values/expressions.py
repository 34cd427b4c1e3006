"""Expressions: the values of `:name := EXPRESSION`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from orgrest.http.syntax import Template
from orgrest.http.values.computing import UNKNOWN
from orgrest.http.values.functions import FUNCTIONS, LISP, USAGES
from orgrest.http.values.strings import short, unquote
from orgrest.model import ExpansionError, OrgrestError

if TYPE_CHECKING:
    from orgrest.http.values.context import Context

_MAX_DEPTH = 100
_GETENV = re.compile(r'\(\s*getenv\s+"((?:[^"\\]|\\.)*)"\s*\)')
_TOKENS = re.compile(
    r"""\s*(?:
        (?P<string>"(?:[^"\\]|\\.)*")
      | (?P<number>-?\d+(?:\.\d+)?(?![\w.]))
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<variable>:[^\s:=(),]+|\{\{[^{}]*\}\})
      | (?P<mark>[(),])
      )""",
    re.VERBOSE | re.DOTALL,
)


class Variables(Protocol):
    """The interface through which an expression gets the values of variables."""

    context: Context

    @property
    def checks(self) -> bool:
        """Whether nothing is sent: values that only a run provides are `UNKNOWN`."""

    def text(self, template: Template) -> str:
        """Return a text with its variables replaced."""

    def value(self, name: str, offset: int) -> str:
        """Return the value of a variable."""

    def error(self, offset: int, reason: str, code: str) -> ExpansionError:
        """Return the error for an offset in the source."""


class Expression:
    """A recursive-descent evaluator of one expression; `values` looks up its variables."""

    def __init__(self, template: Template, values: Variables) -> None:
        self._template = template
        self._values = values
        self._at = 0

    def value(self) -> str:
        """Compute it. Raises `ExpansionError`."""
        text = self._template.text.strip()
        if match := _GETENV.fullmatch(text):
            return self._apply("env", [unquote(f'"{match[1]}"')], 0)
        if text.startswith(("(", "'", "#")):
            raise self._lisp(text)
        value = self._term()
        rest = self._template.text[self._at :].strip()
        if rest:
            raise self._error(self._at, f"not understood: {short(rest)}", "bad-expression")
        return value

    def _next(self) -> re.Match[str] | None:
        match = _TOKENS.match(self._template.text, self._at)
        if match is not None:
            self._at = match.end()
        return match

    def _term(self, depth: int = 0) -> str:
        start = self._at
        token = self._next()
        if token is None or token["mark"] or depth > _MAX_DEPTH:
            rest = self._template.text[start:].strip()
            what = f"not understood: {short(rest)}" if rest else "an expression is missing"
            raise self._error(start, f"{what}. There are {USAGES}", "bad-expression")
        if token["number"]:
            return token["number"]
        if token["string"]:
            at = self._template.offset(token.start("string"))
            return self._values.text(Template(unquote(token["string"]), ((0, at),)))
        if token["variable"]:
            name = token["variable"].strip(":{} \t")
            return self._values.value(name, self._template.offset(token.start("variable")))
        return self._call(token["name"], token.start("name"), depth)

    def _call(self, name: str, start: int, depth: int) -> str:
        mark = self._next()
        if mark is None or mark["mark"] != "(":
            reason = f"{name} is not a function call. There are {USAGES}"
            raise self._error(start, reason, "bad-expression")
        arguments: list[str] = []
        closing = _TOKENS.match(self._template.text, self._at)
        if closing is not None and closing["mark"] == ")":
            self._at = closing.end()
            return self._apply(name, arguments, start)
        while True:
            arguments.append(self._term(depth + 1))
            mark = self._next()
            if mark is not None and mark["mark"] == ")":
                return self._apply(name, arguments, start)
            if mark is None or mark["mark"] != ",":
                reason = f"a ) is missing behind the arguments of {name}"
                raise self._error(self._at, reason, "bad-expression")

    def _apply(self, name: str, arguments: list[str], start: int) -> str:
        function = FUNCTIONS.get(name)
        if function is None:
            reason = f"there is no function {name}. There are {USAGES}"
            raise self._error(start, reason, "bad-expression")
        least, most = function.least, function.most
        if not least <= len(arguments) <= most:
            count = str(most) if least == most else f"{least} to {most}"
            reason = f"{name} takes {count} arguments, not {len(arguments)}"
            raise self._error(start, reason, "bad-expression")
        if function.in_run and self._values.checks:
            return UNKNOWN
        try:
            return function.compute(self._values.context, arguments)
        except OrgrestError as error:
            raise self._error(start, error.reason, error.code) from error

    def _lisp(self, text: str) -> ExpansionError:
        match = re.match(r"\(\s*([^\s()]+)", text)
        known = LISP.get(match[1]) if match else None
        instead = f"write {known} instead" if known else f"there are {USAGES}"
        return self._error(0, f"Emacs Lisp is not run: {instead}", "lisp")

    def _error(self, at: int, reason: str, code: str) -> ExpansionError:
        return self._values.error(self._template.offset(at), reason, code)
