"""Hurl files: requests, and the assertions and captures for their responses.

A line that cannot be translated is reported with its line number. Source: hurl's documentation,
"Request", "Response", "Asserting response", "Grammar".
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from orgrest import classes
from orgrest.convert.shared import expectations, texts
from orgrest.convert.shared.fields import Fields
from orgrest.convert.shared.forms import Part, file_part, form_type, multipart, pairs_encoded
from orgrest.convert.shared.model import (
    Collection,
    ConversionError,
    Folder,
    Inclusion,
    Piece,
    Request,
)
from orgrest.convert.shared.requests import Draft, Inherited, Reader
from orgrest.convert.shared.source import Source
from orgrest.convert.shared.texts import Variable
from orgrest.convert.shared.variables import UNUSABLE
from orgrest.http.assertions.language import find
from orgrest.http.syntax import TCHARS
from orgrest.structured import json_or

_REQUEST: Final = re.compile(r"(?P<method>(?!HTTP\b)[A-Z]{3,})[ \t]+(?P<url>\S.*)")
_BEGINS: Final = re.compile(
    r"(?:[ \t]*(?:#[^\n]*)?\n)*(?:GET|POST|PUT|DELETE|PATCH|HEAD|OPTIONS|TRACE|CONNECT)[ \t]+"
    r"\S+[ \t]*(?:#[^\n]*)?(?:\r?\n|$)"
)
_RESPONSE: Final = re.compile(r"HTTP(?:/(?P<version>\S+))?[ \t]+(?P<status>\d{3}|\*)")
_SECTION: Final = re.compile(r"\[(?P<name>[A-Z]\w+)\]")
_PAIR: Final = re.compile(r"(?P<key>(?:\\.|[^:\\])+?)\s*:\s*(?P<value>.*)")
_HEADER: Final = re.compile(rf"(?P<key>(?:{TCHARS}|\{{\{{[^{{}}]+\}}\}})+)\s*:\s*(?P<value>.*)")
_QUOTED: Final = r"\"(?:[^\"\\]|\\.)*\""
_QUERY: Final = re.compile(
    rf"(?P<query>[a-z0-9]+)(?:\s+(?P<argument>{_QUOTED}|/(?:[^/\\]|\\.)+/))?(?:\s+(?P<count>count))?"
    r"\s+(?P<no>not\s+)?(?P<predicate>==|!=|>=|<=|>|<|[A-Za-z]+)(?:\s+(?P<value>\S.*))?"
)
_SUBJECTS: Final = {
    "status": "status", "url": "url", "body": "body", "duration": "duration", "header": "header {}",
    "cookie": "cookie {}", "jsonpath": "body {}", "xpath": "xpath {}", "redirects": "redirects",
    "bytes": "bytes", "sha256": "sha256", "variable": "js {}",
}  # fmt: skip
_OF_SCRIPTS: Final = (
    "clearTimeout", "console", "httpFile", "httpRegion", "pm", "request", "response", "setTimeout",
    "sleep", "test",
)  # fmt: skip
"""The names that have another meaning in the assertions that replace `variable`."""
_COUNTED: Final = {
    "redirects": ("redirects",),
    "bytes": ("length",),
    "xpath": ("{0} count",),
    "header": ("{0} count", "{0} count >= 2"),  # a header that was sent once is not a list
    "jsonpath": ("{0} count", "{0} isArray"),
}
"""Maps a query to the subject that replaces both the query and a `count` after it, and to an
assertion that rejects values that cannot be counted in hurl. `{0}` is the subject of the query."""
_PREDICATES: Final = (
    "==", "!=", ">", ">=", "<", "<=", "startsWith", "endsWith", "contains", "matches", "isDefined",
    "isBoolean", "isNumber", "isString", "isIsoDate",
)  # fmt: skip
_ON_TEXTS: Final = ("startsWith", "endsWith", "contains")
_ORDERS: Final = (">", ">=", "<", "<=")
_TEXTS: Final = ("url", "body", "header", "cookie")
"""The queries whose result is always a string."""
_XPATH: Final = re.compile(
    r"""(?P<string>(?:concat|(?:local-)?name|namespace-uri|normalize-space|string|translate
            |substring(?:-after|-before)?)\((?:[^()]|\([^()]*\))*\))
    | (?P<number>(?:ceiling|count|floor|number|round|string-length|sum)\((?:[^()]|\([^()]*\))*\))
    | (?P<boolean>(?:boolean|contains|not|starts-with)\((?:[^()]|\([^()]*\))*\))
    | (?P<nodes>(?:/{1,2}(?:@?[\w.:-]+(?:\(\))?|@?\*)(?:\[[^\[\]]*\])*)+)""",
    re.VERBOSE,
)
"""Matches XPaths whose type is certain: a call of a function, or a path to nodes."""
_GUARDS: Final = {
    **dict.fromkeys(("startsWith", "endsWith", "matches"), ("isString",)),
    "contains": ("not isNumber", "not isBoolean", "not isObject"),  # strings and lists are allowed
    **dict.fromkeys(_ORDERS, ("isNumber",)),
}
"""Maps a predicate to the assertions that reject the types for which it fails in hurl."""
_SAME: Final = {"equals": "==", "notEquals": "!=", "greaterThan": ">", "lessThan": "<",
                "exists": "isDefined"}  # fmt: skip
_HAS_TIME: Final = r"matches [Tt ].*(?:[Zz]|[+-]\d\d:\d\d)$"
_SEVERAL: Final = re.compile(r"\*|\.\.|\[[^\]]*[?,:]")
"""Matches a JSONPath for which hurl returns a list. Quoted names in the path must be removed
first."""
_JSON_STRING: Final = re.compile(rf"({_QUOTED}(?:\s*:)?|\\.)")
"""Matches a string in JSON, and the colon after the name of a member.

