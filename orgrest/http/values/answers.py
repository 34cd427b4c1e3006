"""The exchanges of a run so far, for requests that refer to them by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orgrest.http.values.context import RequestNeededError
from orgrest.model import OrgrestError, Request, Response, Text, possible

if TYPE_CHECKING:
    from collections.abc import Hashable

    from orgrest.http.responses import Reference
    from orgrest.http.syntax import ParsedRequest
    from orgrest.http.values.context import Context


def key_of(name: str, using: ParsedRequest, context: Context) -> Hashable | None:
    """Return the request that a name in another one refers to, preferring an answered one."""
    keys = list(context.names.requests_named(name, using))
    answered = (key for key in keys if key in context.answers.exchanges)
    return next(answered, keys[-1] if keys else None)


def reference(
    text: str, using: ParsedRequest, context: Context
) -> tuple[Reference, Hashable] | None:
    """Return what `{{text}}` refers to in another request's exchange, and that request."""
    from orgrest.http import responses

    found = responses.read(text) or responses.read_short(text)
    key = None if found is None else key_of(found.name, using, context)
    return None if found is None or key is None else (found, key)


def part(reference: Reference, key: Hashable, context: Context) -> str | None:
    """Return the value of a reference to a request, or None in a dry run.

    Raises RequestNeededError if it was not sent yet, and OrgrestError if the path matches nothing,
    or the request failed.
    """
    from orgrest.http import responses

    exchange = _exchange(key, context)
    if exchange is None:
        return None
    value = responses.value(reference, *exchange)
    if reference.what == "request":
        return Text(value, possible(one for _, one in exchange[0].held))
    return value


def _exchange(key: Hashable, context: Context) -> tuple[Request, Response] | None:
    if context.placeholders:
        return None
    answers = context.answers
    failure = answers.failures.get(key) or answers.unmet.get(key)
    if failure is not None:  # also after its response
        raise failure.with_traceback(None)
    if key not in answers.exchanges:
        raise RequestNeededError(key)
    return answers.exchanges[key]


# as httpyac's scripts and expressions name them


def is_response(name: str, using: ParsedRequest, context: Context) -> bool:
    """Tell whether a name refers to a response: the last one, or that of a named request."""
    return name == "response" or _named_by(name, using, context) is not None


def _named_by(name: str, using: ParsedRequest, context: Context) -> Hashable | None:
    return key_of(name, using, context) or key_of(name.removesuffix("Response"), using, context)


def answered(name: str, using: ParsedRequest, context: Context) -> Response | None:
    """Return the response that a name refers to, None where none came yet."""
    key = _named_by(name, using, context)
    if key is None:
        exchange = context.answers.last if name == "response" else None
    else:
        exchange = context.answers.exchanges.get(key)
    return None if exchange is None else exchange[1]


def response(name: str, using: ParsedRequest, context: Context) -> Response | None:
    """Return the response that a name refers to, or None in a dry run.

    Raises RequestNeededError if its request was not sent yet, OrgrestError if there is none.
    """
    key = _named_by(name, using, context)
    exchange = context.answers.last if key is None else _exchange(key, context)
    if exchange is None and not context.placeholders:
        raise OrgrestError("no response came yet in this run", code="no-response")
    return None if exchange is None else exchange[1]
