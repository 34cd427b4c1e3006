"""Replaces the placeholders in requests, and checks in advance whether that is possible."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from orgrest import classes
from orgrest.http.auth.basic import of_userinfo
from orgrest.http.syntax import (
    Body,
    Definition,
    HeaderLine,
    HeaderVariable,
    Inclusion,
    ParsedRequest,
    Template,
    has_break,
    is_token,
)
from orgrest.http.values import shorthand
from orgrest.http.values.references import UNKNOWN
from orgrest.http.values.values import Values, place_in
from orgrest.model import (
    ExpansionError,
    Headers,
    Notice,
    OrgrestError,
    Request,
    Secret,
    Source,
    Text,
    find_header,
    find_headers,
    secrets_in,
    short,
    to_bytes,
)
from orgrest.regular import compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from orgrest.http.values.context import Context
    from orgrest.http.values.credentials import Credentials


_CHARSET = compiled(r";\s*charset=\"?([\w.:-]+)", re.IGNORECASE)
_BOUNDARY = compiled(r';\s*boundary=(?:"([^"]*)"|([^;\s]+))', re.IGNORECASE)
_OF_NODE = dict.fromkeys(("utf16le", "ucs2", "ucs-2"), "utf-16-le") | {"binary": "latin-1"}
"""Node's names of encodings that Python does not know."""
_ONLY_VALUE = compiled(r"\s*(?:\{\{[^{}]*\}\}|:[\w-]+)\s*")
"""A URL that is the value of a variable: there, a fragment is nothing unusual."""
_WITHOUT_SCHEME = compiled(
    r"(?:localhost|[\w-]++(?:\.[\w-]++)+)(?=[:/?#]|\Z)|[\w-]++:\d++(?=[/?#]|\Z)", re.ASCII
)
_SEGMENT = compiled(r"(?<=/):([^\W\d][\w-]*)(?=[/?#]|$)")
_WHOLE = compiled(r"^:([^\W\d][\w-]*)$")
_WORD = compiled(r"(?<![\w:]):(?!(?:true|false|null)(?![\w-]))([^\W\d][\w-]*)")
_ALIKE = 0.8
_MOST_COMPARED = 100  # words of a request that may be misspelt variables
_MOST_CHECKED = 2**20  # characters; a check only displays values


def expand(parsed: ParsedRequest, context: Context, values: Values | None = None) -> Request:
    """Return the request to send, with its variables replaced and its files read.

    `values` defaults to `Values(parsed, context)`. Pass it to reuse what an earlier attempt
    computed, or to read its `origins` afterwards.

    Raises `RequestSyntaxError` for errors in the request's text. Raises `ExpansionError` for an
    undefined `{{name}}`, circular variables, an invalid expression, an unreadable file, or a value
    that is not allowed where it is used. The errors have a file, line and column.
    """
    if parsed.problems:
        raise parsed.problems[0]
    return Expansion(parsed, values or Values(parsed, context)).request()


