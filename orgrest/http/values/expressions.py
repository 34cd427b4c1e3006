"""Evaluates expressions (the values of `:name := EXPRESSION`).

`FUNCTIONS` lists the functions that expressions can call.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from orgrest import classes
from orgrest.http.syntax import Template
from orgrest.http.values.files import look_up
from orgrest.http.values.references import UNKNOWN, unquote
from orgrest.model import ExpansionError, OrgrestError, Text, secrets_in, short, to_bytes
from orgrest.regular import compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from orgrest.http.syntax import ParsedRequest
    from orgrest.http.values.context import Context, Kept
    from orgrest.http.values.sources import Found


def _env(context: Context, arguments: Sequence[str]) -> str:
    value = context.env(arguments[0])
    if value is not None:
        return value
    if len(arguments) > 1:
        return arguments[1]
    raise OrgrestError(
        f'the environment variable {arguments[0]} is not set; use env("{arguments[0]}", '
        '"...") to give a default',
        code="unset-environment",
    )


def _secret(context: Context, arguments: Sequence[str]) -> str:
    secret = context.secrets.take(arguments[0], ask=not context.placeholders)
    return secret or Text(f"<{arguments[0]}>", secrets_in(secret))


def _netrc(context: Context, arguments: Sequence[str]) -> str:
    field = arguments[1] if len(arguments) > 1 else "password"
    try:
        return context.secrets.add(look_up(context.inputs.netrc, arguments[0], field))
    except OrgrestError as error:
        raise OrgrestError(error.reason, code="no-netrc-entry") from error


def _uuid(_context: Context, _arguments: Sequence[str]) -> str:
    from uuid import uuid4

    return str(uuid4())


def _now(_context: Context, arguments: Sequence[str]) -> str:
    from datetime import UTC, datetime

    now = datetime.now(UTC)
    if not arguments:
        return now.strftime("%Y-%m-%dT%H:%M:%SZ")
    try:
        return now.strftime(arguments[0].replace("%s", str(int(now.timestamp()))))
    except ValueError as error:
        raise OrgrestError(f"now: {error}", code="bad-expression") from error


def _base64(context: Context, arguments: Sequence[str]) -> str:
    from base64 import b64encode

    encoded = b64encode(to_bytes(arguments[0])).decode()
    return context.secrets.computed(encoded, context.secrets.within(arguments[0]))


def _urlencode(context: Context, arguments: Sequence[str]) -> str:
    from urllib.parse import quote

    encoded = quote(to_bytes(arguments[0]), safe="")
    return context.secrets.computed(encoded, context.secrets.within(arguments[0]))


@classes.frozen
class Function:
    """A function that expressions can call, with its usage and a description.

    The function takes from `least` to `most` arguments. If `secret` is set, its result is never
    shown. If `in_run` is set, checks do not call it.
    """

    usage: str
    description: str
    least: int
    most: int
    compute: Callable[[Context, Sequence[str]], str] = classes.field(repr=False)
    secret: bool = False
    in_run: bool = False


FUNCTIONS: Mapping[str, Function] = {
    "env": Function(
        'env("NAME")',
        "An environment variable, or else a variable from the env file.",
        1,
        2,
        _env,
        secret=True,
    ),
    "secret": Function(
        'secret("NAME")',
        "A secret that is stored outside the document and listed in secrets.toml.",
        1,
        1,
        _secret,
        secret=True,
        in_run=True,
    ),
    "netrc": Function(
        'netrc("host")', "The password in the netrc entry of a host.", 1, 2, _netrc, secret=True
    ),
    "uuid": Function("uuid()", "A random UUID.", 0, 0, _uuid),
    "now": Function('now("%Y-%m-%d")', "The time in UTC, in a strftime format.", 0, 1, _now),
    "base64": Function("base64(...)", "The argument in Base64.", 1, 1, _base64),
    "urlencode": Function(
        "urlencode(...)", "The argument, percent-encoded for a URL.", 1, 1, _urlencode
    ),
}
USAGES = ", ".join(function.usage for function in FUNCTIONS.values())

LISP = {
    "getenv": 'env("NAME")',
    "format-time-string": 'now("%Y-%m-%d")',
    "current-time-string": "now()",
    "base64-encode-string": "base64(...)",
    "url-hexify-string": "urlencode(...)",
    "url-encode-url": "urlencode(...)",
    "org-id-uuid": "uuid()",
    "uuidgen-4": "uuid()",
    "uuidgen-1": "uuid()",
    "auth-source-pick-first-password": 'netrc("host")',
}
"""Emacs Lisp functions with their equivalents in expressions."""


def without_lisp(function: str, argument: str | None) -> str | None:
    """Return the expression that can replace a call to an Emacs Lisp function, or None.

    `argument` is the call's only argument, a string in quotes, or None if there are no arguments.
    """
    name = LISP.get(function, "").partition("(")[0]
    if argument is not None:
        return f"{name}({argument})" if name not in ("", "uuid") else None
    return f"{name}()" if name in ("uuid", "now") else None


_MAX_DEPTH = 100
_GETENV = compiled(r'\(\s*getenv\s+"((?:[^"\\]|\\.)*)"\s*\)')
_TOKENS = compiled(
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
    """The interface of `values.Values`, for the modules that `values` imports."""

    context: Context
    parsed: ParsedRequest
    blanks: int

    @property
    def checks(self) -> bool:
        """Whether the request is only being checked, not run.

        In this case, each value that only a run provides is `UNKNOWN`.
        """

    def text(self, template: Template) -> str:
        """Return a template's text with its variables replaced."""

    def find(self, name: str, view: int | None = None) -> Found | None:
        """Return the source that provides a variable's value, or None. Raises `OrgrestError`."""

    def is_defined(self, name: str) -> bool:
        """Return whether a variable is defined."""

    def is_itself(self, name: str, view: int | None) -> bool:
        """Return whether `name` is used in its own definition.

        `view` is the offset of the definition that contains the use, or None outside definitions.
        """

    def value(self, name: str, offset: int, view: int | None = None) -> str:
        """Return the value of a variable that is used at `offset`. Raises `ExpansionError`."""

    def compute_apart(self, source: Found, name: str, offset: int) -> Kept | None:
        """Compute the value of a source without the values that are known so far.

        Returns None if another request provides a part of the value later.
        """

    def logged(self, compute: Callable[[], str | None]) -> str | None:
        """Return the result of `compute()` and log it.

        When the expansion restarts, the logged results are returned first, in the same order.
        """

    def blank(self, name: str) -> str:
        """Return the placeholder for a value that another request provides later."""

    def error(self, offset: int, reason: str, code: str) -> ExpansionError:
        """Return an error at an offset in the source."""


