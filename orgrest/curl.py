"""Requests as curl commands, and curl commands as request blocks.

A command holds everything that orgrest would send and nothing of its own, quoted for a POSIX shell;
it may be pasted. Reading one back understands the options that say what is sent, in the quotes of a
POSIX shell, bash's ``$'...'`` and those of Windows' cmd as browsers write them; options that say
how curl behaves (``-s``, ``-v``, ``--compressed`` ...) are left out, and one that is not known is
an error, because what it changes would be lost.
"""

from __future__ import annotations

import re
import shlex
from typing import cast
from urllib.parse import quote

import attrs

from orgrest.model import OrgrestError, Request
from orgrest.requests import quote_body
from orgrest.syntax import TCHARS

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
        "-g",
        "--globoff",
        "--path-as-is",
    ]
)
_DATA = frozenset(
    ["-d", "--data", "--data-ascii", "--data-raw", "--data-binary", "--data-urlencode", "--json"]
)
_HEADERS = {"-A": "User-Agent", "--user-agent": "User-Agent", "-e": "Referer",
            "--referer": "Referer"}  # fmt: skip
_SHORT = "XHdAebuFomxwcDr"

_METHOD = re.compile(TCHARS)
_EMPTY = (("Content-Length", "0"),)  # what a POST without a body has, but not from curl
_DOTS = re.compile(r"/(?:\.|%2e){1,2}(?:/|$)", re.IGNORECASE)
_STDIN = "cannot read the standard input: write the text, or name a file"

_PIECE = re.compile(
    r"""(?P<blank>[ \t\r\n]+)
    | \\\r?\n
    | '(?P<single>[^']*)'
    | \$'(?P<ansi>(?:[^'\\]|\\.)*)'
    | "(?P<double>(?:[^"\\]|\\.)*)"
    | \\(?P<escaped>.)
    | (?P<plain>[^ \t\r\n'"\\$]+|\$(?!'))""",
    re.VERBOSE | re.DOTALL,
)
_ANSI = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|([0-7]{1,3})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|c(.)|(.))"
    r"|([^\\]+)",
    re.DOTALL,
)
_ANSI_LETTERS = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r",
                 "t": "\t", "v": "\v", "\\": "\\", "'": "'", '"': '"', "?": "?"}  # fmt: skip

# "Copy as cURL (cmd)": quotes behind carets, or lines that a caret continues.
_CMD = re.compile(r'\s*curl(?:\.exe)? \^"|[^\n]*[ "]\^\r?\n\s+[-^]')
_CARET = re.compile(r'"[^"]*"|\^(\r?\n|.)', re.DOTALL)

_FORM_WORD = re.compile(r'\s*"((?:[^"\\]|\\.)*)"[^;]*|[^;]*', re.DOTALL)
_FORM_OPTION = re.compile(r"\s*(type|filename|headers|encoder)=")
_FORM_TYPES = {"gif": "image/gif", "jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png",
               "svg": "image/svg+xml", "txt": "text/plain", "htm": "text/html",
               "html": "text/html", "pdf": "application/pdf", "xml": "application/xml"}  # fmt: skip


class CurlError(OrgrestError):
    """A curl command that cannot be turned into a request."""


def to_command(request: Request) -> str:
    """Write a request as a curl command that sends the same.

    Raises CurlError for a body with NUL bytes, which no command line can hold, and TransportError
    for what cannot be sent at all.
    """
    from orgrest.transport import wire_headers, wire_url

    words = ["curl"]
    url, sent = wire_url(request), wire_headers(request)
    if _DOTS.search(url.partition("?")[0]):
        words.append("--path-as-is")
    implied = "GET" if request.body is None else "POST"
    if request.method == "HEAD" and request.body is None:
        words.append("--head")
    elif request.method != implied:
        words += ["-X", request.method]
    for name, value in request.headers:
        words += ["-H", f"{name}: {value}" if value.strip() else f"{name};"]
    if request.body is None and sent[-1:] == _EMPTY != request.headers[-1:]:
        words += ["-H", "Content-Length: 0"]
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
    words.append(url)
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
    cookies: list[str] = attrs.field(factory=list)
    data: str | None = None
    added: list[str] = attrs.field(factory=list)
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
    if _CMD.match(command):
        command = _CARET.sub(lambda m: m[0] if m[1] is None else m[1].strip("\r\n"), command)
    words = _split(command)
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


