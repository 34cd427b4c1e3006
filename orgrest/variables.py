r"""From a parsed request to one that can be sent: variables, expressions, `< file` bodies.

`:name` and `{{name}}` stand for a variable. `:name` is replaced where a variable of exactly that
name is defined and no name character (letter, digit, `_`, `-`) follows; a name that starts with a
digit is not replaced after a name character either (ports, times of day). An undefined `:name` is
text; an undefined `{{name}}` is an error. Where several places define a name, the first of these
counts:

1. `--var name=value` of the command line;
2. a capture by a request of the same block, further down than the block's own definition;
3. `:name = value` in the block, above the request, the last one;
4. `:var name=value` of an Org block;
5. a capture by a request of an earlier block of the same document.

Values may hold variables, except those that came from outside (captures, results, the command
line, the environment): what a server sent is never looked through for names.

`:name := EXPRESSION` is computed once a request. An expression is a string in double quotes, in
which variables are replaced, a number, `:name`, `{{name}}`, or a call of one of

    env("NAME")  env("NAME", "default")     the environment, else the env file
    netrc("host")  netrc("host", "login")   the password (or login, account) of a netrc entry
    uuid()                                  a random UUID
    now()  now("%Y-%m-%d")                  the time in UTC, RFC 3339 or in strftime's format
    base64(EXPRESSION)  urlencode(EXPRESSION)

and nothing else: no code is run. Emacs Lisp is an error, save for `(getenv "NAME")`. What `env` and
`netrc` give, and what is computed from it, is a secret of the document's scope: no result shows it.

Files are read below the document's folder only, unless the caller allows others.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from orgrest.model import (
    ExpansionError,
    Headers,
    Notice,
    OrgrestError,
    Request,
    Source,
    to_bytes,
)
from orgrest.syntax import (
    TCHARS,
    Body,
    Definition,
    HeaderLine,
    HeaderVariable,
    ParsedRequest,
    Template,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

MAX_SIZE = 64 * 2**20
"""The most characters that the values of variables may come to in a request."""
MAX_DEPTH = 100
"""How many variables may stand in each other's values."""

