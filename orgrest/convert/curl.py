"""curl commands: a single command, or a script with several commands.

Commands may be quoted for a POSIX shell or bash (``$'...'``), or for cmd on Windows as in browsers
("Copy as cURL (cmd)").

In a POSIX shell, `$NAME` becomes a variable. Its value comes from an assignment in the script, or
else from the environment variable `NAME`. Nothing is executed: everything else that a shell would
do is reported. Redirects and cookies are disabled unless an option of curl enables them.

An exported command sends exactly what orgrest would send. Sources: POSIX.1-2024, "Shell Command
Language"; the Bash manual; curl's manual.
"""

from __future__ import annotations

import itertools
import re
import shlex
from base64 import b64encode
from collections import Counter
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from orgrest import classes
from orgrest.convert.curl_options import Command, read_words
from orgrest.convert.shared import texts
from orgrest.convert.shared.exports import each, shell_names, text_of
from orgrest.convert.shared.forms import multipart, with_content_type
from orgrest.convert.shared.model import (
    Collection,
    ConversionError,
    Folder,
    Inclusion,
    Note,
    Piece,
    Request,
    Written,
)
from orgrest.convert.shared.texts import Variable
from orgrest.convert.shared.variables import Names
from orgrest.http.auth import certificates
from orgrest.model import end_of_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from orgrest import model
    from orgrest.convert.shared import exports
    from orgrest.convert.shared.source import Source

BEGINS: Final = re.compile(r"\s*(?:\$ +)?(?:\S*/)?curl(?:\.exe)?\s")
"""Matches the beginning of a string that starts with a curl command."""
_NAME: Final = r"[A-Za-z_][A-Za-z0-9_]*"
_REFERENCE: Final = rf"\$(?:(?P<name>{_NAME})|\{{(?P<braced>{_NAME})\}})"
_COMPUTED: Final = r"\$\(|`|\$\{|\$[0-9@*#?]"
_PIECE: Final = re.compile(
    rf"""(?P<blank>(?:[ \t\r]|\\\r?\n)+)
    | (?P<newline>\n)
    | '(?P<single>[^']*)'
    | \$'(?P<ansi>(?:[^'\\]|\\.)*)'
    | "(?P<double>(?:[^"\\]|\\.)*)"
    | \\(?P<escaped>.)
    | (?P<operator>\d?>+&?\d?|<+|&&|\|+|;|&|[()])
    | (?P<reference>{_REFERENCE})
    | (?P<computed>{_COMPUTED})
    | (?P<plain>(?:[^\s'"\\$`;&|()<>])+|\$(?!'))""",
    re.VERBOSE | re.DOTALL,
)
_IN_QUOTES: Final = re.compile(
    rf"\\(?P<escape>\r?\n|[$`\"\\])|(?P<reference>{_REFERENCE})|(?P<computed>{_COMPUTED})"
)
_ANSI: Final = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|([0-7]{1,3})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|c(.)|(.))"
    r"|([^\\]+)",
    re.DOTALL,
)
_ANSI_LETTERS: Final = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n",
                        "r": "\r", "t": "\t", "v": "\v", "\\": "\\", "'": "'", '"': '"',
                        "?": "?"}  # fmt: skip
_ASSIGNMENT: Final = re.compile(rf"(?P<name>{_NAME})=(?P<value>.*)", re.DOTALL)
_SILENT: Final = (":", "set", "trap")  # commands that do not change what is sent
_NEW_FILE: Final = re.compile(rf"{_NAME}=\$\(mktemp\)")  # an empty file, such as for cookies
_JAR: Final = "\0"  # replaced with the path of the script's cookies; no word contains it
# "Copy as cURL (cmd)" puts carets before quotes, and at the end of lines that continue.
_CMD: Final = re.compile(r'\s*curl(?:\.exe)? \^"|[^\n]*[ "]\^\r?\n\s+[-^]')
_CARET: Final = re.compile(r'"[^"]*"|\^(\r?\n|.)', re.DOTALL)
_EMPTY: Final = (("Content-Length", "0"),)  # curl does not send it with an empty POST
_LONGEST: Final = 100_000  # maximum bytes of a word; Linux allows 128 KiB
_DOTS: Final = re.compile(r"/(?:\.|%2e){1,2}(?:/|$)", re.IGNORECASE)