class Expansion:
    """Replaces the placeholders in one request with their values, part by part."""

    def __init__(self, parsed: ParsedRequest, values: Values) -> None:
        self._parsed = parsed
        self._values = values
        self._notices = list(parsed.notices)
        self._in_host = False  # whether the URL begins with the whole value of the Host header
        self._held: set[tuple[str, Secret]] = set()
        self._credentials: Credentials | None = None

    def request(self) -> Request:
        """Return the request to send. Raises `ExpansionError`."""
        parsed = self._parsed
        url = self._values.url = self._url()
        headers = self._headers()
        body = self._body(parsed.body, headers) if parsed.body is not None else None
        self._warn_misspelt()
        method, certificate, streamed = parsed.method, None, False
        if not parsed.restclient:
            streamed = method in shorthand.EVENTS
            method, headers, body = _graphql(parsed, method, headers, body)
            method, headers = shorthand.stream(method, url, headers)
            secure = url.lower().startswith(("https:", "wss:"))
            if (secure or self._credentials) and parsed.directive("no-client-cert") is None:
                certificate = self._get_credentials().certificate_for(url, parsed.target.offset(0))
        place = parsed.source.position(parsed.span.start)
        return Request(
            method=method,
            url=url,
            headers=headers,
            body=body,
            captures=parsed.captures,
            notices=tuple(self._notices),
            secrets=self._values.context.secrets.texts,
            file=parsed.source.file,
            line=place.line,
            column=place.column,
            credentials=None if self._credentials is None else self._credentials.to_compute,
            certificate=certificate,
            held=frozenset(self._held),
            streamed=streamed,
        )

    def _get_credentials(self) -> Credentials:
        if self._credentials is None:  # few requests have any
            from orgrest.http.values.credentials import Credentials

            self._credentials = Credentials(self._values)
        return self._credentials

    def _text_of(
        self, part: str, template: Template, start: int = 0, end: int | None = None
    ) -> str:
        return self._holds(part, self._values.text(template, start, end))

    def _holds(self, part: str, text: str) -> str:
        self._held.update((part, secret) for secret in self._values.context.secrets.within(text))
        return text

    def _url(self) -> str:
        template = self._parsed.target
        url = self._text_of("url", template).strip()
        if not self._parsed.restclient:
            path, host = url, self._host()
            url = shorthand.absolute_url(path, host, self._base(template))
            self._in_host = bool(host and url == f"{host.removesuffix('/')}{path}")
            url = shorthand.websocket_url(self._parsed.method, url)
        self._check_url(url, template)
        if url.count("#") > template.text.count("#") and not _ONLY_VALUE.fullmatch(template.text):
            reason = (
                "a value in the URL contains a #, so neither this # nor what follows it is sent "
                "(write %23 instead of #)"
            )
            self._notice(template.offset(0), reason, "url-fragment")
        self._warn_undefined(template, _SEGMENT)
        self._warn_shadowed()
        return url

    def _host(self) -> str | None:
        header = self._parsed.header("host")
        return None if header is None else self._values.text(header.value)

    def _base(self, template: Template) -> str | None:
        if not template.text.startswith("/") or not self._values.is_defined("host"):
            return None
        return self._holds("url", self._values.value("host", template.offset(0)))

    def _check_url(self, url: str, template: Template) -> None:
        scheme, separator, rest = url.partition("://")
        schemes = ("http", "https") if self._parsed.restclient else ("http", "https", "ws", "wss")
        if not separator or scheme.lower() not in schemes or rest[:1] in "/?#":
            reason = f"expected an absolute http or https URL, found {short(template.text)}"
            if _WITHOUT_SCHEME.match(template.text):
                reason += f"; did you mean http://{short(template.text)}?"
            raise self._error(template.offset(0), reason, "bad-url")
        authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
        if "@" in authority:
            userinfo = authority.rpartition("@")[0]
            secrets = self._values.context.secrets
            # A secret can be part of the user info, or contain it, as a whole URL does.
            within = frozenset(
                secret
                for secret in secrets.within(url)
                if secret.text in userinfo or "@" in secret.text
            )
            secrets.computed(of_userinfo(userinfo).removeprefix("Basic "), within)
            secrets.computed(unquote(userinfo.partition(":")[2]), within)

    def _headers(self) -> Headers:
        headers: list[tuple[str, str]] = []
        for item in self._parsed.headers:
            headers += self._header(item)
        if not self._parsed.restclient:
            headers += self._default_headers({name.lower() for name, _ in headers})
        return with_one_cookie(headers)

    def _default_headers(self, names: set[str]) -> Iterable[tuple[str, str]]:
        """Yield the default headers from the settings, leaving out those in `names`."""
        from orgrest.http.values.environments import SETTINGS, mentions

        environments, span = self._values.context.environment.every, self._parsed.method_span
        for file in environments.unread:
            if any(mentions(file.file, setting) for setting in SETTINGS):
                reason = f"could not read the settings for requests: {file.error}"
                raise self._error(span.start, reason, "bad-environment")
        for name, value in self._values.context.environment.headers().items():
            if name.lower() not in names:
                places = ((0, span.start),)
                yield from self._header(
                    HeaderLine(Template(name, places), Template(value, places), span)
                )

    def _header(self, item: HeaderLine | HeaderVariable) -> Iterable[tuple[str, str]]:
        """Return the header in a line, or the headers in a variable."""
        if isinstance(item, HeaderVariable):
            offset = item.span.start
            if not self._values.is_defined(item.name):
                reason = f"the variable {item.name}, which should contain headers, is not defined"
                raise self._error(offset, reason, "undefined-variable")
            return self._header_block(item, self._values.value(item.name, offset))
        name = self._values.text(item.name)
        value = self._values.text(item.value)
        field = name.lower()
        if field == "host" and self._in_host:
            return []  # added from the URL when the request is sent
        if not self._parsed.restclient and _is_credentials(field, value):
            credentials = self._get_credentials()
            header = credentials.header(field, value, item.value)
            if header is None:
                self._held.update((field, secret) for secret in credentials.secrets)
                return []
            value = header
        self._holds(field, name)
        self._holds(field, value)
        self._check_header(name, value, item.name.offset(0))
        self._warn_undefined(item.value, _WHOLE)
        return [(name, value)]

    def _header_block(self, item: HeaderVariable, text: str) -> list[tuple[str, str]]:
        """Return the headers in the value of a variable."""
        offset = item.span.start
        if item.spread:
            try:
                text = shorthand.header_lines(text)
            except OrgrestError as error:
                raise self._error(offset, error.reason, error.code) from error
        headers = []
        for line in text.split("\n"):
            if not line.strip():
                continue
            field, colon, value = line.partition(":")
            field, value = field.strip(), value.strip()
            for secret in secrets_in(text):
                self._held.add((field.lower(), classes.evolve(secret, possible=True)))
            self._holds(field.lower(), line)
            if not colon:
                reason = (
                    f"the variable {item.name} contains a line that is not a header: {short(line)}"
                )
                raise self._error(offset, reason, "bad-header")
            self._check_header(field, value, offset)
            headers.append((field, value))
        return headers

    def _check_header(self, name: str, value: str, offset: int) -> None:
        if not is_token(name):
            raise self._error(offset, f"invalid header name: {short(name)!r}", "bad-header")
        if has_break(value):
            reason = f"the value of {name} contains a line break or a NUL"
            raise self._error(offset, reason, "bad-header")

    def _body(self, body: Body, headers: Headers) -> bytes | None:
        if body.file is not None:
            return self._read(body.file)
        content_type = find_header(headers, "Content-Type") or ""
        if content_type.lower().lstrip().startswith("multipart/"):
            whole = b"".join(self._pieces(body, _crlf))
            if self._parsed.restclient:
                whole += b"\r\n"
            self._check_boundary(content_type, whole, body)
            return whole
        if self._parsed.restclient:
            return to_bytes(self._text_of("body", body.template))
        if body.files:
            whole = b"".join(self._pieces(body, to_bytes))
        else:
            pieces = self._text_pieces(body, content_type)
            whole = to_bytes(self._holds("body", self._values.joined(body.template, pieces)))
        return self._converted(whole, content_type, body)

    def _text_pieces(self, body: Body, content_type: str) -> Iterable[tuple[str, int]]:
        """Return the pieces of a body without files, each with its index in the template."""
        pieces = self._values.pieces(body.template)
        is_form = not self._parsed.restclient and _is_form(content_type)
        return shorthand.form_lines(pieces) if is_form else pieces

    def _converted(self, whole: bytes, content_type: str, body: Body) -> bytes:
        if not body.files:
            self._check_charset(content_type, whole.decode("utf-8", "surrogateescape"), body)
        if _is_form(content_type) and not body.files:
            text = whole.decode("utf-8", "surrogateescape")
            return to_bytes(shorthand.form(text, placeholders=self._values.context.placeholders))
        # As in VS Code REST Client and httpyac. Files are sent unchanged.
        is_lines = "ndjson" in content_type.lower() and not body.files
        return whole + b"\n" if is_lines and not whole.endswith(b"\n") else whole

    def _pieces(self, body: Body, encode: Callable[[str], bytes]) -> Iterable[bytes]:
        at = 0
        for file in body.files:
            yield encode(self._text_of("body", body.template, at, file.start))
            yield self._included(file)
            at = file.end
        yield encode(self._text_of("body", body.template, at))

    def _included(self, file: Inclusion) -> bytes:
        data = self._read(file.path)
        offset = file.path.offset(0)
        encoding = file.encoding
        if encoding is None and self._parsed.directive("inject-variables") is not None:
            encoding = "utf-8"
        if encoding is None:
            return data
        try:
            text = data.decode(_OF_NODE.get(encoding.lower(), encoding))
        except LookupError:
            reason = f"unknown encoding {encoding}; expected, for example, <@utf-8 or <@latin1"
            raise self._error(offset, reason, "unreadable-file") from None
        except UnicodeDecodeError as error:
            reason = f"{short(file.path.text)} is not valid {encoding}: {error}"
            raise self._error(offset, reason, "unreadable-file") from None
        folder = self._values.context.directory  # in Org documents, `:dir` can set it
        beside = Path(self._parsed.source.file or "").parent
        if beside.resolve() == folder.resolve():
            folder = beside
        place = partial(place_in, Source(text, str(folder / self._values.text(file.path))))
        return to_bytes(self._holds("body", self._values.outside(text, offset, place)))

    def _check_charset(self, kind: str, text: str, where: Body) -> None:
        """Warn if the body is not sent in the charset that the Content-Type names."""
        match = _CHARSET.search(kind)
        if match is None:
            return
        try:
            same = text.encode(match[1], "surrogateescape") == to_bytes(text)
        except UnicodeEncodeError:
            same = False
        except (LookupError, ValueError):  # an unknown charset, or no charset for text
            return
        if not same:
            reason = (
                f"the body is sent as UTF-8, but the Content-Type says {match[1]}: change that to "
                f"charset=utf-8, or insert a file in {match[1]} with < FILE"
            )
            self._notice(where.span.start, reason, "charset")

    def _check_boundary(self, kind: str, body: bytes, where: Body) -> None:
        match = _BOUNDARY.search(kind)
        boundary = (match[1] or match[2]) if match else None
        shown = "***" if self._values.context.secrets.within(kind) else boundary
        if boundary is None:
            self._bad_boundary(where, "the multipart Content-Type has no boundary")
        elif b"--" + to_bytes(boundary) not in body:
            self._bad_boundary(where, f"the body has no line --{shown}")
        elif b"--" + to_bytes(boundary) + b"--" not in body:
            self._bad_boundary(where, f"the body does not end with --{shown}--")

    def _bad_boundary(self, where: Body, reason: str) -> None:
        self._notice(where.span.start, reason, "bad-boundary")

    def _read(self, path: Template) -> bytes:
        try:
            return self._values.context.read(self._values.text(path))
        except OrgrestError as error:
            raise self._error(path.offset(0), error.reason, "unreadable-file") from error

    def _warn_undefined(self, template: Template, pattern: re.Pattern[str]) -> None:
        """Warn about undefined names at positions where only a variable makes sense."""
        for match in pattern.finditer(template.text):
            if not self._values.is_reference(template.text, match.start(1)):
                reason = f"undefined variable {match[1]}: sent as written"
                self._notice(template.offset(match.start()), reason, "undefined-variable")

    def _warn_misspelt(self) -> None:
        """Warn about each `:word` that is sent as written but is similar to a variable's name.

        If a word occurs several times in a request, only the first occurrence is reported.
        """
        parsed, values = self._parsed, self._values
        if not parsed.restclient:
            return
        templates = [parsed.target, *(header.value for header in parsed.header_lines)]
        templates += (definition.value for definition in values.definitions)
        if parsed.body is not None:
            templates.append(parsed.body.template)
        noted = {notice.offset for notice in self._notices}
        compared: set[str] = set()
        for template in templates:
            for match in _WORD.finditer(template.text):
                name = match[1]
                if name in compared or values.is_reference(template.text, match.start(1)):
                    continue
                if len(compared) == _MOST_COMPARED:
                    return
                compared.add(name)
                offset = template.offset(match.start())
                similar = values.similar(name, _ALIKE)
                if similar is not None and offset not in noted:
                    hint = "" if values.checks else f"; did you mean :{similar}?"
                    reason = f"undefined variable {name}: sent as written{hint}"
                    self._notice(offset, reason, "undefined-variable")

    def _warn_shadowed(self) -> None:
        """Warn about a variable of @loop whose name is also defined, once for all iterations."""
        loop = self._parsed.directive("loop")
        if loop is None or self._values.context.iteration.get("$index") not in ("0", UNKNOWN):
            return
        for name in (loop.sets or ())[:1]:
            definition = self._values.find(name)
            # The definition may also compute its value from the variable of the loop.
            if isinstance(definition, Definition) and name not in definition.value.text:
                line = self._parsed.source.position(definition.span.start).line
                reason = (
                    f"@loop sets {name}, but {name} is also defined in line {line}, and every "
                    "iteration uses that value: rename one of them"
                )
                self._notice(loop.value.offset(0), reason, "shadowed")

    def _notice(self, offset: int, reason: str, code: str) -> None:
        self._notices.append(Notice.at(self._parsed.source, offset, reason, code))

    def _error(self, offset: int, reason: str, code: str) -> ExpansionError:
        return self._values.error(offset, reason, code)