REFERENCE = re.compile(r"\{\{[ \t]*([^\s{}:=\"'(),]+)[ \t]*\}\}|:(?=[^\s:=])")
_NAME_CHARACTER = re.compile(r"[\w-]")
_PLAIN_NAME = re.compile(r"[^\W\d][\w-]*")
_LISP = {
    "getenv": 'env("NAME")',
    "format-time-string": 'now("%Y-%m-%d")',
    "current-time-string": "now()",
    "base64-encode-string": "base64(...)",
    "url-hexify-string": "urlencode(...)",
    "url-encode-url": "urlencode(...)",
    "org-id-uuid": "uuid()",
    "uuidgen-4": "uuid()",
    "uuidgen-1": "uuid()",
    "auth-source-pick-first-password": 'netrc("host")',
}
_GETENV = re.compile(r'\(\s*getenv\s+"((?:[^"\\]|\\.)*)"\s*\)')
_TOKENS = re.compile(
    r"""\s*(?:
        (?P<string>"(?:[^"\\]|\\.)*")
      | (?P<number>-?\d+(?:\.\d+)?(?![\w.]))
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<variable>:[^\s:=(),]+|\{\{[^{}]*\}\})
      | (?P<mark>[(),])
      )""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_FIELD = re.compile(TCHARS)
_BOUNDARY = re.compile(r';\s*boundary=(?:"([^"]*)"|([^;\s]+))', re.IGNORECASE)


@attrs.frozen
class Function:
    """A function of expressions: how it is written, what it gives, and how many arguments it takes.

    What a `secret` one gives is shown nowhere.
    """

    usage: str
    description: str
    least: int
    most: int
    secret: bool = False


FUNCTIONS: Mapping[str, Function] = {
    "env": Function('env("NAME")', "A variable of the environment or the env file.", 1, 2, True),
    "netrc": Function('netrc("host")', "The password of a host's netrc entry.", 1, 2, True),
    "uuid": Function("uuid()", "A random UUID.", 0, 0),
    "now": Function('now("%Y-%m-%d")', "The time in UTC, in strftime's format.", 0, 1),
    "base64": Function("base64(...)", "The Base64 form of what is in the parentheses.", 1, 1),
    "urlencode": Function("urlencode(...)", "The same, percent-encoded for a URL.", 1, 1),
}
_USAGES = ", ".join(function.usage for function in FUNCTIONS.values())


@attrs.define(eq=False)
class _Shared:
    """What all blocks of a document have in common."""

    file: str | None
    folder: Path
    allow_read: Sequence[Path]
    environ: Mapping[str, str]
    env_file: Mapping[str, str]
    netrc: Path | None
    overrides: Mapping[str, str]
    captures: dict[str, tuple[str, Source | None, int]] = attrs.field(factory=dict)
    secrets: set[str] = attrs.field(factory=set)
    lengths: set[int] = attrs.field(factory=set)  # of the names of overrides and captures


class Scope:
    """What the variables of one document stand for; `block` narrows it to one block."""

    def __init__(
        self,
        *,
        file: str | None = None,
        directory: Path | None = None,
        allow_read: Iterable[Path] = (),
        environ: Mapping[str, str] | None = None,
        env_file: Mapping[str, str] | None = None,
        netrc: Path | None = None,
        overrides: Mapping[str, str] | None = None,
        remembered: Mapping[str, str] | None = None,
        secrets: Iterable[str] = (),
    ) -> None:
        """Start a document's scope.

        `directory` is the document's folder: paths start there, and only files below it, and below
        the folders of `allow_read`, are read. `environ` is what `env` reads, and `env_file` what it
        reads next; `netrc` is the netrc file. `overrides` are variables that win over all others;
        `remembered` are captures of earlier runs, over which all others win, and `secrets` the
        secrets of those runs: a capture may hold one.
        """
        self.directory = directory if directory is not None else Path()
        self._shared = _Shared(
            file=file,
            folder=self.directory,
            allow_read=tuple(allow_read),
            environ=environ or {},
            env_file=env_file or {},
            netrc=netrc,
            overrides=overrides or {},
            captures={name: (value, None, 0) for name, value in (remembered or {}).items()},
            secrets=set(secrets),
        )
        self._shared.lengths |= {len(x) for x in (*self._shared.overrides, *self._shared.captures)}
        self._values: Mapping[str, str] = {}
        self._literal: Mapping[str, str] = {}

    @classmethod
    def of_user(
        cls,
        file: str,
        directory: Path,
        *,
        allow_read: Iterable[Path] = (),
        env_file: Mapping[str, str] | None = None,
        overrides: Mapping[str, str] | None = None,
        remembered: Mapping[str, str] | None = None,
        secrets: Iterable[str] = (),
    ) -> Scope:
        """Start the scope of a document of this process' user: their environment and netrc file."""
        path = Path(os.environ.get("NETRC") or Path.home() / ".netrc")
        return cls(
            file=file,
            directory=directory,
            allow_read=allow_read,
            environ=os.environ,
            env_file=env_file,
            netrc=path if path.is_file() else None,
            overrides=overrides,
            remembered=remembered,
            secrets=secrets,
        )

    def block(
        self,
        values: Mapping[str, str] | None = None,
        literal: Mapping[str, str] | None = None,
        directory: Path | None = None,
    ) -> Scope:
        """Return the scope of one block, with its `:var`s.

        `values` may hold variables; `literal` ones are taken as they are. `directory` is the folder
        where its paths start. Captures and secrets are those of the document.
        """
        inner = Scope.__new__(Scope)
        inner.directory = self.directory if directory is None else directory
        inner._shared = self._shared
        inner._values = values or {}
        inner._literal = literal or {}
        return inner

    @property
    def secrets(self) -> frozenset[str]:
        """The values that came from the environment, an env file or netrc so far, or earlier."""
        return frozenset(self._shared.secrets)

    def capture(self, parsed: ParsedRequest, name: str, value: str) -> None:
        """Set `name` for what stands further down in this block, and in the later blocks."""
        self._shared.captures[name] = (value, parsed.source, parsed.span.start)
        self._shared.lengths.add(len(name))

    @property
    def captured(self) -> dict[str, str]:
        """The captures so far, those of earlier runs included."""
        captures = dict(self._shared.captures)  # at once: a run may go on in another thread
        return {name: value for name, (value, _, _) in captures.items()}

    @property
    def new_captures(self) -> dict[str, str]:
        """The captures so far, without those of earlier runs."""
        captures = dict(self._shared.captures)
        return {name: value for name, (value, source, _) in captures.items() if source is not None}

    @property
    def lengths(self) -> set[int]:
        """The lengths of the names of variables that come from outside the request's own text."""
        return self._shared.lengths.union(map(len, self._values), map(len, self._literal))

    def overrides(self, name: str) -> bool:
        """Tell whether a variable's value was given from outside, so that no other counts."""
        return name in self._shared.overrides

    def protect(self, result: str, *inputs: str) -> str:
        """Return `result`, noted as a secret where an input holds one."""
        if any(secret in given for given in inputs for secret in self._shared.secrets):
            self._add_secret(result)
        return result

    def _add_secret(self, value: str) -> None:
        if value.strip():
            self._shared.secrets.add(value)

    def env(self, name: str) -> str | None:
        """Return the value of an environment variable or of the env file's; it is a secret now."""
        value = self._shared.environ.get(name, self._shared.env_file.get(name))
        if value is not None:
            self._add_secret(value)
        return value

    def netrc(self, host: str, field: str) -> str:
        """Return the `login`, `account` or `password` for `host`; a secret from now on.

        Raises `OrgrestError` when there is none.
        """
        import netrc

        path = self._shared.netrc
        if path is None:
            raise OrgrestError("there is no netrc file")
        try:
            found = netrc.netrc(str(path)).authenticators(host)
        except OSError as error:
            raise OrgrestError(f"cannot read {path}: {error.strerror}") from error
        except (netrc.NetrcParseError, UnicodeError) as error:
            reason = error.msg if isinstance(error, netrc.NetrcParseError) else "not UTF-8"
            raise OrgrestError(f"cannot read {path}: {reason}") from error
        if found is None:
            raise OrgrestError(f"{path} has no entry for {host}")
        fields = dict(zip(("login", "account", "password"), found, strict=True))
        if field not in fields:
            raise OrgrestError(f"netrc knows login, account and password, not {field}")
        value = fields[field] or ""
        self._add_secret(value)
        return value

    def read(self, path: str) -> bytes:
        """Return the bytes of a file named in the document.

        Raises `OrgrestError` when it is outside the folders that may be read, is no regular file,
        or cannot be read.
        """
        try:
            return self.locate(path).read_bytes()
        except OSError as error:
            raise OrgrestError(f"cannot read {path}: {error.strerror or error}") from error

    def locate(self, path: str) -> Path:
        """Return where a file named in the document is; raises `OrgrestError` as `read` does."""
        if "\0" in f"{self.directory}{path}":
            raise OrgrestError("the name of a file cannot hold a NUL")
        try:
            found = (self.directory / Path(path).expanduser()).resolve()
            allowed = (self._shared.folder, *self._shared.allow_read)
            if not any(found.is_relative_to(folder.resolve()) for folder in allowed):
                raise OrgrestError(
                    f"{path} is outside the document's folder: "
                    f"--allow-read {found.parent} lets it be read"
                )
            if not stat.S_ISREG(found.stat().st_mode):
                raise OrgrestError(f"{path} is not a regular file")
        except OSError as error:
            raise OrgrestError(f"cannot read {path}: {error.strerror or error}") from error
        except RuntimeError as error:  # a loop of links, a ~user without a home
            raise OrgrestError(f"cannot read {path}: {error}") from error
        return found


def read_env_file(path: Path) -> dict[str, str]:
    r"""Return the variables of an env file: `NAME=value` lines.

    `export` before the name, `#` lines, and quotes around a value are understood; in double quotes
    `\n`, `\t`, `\"`, `\\` too. Raises `OrgrestError` with the line that is none of these.
    """
    try:
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise OrgrestError(f"cannot read the env file: {error.strerror}", file=str(path)) from error
    except UnicodeError as error:
        raise OrgrestError("the env file is not UTF-8", file=str(path)) from error
    variables = {}
    for number, line in enumerate(text.split("\n"), 1):
        given = line.strip().removeprefix("export ").lstrip()
        if not given or given.startswith("#"):
            continue
        name, equals, value = given.partition("=")
        name, value = name.strip(), value.strip()
        if not equals or not name or any(c.isspace() for c in name):
            raise OrgrestError("not a NAME=value line", file=str(path), line=number)
        if value[:1] in ("'", '"'):
            match = re.fullmatch(r"""("(?:[^"\\]|\\.)*"|'[^']*')(?:\s+#.*|\s*)""", value)
            if match is None:
                raise OrgrestError("the quote never ends", file=str(path), line=number)
            value = _unquote(match[1]) if value[0] == '"' else match[1][1:-1]
        else:
            value = re.sub(r"(?:^|\s+)#.*", "", value)
        variables[name] = value
    return variables


def _unquote(literal: str) -> str:
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), literal[1:-1], flags=re.DOTALL)


