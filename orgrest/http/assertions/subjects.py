"""The subjects of assertions: a row for each, with its function.

Documentation, completion and hover are generated from the rows.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import time
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs

from orgrest.http import responses
from orgrest.http.assertions.comparing import equal, is_status
from orgrest.model import OrgrestError, find_headers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from orgrest.model import Response


def _missing(*_: Any) -> Any:
    raise OrgrestError("this cannot be evaluated here")


@attrs.frozen
class Tools:
    """The callbacks that evaluation needs; each may raise OrgrestError.

    `jq` runs a program on a text and returns its compact output; `javascript` evaluates an
    expression; `matches` returns whether a text matches a pattern; `wrong_by_schema` validates a
    value by the schema in a file and returns the errors, "" if it is valid.
    """

    jq: Callable[[str, str], str] = _missing
    javascript: Callable[[str], Any] = _missing
    matches: Callable[[str, str], bool] = _missing
    wrong_by_schema: Callable[[Any, str], str] = _missing


Find: TypeAlias = "Callable[[Response, str, Tools], list[Any]]"


@attrs.frozen
class Subject:
    """A subject of assertions: its name, its path, and its function.

    `path` describes the path that follows the name, which may be `required`, and must be one of
    the `parts` if they are given. `find` returns all matches of a path, and raises OrgrestError
    if the path is malformed or does not fit the body; the first match is used, or with `several`
    all of them as a list. `whole` returns the subject's value without a path, if it differs from
    that of `find`. `read` and `same` convert and compare the expected value.
    """

    name: str
    path: str
    description: str
    find: Find
    required: bool = False
    parts: Mapping[str, str] = attrs.field(factory=dict)
    several: bool = False
    whole: Callable[[Response], Any] | None = None
    read: Callable[[str], str] = str
    same: Callable[[Any, str], bool] = equal

    def value(self, response: Response, path: str, tools: Tools) -> Any:
        """Return the subject's value; None if the response has none.

        Raises OrgrestError as `find` does.
        """
        if self.whole is not None and not path:
            return self.whole(response)
        found = self.find(response, path, tools)
        return found if self.several and len(found) > 1 else next(iter(found), None)


def _text(response: Response) -> str:
    return responses.text_of(response.body, response.headers)


def _body(response: Response, path: str, _: Tools) -> list[Any]:
    body = _text(response)
    if not path:
        return _as_json(body)
    found = responses.all_found(body, path)
    if not found and path.endswith(".length"):
        whole = responses.all_found(body, path.removesuffix(".length"))
        return [len(one) for one in whole if isinstance(one, str | list)]
    return found


def _jq(response: Response, path: str, tools: Tools) -> list[Any]:
    return [responses.json_of(line) for line in tools.jq(path, _text(response)).split("\n") if line]


def _javascript(_: Response, path: str, tools: Tools) -> list[Any]:
    found = tools.javascript(path)
    return [] if found is None else [found]


def _simple(get: Callable[[Response], Any]) -> Find:
    return lambda response, _, __: [get(response)]


def _as_json(text: str) -> list[Any]:
    """Return the value of a JSON body, else the body's text; nothing for an empty body."""
    try:
        return [json.loads(text)]
    except (ValueError, RecursionError):
        return [text] if text else []


def _cookies(response: Response, path: str, __: Tools) -> list[Any]:
    """Return the values of a cookie, or of one of its attributes: `NAME[Max-Age]`.

    An attribute without a value, such as `Secure`, is true.
    """
    name, bracket, attribute = path.removesuffix("]").partition("[")
    found: list[Any] = []
    for line in find_headers(response.headers, "Set-Cookie"):
        pair, *attributes = (part.strip() for part in line.split(";"))
        given, _, content = pair.partition("=")
        if given.strip() != name:
            continue
        if not bracket:
            found.append(content.strip().strip('"'))
        for one in attributes if bracket else ():
            key, equals, content = one.partition("=")
            if key.strip().lower() == attribute.strip().lower():
                found.append(content.strip() if equals else True)
    return found


def _certificate(response: Response, part: str, _: Tools) -> list[Any]:
    certificate = response.certificate
    if certificate is None:
        raise OrgrestError(
            "there is no certificate that was verified: the URL is not one of https, "
            "or the run was started with --insecure"
        )
    if part == "days":
        return [int((certificate.expires - time.time()) // 86400)]
    if part == "expires":
        when = datetime.datetime.fromtimestamp(certificate.expires, datetime.UTC)
        return [when.strftime("%Y-%m-%dT%H:%M:%SZ")]
    return [certificate.subject if part == "subject" else certificate.issuer]


_SUBJECT_TABLE: Final = (
    Subject(
        "status",
        "",
        "The status code. `2xx` stands for all codes from 200 to 299.",
        _simple(lambda response: response.status),
        same=is_status,
    ),
    Subject(
        "header",
        "NAME",
        "The first header of that name.",
        lambda response, path, _: list(find_headers(response.headers, path)),
        required=True,
    ),
    Subject(
        "cookie",
        "NAME or NAME[ATTRIBUTE]",
        "A cookie that the response sets: its value, or one of its attributes.",
        _cookies,
        required=True,
    ),
    Subject(
        "body",
        "[PATH]",
        "The body as text; with a path, what stands there: JSONPath (RFC 9535), whose `$.` may be "
        "left out, or XPath where it begins with `/`. Of several matches the first counts.",
        _body,
        whole=_text,
    ),
    Subject(
        "bytes",
        "",
        "The body's bytes, in hexadecimal.",
        _simple(lambda response: response.body.hex()),
        read=str.lower,
    ),
    Subject("length", "", "How many bytes the body has.", _simple(lambda one: len(one.body))),
    Subject(
        "sha256",
        "",
        "The SHA-256 digest of the body, in hexadecimal.",
        _simple(lambda response: hashlib.sha256(response.body).hexdigest()),
        read=str.lower,
    ),
    Subject("jsonpath", "PATH", "What a JSONPath finds in the body.", _body, required=True),
    Subject(
        "jq",
        "PROGRAM",
        "What a jq program makes of the body.",
        _jq,
        required=True,
        several=True,
    ),
    Subject(
        "xpath",
        "PATH",
        "What an XPath finds in the body: a text, or a list of them.",
        lambda response, path, _: responses.all_in_xml(_text(response), path),
        required=True,
        several=True,
    ),
    Subject(
        "js",
        "EXPRESSION",
        "What an expression of JavaScript gives, with httpyac's `response`; the last operator in "
        "the line is the assertion's.",
        _javascript,
        required=True,
    ),
    Subject(
        "certificate",
        "days, expires, subject or issuer",
        "Of the server's certificate: the days that are left, when it expires (ISO 8601), whose "
        "it is and who signed it.",
        _certificate,
        required=True,
        parts={
            "days": "How many days the certificate is valid for.",
            "expires": "When it expires (ISO 8601).",
            "subject": "Whose it is.",
            "issuer": "Who signed it.",
        },
    ),
    Subject(
        "duration",
        "",
        "How long the exchange took, in milliseconds.",
        _simple(lambda response: response.duration * 1000),
    ),
    Subject(
        "redirects",
        "",
        "How many redirects were followed.",
        _simple(lambda response: len(response.redirects)),
    ),
    Subject(
        "url", "", "The URL that answered, after redirects.", _simple(lambda response: response.url)
    ),
)

SUBJECTS: Final[Mapping[str, Subject]] = {one.name: one for one in _SUBJECT_TABLE}
"""The subjects of assertions, by name."""