def _split(command: str) -> list[str]:
    """Split a command into words as bash does; variables and operators stay as they are."""
    words: list[list[str]] = []
    open_word = False
    at = 0
    while at < len(command):
        match = _PIECE.match(command, at)
        if match is None:
            raise CurlError("this is no shell command: it ends inside a quote or after a backslash")
        at = match.end()
        kind = match.lastgroup
        if kind is None:  # a line that goes on
            continue
        if kind == "blank":
            open_word = False
            continue
        text = match[kind]
        if kind == "ansi":
            text = _read_ansi(text)
        elif kind == "double":
            text = re.sub(r'\\(\r?\n|[$`"\\])', lambda m: m[1].strip("\r\n"), text)
        if not open_word:
            words.append([])
        words[-1].append(text)
        open_word = True
    return ["".join(pieces) for pieces in words]


def _read_ansi(text: str) -> str:
    """Read what stands in ``$'...'`` (Bash manual, "ANSI-C Quoting")."""
    data = bytearray()
    for match in _ANSI.finditer(text):
        byte, octal, short, long, control, letter, plain = match.groups()
        if byte or octal:
            data.append(int(byte, 16) if byte else int(octal, 8) & 0xFF)
        elif short or long:
            code = int(short or long, 16)
            if code > 0x10FFFF:
                raise CurlError(f"{match[0]} is no character")
            data += chr(code).encode("utf-8", "surrogatepass")
        elif control:
            data.append(ord(control) & 0x1F)
        else:
            found = plain or _ANSI_LETTERS.get(letter, f"\\{letter}")
            data += found.encode("utf-8", "surrogatepass")
    try:
        if 0 in data:
            raise ValueError
        halves = data.decode("utf-8", "surrogatepass").encode("utf-16-le", "surrogatepass")
        return halves.decode("utf-16-le")  # Chrome writes one character as two escapes
    except ValueError:
        raise CurlError("$'...' holds bytes that are no text: put them into a file") from None


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
        if not _METHOD.fullmatch(value):
            raise CurlError(f"not a method: {value!r}")
        found.method = value
    elif word == "--url":
        found.url = value
    elif word in ("-H", "--header"):
        _header(value, found)
    elif word in ("-b", "--cookie"):
        if value and "=" not in value:
            raise CurlError(f"{word} {value} reads cookies from a file: write NAME=VALUE")
        found.cookies += [value] if value else []
    elif word in _HEADERS:
        found.headers += [(_HEADERS[word], value)] if value else []
    elif word in ("-u", "--user"):
        found.user = value
    elif word in ("-F", "--form", "--form-string"):
        found.forms.append((value, word == "--form-string"))
    elif word in _DATA:
        if value.startswith("@") and word not in ("--data-raw", "--data-urlencode"):
            if value == "@-":
                raise CurlError(f"{word} @- {_STDIN}")
            found.files.append(value[1:])
        else:
            datum = _urlencoded(word, value) if word == "--data-urlencode" else value
            between = "" if word == "--json" else "&"
            found.data = datum if found.data is None else f"{found.data}{between}{datum}"
        found.json |= word == "--json"
    elif word == "--url-query":
        found.added.append(value[1:] if value.startswith("+") else _urlencoded(word, value))
    elif word not in _IGNORED:
        raise CurlError(f"{word} is not understood: leave it out, or write the request yourself")


def _header(line: str, found: _Found) -> None:
    """Read what stands behind ``-H``."""
    if line.startswith("@"):
        raise CurlError(f"-H {line} reads headers from a file: write them as -H 'NAME: VALUE'")
    name, colon, text = line.partition(":")
    if colon and text.strip():
        found.headers.append((name.strip(), text.strip()))
    elif not colon and name.endswith(";"):
        found.headers.append((name[:-1], ""))


def _urlencoded(word: str, value: str) -> str:
    """Encode ``TEXT``, ``=TEXT`` or ``NAME=TEXT``."""
    name, equals, text = value.partition("=")
    if not equals and "@" in name:
        raise CurlError(f"{word} {value} reads a file, encoded: write its text behind a =")
    if not equals:
        return quote(value, safe="")
    return f"{name}={quote(text, safe='')}" if name else quote(text, safe="")