def _crlf(text: str) -> bytes:
    return to_bytes(text.replace("\r\n", "\n").replace("\n", "\r\n"))


def with_one_cookie(headers: Sequence[tuple[str, str]]) -> Headers:
    """Return the headers with all Cookie headers joined into one (RFC 6265, section 5.4)."""
    cookies = list(find_headers(headers, "Cookie"))
    if len(cookies) < 2:
        return tuple(headers)
    whole = Text("; ".join(cookies), frozenset().union(*map(secrets_in, cookies)))
    first = next(index for index, (name, _) in enumerate(headers) if name.lower() == "cookie")
    rest = [header for header in headers[first + 1 :] if header[0].lower() != "cookie"]
    return (*headers[:first], (headers[first][0], whole), *rest)


def _is_form(content_type: str) -> bool:
    return content_type.lower().lstrip().startswith("application/x-www-form-urlencoded")


def _is_credentials(name: str, value: str) -> bool:
    if not name.endswith("clientcert"):
        return name == "authorization"
    from orgrest.http.auth.certificates import is_certificate

    return is_certificate(name, value)


def is_converted(parsed: ParsedRequest, headers: Headers) -> bool:
    """Return whether the body of a request is GraphQL that is sent as JSON."""
    is_text = parsed.restclient or parsed.directive("no-gql-parsing") is not None
    return not is_text and _is_marked(parsed, headers)