@classes.define
class _Line:
    """A command and the comment above it."""

    number: int
    start: int
    words: list[str] = classes.field(factory=list)
    comment: str = ""
    end: int = 0
    left_out: str = ""  # an operator such as `|`; everything after it is ignored
    problem: str = ""  # why the command cannot be read


class _Shell:
    """Splits a script into commands, with markers in place of variables."""

    def __init__(self, text: str, name: str) -> None:
        self.whole = text
        self._name = name
        self.mark = "ORGRESTxVARIABLEx"
        while self.mark in text:
            self.mark += "x"
        self.names: list[str] = []
        self.used: set[str] = set()
        self.jars: set[str] = set()
        self.values: dict[str, str] = {}
        self.variables = Names()

    def lines(self) -> Iterator[_Line]:
        text, at, comments = self.whole, 0, ""
        now, open_word = self._begun(0), False
        while at < len(text):
            if text[at] == "#" and not open_word:
                end = end_of_line(text, at)
                if not now.words and text[at + 1 : at + 2] != "!":
                    comments += f"{text[at:end].lstrip('#').strip()}\n"
                at = end
                continue
            match = _PIECE.match(text, at)
            if match is None:
                line = text.count("\n", 0, at) + 1
                reason = "not a valid shell command: it ends inside quotes or after a backslash"
                raise ConversionError(reason, file=self._name, line=line)
            at, kind = match.end(), match.lastgroup or ""
            operator = match["operator"]
            if operator is None and kind not in ("blank", "newline"):
                if now.left_out:
                    continue
                word = self._word(match, now)
                if open_word:
                    now.words[-1] += word
                else:
                    now.words.append(word)
                open_word = True
                continue
            open_word = False
            if operator is not None and operator not in ("&&", ";", "&", "||"):
                now.left_out = now.left_out or operator
                if "<" in operator:
                    now.problem = "cannot read standard input: give the text or a file name"
            elif kind != "blank":
                now.end = match.start()
                if now.words:
                    yield classes.evolve(now, comment=comments.rstrip("\n"))
                    comments = ""
                now = self._begun(at)
        now.end = len(text)
        if now.words:
            yield classes.evolve(now, comment=comments.rstrip("\n"))

    def _begun(self, at: int) -> _Line:
        return _Line(self.whole.count("\n", 0, at) + 1, at)

    def _word(self, match: re.Match[str], now: _Line) -> str:
        for kind in ("single", "escaped", "plain"):
            if match[kind] is not None:
                return str(match[kind])
        if match["ansi"] is not None:
            try:
                return _read_ansi(match["ansi"])
            except ConversionError as error:
                now.problem = error.reason
                return ""
        if match["double"] is not None:
            return _IN_QUOTES.sub(lambda quoted: self._replaced(quoted, now), match["double"])
        return self._replaced(match, now)

    def _replaced(self, match: re.Match[str], now: _Line) -> str:
        if match["computed"] is not None:
            now.problem = (
                now.problem or f"{match[0]} is expanded by the shell: replace it with its value"
            )
            return match[0]
        name = match["name"] or match["braced"]
        if name is None:
            return match["escape"].strip("\r\n")
        return self._marker(name)

    def _marker(self, name: str) -> str:
        if name not in self.names:
            self.names.append(name)
            self.variables.free(name)
        return f"{self.mark}{self.names.index(name)}z"

    def assign(self, name: str, value: str) -> None:
        self.values.setdefault(self._marker(name), value)

    def shown(self, text: str) -> str:
        """Return a message with `$NAME` in place of each marker."""
        return re.sub(rf"{self.mark}(\d+)[ze]", lambda m: f"${self.names[int(m[1])]}", text)

    def text(self, value: str) -> str:
        """Return a word as request files write it."""

        def variable(match: re.Match[str]) -> Variable:
            name = self.names[int(match[1])]
            self.used.add(name)
            return self.variables.encoded(Variable(name)) if match[2] == "e" else Variable(name)

        return texts.replaced(re.compile(rf"{self.mark}(\d+)([ze])"), value, variable)


