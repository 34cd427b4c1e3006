"""Tables of curl's options, with the effect of each option on the request.

Options that do not change the request, such as those for output, are ignored. A transport option
becomes a directive or a header, or else a note that usually says what to do instead. An unknown
option is an error, because its effect would be lost.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias, cast
from urllib.parse import quote

from orgrest import classes
from orgrest.convert.shared.forms import form_type
from orgrest.convert.shared.model import ConversionError
from orgrest.http.syntax import is_token
from orgrest.model import Request

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_LONGEST: Final = 100_000  # the maximum number of characters of a word with its variables replaced
_STDIN: Final = "cannot read standard input: give the text or a file name"
# curl requests several URLs for a single one with these (`man curl`, "GLOBBING").
_GLOB: Final = re.compile(
    r"(?<!\{)\{[^{}]+\}(?!\})|\[(?:\d+-\d+|[a-z]-[a-z]|[A-Z]-[A-Z])(?::\d+)?\]"
)
_PATH: Final = re.compile(r"((?:[^/?#]*://)?[^/?#]*)([^?#]*)(.*)", re.DOTALL)
_FORM_WORD: Final = re.compile(r'\s*"((?:[^"\\]|\\.)*)"[^;]*|[^;]*', re.DOTALL)
_FORM_OPTION: Final = re.compile(r"\s*(type|filename|headers|encoder)=")


@classes.define
class Command:
    """A curl command that is being parsed.

    In strings, markers represent variables. A marker begins with `mark`, and ends with z, or with e
    if the variable's value must be encoded.
    """

    mark: str
    values: Mapping[str, str] = classes.field(factory=dict)  # by marker, as set in the script
    method: str = ""
    url: str = ""
    globs: bool = True  # whether curl expands patterns such as [1-9] in the URL
    dots: bool = False  # whether curl sends the dot segments in the URL's path
    headers: list[tuple[str, str]] = classes.field(factory=list)
    removed: list[str] = classes.field(factory=list)  # lower-case names that curl must not add
    named: dict[str, str] = classes.field(factory=dict)  # from -A, -e ...; not sent if empty
    cookies: list[str] = classes.field(factory=list)
    read: list[str] = classes.field(factory=list)  # cookie files; "" keeps cookies in memory
    written: list[str] = classes.field(factory=list)  # cookie files
    follows: bool = False
    refers: bool = False
    data: str | None = None
    added: list[str] = classes.field(factory=list)
    files: list[str] = classes.field(factory=list)
    uploads: list[str] = classes.field(factory=list)  # from -T; only the first is for the URL
    head: bool = False  # whether the method is HEAD unless -X gives another one
    forms: list[tuple[str, str, str, str, bool]] = classes.field(factory=list)  # see `multipart`
    query: bool = False
    user: str = ""
    scheme: tuple[str, ...] = ()
    json: bool = False
    directives: list[str] = classes.field(factory=list)
    certificate: dict[str, str] = classes.field(factory=dict)
    left_out: list[str] = classes.field(factory=list)

    def expanded(self, word: str, until: str = "\0") -> str:
        """Return a word in which the script's variables are replaced with their values.

        Variables after the first `until` are not replaced. Replacement also stops when the word
        would become too long.
        """
        done: set[str] = set()
        while True:
            found = (m for m in re.findall(rf"{self.mark}\d+z", word) if m in self.values)
            marker = next((marker for marker in found if marker not in done), "")
            value = self.values.get(marker, "")
            if not marker or until in word.partition(marker)[0]:
                break
            if len(word) + word.count(marker) * len(value) > _LONGEST:
                break
            done.add(marker)
            word = word.replace(marker, value)
        return word

    def complete_url(self) -> str:
        """Return the URL with the parts that other options add to it."""
        url = self.url
        known = self.expanded(url)
        if "://" not in known and not known.startswith(self.mark):
            url = f"http://{url}"
        if not self.dots:
            url = self._without_dots(url)
        added = [*self.added, *([self.data] if self.query and self.data is not None else [])]
        if added:
            url = url.partition("#")[0]
            _, mark, query = self.expanded(url).partition("?")
            between = "?" if not mark else "&" if query and not query.endswith("&") else ""
            url += between + "&".join(added)
        if self.user and not self.scheme:
            scheme, _, rest = url.partition("://")
            user = ":".join(quote(part, safe="") for part in self.user.split(":", 1))
            rest = re.sub(r"^[^/?#]*@", "", rest)  # curl prefers --user
            url = f"{scheme}://{user}@{rest}"
        return _one_line(url, "the URL")

    def _without_dots(self, url: str) -> str:
        """Remove the dot segments from the path of a URL (RFC 3986, section 5.2.4).

        If a variable makes that impossible, return the URL unchanged, and add a note.
        """
        head, path, rest = cast("re.Match[str]", _PATH.match(url)).groups()
        segments = path.split("/")
        kept: list[str] = []
        for segment in segments[1:]:
            if segment == ".." and self.mark in (kept[-1] if kept else head):
                self.left_out.append(
                    "removes dot segments after a variable, but orgrest sends them"
                )
                return url
            if segment == "..":
                kept = kept[:-1]
            elif segment != ".":
                kept.append(segment)
        if segments[-1] in (".", ".."):
            kept.append("")
        return "/".join([head, *kept]) + rest

    def complete_directives(self, jars: set[str]) -> list[str]:
        """Return the directives for this command, and add its cookie files to `jars`.

        `jars` contains the cookie files of earlier commands. Raises ConversionError if this command
        reads cookies from a file that no command so far has written.
        """
        reads, keeps_cookies = any(self.read), bool(self.read or self.written)
        if jars and keeps_cookies and not reads:
            self.left_out.append(
                "curl sends no cookies of earlier commands without -b FILE, but orgrest does"
            )
        jars.update(self.written)
        for file in filter(None, self.read):
            if file not in jars:
                how = "may read" if self.mark in file else "reads"
                raise ConversionError(
                    f"-b {file} {how} cookies from a file, which is not supported: use NAME=VALUE"
                )
        jars.update(self.read)
        named = bool(self.cookies) or any(name.lower() == "cookie" for name, _ in self.headers)
        if named and (reads or (keeps_cookies and self.follows)):
            self.left_out.append(
                "also sends the cookies that responses set, but orgrest sends only NAME=VALUE"
            )
        if self.refers and self.follows:
            self.left_out.append("-e ;auto sets Referer after a redirect, but orgrest does not")
        return [
            *self.directives,
            *([] if self.follows else ["no-redirect"]),
            *([] if keeps_cookies else ["no-cookie-jar"]),
        ]

    def names(self) -> set[str]:
        """Return the lower-case names of the headers that -H sets or removes.

        For these headers, curl ignores the options that would also add them.
        """
        return {*self.removed, *(name.lower() for name, _ in self.headers)}

    def _note_removed(self, names: set[str]) -> None:
        if names:
            from orgrest.http.transport.wire import wire_headers

            for name, _ in wire_headers(Request("GET", "http://localhost/")):
                if name.lower() in names:
                    self.left_out.append(f"sends no {name} header, but orgrest does")

    def complete_headers(self) -> list[tuple[str, str]]:
        """Return the headers, including those that other options add.

        Raises ConversionError if a header is invalid.
        """
        added = list(self.named.items())
        if self.cookies:
            added.append(("Cookie", "; ".join(self.cookies)))
        if self.json:
            added += [("Content-Type", "application/json"), ("Accept", "application/json")]
        elif self.files or (self.data is not None and not self.query):
            added.append(("Content-Type", "application/x-www-form-urlencoded"))
        names = self.names()
        added = [header for header in added if header[0].lower() not in names]
        headers = [*self.headers, *(header for header in added if header[1])]
        self._note_removed({*self.removed, *(name.lower() for name, value in added if not value)})
        if self.scheme:
            user, colon, password = self.user.partition(":")
            if not colon or re.search(r"\s", self.user):
                reason = "--user must be NAME:PASSWORD, without whitespace"
                raise ConversionError(reason)
            scheme, *named = self.scheme
            headers.append(("Authorization", " ".join([scheme, user, password, *named])))
        if self.certificate:
            fields = [
                option for option in ("cert", "key", "passphrase") if option in self.certificate
            ]
            shown = " ".join(f"{option}: {self.certificate[option]}" for option in fields)
            headers.append(("X-ClientCert", shown))
        for name, value in headers:
            if not is_token(name):
                raise ConversionError(f"invalid header name {name!r}")
            _one_line(value, f"the value of {name}")
        return headers


def read_words(words: list[str], mark: str, values: Mapping[str, str]) -> Command:
    """Return the command ``curl`` with the arguments `words`.

    Raises ConversionError if it is invalid. `mark` and `values` describe variables, as in
    `Command`.
    """
    command = Command(mark, values)
    rest = _split_short(words)
    rest.reverse()
    while rest:
        word = rest.pop()
        if not word.startswith("-") or word == "-":
            if command.url:
                raise ConversionError(
                    f"the command has more than one URL: {command.url} and {word}"
                )
            command.url = word
        elif word in _FLAGS:
            _FLAGS[word](command, word, "")
        elif not rest:
            raise ConversionError(f"{word} requires a value")
        elif word in _VALUES:
            _VALUES[word](command, word, rest.pop())
        else:
            reason = f"unknown option {word}: remove it, or write the request by hand"
            raise ConversionError(reason)
    if not command.url:
        raise ConversionError("the command has no URL")
    if command.globs and (glob := _GLOB.search(command.expanded(command.url))):
        command.left_out.append(
            f"sends one request for each value of {glob[0]}, but orgrest sends a single one with "
            "these characters: write a request for each value, or use -g if they belong to the URL"
        )
    if command.uploads and (file := command.expanded(command.uploads[0])):
        if file in ("-", "."):
            raise ConversionError(f"-T {file}: {_STDIN}")
        if command.globs and (glob := _GLOB.search(file)):
            raise ConversionError(
                f"-T {file} uploads one file for each value of {glob[0]}: write a command for each "
                "file, or use -g if these characters belong to the name of the file"
            )
        command.files.append(_one_line(command.uploads[0], "the name of the file"))
        command.method = command.method or "PUT"
        command.removed.append("content-type")
        path = cast("re.Match[str]", _PATH.match(command.expanded(command.url)))[2]
        if (path or "/").endswith("/"):
            raise ConversionError("-T adds the name of the file to the URL: write it there")
    if command.head:
        if command.files or command.forms or (command.data is not None and not command.query):
            raise ConversionError(
                "curl cannot combine -I with -T, -d or -F, so it sends nothing: use only one"
            )
        command.method = command.method or "HEAD"
    command.user = command.expanded(command.user, ":")
    if re.fullmatch(r"[^\s:]+:\S+", command.user) and not command.scheme:
        command.scheme = ("Basic",)
    if "authorization" in command.names() and command.scheme[:1] in ((), ("Basic",), ("AWS",)):
        command.user, command.scheme = "", ()
    files = command.files
    if files and (command.data is not None or files[1:] or command.query):
        raise ConversionError(
            f"@{files[0]} cannot be combined with other data: a body is either one file or text"
        )
    if command.forms and (command.data is not None or files):
        raise ConversionError("the command has both a form and other data: use only one")
    return command


def _one_line(text: str, what: str) -> str:
    if any(c in text for c in "\r\n\0"):
        raise ConversionError(f"{what} contains a line break: remove it")
    return text


def _split_short(words: list[str]) -> list[str]:
    """Split combined short options: ``-sXPOST`` becomes ``-s -X POST``."""
    options: list[str] = []
    value = False
    for word in words:
        if value or not word.startswith("-") or word == "-":
            options.append(word)
            value = False
        elif word.startswith("--"):
            options.append(word)
            value = word not in _FLAGS
        else:
            at = 1
            while at < len(word):
                options.append(f"-{word[at]}")
                at += 1
                if options[-1] in _VALUES:
                    value = at == len(word)
                    if not value:
                        options.append(word[at:])
                    break
    return options


def _ignore(_command: Command, _word: str, _value: str) -> None:
    """Ignore an option that does not change the request."""


def _left_out(instead: str, command: Command, word: str, value: str) -> None:
    shown = _one_line(f"{word} {value}".rstrip(), "an option")
    command.left_out.append(f"{shown} was left out: {instead}")


def _insecure(command: Command, _word: str, _value: str) -> None:
    instead = "to turn off certificate verification, use orgrest --insecure"
    _left_out(instead, command, "--insecure", "")


def _assign(field: str, fixed: object, command: Command, _word: str, _value: str) -> None:
    setattr(command, field, fixed)


def _given(field: str, command: Command, _: str, value: str) -> None:
    setattr(command, field, value)


def _time(directive: str, command: Command, word: str, value: str) -> None:
    value = command.expanded(value)
    if not re.fullmatch(r"\d+(?:\.\d+)?", value):
        raise ConversionError(f"{word} must be a number of seconds, found {value}")
    command.directives.append(f"{directive} {value} s")


def _certificate(field: str, command: Command, word: str, value: str) -> None:
    file, colon, passphrase = value.partition(":") if field == "cert" else (value, "", "")
    certificate = {field: file, **({"passphrase": passphrase} if colon else {})}
    if any(not text or re.search(r"\s", text) for text in certificate.values()):
        raise ConversionError(
            f"{word} {value}: file names in an X-ClientCert header cannot contain spaces"
        )
    command.certificate |= certificate


def _aws(command: Command, word: str, value: str) -> None:
    """Set the AWS credentials from `aws:amz[:REGION[:SERVICE]]`."""
    value = command.expanded(value)
    provider, _, rest = value.partition(":")
    named = rest.split(":")[1:]
    if provider != "aws" or len(named) > 2:
        raise ConversionError(f"{word} {value}: only aws:amz:REGION:SERVICE is supported")
    names = ("region", "service")
    command.scheme = ("AWS", *(f"{k}:{v}" for k, v in zip(names, named, strict=False) if v))


def _method(command: Command, _: str, value: str) -> None:
    value = command.expanded(value)
    if command.mark in value:
        raise ConversionError(
            f"the method {value} contains a variable that the script does not set: write -X METHOD"
        )
    if not is_token(value):
        raise ConversionError(f"invalid method {value!r}")
    command.method = value


def _header(command: Command, _: str, line: str) -> None:
    line = command.expanded(line, ":")
    if line.startswith("@"):
        raise ConversionError(
            f"-H {line} reads headers from a file, which is not supported: use -H 'NAME: VALUE'"
        )
    name, colon, text = line.partition(":")
    if colon and text.strip():
        command.headers.append((name.strip(), text.strip()))
    elif colon:
        command.removed.append(name.strip().lower())
    elif name.endswith(";"):
        command.headers.append((name[:-1], ""))
    elif command.mark in name:
        raise ConversionError(
            f"-H {line}: the name of the header is not in the script: use -H 'NAME: $VALUE'"
        )


def _cookie(command: Command, _: str, value: str) -> None:
    value = command.expanded(value, "=")
    (command.cookies if "=" in value else command.read).append(value)


def _named_header(name: str, command: Command, _: str, value: str) -> None:
    command.named[name] = value


def _referer(command: Command, _: str, value: str) -> None:
    command.named["Referer"], automatic, _ = command.expanded(value, ";").partition(";auto")
    command.refers = bool(automatic)


def _form(command: Command, word: str, argument: str) -> None:
    """Add a form part for `-F NAME=CONTENT`, `NAME=@FILE` or `NAME=<FILE`."""
    argument = command.expanded(argument, "=")
    name, equals, value = argument.partition("=")
    if not equals:
        raise ConversionError(f"-F {argument} is not a form field: write NAME=VALUE")
    if word == "--form-string":
        command.forms.append((name, value, "", "", False))
        return
    value = _opened(command, value, ("@", "<", '"'))
    sign = value[:1] if value[:1] in ("@", "<") else ""
    text, at = _form_word(value, len(sign))
    if sign and text == "-":
        raise ConversionError(f"-F {argument}: {_STDIN}")
    if sign and "," in text:
        raise ConversionError(f"-F {argument} contains several files: use one -F for each")
    path = command.expanded(text) if sign else ""
    options: dict[str, str] = {"filename": path.rsplit("/", 1)[-1]}
    given: set[str] = set()
    last = ""
    while at < len(value):
        option = _FORM_OPTION.match(value, at + 1)
        if option is None and last == "type":
            more, at = _form_word(value, at + 1)
            options["type"] += f"; {more}"
        elif option is None or option[1] not in ("type", "filename"):
            reason = f"-F {argument}: the part after ; is not supported: quote the value"
            raise ConversionError(reason)
        else:
            last = option[1]
            options[last], at = _form_word(value, option.end())
            given.add(last)
    filename = "" if sign == "<" else options["filename"]
    named = command.expanded(filename)
    kind = form_type(named, form_type(path)) if sign == "@" else form_type(named or path, "")
    if kind == "text/plain" and not filename:
        kind = ""
    kind = options.get("type", kind)
    if sign == "@" and command.mark in named.rpartition(".")[2] and len(given) < 2:
        command.left_out.append(
            f"sends a name and a media type that depend on the file name {text}, but orgrest "
            f"sends {kind}: write ;filename=NAME;type=TYPE after it"
        )
    if sign:
        _one_line(text, "the name of the file")
    kind = _one_line(kind, f"the type of {name}")
    command.forms.append((name, text, filename, kind, bool(sign)))


def _form_word(value: str, at: int) -> tuple[str, int]:
    """Return the text before the next unquoted ``;``, and the offset where it ends."""
    match = cast("re.Match[str]", _FORM_WORD.match(value, at))  # the pattern matches any text
    if match[1] is None:
        return match[0].strip(), match.end()
    return re.sub(r'\\(["\\])', r"\1", match[1]), match.end()


def _opened(command: Command, word: str, signs: tuple[str, ...]) -> str:
    """Expand a word that begins with a variable, if the result begins with one of `signs`."""
    expanded = command.expanded(word) if word.startswith(command.mark) else word
    return expanded if expanded.startswith(signs) else word


def _data(command: Command, word: str, value: str) -> None:
    value = _opened(command, value, ("@",))
    if value == "@-":
        raise ConversionError(f"{word} @-: {_STDIN}")
    if value.startswith("@"):
        command.files.append(_one_line(value[1:], "the name of the file"))
        if word in ("-d", "--data", "--data-ascii"):
            reason = f"-d sends {value[1:]} without line breaks, but orgrest keeps them"
            command.left_out.append(reason)
    else:
        _add(command, value)


def _json(command: Command, word: str, value: str) -> None:
    value = _opened(command, value, ("@",))
    _data(command, word, value) if value.startswith("@") else _add(command, value, between="")
    command.json = True


def _add(command: Command, datum: str, between: str = "&") -> None:
    command.data = datum if command.data is None else f"{command.data}{between}{datum}"


def _url_query(command: Command, word: str, value: str) -> None:
    encoded = value[1:] if value.startswith("+") else _urlencoded(command, word, value)
    command.added.append(encoded)


def _urlencoded(command: Command, word: str, value: str) -> str:
    """Return ``TEXT``, ``=TEXT`` or ``NAME=TEXT`` with TEXT percent-encoded."""
    value = command.expanded(value, "=")
    name, equals, text = value.partition("=")
    if not equals and "@" in name:
        raise ConversionError(
            f"{word} {value} encodes the content of a file, which is not "
            "supported: write the text after ="
        )
    encoded = quote(text if equals else value, safe="")
    encoded = re.sub(rf"({command.mark}\d+)z", r"\1e", encoded)
    return f"{name}={encoded}" if name and equals else encoded


_Effect: TypeAlias = "Callable[[Command, str, str], None]"


def _each(table: dict[str, _Effect]) -> dict[str, _Effect]:
    """Split keys that contain several options, with spaces between them."""
    return {word: effect for words, effect in table.items() for word in words.split()}


_FLAGS: dict[str, _Effect] = _each({
    "-G --get": partial(_assign, "query", True),
    "-L --location": partial(_assign, "follows", True),
    "-I --head": partial(_assign, "head", True),
    "--digest": partial(_assign, "scheme", ("Digest",)),
    "--ntlm": partial(_assign, "scheme", ("NTLM",)),
    "--negotiate": partial(_assign, "scheme", ("Negotiate",)),
    "-s --silent -S --show-error -v --verbose -i --include --compressed -f --fail -# "
    "--progress-bar -N --no-buffer --http1.1 -4 -6 -O --remote-name -q --fail-with-body "
    "--no-progress-meter": _ignore,
    "--path-as-is": partial(_assign, "dots", True),
    "-g --globoff": partial(_assign, "globs", False),
    "-k --insecure": _insecure,
    "--http2 --http2-prior-knowledge --http3":
        partial(_left_out, "requests are sent as HTTP/1.1"),
})  # fmt: skip
_VALUES: dict[str, _Effect] = _each({
    "-X --request": _method,
    "--url": partial(_given, "url"),
    "-u --user": partial(_given, "user"),
    "-H --header": _header,
    "-b --cookie": _cookie,
    "-c --cookie-jar":
        lambda command, _, value: command.written.append(command.expanded(value)),
    "-A --user-agent": partial(_named_header, "User-Agent"),
    "-e --referer": _referer,
    "--aws-sigv4": _aws,
    "-F --form --form-string": _form,
    "-d --data --data-ascii --data-binary": _data,
    "-T --upload-file": lambda command, _, value: command.uploads.append(value),
    "--data-raw": lambda command, _, value: _add(command, value),
    "--data-urlencode":
        lambda command, word, value: _add(command, _urlencoded(command, word, value)),
    "--json": _json,
    "--url-query": _url_query,
    "-o --output -w --write-out -D --dump-header": _ignore,
    "-m --max-time": partial(_time, "timeout"),
    "--connect-timeout": partial(_time, "connection-timeout"),
    "-E --cert": partial(_certificate, "cert"),
    "--key": partial(_certificate, "key"),
    "--pass": partial(_certificate, "passphrase"),
    "-x --proxy": partial(_left_out, "use orgrest --proxy URL"),
    "--cacert --capath": partial(_left_out, "use orgrest --ca FILE"),
    "--retry --retry-delay --retry-max-time":
        partial(_left_out, "use orgrest test --retry N"),
    "--max-redirs": partial(_left_out, "orgrest follows at most 10 redirects"),
    "--resolve --connect-to --interface":
        partial(_left_out, "documents have no equivalent"),
})  # fmt: skip