def _is_marked(parsed: ParsedRequest, headers: Headers) -> bool:
    is_marked = parsed.method == "GRAPHQL" or parsed.graphql
    return is_marked or "graphql" in map(str.lower, find_headers(headers, "X-Request-Type"))


def _graphql(
    parsed: ParsedRequest, method: str, headers: Headers, body: bytes | None
) -> tuple[str, Headers, bytes | None]:
    """Return the method, headers and body of a request, with GraphQL converted to JSON."""
    where = parsed.body
    is_marked = _is_marked(parsed, headers)
    names = (
        [inclusion.operation for inclusion in where.files if inclusion.operation is not None]
        if where
        else []
    )
    if not (is_marked or names):
        return method, headers, body
    if is_marked:
        headers = tuple(h for h in headers if h[0].lower() != "x-request-type")
        method = "POST" if method == "GRAPHQL" else method
    if find_header(headers, "Content-Type") is None:
        headers = (*headers, ("Content-Type", "application/json"))
    if parsed.directive("no-gql-parsing") is not None:
        return method, headers, body
    text = (body or b"").decode("utf-8", "surrogateescape")
    if where is None or not shorthand.is_graphql(text):
        reason = "a GraphQL request requires a query: its body must start with query, mutation or {"
        raise ExpansionError.at(parsed.source, parsed.span.start, reason, "graphql")
    try:
        return method, headers, to_bytes(shorthand.graphql(text, *names[:1]))
    except OrgrestError as error:
        place = where.span.start
        raise ExpansionError.at(parsed.source, place, error.reason, error.code) from error


