"""A curl command as a request."""

from __future__ import annotations

import re
from urllib.parse import quote

import attrs

from orgrest.http.curl.errors import CurlError, one_line
from orgrest.http.curl.forms import form
from orgrest.http.curl.options import Command, read
from orgrest.http.curl.shell import split
from orgrest.http.syntax import is_token

# "Copy as cURL (cmd)": quotes behind carets, or lines that a caret continues.
_CMD = re.compile(r'\s*curl(?:\.exe)? \^"|[^\n]*[ "]\^\r?\n\s+[-^]')
_CARET = re.compile(r'"[^"]*"|\^(\r?\n|.)', re.DOTALL)


def is_cmd(command: str) -> bool:
    """Tell whether a command is quoted for Windows' cmd."""
    return _CMD.match(command) is not None


def words_of(command: str) -> list[str]:
    """Split a command that is quoted for a shell, or for Windows' cmd. Raises CurlError."""
    if is_cmd(command):
        command = _CARET.sub(lambda m: m[0] if m[1] is None else m[1].strip("\r\n"), command)
    return split(command)


def _read_words(words: list[str]) -> Command:
    if words[:1] == ["$"]:
        words = words[1:]
    if not words or words[0].rsplit("/", 1)[-1] not in ("curl", "curl.exe"):
        raise CurlError("a curl command begins with curl")
    found = read(words[1:])
    if not found.url:
        raise CurlError("the command has no URL")
    return found


@attrs.frozen
class Parts:
    """The parts of the request that a command sends.

    `comments` say what is left out, `directives` are those of request files. The body is `text` or
    the content of a `file`. With `shorthand`, one of the headers is in the notation of request
    files, and none that is sent.
    """

    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    text: str | None
    file: str | None
    comments: tuple[str, ...]
    directives: tuple[str, ...]
    shorthand: bool


def parts(words: list[str]) -> Parts:
    """Return the parts of the request that a command sends, whose words are given.

    Raises CurlError.
    """
    found = _read_words(words)
    if re.fullmatch(r"[^\s:]+:\S+", found.user) and not found.scheme:
        found.scheme = ("Basic",)
    if found.files and (found.data is not None or found.files[1:] or found.query):
        raise CurlError(f"@{found.files[0]} stands beside other data: a body is one file, or text")
    if found.forms and (found.data is not None or found.files):
        raise CurlError("the command has a form and other data: a body is one of them")
    body = None if found.query else found.data
    headers = list(found.headers)
    if found.cookies:
        headers.append(("Cookie", "; ".join(found.cookies)))
    if found.forms:
        boundary, body = form(found.forms)
        headers = _with_boundary(headers, boundary)
    elif found.json:
        _add_default(headers, "Content-Type", "application/json")
        _add_default(headers, "Accept", "application/json")
    elif body is not None or found.files:
        _add_default(headers, "Content-Type", "application/x-www-form-urlencoded")
    comments = [f"curl {one_line(one, 'an option')}" for one in found.left_out]
    if found.stripped:
        name = one_line(found.files[0], "the name of the file")
        comments.append(f"curl -d sends {name} without its line ends; here it goes as it is")
    if found.scheme:
        headers.append(("Authorization", _authorization(found)))
    if found.certificate:
        fields = ("cert", "key", "passphrase")
        given = [
            f"{name}: {found.certificate[name]}" for name in fields if name in found.certificate
        ]
        headers.append(("X-ClientCert", " ".join(given)))
    for name, value in headers:
        if not is_token(name):
            raise CurlError(f"not a header name: {name!r}")
        one_line(value, f"the value of {name}")
    return Parts(
        method=found.method or ("GET" if body is None and not found.files else "POST"),
        url=one_line(_url(found), "the URL"),
        headers=tuple(headers),
        text=None if found.files else body,
        file=one_line(found.files[0], "the name of the file") if found.files else None,
        comments=tuple(comments),
        directives=tuple(found.directives),
        shorthand=bool(found.scheme or found.certificate),
    )


def _authorization(found: Command) -> str:
    """Return credentials that become a header only on sending, in a document's syntax."""
    user, colon, password = found.user.partition(":")
    if not colon or re.search(r"\s", found.user):
        raise CurlError("--user gives a name and a password, without blanks, behind a colon")
    scheme, *named = found.scheme
    return " ".join([scheme, user, password, *named])


def _url(found: Command) -> str:
    """Return the URL including what other options add to it."""
    url = found.url if "://" in found.url else f"http://{found.url}"
    added = [*found.added, *([found.data] if found.query and found.data is not None else [])]
    if added:
        url = url.partition("#")[0]
        url += ("&" if "?" in url else "?") + "&".join(added)
    if found.user and not found.scheme:
        scheme, _, rest = url.partition("://")
        user = ":".join(quote(part, safe="") for part in found.user.split(":", 1))
        url = f"{scheme}://{user}@{rest}"
    return url


def _add_default(headers: list[tuple[str, str]], name: str, value: str) -> None:
    if not any(given.lower() == name.lower() for given, _ in headers):
        headers.append((name, value))


def _with_boundary(headers: list[tuple[str, str]], boundary: str) -> list[tuple[str, str]]:
    """Return the headers with a Content-Type that names a form's boundary."""
    _add_default(headers, "Content-Type", "multipart/form-data")
    return [
        (name, f"{value}; boundary={boundary}")
        if name.lower() == "content-type" and "boundary=" not in value
        else (name, value)
        for name, value in headers
    ]
