"""Requests as curl commands, and curl commands as request blocks.

A command holds everything that orgrest would send and nothing of its own, quoted for a POSIX shell;
it may be pasted. Reading one back understands the options that say what is sent; those that say how
curl behaves (``-s``, ``-v``, ``--compressed`` ...) are left out, and one that is not known is an
error, because what it changes would be lost.
"""

from __future__ import annotations

import re
import shlex
from urllib.parse import quote

import attrs

from orgrest.model import OrgrestError, Request
from orgrest.requests import quote_body

# Options with a value, and without one, that change nothing about the request itself.
_IGNORED = frozenset(
    [
        "-o",
        "--output",
        "-m",
        "--max-time",
        "--connect-timeout",
        "--retry",
        "--cacert",
        "--cert",
        "--key",
        "-x",
        "--proxy",
        "-w",
        "--write-out",
        "-c",
        "--cookie-jar",
        "--max-redirs",
        "--resolve",
        "--interface",
        "-D",
        "--dump-header",
    ]
)
_FLAGS = frozenset(
    [
        "-s",
        "--silent",
        "-S",
        "--show-error",
        "-v",
        "--verbose",
        "-i",
        "--include",
        "-k",
        "--insecure",
        "-L",
        "--location",
        "--compressed",
        "-f",
        "--fail",
        "-#",
        "--progress-bar",
        "-N",
        "--no-buffer",
        "--http1.1",
        "--http2",
        "-4",
        "-6",
        "-O",
        "--remote-name",
        "-q",
        "--fail-with-body",
        "--no-progress-meter",
    ]
)
_DATA = frozenset(
    ["-d", "--data", "--data-ascii", "--data-raw", "--data-binary", "--data-urlencode", "--json"]
)
_HEADERS = {"-A": "User-Agent", "--user-agent": "User-Agent", "-e": "Referer",
            "--referer": "Referer", "-b": "Cookie", "--cookie": "Cookie"}  # fmt: skip
_SHORT = "XHdAebuFomxwcDr"


class CurlError(OrgrestError):
    """A curl command that cannot be turned into a request."""


def to_command(request: Request) -> str:
    """Write a request as a curl command that sends the same.

    Raises CurlError for a body with NUL bytes, which no command line can hold.
    """
    words = ["curl"]
    implied = "GET" if request.body is None else "POST"
    if request.method == "HEAD":
        words.append("--head")
    elif request.method != implied:
        words += ["-X", request.method]
    for name, value in request.headers:
        words += ["-H", f"{name}: {value}" if value else f"{name};"]
    if request.body is not None:
        if request.header("Content-Type") is None:
            words += ["-H", "Content-Type:"]  # or curl sends one of its own
        try:
            body = request.body.decode()
        except UnicodeDecodeError:
            body = ""
        if "\0" in body or (request.body and not body):
            raise CurlError(
                "the body is no text: a curl command can only hold it as a file",
                file=request.file,
                line=request.line,
            )
        words += ["--data-raw", body]
    words.append(request.url)
    return _join([shlex.quote(word) for word in words])


def _join(words: list[str]) -> str:
    """Put each option on a line of its own, with its value."""
    lines = [words[0]]
    for index, word in enumerate(words[1:], 1):
        if word.startswith("-") or index == len(words) - 1:
            lines.append(word)
        else:
            lines[-1] += f" {word}"
    return " \\\n  ".join(lines) if len(lines) > 2 else " ".join(lines)


@attrs.define
class _Found:
    """What a command says so far."""

    method: str = ""
    url: str = ""
    headers: list[tuple[str, str]] = attrs.field(factory=list)
    data: list[str] = attrs.field(factory=list)
    files: list[str] = attrs.field(factory=list)
    forms: list[tuple[str, bool]] = attrs.field(factory=list)
    query: bool = False
    user: str = ""
    json: bool = False

    def has(self, name: str) -> bool:
        """Tell whether a header was given."""
        return any(given.lower() == name.lower() for given, _ in self.headers)


def to_request(command: str) -> str:
    """Turn a curl command into a request in restclient's language.

    Raises CurlError for what cannot be turned into one.
    """
    try:
        words = shlex.split(command.replace("\\\r\n", "").replace("\\\n", " "))
    except ValueError as error:
        raise CurlError(f"this is no shell command: {error}") from None
    if words[:1] == ["$"]:
        words = words[1:]
    if not words or words[0].rsplit("/", 1)[-1] not in ("curl", "curl.exe"):
        raise CurlError("a curl command begins with curl")
    found = _Found()
    rest = _split_short(words[1:])
    while rest:
        _option(rest.pop(0), rest, found)
    if not found.url:
        raise CurlError("the command has no URL")
    return _write(found)


def to_block(command: str) -> str:
    """Turn a curl command into an Org source block. Raises CurlError."""
    from orgrest.org import escape

    return f"#+begin_src restclient\n{escape(to_request(command))}\n#+end_src\n"