# before sending: the known values of a request, and the problems that would prevent sending it


@classes.frozen
class Checked:
    """The parts of a request that are known before sending. `UNKNOWN` replaces unknown values.

    `body` contains the pieces of the body's text, each with its index in the body's template.
    `request` is the request to send, without unknown headers. If the body is unknown, the length is
    also missing. `request` is None if the URL is unknown, or if a problem or a script may change
    the request. `problems` prevent the request from being sent, or its response from being checked
    and saved. `notices` do not.
    """

    url: str
    headers: Headers
    body: tuple[tuple[str, int], ...]
    problems: tuple[OrgrestError, ...]
    notices: tuple[Notice, ...]
    request: Request | None


def check(
    parsed: ParsedRequest, context: Context, definitions: Iterable[Definition] = ()
) -> Checked:
    """Expand a request as far as possible, and return its parts and all of its errors.

    `definitions` are checked even if the request does not use them. Files are not read, but a
    missing or forbidden file is an error.
    """
    return _Check(parsed, context).checked(definitions)


def value_of(name: str, parsed: ParsedRequest, context: Context) -> str | None:
    """Return the value of a variable in a request, or None if it is undefined.

    The value is `UNKNOWN` if it is known only during a run, or cannot be computed.
    """
    return _Check(parsed, context).value_of(name)