It also matches escape sequences outside strings. Otherwise, if a string is not closed, each escaped
quote in it would be tried as the start of another string, which takes quadratic time.
"""
_PLACEHOLDER: Final = re.compile(r"\{\{(?P<name>[^{}\n]+)\}\}")
_JSON_VARIABLE: Final = re.compile(f'"{_PLACEHOLDER.pattern}"')
_BODY_BEGINS: Final = re.compile(r"[{\[<`\"\d-]|(?:base64|hex|file),|(?:true|false|null)$")
"""Matches a line below `[Asserts]` that is no assertion, but begins the expected body."""
_STEP: Final = re.compile(
    r"\.?\[(?:(?P<index>\d+)|'(?P<single>[^'\\]*)'|\"(?P<double>[^\"\\]*)\")\]"
    r"|\.(?P<name>[A-Za-z_]\w*)"
)
"""Matches a step of a JSONPath that selects one value: an index or a name."""
_ONE_LINE: Final = re.compile(r"`(?P<content>(?:[^`\\\n]|\\.)*)`")
_ANY_STATUS: Final = "status >= 100"  # otherwise, a status of 400 or above is a failure
_FILE: Final = re.compile(r"file,(?P<path>[^;]+);(?:\s*(?P<kind>\S.*))?")
_IN_URL: Final = re.compile(r"^[a-z]+://[^/?#]*|\{\{[^{}]*\}\}|[?#].*|\.\w+(?=$|[?#])")
"""Matches the parts of a URL that the name of a request does not contain."""
_PATHS: Final = {"jsonpath": "response.body.{}", "header": "response.headers.{}"}
"""Maps a query of a capture to what follows the request's name in a reference."""
_TIMES: Final = {"delay": "ms", "max-time": "s", "retry-interval": "ms"}
"""Maps the options that are times to their default units."""
_LONGEST_RETRY: Final = 3_600_000
"""The longest time for which orgrest repeats a request, in milliseconds."""
_QUIET: Final = ("verbose", "very-verbose", "verbosity", "compressed", "http1.1", "output")