def recognizes(source: Source) -> bool:
    """Return whether a source has a curl command at the beginning of a line."""
    return re.compile(BEGINS.pattern.replace(r"\s*", r"^\s*", 1), re.MULTILINE).search(
        source.text
    ) is not None  # fmt: skip


def read(source: Source) -> Collection:
    """Return the requests of the curl commands in a source.

    Raises ConversionError if there is no curl command, or if a quote is never closed.
    """
    text, name = source.text, source.name
    is_cmd = _CMD.match(text) is not None
    if is_cmd:
        text = _CARET.sub(lambda m: m[0] if m[1] is None else m[1].strip("\r\n"), text)
        text = re.sub(r"[$`]", r"\\\g<0>", text)
    if text.count("\r\n") == text.count("\n"):  # otherwise the CRLFs belong to a quoted body
        text = text.replace("\r\n", "\n")
    shell = _Shell(text, name)
    requests: list[Request] = []
    notes: list[Note] = []
    values: dict[str, str] = {}
    for line in shell.lines():
        place, words = f"{name}:{line.number}", line.words
        words = words[1:] if words[0] == "$" else words
        assignments = [match for word in words if (match := _ASSIGNMENT.fullmatch(word))]
        if words and re.fullmatch(r"(?:.*/)?curl(?:\.exe)?", words[0]):
            requests.append(_request(shell, line, words[1:], place))
        elif words and len(assignments) == len(words) and not line.problem:
            for match in assignments:
                if match["name"] in values:
                    notes.append(
                        Note(place, f"{match['name']} is already set; this value is ignored")
                    )
                values.setdefault(match["name"], shell.text(match["value"]))
                shell.assign(match["name"], match["value"])
        elif words and words[0] not in _SILENT:
            shown = " ".join(shell.whole[line.start : line.end].split())
            if _NEW_FILE.fullmatch(shown):
                continue
            notes.append(Note(place, f"not a curl command: {shown[:80]}"))
    if not requests:
        raise ConversionError("no curl command found", file=name)
    if len(requests) == 1 and "no-redirect" in requests[0].directives:
        # No response of this script can set a cookie that the request would send.
        directives = tuple(each for each in requests[0].directives if each != "no-cookie-jar")
        requests = [classes.evolve(requests[0], directives=directives)]
    for key in filter(shell.used.__contains__, shell.names):
        values.setdefault(key, texts.written([Variable(f"$processEnv {key}")]))
    values |= shell.variables.definitions()
    return Collection(Folder("", tuple(requests), tuple(values.items()), notes=tuple(notes)))


def _request(shell: _Shell, line: _Line, words: list[str], place: str) -> Request:
    """Return the request of a command. If the command is invalid, the request is empty."""
    try:
        if line.problem:
            raise ConversionError(line.problem)
        command = read_words(words, shell.mark, shell.values)
        directives = command.complete_directives(shell.jars)
        body, headers = _body(command, shell.text)
        request = Request(
            command.method or ("GET" if body is None else "POST"),
            shell.text(command.complete_url()),
            headers=tuple((shell.text(name), shell.text(value)) for name, value in headers),
            body=body,
            directives=tuple(directives),
            description=line.comment,
            notes=tuple(Note(place, shell.shown(f"curl {what}")) for what in command.left_out),
            place=place,
            shorthand=bool(command.scheme or command.certificate),
        )
    except Exception as error:
        shown = shell.whole[line.start : line.end].strip()
        note = Note.of_error(place, error)
        note = classes.evolve(note, reason=shell.shown(note.reason))
        return Request("", "", description=shown, notes=(note,), place=place)
    if not line.left_out:
        return request
    note = Note(place, f"everything after {line.left_out} was left out")
    return classes.evolve(request, notes=(note, *request.notes))