class _Check(Expansion):
    """Expands one request, and continues after errors."""

    def __init__(self, parsed: ParsedRequest, context: Context) -> None:
        self._problems = list(parsed.problems)
        if loop := parsed.directive("loop"):
            names = ("$index", *(loop.sets or ())[:1])
            context = context.iterated(dict.fromkeys(names, UNKNOWN))
        super().__init__(parsed, self._values_in(parsed, context))

    def _values_in(self, parsed: ParsedRequest, context: Context) -> Values:
        return Values(parsed, context, most=_MOST_CHECKED, problems=self._problems)

    def value_of(self, name: str) -> str | None:
        return self._values.used(name, 0) if self._values.is_defined(name) else None

    def checked(self, definitions: Iterable[Definition]) -> Checked:
        for definition in definitions:
            self._values.used(definition.name, definition.span.start)
        url = self._url()
        headers = self._headers()
        body: tuple[tuple[str, int], ...] = ()
        where = self._parsed.body
        content, is_known = None, where is None
        if where is not None:
            kind = find_header(headers, "Content-Type") or ""
            plain = where.file is None and not where.files
            if plain and not kind.lower().lstrip().startswith("multipart/"):
                body = tuple(self._text_pieces(where, kind))
                text = "".join(piece for piece, _ in body)
                is_known = UNKNOWN not in text and UNKNOWN not in kind
                content = to_bytes(text)
                if is_known and not self._parsed.restclient:
                    content = self._converted(content, kind, where)
            else:
                self._body(where, headers)
        self._warn_misspelt()
        request = self._request(url, headers, content, is_known=is_known)
        after = self._values
        if captures := self._parsed.captures:  # they can be used once the response has arrived
            context = after.context
            unknown = dict.fromkeys((each.name for each in captures), UNKNOWN)
            context = context.block(context.values, {**unknown, **context.literal})
            after = self._values_in(self._parsed, context)
        for template in self._parsed.expanded_after:
            after.text(template)
        return Checked(url, headers, body, tuple(self._problems), tuple(self._notices), request)

    def _request(
        self, url: str, headers: Headers, body: bytes | None, *, is_known: bool
    ) -> Request | None:
        """Return the known parts of the request to send, or None (see `Checked`)."""
        parsed, method = self._parsed, self._parsed.method
        changes = any(script.when in ("before", "request") for script in parsed.scripts)
        if self._problems or UNKNOWN in url or changes:
            return None
        known = [
            (name, value)
            for name, value in headers
            if UNKNOWN not in f"{name}{value}" and (is_known or name.lower() != "content-length")
        ]
        headers = tuple(known)
        if not parsed.restclient:
            try:
                if is_known:
                    method, headers, body = _graphql(parsed, method, headers, body)
            except ExpansionError as error:
                self._problems.append(error)
                return None
            method, headers = shorthand.stream(method, url, headers)
        return Request(method, url, headers, body)

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

    def _header_block(self, item: HeaderVariable, text: str) -> list[tuple[str, str]]:
        return [] if UNKNOWN in text else super()._header_block(item, text)

    def _read(self, path: Template) -> bytes:
        name = self._values.text(path)
        try:
            if UNKNOWN not in name:
                self._values.context.locate(name)
        except OrgrestError as error:
            problem = self._error(path.offset(0), error.reason, "unreadable-file")
            self._problems.append(problem)
        return b""

    def _check_boundary(self, kind: str, body: bytes, where: Body) -> None:
        if UNKNOWN not in kind:
            super()._check_boundary(kind, body, where)
