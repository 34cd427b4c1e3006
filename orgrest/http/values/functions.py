"""The functions of expressions: their implementations, and a table with a row for each.

A function gets the context and its arguments. It raises `OrgrestError`, with a code for editors, if
it has no value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from orgrest.http.values.netrc import look_up
from orgrest.model import OrgrestError, to_bytes

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
    return f"<{arguments[0]}>" if found is None else found


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

    return context.secrets.protect(b64encode(to_bytes(arguments[0])).decode(), arguments[0])


def _urlencode(context: Context, arguments: Sequence[str]) -> str:
    from urllib.parse import quote

    return context.secrets.protect(quote(to_bytes(arguments[0]), safe=""), arguments[0])


@attrs.frozen
class Function:
    """A function of expressions: its usage, its description, and its number of arguments.

    The result of a `secret` one is never shown; one `in_run` is called only by a run.
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
    """Return the expression equivalent to a call of Emacs Lisp, None if none is known.

    `argument` is the call's only one, a string in quotes, or None.
    """
    name = LISP.get(function, "").partition("(")[0]
    if argument is not None:
        return f"{name}({argument})" if name not in ("", "uuid") else None
    return f"{name}()" if name in ("uuid", "now") else None
