"""curl's options: a row for each, with its effect on the request.

Options that do not change the request (output and display) are ignored. Options about the transport
become a directive if there is one, else a comment that says what to do instead. An option without a
row is an error, because its effect would be lost.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import quote

import attrs

from orgrest.http.curl.errors import CurlError
from orgrest.http.syntax import is_token

if TYPE_CHECKING:
    from collections.abc import Callable

STDIN = "cannot read the standard input: write the text, or name a file"


@attrs.define
class Command:
    """The state of parsing a command."""

    method: str = ""
    url: str = ""
    headers: list[tuple[str, str]] = attrs.field(factory=list)
    cookies: list[str] = attrs.field(factory=list)
    data: str | None = None
    added: list[str] = attrs.field(factory=list)
    files: list[str] = attrs.field(factory=list)
    stripped: bool = False
    forms: list[tuple[str, bool]] = attrs.field(factory=list)
    query: bool = False
    user: str = ""
    scheme: tuple[str, ...] = ()
    json: bool = False
    directives: list[str] = attrs.field(factory=list)
    certificate: dict[str, str] = attrs.field(factory=dict)
    left_out: list[str] = attrs.field(factory=list)


def read(words: list[str]) -> Command:
    """Parse the words behind ``curl``. Raises CurlError for an unknown option."""
    command = Command()
    rest = _split_short(words)
    rest.reverse()
    while rest:
        word = rest.pop()
        if not word.startswith("-") or word == "-":
            if command.url:
                raise CurlError(f"the command has two URLs: {command.url} and {word}")
            command.url = word
        elif word in _FLAGS:
            _FLAGS[word](command)
        elif not rest:
            raise CurlError(f"{word} has no value")
        elif word in _VALUES:
            _VALUES[word](command, word, rest.pop())
        else:
            raise CurlError(
                f"{word} is not understood: leave it out, or write the request yourself"
            )
    return command


def _split_short(words: list[str]) -> list[str]:
    """Split ``-sXPOST`` into ``-s -X POST``."""
    found: list[str] = []
    value = False
    for word in words:
        if value or not word.startswith("-") or word == "-":
            found.append(word)
            value = False
        elif word.startswith("--"):
            found.append(word)
            value = word not in _FLAGS
        else:
            at = 1
            while at < len(word):
                found.append(f"-{word[at]}")
                at += 1
                if found[-1] in _VALUES:
                    value = at == len(word)
                    if not value:
                        found.append(word[at:])
                    break
    return found


def _ignore(_command: Command, _word: str = "", _value: str = "") -> None:
    """Do nothing: the option does not change the request."""


def _left_out(word: str, instead: str, command: Command, _word: str = "", value: str = "") -> None:
    """Record an option that documents cannot express, and the alternative."""
    command.left_out.append(f"{word} {value}".rstrip() + f" is left out: {instead}")


def _time(directive: str, command: Command, word: str, value: str) -> None:
    if not re.fullmatch(r"\d+(?:\.\d+)?", value):
        raise CurlError(f"{word} takes a number of seconds, not {value}")
    command.directives.append(f"{directive} {value} s")


def _certificate(field: str, command: Command, word: str, value: str) -> None:
    file, colon, passphrase = value.partition(":") if field == "cert" else (value, "", "")
    given = {field: file, **({"passphrase": passphrase} if colon else {})}
    if any(not text or re.search(r"\s", text) for text in given.values()):
        raise CurlError(f"{word} {value}: an X-ClientCert header holds names without blanks")
    command.certificate |= given


def _scheme(name: str, command: Command) -> None:
    command.scheme = (name,)


def _aws(command: Command, word: str, value: str) -> None:
    """Parse `aws:amz:REGION:SERVICE`, whose last two parts are optional."""
    provider, _, rest = value.partition(":")
    named = rest.split(":")[1:]
    if provider != "aws" or len(named) > 2:
        raise CurlError(f"{word} {value}: only aws:amz:REGION:SERVICE is signed here")
    names = ("region", "service")
    command.scheme = ("AWS", *(f"{k}:{v}" for k, v in zip(names, named, strict=False) if v))


def _query(command: Command) -> None:
    command.query = True


def _head(command: Command) -> None:
    command.method = "HEAD"


def _method(command: Command, _: str, value: str) -> None:
    if not is_token(value):
        raise CurlError(f"not a method: {value!r}")
    command.method = value


def _url(command: Command, _: str, value: str) -> None:
    command.url = value


def _header(command: Command, _: str, line: str) -> None:
    if line.startswith("@"):
        raise CurlError(f"-H {line} reads headers from a file: write them as -H 'NAME: VALUE'")
    name, colon, text = line.partition(":")
    if colon and text.strip():
        command.headers.append((name.strip(), text.strip()))
    elif not colon and name.endswith(";"):
        command.headers.append((name[:-1], ""))


def _cookie(command: Command, word: str, value: str) -> None:
    if value and "=" not in value:
        raise CurlError(f"{word} {value} reads cookies from a file: write NAME=VALUE")
    command.cookies += [value] if value else []


def _named_header(name: str, command: Command, _: str, value: str) -> None:
    command.headers += [(name, value)] if value else []


def _user(command: Command, _: str, value: str) -> None:
    command.user = value


def _form(command: Command, word: str, value: str) -> None:
    command.forms.append((value, word == "--form-string"))


def _data(command: Command, word: str, value: str) -> None:
    if value == "@-":
        raise CurlError(f"{word} @- {STDIN}")
    if value.startswith("@"):
        command.files.append(value[1:])
        command.stripped = word in ("-d", "--data", "--data-ascii")
    else:
        _add(command, value)


def _json(command: Command, word: str, value: str) -> None:
    _data(command, word, value) if value.startswith("@") else _add(command, value, between="")
    command.json = True


def _raw_data(command: Command, _: str, value: str) -> None:
    _add(command, value)


def _encoded_data(command: Command, word: str, value: str) -> None:
    _add(command, _urlencoded(word, value))


def _add(command: Command, datum: str, between: str = "&") -> None:
    command.data = datum if command.data is None else f"{command.data}{between}{datum}"


def _url_query(command: Command, word: str, value: str) -> None:
    command.added.append(value[1:] if value.startswith("+") else _urlencoded(word, value))


def _urlencoded(word: str, value: str) -> str:
    """Encode ``TEXT``, ``=TEXT`` or ``NAME=TEXT``."""
    name, equals, text = value.partition("=")
    if not equals and "@" in name:
        raise CurlError(f"{word} {value} reads a file, encoded: write its text behind a =")
    if not equals:
        return quote(value, safe="")
    return f"{name}={quote(text, safe='')}" if name else quote(text, safe="")


_INSECURE = "orgrest --insecure verifies no certificates"
_INSTEAD = {
    "-x --proxy": "orgrest --proxy URL sends through one",
    "--cacert --capath": "orgrest --ca FILE has other certificates",
    "--retry --retry-delay --retry-max-time": "orgrest test --retry N sends again",
    "--max-redirs": "at most 10 redirects are followed",
    "--resolve --connect-to --interface": "there is nothing like it in a document",
}
_FLAGS: dict[str, Callable[[Command], None]] = {
    "-G": _query,
    "--get": _query,
    "--digest": partial(_scheme, "Digest"),
    "--ntlm": partial(_scheme, "NTLM"),
    "--negotiate": partial(_scheme, "Negotiate"),
    "-I": _head,
    "--head": _head,
    **dict.fromkeys(
        [
            "-s",
            "--silent",
            "-S",
            "--show-error",
            "-v",
            "--verbose",
            "-i",
            "--include",
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
        ],
        _ignore,
    ),
    **dict.fromkeys(["-k", "--insecure"], partial(_left_out, "--insecure", _INSECURE)),
    **{
        word: partial(_left_out, word, "the request is sent as HTTP/1.1")
        for word in ("--http2", "--http2-prior-knowledge", "--http3")
    },
}
_VALUES: dict[str, Callable[[Command, str, str], None]] = {
    "-X": _method,
    "--request": _method,
    "--url": _url,
    "-H": _header,
    "--header": _header,
    "-b": _cookie,
    "--cookie": _cookie,
    "-A": partial(_named_header, "User-Agent"),
    "--user-agent": partial(_named_header, "User-Agent"),
    "-e": partial(_named_header, "Referer"),
    "--referer": partial(_named_header, "Referer"),
    "--aws-sigv4": _aws,
    "-u": _user,
    "--user": _user,
    "-F": _form,
    "--form": _form,
    "--form-string": _form,
    "-d": _data,
    "--data": _data,
    "--data-ascii": _data,
    "--data-binary": _data,
    "--data-raw": _raw_data,
    "--data-urlencode": _encoded_data,
    "--json": _json,
    "--url-query": _url_query,
    **dict.fromkeys(
        [
            "-o",
            "--output",
            "-w",
            "--write-out",
            "-c",
            "--cookie-jar",
            "-D",
            "--dump-header",
        ],
        _ignore,
    ),
    **dict.fromkeys(["-m", "--max-time"], partial(_time, "timeout")),
    "--connect-timeout": partial(_time, "connection-timeout"),
    **dict.fromkeys(["-E", "--cert"], partial(_certificate, "cert")),
    "--key": partial(_certificate, "key"),
    "--pass": partial(_certificate, "passphrase"),
    **{
        word: partial(_left_out, word, instead)
        for words, instead in _INSTEAD.items()
        for word in words.split()
    },
}