def _split_short(words: list[str]) -> list[str]:
    """Write ``-sXPOST`` as ``-s -X POST`` and ``--opt=value`` as two words."""
    found: list[str] = []
    value = False
    for word in words:
        if value or not word.startswith("-") or word == "-":
            found.append(word)
            value = False
        elif word.startswith("--"):
            found.append(word)
            value = word not in _FLAGS and word not in ("--get", "--head")
        else:
            at = 1
            while at < len(word):
                found.append(f"-{word[at]}")
                at += 1
                if found[-1][1] in _SHORT:
                    value = at == len(word)
                    if not value:
                        found.append(word[at:])
                    break
    return found


def _option(word: str, rest: list[str], found: _Found) -> None:
    """Read one option, with its value from `rest`."""
    if not word.startswith("-") or word == "-":
        if found.url:
            raise CurlError(f"the command has two URLs: {found.url} and {word}")
        found.url = word
        return
    if word in _FLAGS:
        return
    if word in ("-G", "--get"):
        found.query = True
        return
    if word in ("-I", "--head"):
        found.method = "HEAD"
        return
    if not rest:
        raise CurlError(f"{word} has no value")
    value = rest.pop(0)
    if word in ("-X", "--request"):
        found.method = value
    elif word == "--url":
        found.url = value
    elif word in ("-H", "--header"):
        name, colon, text = value.partition(":")
        if colon and text.strip():
            found.headers.append((name.strip(), text.strip()))
        elif not colon and name.endswith(";"):
            found.headers.append((name[:-1], ""))
    elif word in _HEADERS:
        found.headers.append((_HEADERS[word], value))
    elif word in ("-u", "--user"):
        found.user = value
    elif word in ("-F", "--form", "--form-string"):
        found.forms.append((value, word == "--form-string"))
    elif word in _DATA:
        if value.startswith("@") and word not in ("--data-raw", "--data-urlencode"):
            found.files.append(value[1:])
        else:
            found.data.append(_datum(word, value))
        found.json |= word == "--json"
    elif word not in _IGNORED:
        raise CurlError(f"{word} is not understood: leave it out, or write the request yourself")


def _datum(word: str, value: str) -> str:
    if word == "--data-urlencode":
        name, equals, text = value.partition("=")
        if not equals:
            return quote(value, safe="")
        return f"{name}={quote(text, safe='')}" if name else quote(text, safe="")
    return value


def _write(found: _Found) -> str:
    url = found.url if "://" in found.url else f"http://{found.url}"
    body = ("" if found.json else "&").join(found.data) if found.data else None
    if found.files and (found.data or found.files[1:] or found.query):
        raise CurlError(f"@{found.files[0]} stands beside other data: a body is one file, or text")
    if found.query and body is not None:
        url += ("&" if "?" in url else "?") + body
        body = None
    if found.user:
        scheme, _, rest = url.partition("://")
        user = ":".join(quote(part, safe="") for part in found.user.split(":", 1))
        url = f"{scheme}://{user}@{rest}"
    if found.forms:
        body = _form(found)
    elif found.json:
        for name in ("Content-Type", "Accept"):
            if not found.has(name):
                found.headers.append((name, "application/json"))
    elif (body is not None or found.files) and not found.has("Content-Type"):
        found.headers.append(("Content-Type", "application/x-www-form-urlencoded"))
    method = found.method or ("GET" if body is None and not found.files else "POST")
    lines = [f"{method} {url}", *(f"{name}: {value}" for name, value in found.headers)]
    if found.files:
        lines += ["", f"< {found.files[0]}"]
    elif body is not None:
        lines += ["", quote_body(body)]
    return "\n".join(lines)


def _form(found: _Found) -> str:
    """Write the parts of a form."""
    boundary = "orgrest-form-boundary"
    if not found.has("Content-Type"):
        found.headers.append(("Content-Type", f"multipart/form-data; boundary={boundary}"))
    lines: list[str] = []
    for part, literal in found.forms:
        name, _, value = part.partition("=")
        head = f'Content-Disposition: form-data; name="{name}"'
        if value[:1] in ("@", "<") and not literal:
            path, *more = value[1:].split(";")
            if value[0] == "@":
                head += f'; filename="{path.rsplit("/", 1)[-1]}"'
            lines += [f"--{boundary}", head]
            lines += (f"Content-Type: {text[5:]}" for text in more if text.startswith("type="))
            lines += ["", f"< {path}"]
        elif re.search(r"^[ \t]*<[ \t]", value, re.MULTILINE):
            raise CurlError(f"a line of {name} that begins with < would be read as a file")
        else:
            lines += [f"--{boundary}", head, "", value]
    return "\n".join([*lines, f"--{boundary}--"])
