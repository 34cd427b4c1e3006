"""Writes a Python script that sends requests with the library `requests`.

`requests` normalizes URLs. If that would change what is sent, the script sets the URL again on the
prepared request. Source: the documentation of `requests`, "Prepared Requests".
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from orgrest.convert.shared.exports import (
    Basic,
    Export,
    ExportedRequest,
    Text,
    Variable,
    each,
    identifiers,
    shell_names,
)
from orgrest.convert.shared.model import ConversionError, Note, Written
from orgrest.http.auth.digest import DigestCredentials
from orgrest.http.transport.wire import wire_url

_TAKEN: Final = (*keyword.kwlist, *dir(builtins), "requests", "os", "session", "request",
                 "response", "HTTPDigestAuth")  # fmt: skip
_NORMALIZED: Final = re.compile(
    r"/\.{1,2}(?:[/?]|$)|%(?:2[DdEe]|5[Ff]|7[Ee]|3\d|[46][1-9A-Fa-f]|[57][0-9Aa])"
)
"""Matches the parts of a URL that the library `requests` changes: dot segments, and unnecessary
%-encoding."""
_USER_ONLY: Final = re.compile(r"(^\w+://[^/?#@:]*)@")
"""Matches a URL up to a user without a password, which `requests` ignores without a colon."""
_OTHERWISE: Final = (
    (
        re.compile(r"://[^/?#@]*%[89A-Fa-f][0-9A-Fa-f][^/?#@]*@"),
        "the `requests` package sends the user and the password in a URL in Latin-1",
    ),
    (
        re.compile(r"https?://[^/?#]*//"),
        "the `requests` package replaces // at the start of a path with /",
    ),
    (re.compile(r"\?$"), "the `requests` package drops the ? of an empty query"),
    (
        re.compile(r"%(?![0-9A-Fa-f]{2})"),
        (
            "the `requests` package sends every % in a path or query as %25 if one of them is not "
            "followed by two hexadecimal digits"
        ),
    ),
)
"""Unavoidable differences in what the library `requests` sends, as pairs of a pattern for the URL
and a description."""
_WIDTH: Final = 60  # the maximum length of a literal on one line, in bytes or characters


def write(export: Export) -> Written:
    """Return an export as a script."""
    notes = [call.told(test) for call in export.calls for test in call.tests]
    names = identifiers(export.variables, str, _TAKEN)
    environ = shell_names(export.variables)
    defined: set[Variable] = set()

    def definition(variable: Variable) -> str:
        if variable.value is None:
            return f"{names[variable]} = os.environ[{_literal(environ[variable])}]"
        return f"{names[variable]} = {_literal(variable.value)}"

    def defining(call: ExportedRequest) -> list[str]:
        lines = _call(call, names, notes)
        return [*map(definition, call.late(defined)), *lines]

    calls = list(each(export.calls, defining, notes))
    digest = any("HTTPDigestAuth(" in line for lines in calls for line in lines)
    secret = any(variable.value is None for variable in export.variables)
    head = ['"""Sends HTTP requests with the requests package."""', ""]
    head += ["import os", ""] if secret else []
    head += ["import requests"]
    head += ["from requests.auth import HTTPDigestAuth"] if digest else []
    kept = any(call.keeps_cookies for call in export.calls)
    head += ["", *(["session = requests.Session()"] if kept else [])]
    head += [definition(variable) for variable in export.variables if not variable.late]
    lines = [*head, *(line for call in calls for line in ("", *call))]
    return Written("\n".join(lines) + "\n", {}, tuple(notes))


def _call(call: ExportedRequest, names: dict[Variable, str], notes: list[Note]) -> list[str]:
    """Return the code that sends a request."""
    request = call.request
    if request.method == "WEBSOCKET":
        raise ConversionError("the `requests` package does not support WebSockets")
    url, method = _USER_ONLY.sub(r"\1:@", wire_url(request)), request.method
    arguments = [_literal(method), _expression(call.text(url), names)]
    arguments += _headers(call, names, notes)
    arguments += _body(call, names)
    if request.credentials is not None:
        arguments += _auth(call, names, notes)
    sending = []
    if call.timeout is not None:
        sending.append(f"timeout={call.timeout:g}")
    if not call.follows:
        sending.append("allow_redirects=False")
    elif not call.keeps_cookies:
        reason = (
            "the `requests` package sends cookies set by a redirect, even if cookies are disabled"
        )
        notes.append(Note(call.place, reason))
    notes += call.unprotected("the `requests` package", "authorization", "cookie")
    if call.follows and isinstance(request.credentials, DigestCredentials):
        reason = "after a redirect, the `requests` package also uses them for another origin"
        what = "the restriction of the Digest credentials to one origin"
        notes.append(Note(call.place, f"{what}: {reason}"))
    session = "session" if call.keeps_cookies else "requests.Session()"
    if (certificate := request.certificate) is not None:
        files = [certificate.file, *([certificate.key] if certificate.key else [])]
        paths = ", ".join(map(_literal, files))
        sending.append(f"cert=({paths})" if len(files) > 1 else f"cert={paths}")
        if certificate.passphrase is not None:
            notes.append(Note(call.place, "the passphrase of the client certificate's key"))
    notes += (
        Note(call.place, difference) for pattern, difference in _OTHERWISE if pattern.search(url)
    )
    lines = [f"# {_line(call.name)}"]
    shown = "".join(
        piece if isinstance(piece, str) else piece.value or "" for piece in call.text(url)
    )
    if _NORMALIZED.search(shown) or method != method.upper():
        lines += [
            *_written(f"request = {session}.prepare_request(requests.Request", arguments, ")"),
            *([f"request.method = {_literal(method)}"] if method != method.upper() else []),
            f"request.url = {arguments[1]}  # as is: requests would normalize it",
            f"response = {session}.send({', '.join(['request', *sending])})",
        ]
    else:
        lines += _written(f"response = {session}.request", [*arguments, *sending])
    return [*lines, "print(response.status_code, response.text)"]


def _headers(call: ExportedRequest, names: dict[Variable, str], notes: list[Note]) -> list[str]:
    headers: dict[str, tuple[str, list[str]]] = {}
    for name, value in call.request.headers:
        headers.setdefault(name.lower(), (name, []))[1].append(value)
    if coding := headers.pop("transfer-encoding", None):  # the library chooses the coding itself
        if [value.lower() for value in coding[1]] != ["chunked"]:
            notes.append(Note(call.place, f"{coding[0]}: {', '.join(coding[1])}"))
        if headers.pop("content-length", None):
            notes.append(
                Note(call.place, "Content-Length, because the request also has Transfer-Encoding")
            )
    if not headers:
        return []
    lines = ["headers={"]
    for key, (name, values) in headers.items():
        if len(values) > 1:
            notes.append(Note(call.place, f"{name} is sent as one header instead of {len(values)}"))
        text = call.text(("; " if key == "cookie" else ", ").join(values))
        lines.append(f"    {_literal(name)}: {_encoded(text, names)},")
    return ["\n".join([*lines, "}"])]


def _body(call: ExportedRequest, names: dict[Variable, str]) -> list[str]:
    coding = call.request.header("Transfer-Encoding") or ""
    is_chunked = coding.lower().endswith("chunked")  # requests sends an iterator in chunks
    before, after = ("data=iter([", "])") if is_chunked else ("data=", "")
    if not call.request.body:
        return [f"{before}{after}"] if is_chunked else []
    text = call.body()
    if text is not None:
        return [f"{before}{_encoded(call.text(text), names, as_bytes=is_chunked)}{after}"]
    data = call.request.body
    lines = [f"    {data[at : at + _WIDTH]!r}" for at in range(0, len(data), _WIDTH)]
    return ["\n".join([f"{before}(", *lines, f"){after}"])]


def _auth(call: ExportedRequest, names: dict[Variable, str], notes: list[Note]) -> list[str]:
    credentials = call.request.credentials
    if not isinstance(credentials, Basic | DigestCredentials):
        notes.append(Note(call.place, "credentials that are computed when the request is sent"))
        return []
    pair = [
        _encoded(call.text(template), names)
        for template in (credentials.user, credentials.password)
    ]
    name = "" if isinstance(credentials, Basic) else "HTTPDigestAuth"
    return [f"auth={name}({', '.join(pair)})"]


def _encoded(text: Text, names: dict[Variable, str], *, as_bytes: bool = False) -> str:
    """Return an expression for a string that will be sent in UTF-8."""
    encoded = _expression(text, names)
    if not as_bytes and all(isinstance(piece, str) and piece.isascii() for piece in text):
        return encoded
    simple = len(text) == 1 and not encoded.startswith("(")
    return f"{encoded}.encode()" if simple or encoded.startswith("(") else f"({encoded}).encode()"


def _expression(text: Text, names: dict[Variable, str]) -> str:
    """Return an expression for a string, in parentheses if it spans several lines."""
    parts = list(_parts(text, names))
    if not parts:
        return '""'
    out = parts[0][0]
    for (_, before), (part, literal) in pairwise(parts):
        out += f"\n    {part}" if before and literal else f" + {part}"
    return f"(\n    {out}\n)" if "\n" in out else out


def _parts(text: Text, names: dict[Variable, str]) -> Iterator[tuple[str, bool]]:
    """Yield (expression, is_literal) for each variable and each line of text."""
    for piece in text:
        if isinstance(piece, Variable):
            yield names[piece], False
        else:
            for line in re.findall(r"[^\n]*\n|[^\n]+", piece):
                yield _literal(line), True


def _literal(text: str) -> str:
    """Return a string literal, in double quotes unless it would then need escapes."""
    shown = repr(text) if text.isprintable() or text.isascii() else ascii(text)
    quoted = shown[0] == '"' or '"' in shown or "\\'" in shown
    return shown if quoted else f'"{shown[1:-1]}"'


def _written(function: str, arguments: list[str], end: str = "") -> list[str]:
    """Return the lines of a function call."""
    inner = [f"    {line}" for argument in arguments for line in f"{argument},".split("\n")]
    statement = f"{function}({', '.join(arguments)}){end}"
    if "\n" not in statement and len(statement) < 90:
        return [statement]
    return [f"{function}(", *inner, f"){end}"]


def _line(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)