def _write(found: _Found) -> str:
    url = found.url if "://" in found.url else f"http://{found.url}"
    body = found.data
    if found.files and (body is not None or found.files[1:] or found.query):
        raise CurlError(f"@{found.files[0]} stands beside other data: a body is one file, or text")
    if found.forms and (body is not None or found.files):
        raise CurlError("the command has a form and other data: a body is one of them")
    if found.query and body is not None:
        found.added.append(body)
        body = None
    if found.added:
        url = url.partition("#")[0]
        url += ("&" if "?" in url else "?") + "&".join(found.added)
    if found.user:
        scheme, _, rest = url.partition("://")
        user = ":".join(quote(part, safe="") for part in found.user.split(":", 1))
        url = f"{scheme}://{user}@{rest}"
    if found.cookies:
        found.headers.append(("Cookie", "; ".join(found.cookies)))
    if found.forms:
        body = _form(found)
    elif found.json:
        for name in ("Content-Type", "Accept"):
            if not found.has(name):
                found.headers.append((name, "application/json"))
    elif (body is not None or found.files) and not found.has("Content-Type"):
        found.headers.append(("Content-Type", "application/x-www-form-urlencoded"))
    method = found.method or ("GET" if body is None and not found.files else "POST")
    lines = [f"{method} {_line(url, 'the URL')}"]
    for name, value in found.headers:
        if not _METHOD.fullmatch(name):  # both are tokens
            raise CurlError(f"not a header name: {name!r}")
        lines.append(f"{name}: {_line(value, f'the value of {name}')}")
    if found.files:
        lines += ["", f"< {_line(found.files[0], 'the name of the file')}"]
    elif body is not None:
        lines += ["", quote_body(body)]
    return "\n".join(lines)


def _line(text: str, what: str) -> str:
    """Return `text`. Raises CurlError where it would be more than one line."""
    if any(c in text for c in "\r\n\0"):
        raise CurlError(f"{what} holds a line break: take it out")
    return text


@attrs.frozen
class _Part:
    """A part of a form: its text or file, and what is said about it."""

    name: str
    text: str
    kind: str = ""
    filename: str = ""
    file: bool = False

    def lines(self) -> list[str]:
        """Return the part's header and content."""
        names = [("name", self.name), ("filename", self.filename)]
        shown = (f'; {key}="{_escape(text)}"' for key, text in names if text or key == "name")
        lines = ["Content-Disposition: form-data" + "".join(shown)]
        if self.kind:
            lines.append(f"Content-Type: {_line(self.kind, f'the type of {self.name}')}")
        if self.file:
            return [*lines, "", f"< {_line(self.text, 'the name of the file')}"]
        if re.search(r"^[ \t]*<[ \t]", self.text, re.MULTILINE):
            raise CurlError(f"a line of {self.name} that begins with < would be read as a file")
        return [*lines, "", self.text]


def _escape(name: str) -> str:
    return name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")


def _form(found: _Found) -> str:
    """Write the parts of a form."""
    parts = [_part(given, literal) for given, literal in found.forms]
    boundary = "orgrest-form-boundary"
    while any(boundary in part.text for part in parts):
        boundary += "-x"
    ours = f"; boundary={boundary}"
    if not found.has("Content-Type"):
        found.headers.append(("Content-Type", f"multipart/form-data{ours}"))
    found.headers = [
        (
            name,
            value + ours if name.lower() == "content-type" and "boundary=" not in value else value,
        )
        for name, value in found.headers
    ]
    lines = [line for part in parts for line in (f"--{boundary}", *part.lines())]
    return "\n".join([*lines, f"--{boundary}--"])


def _part(given: str, literal: bool) -> _Part:
    """Read ``NAME=CONTENT``, ``NAME=@FILE`` or ``NAME=<FILE`` with what follows behind ``;``."""
    name, equals, value = given.partition("=")
    if not equals:
        raise CurlError(f"-F {given} is no form field: write NAME=VALUE")
    if literal:
        return _Part(name, value)
    sign = value[:1] if value[:1] in ("@", "<") else ""
    text, at = _form_word(value, len(sign))
    if sign and text == "-":
        raise CurlError(f"-F {given} {_STDIN}")
    if sign and "," in text:
        raise CurlError(f"-F {given} holds several files: give each a -F of its own")
    options: dict[str, str] = {"filename": text.rsplit("/", 1)[-1] if sign == "@" else ""}
    last = ""
    while at < len(value):
        option = _FORM_OPTION.match(value, at + 1)
        if option is None and last == "type":
            more, at = _form_word(value, at + 1)
            options["type"] += f"; {more}"
        elif option is None or option[1] not in ("type", "filename"):
            raise CurlError(f"-F {given}: what stands behind ; is not understood: quote the value")
        else:
            last = option[1]
            options[last], at = _form_word(value, option.end())
    kind = options.get("type", "")
    if sign == "@" and not kind:
        suffix = options["filename"].rpartition(".")[2].lower()
        kind = _FORM_TYPES.get(suffix, "application/octet-stream")
    return _Part(name, text, kind, options["filename"], file=bool(sign))


def _form_word(value: str, at: int) -> tuple[str, int]:
    """Read up to the next ``;``, which quotes may hold; give the text and where it ends."""
    match = cast("re.Match[str]", _FORM_WORD.match(value, at))  # it matches anything
    if match[1] is None:
        return match[0].strip(), match.end()
    return re.sub(r'\\(["\\])', r"\1", match[1]), match.end()