def expand(parsed: ParsedRequest, scope: Scope) -> Request:
    """Complete a request: every variable replaced, its files read.

    Raises `RequestSyntaxError` for what is wrong in its text and `ExpansionError` for an undefined
    `{{name}}`, variables that refer to themselves, an expression, a file, a value that cannot
    stand where it is used: with file, line and column.
    """
    if parsed.problems:
        raise parsed.problems[0]
    return _Expansion(parsed, scope).request()


@attrs.frozen
class Reference:
    """Where a text refers to a variable: `start` to `end` are replaced, the name starts `at`."""

    name: str
    start: int
    end: int
    at: int


def references(
    text: str, start: int, stop: int, lengths: Iterable[int], defined: Callable[[str], bool]
) -> Iterator[Reference]:
    """Yield the references to variables between two indexes of `text`.

    `defined` tells whether there is a variable of a name, which decides what `:name` means;
    `lengths` are those of the names that there are, the greatest first.
    """
    at = start
    while match := REFERENCE.search(text, at, stop):
        at = match.end()
        if match[1] is not None:
            yield Reference(match[1], match.start(), at, match.start(1))
        elif (name := _defined_at(text, at, stop, lengths, defined)) is not None:
            yield Reference(name, match.start(), at + len(name), at)
            at += len(name)