@classes.frozen
class _Capture:
    """A variable with a value from a response.

    `name` is its name in the document. `path` follows the request's name in a reference, or is ""
    if only the JavaScript `expression` can express the value.
    """

    original: str
    name: str
    path: str
    expression: str


@classes.define
class _Entry:
    """A request and its expected response. `line` is the number of its first line.

    `interval` is the pause before each of the `retries`, in milliseconds.
    """

    line: int
    fields: Fields
    method: str
    url: str
    comments: list[str]
    headers: list[tuple[str, str]] = classes.field(factory=list)
    query: list[tuple[str, str]] = classes.field(factory=list)
    form: list[tuple[str, str]] | None = None
    parts: list[tuple[str, str]] | None = None
    cookies: list[tuple[str, str]] = classes.field(factory=list)
    user: tuple[str, str] | None = None
    body: list[str] = classes.field(factory=list)
    follows: bool = False
    directives: list[str] = classes.field(factory=list)
    retries: int = 0
    interval: int = 1000
    definitions: list[tuple[str, str]] = classes.field(factory=list)
    assertions: list[str] = classes.field(factory=list)
    captures: list[_Capture] = classes.field(factory=list)
    answered: bool = False
    expected: list[str] = classes.field(factory=list)
    expected_at: int = 0


def recognizes(source: Source) -> bool:
    """Return whether a source begins with a request line without an HTTP version."""
    return _BEGINS.match(source.text) is not None


def read(source: Source) -> Collection:
    """Return the requests in a hurl file. Raises ConversionError if it is invalid."""
    return Collection(Folder("", tuple(_Reader(source.text, source.name).requests())))