class Expression:
    """A recursive-descent evaluator for one expression. `values` looks up the variables."""

    def __init__(self, template: Template, values: Variables) -> None:
        self._template = template
        self._values = values
        self._at = 0

    def value(self) -> str:
        """Return the value of the expression. Raises `ExpansionError`."""
        text = self._template.text.strip()
        if match := _GETENV.fullmatch(text):
            return self._apply("env", [unquote(f'"{match[1]}"')], 0)
        if text.startswith(("(", "'", "#")):
            raise self._lisp(text)
        value = self._term()
        rest = self._template.text[self._at :].strip()
        if rest:
            reason = f"unexpected {short(rest)} after the expression"
            raise self._error(self._at, reason, "bad-expression")
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
            what = f"unexpected {short(rest)}" if rest else "missing expression"
            raise self._error(start, f"{what}. Available: {USAGES}", "bad-expression")
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
            reason = f"{name} is not a function call. Available: {USAGES}"
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
                reason = f"missing ) after the arguments of {name}"
                raise self._error(self._at, reason, "bad-expression")

    def _apply(self, name: str, arguments: list[str], start: int) -> str:
        function = FUNCTIONS.get(name)
        if function is None:
            reason = f"unknown function {name}. Available: {USAGES}"
            raise self._error(start, reason, "bad-expression")
        least, most = function.least, function.most
        if not least <= len(arguments) <= most:
            count = str(most) if least == most else f"{least} to {most}"
            reason = f"{name} takes {count} arguments, found {len(arguments)}"
            raise self._error(start, reason, "bad-expression")
        if function.in_run and self._values.checks:
            return UNKNOWN
        try:
            return function.compute(self._values.context, arguments)
        except OrgrestError as error:
            raise self._error(start, error.reason, error.code) from error

    def _lisp(self, text: str) -> ExpansionError:
        match = re.match(r"\(\s*([^\s()]+)", text)
        equivalent = LISP.get(match[1]) if match else None
        instead = f"use {equivalent} instead" if equivalent else f"available: {USAGES}"
        return self._error(0, f"Emacs Lisp is not run: {instead}", "lisp")

    def _error(self, at: int, reason: str, code: str) -> ExpansionError:
        return self._values.error(self._template.offset(at), reason, code)