def _defined_at(
    text: str, start: int, stop: int, lengths: Iterable[int], defined: Callable[[str], bool]
) -> str | None:
    """Return the defined name that the `:` before `start` refers to, or None."""
    for length in lengths:
        end = start + length
        if end > stop or (end < stop and _NAME_CHARACTER.match(text, end)):
            continue
        name = text[start:end]
        if name[0].isdigit() and start > 1 and _NAME_CHARACTER.match(text, start - 2):
            continue
        if defined(name):
            return name
    return None


class _Expansion:
    """The completion of one request; values and expressions are computed once."""

    _most = MAX_SIZE

    def __init__(self, parsed: ParsedRequest, scope: Scope) -> None:
        self._parsed = parsed
        self._scope = scope
        self._values: dict[str, str] = {}
        self._open: list[str] = []
        self._size = 0  # of the values put in so far, in the whole request
        self._notices = list(parsed.notices)
        self._lengths = sorted(parsed.known.lengths | scope.lengths, reverse=True)

    def request(self) -> Request:
        parsed = self._parsed
        url = self._url()
        headers = self._headers()
        body = self._body(parsed.body, headers) if parsed.body is not None else None
        place = parsed.source.position(parsed.span.start)
        return Request(
            method=parsed.method,
            url=url,
            headers=headers,
            body=body,
            captures=parsed.captures,
            notices=tuple(self._notices),
            secrets=self._scope.secrets,
            file=parsed.source.file,
            line=place.line,
            column=place.column,
        )

    # ----------------------------------------------------------------------------- parts

    def _url(self) -> str:
        template = self._parsed.target
        url = self.text(template).strip()
        self._check_url(url, template)
        self._warn_undefined(template, r"(?<=/):([^\W\d][\w-]*)(?=[/?#]|$)")
        return url

    def _check_url(self, url: str, template: Template) -> None:
        scheme, separator, rest = url.partition("://")
        if not separator or scheme.lower() not in ("http", "https") or rest[:1] in "/?#":
            reason = f"not an absolute http or https URL: {_short(template.text)}"
            raise self._error(template.offset(0), reason, "bad-url")
        authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
        if "@" in authority:
            from base64 import b64encode
            from urllib.parse import unquote_to_bytes

            userinfo = authority.rpartition("@")[0]
            basic = b64encode(unquote_to_bytes(to_bytes(userinfo))).decode()
            self._scope.protect(basic, userinfo)

    def _headers(self) -> Headers:
        headers: list[tuple[str, str]] = []
        for item in self._parsed.headers:
            headers += self._header(item)
        return tuple(headers)

    def _header(self, item: HeaderLine | HeaderVariable) -> Iterable[tuple[str, str]]:
        """Return the header of a line, or those that a variable holds."""
        if isinstance(item, HeaderVariable):
            offset = item.span.start
            if self._find(item.name) is None:
                reason = f"no variable {item.name} to take headers from"
                raise self._error(offset, reason, "undefined-variable")
            return self._header_block(self.value(item.name, offset), item.name, offset)
        name = self.text(item.name)
        value = self.text(item.value)
        self._check_header(name, value, item.name.offset(0))
        self._warn_undefined(item.value, r"^:([^\W\d][\w-]*)$")
        return [(name, value)]

    def _header_block(self, text: str, name: str, offset: int) -> list[tuple[str, str]]:
        headers = []
        for line in text.split("\n"):
            if not line.strip():
                continue
            field, colon, value = line.partition(":")
            field, value = field.strip(), value.strip()
            if not colon:
                reason = f"the variable {name} holds a line that is no header: {_short(line)}"
                raise self._error(offset, reason, "bad-header")
            self._check_header(field, value, offset)
            headers.append((field, value))
        return headers

    def _check_header(self, name: str, value: str, offset: int) -> None:
        if not _FIELD.fullmatch(name):
            raise self._error(offset, f"not a header name: {_short(name)!r}", "bad-header")
        if any(c in value for c in "\r\n\0"):
            reason = f"the value of {name} holds a line break or a NUL"
            raise self._error(offset, reason, "bad-header")

    def _body(self, body: Body, headers: Headers) -> bytes | None:
        if body.file is not None:
            return self._read(body.file)
        kind = next((v for n, v in headers if n.lower() == "content-type"), "")
        if not kind.lower().lstrip().startswith("multipart/"):
            return to_bytes(self.text(body.template))
        pieces = []
        at = 0
        for start, end, path in body.parts:
            pieces += [_crlf(self.text(body.template, at, start)), self._read(path)]
            at = end
        pieces.append(_crlf(self.text(body.template, at) + "\n"))
        whole = b"".join(pieces)
        self._check_boundary(kind, whole, body)
        return whole

    def _check_boundary(self, kind: str, body: bytes, where: Body) -> None:
        match = _BOUNDARY.search(kind)
        boundary = (match[1] or match[2]) if match else None
        if boundary is None:
            self._bad_boundary(where, "the multipart Content-Type names no boundary")
        elif b"--" + to_bytes(boundary) not in body:
            self._bad_boundary(where, f"the body has no line --{boundary}")
        elif b"--" + to_bytes(boundary) + b"--" not in body:
            self._bad_boundary(where, f"the body does not end with --{boundary}--")

    def _bad_boundary(self, where: Body, reason: str) -> None:
        self._notice(where.span.start, reason, "bad-boundary")

    def _read(self, path: Template) -> bytes:
        try:
            return self._scope.read(self.text(path))
        except OrgrestError as error:
            raise self._error(path.offset(0), error.reason, "unreadable-file") from error

    # ------------------------------------------------------------------------- variables

    def text(self, template: Template, start: int = 0, end: int | None = None) -> str:
        """Return the template's text from `start` to `end` with its variables replaced."""
        return "".join(text for text, _ in self.pieces(template, start, end))

    def pieces(
        self, template: Template, start: int = 0, end: int | None = None
    ) -> Iterator[tuple[str, int]]:
        """Yield what `text` is made of, each piece with the index in the template it stands for."""
        source = template.text
        stop = len(source) if end is None else end
        at = start
        for found in references(source, start, stop, self._lengths, self._is_defined):
            yield source[at : found.start], at
            offset = template.offset(found.start)
            value = self._used(found.name, offset)
            self._size += len(value)
            if self._size > self._most:
                reason = f"the values of variables grow beyond {self._most // 2**20} MiB here"
                raise self._error(offset, reason, "too-large")
            yield value, found.start
            at = found.end
        yield source[at:stop], at

    def _used(self, name: str, offset: int) -> str:
        """Return what stands for a variable in a text that uses it at `offset`."""
        return self.value(name, offset)

    def _is_defined(self, name: str) -> bool:
        return self._find(name) is not None

    def _find(self, name: str) -> Callable[[int], str] | None:
        """Return how to compute the value of `name` (given where it is used), or None."""
        shared = self._scope._shared
        if name in shared.overrides:
            return lambda _: shared.overrides[name]
        definition = self._parsed.definition(name)
        captured = shared.captures.get(name)
        if captured is not None:
            value, source, offset = captured
            here = source is self._parsed.source
            if definition is not None and here and offset >= definition.span.start:
                return lambda _: value
        if definition is not None:
            found = definition
            if found.operator == ":=":
                return lambda _: self._expression(found.value)
            return lambda _: self.text(found.value)
        if captured is not None and captured[1] is self._parsed.source:
            return lambda _: captured[0]
        if name in self._scope._literal:
            return lambda _: self._scope._literal[name]
        if name in self._scope._values:
            given = self._scope._values[name]
            return lambda offset: self.text(_fixed(given, offset))
        if captured is not None:
            return lambda _: captured[0]
        return None

    def value(self, name: str, offset: int) -> str:
        """Return the value of a defined variable that is used at `offset`."""
        if name in self._values:
            return self._values[name]
        if name in self._open:
            loop = " -> ".join([*self._open[self._open.index(name) :], name])
            reason = f"the variable {name} refers to itself: {loop}"
            raise self._error(offset, reason, "self-reference")
        if len(self._open) >= MAX_DEPTH:
            reason = f"more than {MAX_DEPTH} variables inside each other"
            raise self._error(offset, reason, "self-reference")
        compute = self._find(name)
        if compute is None:
            reason = f"the variable {name} is not defined"
            raise self._error(offset, reason, "undefined-variable")
        self._open.append(name)
        try:
            value = compute(offset)
        finally:
            self._open.pop()
        self._values[name] = value
        return value

    def _expression(self, template: Template) -> str:
        return _Expression(template, self).value()

    def _warn_undefined(self, template: Template, pattern: str) -> None:
        """Tell of undefined names where only a variable makes sense."""
        for match in re.finditer(pattern, template.text):
            text = template.text
            at = match.start(1)
            if _defined_at(text, at, len(text), self._lengths, self._is_defined) is None:
                reason = f"no variable {match[1]} is defined: sent as it is written"
                self._notice(template.offset(match.start()), reason, "undefined-variable")

    def _notice(self, offset: int, reason: str, code: str) -> None:
        self._notices.append(Notice.at(self._parsed.source, offset, reason, code))

    def _error(self, offset: int, reason: str, code: str) -> ExpansionError:
        return ExpansionError.at(self._parsed.source, offset, reason, code)