class _Reader(Reader):
    """Reads one file from top to bottom."""

    _entry: _Entry

    def __init__(self, text: str, name: str) -> None:
        super().__init__()
        self._lines = text.replace("\r\n", "\n").split("\n")
        self._name = name
        self._at = 0
        self._captured: set[str] = set()
        self._asserted: set[str] = set()  # the captured variables whose values are asserted

    def requests(self) -> Iterator[Request]:
        entries = list(self._entries())
        defined = {name for entry in entries for name, _ in entry.definitions}
        captured = Counter(each.name for entry in entries for each in entry.captures)
        first_uses = dict.fromkeys(self._asserted, 0)
        for number, line in enumerate(self._lines, 1):
            for match in _PLACEHOLDER.finditer(line):
                first_uses.setdefault(match["name"].strip(), number)
        ends = [*(entry.line for entry in entries[1:]), len(self._lines) + 1]
        made = [self._made(entry) for entry in entries]
        # orgrest rejects an expression with a reference's value if it depends on the value's type,
        # as that of 1.0 does. A definition may pass the value on to an expression.
        values = (value for entry in entries for _, value in entry.definitions)
        pieces = (piece for value in values for piece in texts.pieces(value))
        computed = self.names.computed | {x.name for x in pieces if isinstance(x, Variable)}
        for entry, end, request in zip(entries, ends, made, strict=True):
            plain: list[_Capture] = []
            others: list[_Capture] = []
            for each in entry.captures:
                is_plain = each.path and captured[each.name] == 1 and each.name not in defined
                is_plain = is_plain and first_uses.get(each.original, end) >= end
                is_plain = is_plain and each.name not in computed
                (plain if is_plain and "disabled" not in entry.directives else others).append(each)
            yield self._capturing(request, plain, others) if request.method else request

    def _capturing(
        self, request: Request, plain: list[_Capture], others: list[_Capture]
    ) -> Request:
        """Return a request with captures: references for those in `plain`, else a script.

        For the references, the request gets a name.
        """
        if others:
            scripts = [
                f"pm.environment.set({json.dumps(each.name)}, {each.expression});"
                for each in others
            ]
            request = classes.evolve(request, after=(*request.after, "\n".join(scripts)))
        if not plain:
            return request
        words = re.findall(r"[A-Za-z_]\w*", re.sub(_IN_URL, "", request.url), re.ASCII)
        words = [word for word in words if not UNUSABLE.fullmatch(word)]
        return classes.evolve(
            request,
            captures=tuple((each.name, each.path, each.expression) for each in plain),
            own_name=self.names.free(words[-1] if words else request.method.lower()),
        )

    def _entries(self) -> Iterator[_Entry]:
        entry: _Entry | None = None
        section = ""
        in_body = False
        comments: list[str] = []
        while self._at < len(self._lines):
            raw = self._lines[self._at]
            self._at += 1
            line = raw.strip()
            if match := _REQUEST.fullmatch(line):
                if entry is not None:
                    yield entry
                url = _without_comment(match["url"]).strip()
                fields = Fields({}, f"{self._name}:{self._at}")
                entry = _Entry(self._at, fields, match["method"], url, comments)
                section, in_body, comments = "headers", False, []
            elif entry is None or line.startswith("#"):
                if line and not line.startswith("#"):
                    reason = "expected a request such as GET https://example.org/"
                    raise ConversionError(reason, file=self._name, line=self._at)
                comments += [line.lstrip("#").strip()] if line else []
            elif line and comments:  # they belong to this entry, not to the next
                entry.comments += comments
                comments = []
                self._at -= 1
            elif match := _RESPONSE.fullmatch(_without_comment(line)):
                entry.answered, section, in_body = True, "headers", False
                if match["status"] != "*":
                    entry.assertions.append(f"status == {match['status']}")
                if match["version"] not in (None, "*", "1.1", "1.0"):
                    self._note(
                        entry,
                        f"HTTP/{match['version']} is not checked: responses of any version pass",
                    )
            elif match := _SECTION.fullmatch(_without_comment(line)):
                section, in_body = match["name"], False
            elif not line and not in_body:
                continue
            elif in_body or not self._belongs(entry, section, line):
                in_body = True
                self._body_line(entry, raw)
        if entry is None:
            raise ConversionError("no request found", file=self._name)
        entry.comments += comments
        yield entry

    def _note(self, entry: _Entry, reason: str, line: int = 0) -> None:
        entry.fields.part({}, f"{self._name}:{line or self._at}").note(reason)

    def _body_line(self, entry: _Entry, raw: str) -> None:
        """Read a line of a body, or all lines if triple backquotes open a block."""
        body = entry.expected if entry.answered else entry.body
        if entry.answered and not body:
            entry.expected_at = self._at
        body.append(raw)
        if raw.strip().startswith("```") and raw.strip().count("```") == 1:
            while self._at < len(self._lines):
                body.append(self._lines[self._at])
                self._at += 1
                if _without_comment(body[-1]).strip() == "```":
                    body[-1] = "```"
                    return

    def _belongs(self, entry: _Entry, section: str, line: str) -> bool:
        """Read a line if it belongs to `section`. Return whether it does."""
        if section == "Asserts" and not _BODY_BEGINS.match(line):
            self._assertion(entry, _without_comment(line))
            return True
        match = (_HEADER if section == "headers" else _PAIR).fullmatch(_without_comment(line))
        if match is None or line[:1] in "{[<`" or section == "Asserts":
            return False
        key, value = _plain(match["key"]), match["value"].strip()
        if section == "headers" and entry.answered:
            shown = json.dumps(_plain(value), ensure_ascii=False)
            entry.assertions.append(f"header {key} == {self._text(shown)}")
        elif section == "headers":
            entry.headers.append((key, value))
        elif section in ("Query", "QueryStringParams"):
            entry.query.append((key, value))
        elif section in ("Form", "FormParams"):
            entry.form = [*(entry.form or []), (key, value)]
        elif section in ("Multipart", "MultipartFormData"):
            entry.parts = [*(entry.parts or []), (key, value)]
        elif section == "Cookies":
            entry.cookies.append((key, value))
        elif section == "BasicAuth":
            entry.user = (key, value)
        elif section == "Options":
            self._option(entry, key, value)
        elif section == "Captures":
            self._capture(entry, key, value)
        else:
            self._note(entry, f"[{section}] {line[:80]}")
        return True

    def _option(self, entry: _Entry, key: str, value: str) -> None:
        if key == "location":
            entry.follows = value == "true"
        elif key == "variable" and (match := re.fullmatch(r"([\w-]+)=(.*)", value)):
            given = match[2].strip()
            given = json.loads(given) if re.fullmatch(_QUOTED, given) else given
            entry.definitions.append((self.names.name(match[1]), self._text(_plain(given))))
        elif key == "skip" and value == "true":
            entry.directives.append("disabled")
        elif key == "retry" and re.fullmatch(r"\d{1,6}", value):
            entry.retries = int(value)
        elif key in _TIMES and (match := re.fullmatch(r"(\d{1,9})\s*(ms|s)?", value)):
            number = int(match[1]) * (1000 if (match[2] or _TIMES[key]) == "s" else 1)
            if key == "retry-interval":
                entry.interval = number
            else:
                shown = f"sleep {number}" if key == "delay" else f"timeout {number} ms"
                entry.directives.append(shown)
        elif key not in _QUIET:
            self._note(entry, f"[Options] {key}: {value}")

    def _capture(self, entry: _Entry, key: str, value: str) -> None:
        pattern = rf"(?P<query>\w+)(?:\s+(?P<argument>{_QUOTED}))?(?P<redact>\s+redact)?"
        match = re.fullmatch(pattern, value)
        argument = (match["argument"] or "") if match else ""
        expression = _captured(match["query"], argument) if match else None
        if match is None or expression is None:
            self._note(entry, f"[Captures] {key}: {value}")
        else:
            if match["redact"]:
                self._note(entry, f"redact: the value of {key} is not masked")
            path = _PATHS.get(match["query"], "").format(_string(argument))
            if match["query"] == "header" and not re.fullmatch(TCHARS, _string(argument)):
                path = ""
            if re.search(r"[{}]", path):
                path = ""  # a reference would end there
            self._captured.add(key)
            entry.captures.append(_Capture(key, self.names.name(key), path, expression))

    def _assertion(self, entry: _Entry, line: str) -> None:
        assertions = self._assertions_of(line)
        if assertions is None:
            self._note(entry, f"[Asserts] {line[:120]}")
        else:
            entry.assertions += assertions

    def _assertions_of(self, line: str) -> list[str] | None:
        """Translate a line to assertions. Return None if there is no equivalent."""
        match = _QUERY.fullmatch(line)
        if match is None or match["query"] not in _SUBJECTS:
            return None
        query, argument = match["query"], match["argument"] or ""
        if argument.startswith("/") or (bool(argument) != ("{}" in _SUBJECTS[query])):
            return None
        if query == "cookie":
            argument = argument.replace('[Value]"', '"')
        if query == "variable":
            original = _string(argument)
            name = self.names.name(original) if original in self._captured else ""
            unusable = UNUSABLE.fullmatch(name) or name in _OF_SCRIPTS
            if unusable or not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
                return None
            self._asserted.add(original)
            argument = f'"{name}"'
        shown = argument if re.search(r"\s", argument) else _string(argument)
        subject = _SUBJECTS[query].format(shown)
        predicate = _SAME.get(match["predicate"], match["predicate"])
        value = match["value"] or ""
        if predicate == "matches" and re.fullmatch(r"/.*/", value):
            value = value[1:-1].replace("\\/", "/")
        elif predicate == "matches" and re.fullmatch(_QUOTED, value):
            value = _string(value)
        elif predicate in _ON_TEXTS and re.fullmatch(_QUOTED, value):
            text = _string(value)
            if "{{" not in text and expectations.bare(text) is None:
                return None
            value = text
        elif re.fullmatch(_QUOTED, value):
            value = json.dumps(_string(value), ensure_ascii=False)
        elif value and not re.fullmatch(r"-?\d+(?:\.\d+)?|true|false|null|\{\{[^{}]+\}\}", value):
            return None
        if predicate not in _PREDICATES:
            return None
        no = "not " if match["no"] else ""
        try:
            value = self._text(value)
        except ConversionError:
            return None
        whole = _whole(_string(argument)) if query == "jsonpath" else None
        assertions: list[str] | None
        if match["count"]:
            counted, *guards = (form.format(subject) for form in _COUNTED.get(query, ("",)))
            guards = guards if whole is None else [f"body {whole} isDefined"]
            assertions = [f"{counted} {predicate} {value}", *guards] if counted and not no else []
        elif whole is not None or not _fits(query, argument, predicate, value):
            return None
        elif predicate == "isIsoDate":
            assertions = [f"{subject} isIsoDate", f"{subject} {_HAS_TIME}"] if not no else []
        elif argument and not no and predicate == "!=":
            assertions = [f"{subject} {predicate} {value}", f"{subject} isDefined"]
        elif predicate == "==" and not no and value and value[0] != '"' and "{{" not in value:
            assertions = expectations.equality(subject, value)
        else:
            kinds = _GUARDS.get(predicate, ()) if query in ("jsonpath", "variable") else ()
            guards = [f"{subject} {kind}" for kind in kinds]
            assertions = [f"{subject} {no}{predicate} {value}".rstrip(), *guards]
        if query == "variable" and any(_path(each) != shown for each in assertions or ()):
            return None  # with js, the last operator in the line counts
        return expectations.valid(assertions) or None

    def _text(self, text: str) -> str:
        return texts.translated(text, self._variable)

    def _variable(self, name: str) -> Variable:
        dynamic = {"newUuid": "$uuid", "newDate": "$isoTimestamp"}
        return Variable(dynamic[name]) if name in dynamic else self.names.variable(name)

    def _made(self, entry: _Entry) -> Request:
        self._entry = entry
        request = self.item(entry.fields, "", Inherited())
        shown = f"{entry.method} {entry.url}"
        return request if request.method else classes.evolve(request, description=shown)

    def draft(self, _given: Fields, _around: Inherited) -> Draft:
        entry = self._entry
        url = self._text(_plain(entry.url))
        if query := pairs_encoded(self._pairs(entry.query), self.names):
            url += f"{'&' if '?' in url else '?'}{query}"
        headers = [
            pair for pair in self._pairs(entry.headers) if pair[0].lower() != "content-length"
        ]
        if entry.cookies:
            shown = "; ".join(f"{a}={self._text(_plain(b))}" for a, b in entry.cookies)
            headers.append(("Cookie", shown))
        body, kind = self._body(entry, _trimmed(entry.body))
        authorization = None
        if entry.user is not None:
            user, password = (self._text(_plain(template)) for template in entry.user)
            parameters = {"username": user, "password": password}
            authorization, _ = self.credentials(entry.fields, "basic", parameters, inherited=False)
        self._expected(entry, _trimmed(entry.expected))
        assertions = entry.assertions
        if not any(assertion.startswith("status ") for assertion in assertions):
            assertions = [_ANY_STATUS, *assertions]
        if entry.retries:
            wanted = entry.retries * entry.interval
            limit = min(wanted or 1000, _LONGEST_RETRY)
            if limit != wanted:
                self._note(
                    entry,
                    f"[Options] retry: {entry.retries} with pauses of {entry.interval} ms: "
                    f"the request is repeated for {limit // 1000} s instead",
                    entry.line,
                )
            shown = f"{limit} ms" if limit % 1000 else f"{limit // 1000} s"
            # a script sets a captured variable only after the last response
            assertions = [
                x if x.startswith("js ") else f"eventually {shown} {x}" for x in assertions
            ]
        return Draft(
            entry.method, url, headers, body, kind, authorization, tuple(entry.definitions),
            described=entry.comments,
            assertions=assertions,
            directives=[*entry.directives, *([] if entry.follows else ["no-redirect"])],
        )  # fmt: skip

    def _pairs(self, pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
        return [(self._text(name), self._text(_plain(value))) for name, value in pairs]

    def _body(self, entry: _Entry, text: str) -> tuple[tuple[Piece, ...] | None, str]:
        """Return the body and the media type that hurl would send."""
        if not text:
            if entry.form is not None:
                form = pairs_encoded(self._pairs(entry.form), self.names)
                return (form,), "application/x-www-form-urlencoded"
            if entry.parts is not None:
                return multipart([self._part(a, b) for a, b in entry.parts])
            return None, ""
        if match := re.fullmatch(r"```(\w*)[^\n]*\n(.*?)```", text, re.DOTALL):
            kinds = {"json": "application/json", "xml": "application/xml"}
            if match[1] == "graphql":
                return (self._graphql(match[2]),), "application/json"
            return (self._text(match[2]),), kinds.get(match[1], "")
        if match := re.fullmatch(r"```([^\n]*)```", text):
            return (self._text(match[1]),), ""
        if match := _ONE_LINE.fullmatch(text):
            return (self._text(_plain(match["content"])),), ""
        if match := _FILE.fullmatch(text):
            return (Inclusion(texts.literal(match["path"].strip())),), ""
        if match := re.fullmatch(r"(base64|hex),([^;]*);", text):
            try:
                digits = "".join(match[2].split())
                if match[1] == "hex":
                    return (bytes.fromhex(digits),), ""
                return (base64.b64decode(digits + "=" * (-len(digits) % 4), validate=True),), ""
            except (ValueError, binascii.Error):
                raise ConversionError(f"the body is not valid {match[1]}") from None
        if text[0] == "<":
            return (self._text(text),), "application/xml"
        if text[0] in '{["0123456789tfn':
            before, newline, last = text.rpartition("\n")
            return (self._json(before + newline + _without_comment(last)),), "application/json"
        raise ConversionError(f"this kind of body is not supported: {text.splitlines()[0][:60]}")

    def _graphql(self, text: str) -> str:
        query, _, variables = text.partition("\nvariables")
        content = f'{{"query":{json.dumps(query.strip(), ensure_ascii=False)}'
        variables_json = f',"variables":{variables.strip()}' if variables else ""
        return self._json(f"{content}{variables_json}}}")

    def _json(self, text: str) -> str:
        """Translate JSON. Like hurl, escape variables in strings, except in names of members."""

        def escaped(name: str) -> Variable:
            return self.names.escaped(self._variable(name))

        def translated(piece: str) -> str:
            if match := _JSON_VARIABLE.fullmatch(piece):
                variable = self._variable(match["name"].strip())
                whole = self.names.as_json(variable)
                return texts.written([whole] if whole != variable else ['"', variable, '"'])
            return texts.translated(piece, escaped if piece[-1:] == '"' else self._variable)

        return "".join(map(translated, _JSON_STRING.split(text)))

    def _part(self, key: str, value: str) -> Part:
        name, match = self._text(key), _FILE.fullmatch(value)
        if match is None:
            return name, self._text(_plain(value)), "", "", False
        path = match["path"].strip()
        return file_part(name, path, (match["kind"] or "").strip() or form_type(path))

    def _expected(self, entry: _Entry, text: str) -> None:
        """Add assertions for the expected body, or a note if there is no equivalent."""
        if not text:
            return
        assertion = None
        if match := _ONE_LINE.fullmatch(text):
            assertion = f"body == {json.dumps(_plain(match['content']), ensure_ascii=False)}"
        elif match := re.fullmatch(r"```[ \t]*\n(.*?)```", text, re.DOTALL):
            assertion = f"body == {json.dumps(match[1], ensure_ascii=False)}"
        elif text[0] in "{[" and "{{" not in text and (value := json_or(text)) is not None:
            assertion = f"body $ == {json.dumps(value, ensure_ascii=False)}"
        if assertion is None or not expectations.valid([assertion]):
            reason = f"the expected body: {text.splitlines()[0][:60]}"
            self._note(entry, reason, entry.expected_at)
        else:
            entry.assertions.append(self._text(assertion))


def _captured(query: str, argument: str) -> str | None:
    """Return a JavaScript expression for a capture, or None if there is no equivalent."""
    text = _string(argument)
    if query == "jsonpath" and re.fullmatch(rf"\$(?:{_STEP.pattern})*", text):
        return f"pm.response.json(){_STEP.sub(_in_javascript, text[1:])}"
    if query == "header" and text:
        return f"pm.response.headers.get({json.dumps(text)})"
    if query == "regex" and text:
        return f"pm.response.text().match(new RegExp({json.dumps(text)}))[1]"
    return {"status": "pm.response.code", "body": "pm.response.text()"}.get(query)


def _in_javascript(step: re.Match[str]) -> str:
    """Return a step of a JSONPath in JavaScript."""
    if step["name"]:
        return f".{step['name']}"
    return f"[{step['index'] or json.dumps(step['single'] or step['double'] or '')}]"


def _path(assertion: str) -> str:
    parsed = find(assertion)
    return parsed if isinstance(parsed, str) else parsed.path


def _whole(path: str) -> str | None:
    """Return the part of a JSONPath before the step for which hurl returns a list, or None."""
    match = _SEVERAL.search(re.sub(r"'[^']*'", lambda quoted: "_" * len(quoted[0]), path))
    if match is None:
        return None
    whole = path[: match.start()].rstrip(".[")
    return json.dumps(whole, ensure_ascii=False) if re.search(r"\s", whole) else whole


def _fits(query: str, argument: str, predicate: str, value: str) -> bool:
    """Return whether a predicate fits the type of a query's result, so that it can hold in hurl."""
    type_ = "string" if query in _TEXTS and "[" not in argument else None
    if query == "xpath" and (match := _XPATH.fullmatch(_string(argument).strip())):
        type_ = match.lastgroup
    if predicate in _ORDERS:
        return type_ in (None, "number") and value[:1] != '"'
    if predicate in (*_ON_TEXTS, "matches"):
        return query in (*_TEXTS, "jsonpath", "variable", "xpath") and type_ in (None, "string")
    if predicate == "==" and type_ == "string":
        return value[:1] == '"' or "{{" in value
    if predicate == "==" and type_ is not None:
        return value[:1] != '"' and type_ != "nodes"
    return predicate != "isDefined" or bool(argument)


def _trimmed(lines: list[str]) -> str:
    return "\n".join(lines).strip("\n \t")


def _without_comment(line: str) -> str:
    """Remove a comment: a `#` after whitespace, but not in quotes or a pattern."""
    for match in re.finditer(rf"{_QUOTED}|/(?:[^/\\\s]|\\.)+/|(?P<comment>\s#.*$)|\\.", line):
        if match["comment"] is not None:
            return line[: match.start()].rstrip()
    return line


def _string(quoted: str) -> str:
    return _plain(quoted[1:-1])


def _plain(text: str) -> str:
    """Return a string with hurl's escapes replaced."""
    letters = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}

    def replaced(match: re.Match[str]) -> str:
        if match[1]:
            return chr(min(int(match[1], 16), 0x10FFFF))
        return letters.get(match[2], match[2])

    return re.sub(r"\\u\{([0-9A-Fa-f]{1,6})\}|\\(.)", replaced, text) if "\\" in text else text
