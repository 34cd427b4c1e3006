"""Expressions, the values of `:name := EXPRESSION`, and the table of their functions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

import attrs

from orgrest.http.syntax import Template
from orgrest.http.values.files import look_up
from orgrest.http.values.references import UNKNOWN, short, unquote
from orgrest.model import ExpansionError, OrgrestError, Text, secrets_in, to_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from orgrest.http.values.context import Context


def _env(context: Context, arguments: Sequence[str]) -> str:
    value = context.env(arguments[0])
    if value is not None:
        return value
    if len(arguments) > 1:
        return arguments[1]
    raise OrgrestError(
        f"the environment variable {arguments[0]} is not set; "
        f'env("{arguments[0]}", "...") gives a default',
        code="unset-environment",
    )


def _secret(context: Context, arguments: Sequence[str]) -> str:
    found = context.secrets.take(arguments[0], ask=not context.placeholders)
    return found or Text(f"<{arguments[0]}>", secrets_in(found))


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


@attrs.frozen
class Function:
    """A function of expressions: its usage, its description, and its number of arguments.

    The result of a `secret` function is never shown; a function `in_run` is called only by a run.
    """

    usage: str
    description: str
    least: int
    most: int
    compute: Callable[[Context, Sequence[str]], str] = attrs.field(repr=False)
    secret: bool = False
    in_run: bool = False


FUNCTIONS: Mapping[str, Function] = {
    "env": Function(
        'env("NAME")', "A variable of the environment or the env file.", 1, 2, _env, secret=True
    ),
    "secret": Function(
        'secret("NAME")',
        "A secret that the user keeps elsewhere, as secrets.toml lists it.",
        1,
        1,
        _secret,
        secret=True,
        in_run=True,
    ),
    "netrc": Function(
        'netrc("host")', "The password of a host's netrc entry.", 1, 2, _netrc, secret=True
    ),
    "uuid": Function("uuid()", "A random UUID.", 0, 0, _uuid),
    "now": Function('now("%Y-%m-%d")', "The time in UTC, in strftime's format.", 0, 1, _now),
    "base64": Function(
        "base64(...)", "The Base64 form of what is in the parentheses.", 1, 1, _base64
    ),
    "urlencode": Function(
        "urlencode(...)", "The same, percent-encoded for a URL.", 1, 1, _urlencode
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
"""Functions of Emacs Lisp, and their equivalents here."""


def without_lisp(function: str, argument: str | None) -> str | None:
    """Return the expression equivalent to a call of Emacs Lisp, None without a known equivalent.

    `argument` is the call's only argument, a string in quotes, or None.
    """
    name = LISP.get(function, "").partition("(")[0]
    if argument is not None:
        return f"{name}({argument})" if name not in ("", "uuid") else None
    return f"{name}()" if name in ("uuid", "now") else None


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
        """Compute the expression. Raises `ExpansionError`."""
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