def _fixed(text: str, offset: int) -> Template:
    """Return a template all of which stands at one place of the source."""
    return Template(text, ((0, offset),))


class _Expression:
    """A recursive-descent reading of what stands behind `:=`."""

    def __init__(self, template: Template, expansion: _Expansion) -> None:
        self._template = template
        self._expansion = expansion
        self._scope = expansion._scope
        self._at = 0

    def value(self) -> str:
        text = self._template.text.strip()
        if match := _GETENV.fullmatch(text):
            return self._env([_unquote(f'"{match[1]}"')], 0)
        if text.startswith(("(", "'", "#")):
            raise self._lisp(text)
        value = self._term()
        rest = self._template.text[self._at :].strip()
        if rest:
            raise self._error(self._at, f"not understood: {_short(rest)}", "bad-expression")
        return value

    def _next(self) -> re.Match[str] | None:
        match = _TOKENS.match(self._template.text, self._at)
        if match is not None:
            self._at = match.end()
        return match

    def _term(self, depth: int = 0) -> str:
        start = self._at
        token = self._next()
        if token is None or token["mark"] or depth > MAX_DEPTH:
            rest = self._template.text[start:].strip()
            what = f"not understood: {_short(rest)}" if rest else "an expression is missing"
            raise self._error(start, f"{what}. There are {_USAGES}", "bad-expression")
        if token["number"]:
            return token["number"]
        if token["string"]:
            at = self._template.offset(token.start("string"))
            return self._expansion.text(_fixed(_unquote(token["string"]), at))
        if token["variable"]:
            name = token["variable"].strip(":{} \t")
            return self._expansion.value(name, self._template.offset(token.start("variable")))
        return self._call(token["name"], token.start("name"), depth)

    def _call(self, name: str, start: int, depth: int) -> str:
        mark = self._next()
        if mark is None or mark["mark"] != "(":
            reason = f"{name} is not a function call. There are {_USAGES}"
            raise self._error(start, reason, "bad-expression")
        arguments: list[str] = []
        closing = _TOKENS.match(self._template.text, self._at)
        if closing is not None and closing["mark"] == ")":
            self._at = closing.end()
            return self._apply(name, arguments, start)
        while True:
            arguments.append(self._term(depth + 1))
            mark = self._next()
            if mark is not None and mark["mark"] == ")":
                return self._apply(name, arguments, start)
            if mark is None or mark["mark"] != ",":
                reason = f"a ) is missing behind the arguments of {name}"
                raise self._error(self._at, reason, "bad-expression")

    def _apply(self, name: str, arguments: list[str], start: int) -> str:
        function = FUNCTIONS.get(name)
        if function is None:
            reason = f"there is no function {name}. There are {_USAGES}"
            raise self._error(start, reason, "bad-expression")
        least, most = function.least, function.most
        if not least <= len(arguments) <= most:
            count = str(most) if least == most else f"{least} to {most}"
            reason = f"{name} takes {count} arguments, not {len(arguments)}"
            raise self._error(start, reason, "bad-expression")
        compute: Callable[[list[str], int], str] = getattr(self, f"_{name}")
        return compute(arguments, start)

    def _env(self, arguments: list[str], start: int) -> str:
        value = self._scope.env(arguments[0])
        if value is not None:
            return value
        if len(arguments) > 1:
            return arguments[1]
        raise self._error(
            start,
            f"the environment variable {arguments[0]} is not set; "
            f'env("{arguments[0]}", "...") gives a default',
            "unset-environment",
        )

    def _netrc(self, arguments: list[str], start: int) -> str:
        field = arguments[1] if len(arguments) > 1 else "password"
        try:
            return self._scope.netrc(arguments[0], field)
        except OrgrestError as error:
            raise self._error(start, error.reason, "no-netrc-entry") from error

    def _uuid(self, _arguments: list[str], _start: int) -> str:
        from uuid import uuid4

        return str(uuid4())

    def _now(self, arguments: list[str], start: int) -> str:
        from datetime import UTC, datetime

        now = datetime.now(UTC)
        if not arguments:
            return now.strftime("%Y-%m-%dT%H:%M:%SZ")
        try:
            return now.strftime(arguments[0].replace("%s", str(int(now.timestamp()))))
        except ValueError as error:
            raise self._error(start, f"now: {error}", "bad-expression") from error

    def _base64(self, arguments: list[str], _start: int) -> str:
        from base64 import b64encode

        return self._scope.protect(b64encode(to_bytes(arguments[0])).decode(), arguments[0])

    def _urlencode(self, arguments: list[str], _start: int) -> str:
        from urllib.parse import quote

        return self._scope.protect(quote(to_bytes(arguments[0]), safe=""), arguments[0])

    def _lisp(self, text: str) -> ExpansionError:
        match = re.match(r"\(\s*([^\s()]+)", text)
        known = _LISP.get(match[1]) if match else None
        instead = f"write {known} instead" if known else f"there are {_USAGES}"
        return self._error(0, f"Emacs Lisp is not run: {instead}", "lisp")

    def _error(self, at: int, reason: str, code: str) -> ExpansionError:
        return self._expansion._error(self._template.offset(at), reason, code)


