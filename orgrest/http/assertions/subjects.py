"""The table of the subjects that assertions can use.

Documentation, completion and hover texts are generated from its rows.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import re
import time
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from orgrest import classes
from orgrest.http import responses
from orgrest.http.assertions.comparing import equal, is_status, milliseconds
from orgrest.model import OrgrestError, find_headers
from orgrest.regular import compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from orgrest.model import Response


_DEFINITE: Final = compiled(
    r"""\$?(?:\.?(?:[\w$-]++|\[\s*(?:-?\d++|'[^'\\]*+'|"[^"\\]*+")\s*\]))*"""
)
"""Matches a JSONPath that has at most one match."""


def _missing(*_: Any) -> Any:
    raise OrgrestError("this subject or operator is not available here")


@classes.frozen
class Tools:
    """The callbacks that the evaluation of assertions needs. Each may raise OrgrestError.

    - `jq` runs a jq program on a string and returns the compact output.
    - `javascript` returns a list with the value of an expression, or [] if the value is undefined.
    - `matches` returns whether a string matches a pattern.
    - `wrong_by_schema` validates a value against the schema in a file. It returns the errors, or
      "".
    - `hide` masks the secrets in a truncated text, even a secret that is cut off at the end.

    `prefixes` maps the namespace prefixes in XPaths to namespaces.
    """

    jq: Callable[[str, str], str] = _missing
    javascript: Callable[[str], list[Any]] = _missing
    matches: Callable[[str, str], bool] = _missing
    wrong_by_schema: Callable[[Any, str], str] = _missing
    hide: Callable[[str], str] = str
    prefixes: Mapping[str, str] = classes.field(factory=dict)


Find: TypeAlias = "Callable[[Response, str, Tools], list[Any]]"


@classes.frozen
class Subject:
    """A subject of assertions: its name, its path, and the function that returns its value.

    - `path` describes the path that follows the name, in brackets if it is optional.
    - If `parts` is not empty, the path must be one of these keys.
    - `find` returns all matches of a path. It raises OrgrestError if the path is malformed or does
      not fit the body. The subject's value is the first match.
    - If `several` is set and there are at least two matches, the subject's value is the list of
      all.
    - If `whole` is set and there is no path, the subject's value is the text of the whole body.
    - `read` converts the expected value before the comparison.
    - `same` returns whether a value equals the expected value.
    - If `definite` is set, it matches the paths that have at most one match. Several matches of
      another path are never compared as if they were one value.
    - If `numeric` is set, the value is always a number.
    """

    name: str
    path: str
    description: str
    find: Find
    parts: Mapping[str, str] = classes.field(factory=dict)
    several: bool = False
    whole: bool = False
    read: Callable[[str], str] = str
    same: Callable[[Any, str], bool] = equal
    definite: re.Pattern[str] | None = None
    numeric: bool = False

    @property
    def required(self) -> bool:
        """Whether a path must be given."""
        return bool(self.path) and not self.path.startswith("[")


def _body(response: Response, path: str, _: Tools) -> list[Any]:
    body = responses.body_text(response)
    if not path:
        return _as_json(body)
    matches = responses.all_found(body, path)
    if not matches and path.endswith(".length"):
        whole = responses.all_found(body, path.removesuffix(".length"))
        return [len(match) for match in whole if isinstance(match, str | list)]
    return matches


def _jq(response: Response, path: str, tools: Tools) -> list[Any]:
    return [
        responses.json_of(line)
        for line in tools.jq(path, responses.body_text(response)).split("\n")
        if line
    ]


def _simple(get: Callable[[Response], Any]) -> Find:
    return lambda response, _, __: [get(response)]


def _as_json(text: str) -> list[Any]:
    try:
        return [json.loads(text)]
    except (ValueError, RecursionError):
        return [text] if text else []


def _cookies(response: Response, path: str, __: Tools) -> list[Any]:
    """Return the values of a cookie, or of one of its attributes: `NAME[Max-Age]`."""
    name, bracket, attribute = path.removesuffix("]").partition("[")
    matches: list[Any] = []
    for line in find_headers(response.headers, "Set-Cookie"):
        pair, *attributes = (part.strip() for part in line.split(";"))
        actual_name, _, content = pair.partition("=")
        if actual_name.strip() != name:
            continue
        if not bracket:
            matches.append(content.strip().strip('"'))
        for part_of_cookie in attributes if bracket else ():
            key, equals, content = part_of_cookie.partition("=")
            if key.strip().lower() == attribute.strip().lower():
                matches.append(content.strip() if equals else True)
    return matches


def _certificate(response: Response, part: str, _: Tools) -> list[Any]:
    certificate = response.certificate
    if certificate is None:
        raise OrgrestError(
            "no verified certificate: the URL is not https, or the run was started with --insecure"
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
        "The status code. `2xx` matches all codes from 200 to 299.",
        _simple(lambda response: response.status),
        same=is_status,
        numeric=True,
    ),
    Subject(
        "header",
        "NAME",
        "The value of the first header with this name.",
        lambda response, path, _: list(find_headers(response.headers, path)),
    ),
    Subject(
        "cookie",
        "NAME or NAME[ATTRIBUTE]",
        "A cookie that the response sets: its value, or one of its attributes.",
        _cookies,
    ),
    Subject(
        "body",
        "[PATH]",
        "The body as text, or the value at a path in it. The path is a JSONPath (RFC 9535; the "
        "leading `$.` is optional), or an XPath if it starts with `/`. If several values match, "
        "the value is their list.",
        _body,
        several=True,
        definite=_DEFINITE,
        whole=True,
    ),
    Subject(
        "bytes",
        "",
        "The body's bytes, in hexadecimal.",
        _simple(lambda response: response.whole_body().hex()),
        read=str.lower,
    ),
    Subject(
        "length",
        "",
        "The length of the body in bytes.",
        _simple(lambda response: len(response.whole_body())),
        numeric=True,
    ),
    Subject(
        "sha256",
        "",
        "The SHA-256 digest of the body, in hexadecimal.",
        _simple(lambda response: hashlib.sha256(response.whole_body()).hexdigest()),
        read=str.lower,
    ),
    Subject(
        "jsonpath",
        "PATH",
        "The value that a JSONPath matches in the body. If there are several matches, the value is "
        "a list.",
        _body,
        several=True,
        definite=_DEFINITE,
    ),
    Subject(
        "jq",
        "PROGRAM",
        "The output of a jq program that is run on the body.",
        _jq,
        several=True,
    ),
    Subject(
        "xpath",
        "PATH",
        "The text that an XPath expression matches in the body. If there are several matches, the "
        "value is a list.",
        lambda response, path, tools: responses.all_in_xml(
            responses.body_text(response), path, tools.prefixes
        ),
        several=True,
    ),
    Subject(
        "js",
        "EXPRESSION",
        "The value of a JavaScript expression, which can use variables, the responses of named "
        "requests and httpyac's `response`. The last operator on the line is used as the "
        "assertion's operator.",
        lambda _, path, tools: tools.javascript(path),
    ),
    Subject(
        "certificate",
        "days, expires, subject or issuer",
        "A property of the server's certificate: the days until it expires, the time when it "
        "expires (ISO 8601), its subject or its issuer.",
        _certificate,
        parts={
            "days": "The number of days until it expires.",
            "expires": "The time when it expires (ISO 8601).",
            "subject": "The subject that the certificate was issued to.",
            "issuer": "Who signed the certificate.",
        },
    ),
    Subject(
        "duration",
        "",
        "The duration of the exchange, in milliseconds unless the expected value has a unit: "
        "`500`, `500 ms`, `2 s` or `1 m`.",
        _simple(lambda response: response.duration * 1000),
        read=milliseconds,
        numeric=True,
    ),
    Subject(
        "redirects",
        "",
        "The number of redirects that were followed.",
        _simple(lambda response: len(response.redirects)),
        numeric=True,
    ),
    Subject(
        "url",
        "",
        "The URL of the response, after redirects.",
        _simple(lambda response: response.url),
    ),
)

SUBJECTS: Final[Mapping[str, Subject]] = {subject.name: subject for subject in _SUBJECT_TABLE}
"""The subjects of assertions, by name."""