def _body(
    command: Command, text: Callable[[str], str]
) -> tuple[tuple[Piece, ...] | None, list[tuple[str, str]]]:
    """Return a command's body and headers, including Content-Type."""
    headers = command.complete_headers()
    if not command.forms:
        if command.files:
            return (Inclusion(text(command.files[0])),), headers
        return (None if command.query or command.data is None else (text(command.data),)), headers
    fields = [
        (text(name), text(value), text(filename), text(kind), is_file)
        for name, value, filename, kind, is_file in command.forms
    ]
    kind = next((value for key, value in headers if key.lower() == "content-type"), "")
    body, kind = multipart(fields, kind)
    return body, with_content_type(headers, kind)


def _read_ansi(text: str) -> str:
    """Decode the content of ``$'...'`` (Bash manual, "ANSI-C Quoting")."""
    data = bytearray()
    for match in _ANSI.finditer(text):
        byte, octal, short, long, control, letter, plain = match.groups()
        if byte or octal:
            data.append(int(byte, 16) if byte else int(octal, 8) & 0xFF)
        elif short or long:
            code = int(short or long, 16)
            if code > 0x10FFFF:
                raise ConversionError(f"{match[0]} is not a valid character")
            data += chr(code).encode("utf-8", "surrogatepass")
        elif control:
            data.append(ord(control) & 0x1F)
        else:
            character = plain or _ANSI_LETTERS.get(letter, f"\\{letter}")
            data += character.encode("utf-8", "surrogatepass")
    try:
        if 0 in data:
            raise ValueError
        halves = data.decode("utf-8", "surrogatepass").encode("utf-16-le", "surrogatepass")
        return halves.decode("utf-16-le")  # Chrome writes such a character as two escapes
    except ValueError:
        raise ConversionError(
            "$'...' contains bytes that are not text: put them into a file"
        ) from None


def write(export: exports.Export) -> Written:
    """Return an export as a script for a POSIX shell. A single request becomes a plain command."""
    names = shell_names(export.variables)
    is_shared = sum(call.keeps_cookies for call in export.calls) > 1
    lines = ["cookies=$(mktemp)", "trap 'rm -f \"${cookies}\"' EXIT"] if is_shared else []
    lines += dict.fromkeys(
        _guard(names[variable], variable)
        if variable.value is None
        else f"{names[variable]}={shlex.quote(variable.value)}"
        for variable in export.variables
        if not variable.late
    )
    checked: set[exports.Variable] = set()
    filled: set[exports.Variable] = set()
    notes = [call.told(test) for call in export.calls for test in call.tests]
    occurrences = Counter(call.name for call in export.calls)
    paths: dict[str, list[tuple[exports.Variable, str]]] = {}
    for variable in export.variables:
        if variable.response is not None and occurrences[variable.response[0]] == 1:
            paths.setdefault(variable.response[0], []).append((variable, variable.response[1]))

    def commented(call: exports.ExportedRequest) -> list[str]:
        def quoted(word: str) -> str:
            if word == _JAR:
                return '"${cookies}"'
            pieces = call.text(word) or ("",)
            return "".join(
                shlex.quote(piece) if isinstance(piece, str) else f'"${{{names[piece]}}}"'
                for piece in pieces
            )

        jar = (_JAR if is_shared else "") if call.keeps_cookies else None
        if jar is not None and call.request.header("Cookie") is not None:
            if is_shared:  # curl would also send the stored cookies
                notes.append(Note(call.place, "storing the cookies of the response"))
            jar = None
        notes.extend(call.unprotected("curl", "authorization", "cookie"))
        seen = {*checked, *call.kept.values()}
        own = [pair for pair in paths.get(call.name, ()) if pair[0] not in seen]
        options = ["--silent", "--show-error"] if own else []  # otherwise it shows its progress
        options += sending(follows=call.follows, jar=jar)
        options += [] if call.timeout is None else ["--max-time", f"{call.timeout:g}"]
        command = to_command(call.request, quoted, options)
        title = "".join(c if c.isprintable() else " " for c in call.name)
        guards = [_guard(names[variable], variable) for variable in call.late(checked)]
        checked.update(variable for variable, _ in own)
        filled.update(variable for variable, _ in own)
        reading = [_filling(names[variable], path) for variable, path in own]
        if own:
            command = f"response=$({command}) || exit\nprintf '%s\\n' \"${{response}}\""
        return ["", *guards, f"# {title}", command, *reading]

    lines += itertools.chain.from_iterable(each(export.calls, commented, notes))
    if lines[:1] == [""] and len(lines) == 3:  # a single command, to be pasted
        lines = lines[2:]
    elif lines:
        needs_jq = ["# This script needs jq (https://jqlang.org)."] if filled else []
        lines = ["#!/bin/sh", *needs_jq, *lines]
    return Written("".join(f"{line}\n" for line in lines), {}, tuple(notes), filled)