UNKNOWN = "\ue000"
"""What `check` puts in for a value that only a run would give: a private-use character."""


@attrs.frozen
class Checked:
    """What is known of a request before it is sent; `UNKNOWN` stands for what is not.

    `body` is its text in pieces, each with the index in the body's template that it stands for.
    `problems` would keep the request from being sent, `notices` would not.
    """

    url: str
    headers: Headers
    body: tuple[tuple[str, int], ...]
    problems: tuple[OrgrestError, ...]
    notices: tuple[Notice, ...]


def check(parsed: ParsedRequest, scope: Scope, definitions: Iterable[Definition] = ()) -> Checked:
    """Complete a request as far as that is possible, and tell all that is wrong with it.

    `definitions` are looked at, whether the request uses them or not. Files are not read: whether
    they could be is told.
    """
    return _Check(parsed, scope).checked(definitions)


def value_of(name: str, parsed: ParsedRequest, scope: Scope) -> str | None:
    """Return the value that a request gives a variable, None where it is not defined.

    What only a run would give is `UNKNOWN`, as is what cannot be computed.
    """
    return _Check(parsed, scope).value_of(name)


class _Check(_Expansion):
    """A completion that goes on behind what is wrong."""

    _most = 2**20

    def __init__(self, parsed: ParsedRequest, scope: Scope) -> None:
        super().__init__(parsed, scope)
        self._problems = list(parsed.problems)

    def value_of(self, name: str) -> str | None:
        """Return the value of a variable as far as it is known; None where it is not defined."""
        return self._used(name, 0) if self._is_defined(name) else None

    def checked(self, definitions: Iterable[Definition]) -> Checked:
        for definition in definitions:
            self._used(definition.name, definition.span.start)
        url = self._url()
        headers = self._headers()
        body: tuple[tuple[str, int], ...] = ()
        where = self._parsed.body
        if where is not None:
            kind = next((value for name, value in headers if name.lower() == "content-type"), "")
            if where.file is None and not kind.lower().startswith("multipart/"):
                body = tuple(self.pieces(where.template))
            else:
                self._body(where, headers)
        return Checked(url, headers, body, tuple(self._problems), tuple(self._notices))

    def _used(self, name: str, offset: int) -> str:
        try:
            return self.value(name, offset)
        except ExpansionError as error:
            self._problems.append(error)
            return UNKNOWN

    def pieces(
        self, template: Template, start: int = 0, end: int | None = None
    ) -> Iterator[tuple[str, int]]:
        try:
            yield from super().pieces(template, start, end)
        except ExpansionError:  # too large, which takes a run to be sure of
            yield UNKNOWN, start

    def _check_url(self, url: str, template: Template) -> None:
        if UNKNOWN in url:
            return
        try:
            super()._check_url(url, template)
        except ExpansionError as error:
            self._problems.append(error)

    def _header(self, item: HeaderLine | HeaderVariable) -> Iterable[tuple[str, str]]:
        try:
            return super()._header(item)
        except ExpansionError as error:
            self._problems.append(error)
            return []

    def _check_header(self, name: str, value: str, offset: int) -> None:
        super()._check_header(name.replace(UNKNOWN, "x"), value, offset)

    def _header_block(self, text: str, name: str, offset: int) -> list[tuple[str, str]]:
        return [] if UNKNOWN in text else super()._header_block(text, name, offset)

    def _read(self, path: Template) -> bytes:
        name = self.text(path)
        try:
            if UNKNOWN not in name:
                self._scope.locate(name)
        except OrgrestError as error:
            problem = self._error(path.offset(0), error.reason, "unreadable-file")
            self._problems.append(problem)
        return b""

    def _check_boundary(self, kind: str, body: bytes, where: Body) -> None:
        if UNKNOWN not in kind:
            super()._check_boundary(kind, body, where)


def without_lisp(function: str, argument: str | None) -> str | None:
    """Return the expression that does what a call of Emacs Lisp would, None where none is known.

    `argument` is the call's only one, a string in quotes, or None.
    """
    name = _LISP.get(function, "").partition("(")[0]
    if argument is not None:
        return f"{name}({argument})" if name not in ("", "uuid") else None
    return f"{name}()" if name in ("uuid", "now") else None


def _crlf(text: str) -> bytes:
    return to_bytes(text.replace("\r\n", "\n").replace("\n", "\r\n"))


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."