def _guard(name: str, variable: exports.Variable) -> str:
    """Return a command that ends the script if a variable has no value."""
    how = "this environment variable" if variable.environ else f"it to the value of {variable.name}"
    return f': "${{{name}:?set {how}}}"'


def _filling(name: str, path: str) -> str:
    """Return a command that takes a variable's value from the JSON of a response."""
    program = path[1:] if path[1] == "." else f".{path[1:]}"
    reason = f"the response has no value at {path}"
    # To `jq -e`, false is a failure, but its text is not.
    return (
        f"{name}=$(printf '%s' \"${{response}}\" | jq -er '{program} | values | tostring') || {{\n"
        f"  echo '{reason}' >&2\n  exit 1\n}}"
    )


def sending(*, follows: bool, jar: str | None) -> list[str]:
    """Return curl's options for redirects and cookies.

    `jar` is the path of a cookie file, "" to keep cookies in memory, or None for no cookies.
    """
    words = ["--location"] if follows else []
    if jar is not None:
        words += ["--cookie", jar]
    return [*words, "--cookie-jar", jar] if jar else words


def to_command(
    request: model.Request, quote: Callable[[str], str] = shlex.quote, options: Sequence[str] = ()
) -> str:
    """Return a curl command that sends `request`, with additional `options`.

    `quote` quotes a word for the shell. A body that cannot be an argument is piped into curl.
    Raises ConversionError for a WebSocket, and TransportError for a request that cannot be sent at
    all.
    """
    from orgrest.http.transport.wire import wire_headers, wire_url

    words = ["curl", *options]
    url, sent = wire_url(request), wire_headers(request)
    if request.method == "WEBSOCKET":
        reason = "orgrest cannot export WebSockets to curl"
        raise ConversionError(reason, file=request.file, line=request.line)
    if _DOTS.search(url.partition("?")[0]):
        words.append("--path-as-is")
    if request.body is None and request.header("Transfer-Encoding") is not None:
        request = classes.evolve(request, body=b"")  # otherwise curl does not end the chunks
    implied = "GET" if request.body is None else "POST"
    if request.method == "HEAD" and request.body is None:
        words.append("--head")
    elif request.method != implied:
        words += ["-X", request.method]
    if request.credentials is not None:
        words += request.credentials.curl(urlsplit(request.url).netloc)
    if request.certificate is not None:
        words += certificates.curl(request.certificate)
    for name, value in request.headers:
        words += ["-H", f"{name}: {value}" if value.strip() else f"{name};"]
    if request.body is None and sent[-1:] == _EMPTY != request.headers[-1:]:
        words += ["-H", "Content-Length: 0"]
    piped = ""
    if request.body is not None:
        if request.header("Content-Type") is None:
            words += ["-H", "Content-Type:"]  # otherwise curl adds its own header
        body = text_of(request.body) if len(request.body) <= _LONGEST else None
        if body is None:
            coded = b64encode(request.body).decode()
            piped = f"printf %s {shlex.quote(coded)} | base64 -d | "
            words += ["--data-binary", "@-"]
        else:
            words += ["--data-raw", body]
    words.append(url)
    return piped + _join([quote(word) for word in words])


def _join(words: list[str]) -> str:
    """Join the words of a command, with one option and its value per line."""
    lines = [words[0]]
    for index, word in enumerate(words[1:], 1):
        if word.startswith("-") or index == len(words) - 1:
            lines.append(word)
        else:
            lines[-1] += f" {word}"
    return " \\\n  ".join(lines) if len(lines) > 2 else " ".join(lines)
