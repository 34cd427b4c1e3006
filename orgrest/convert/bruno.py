"""Bruno collections. A collection is a folder of `.bru` files with `bruno.json` at its top.

Source: Bruno's documentation, "Bru Lang" and "Tag Reference".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from orgrest import classes
from orgrest.convert.shared import expectations, texts
from orgrest.convert.shared.authorization import Authorization
from orgrest.convert.shared.fields import Fields
from orgrest.convert.shared.forms import (
    Part,
    encoded_form,
    file_part,
    multipart,
    pairs_encoded,
    wide_form_type,
)
from orgrest.convert.shared.model import (
    Collection,
    ConversionError,
    Environment,
    Folder,
    Inclusion,
    Note,
    Piece,
    Request,
)
from orgrest.convert.shared.requests import Draft, Inherited, Pairs, Reader
from orgrest.convert.shared.source import Source
from orgrest.convert.shared.texts import Variable
from orgrest.files import decode
from orgrest.model import explained

TOP: Final = "bruno.json"
"""The name of the file that makes a folder the top folder of a collection."""
LARGEST: Final = 4 * 2**20
"""The maximum size of a file, in bytes."""
_OPEN_COLLECTION: Final = (
    "Bruno 3 collections in OpenCollection YAML are not supported: in Bruno, export the "
    "collection as a Postman collection and import that"
)
_MOST_FILES: Final = 20_000
_DEEPEST: Final = 30
_BLOCK: Final = re.compile(r"(?P<name>[a-z]+(?:[:-][\w:-]+)?)\s*(?P<mark>[{\[])\s*")
_PAIR: Final = re.compile(
    r"(?P<off>~)?@?(?:\"(?P<quoted>(?:[^\"\\]|\\.)*)\"|(?P<key>[^:\s][^:]*))\s*:\s?(?P<value>.*)"
)
_REFERENCE: Final = r"\{\{[^{}]*\}\}"
_URL: Final = re.compile(
    rf"(?P<host>(?:[a-z][a-z0-9+.-]*://)?(?:{_REFERENCE}|[^/?#])*+)(?P<path>(?:{_REFERENCE}|[^?])*+)"
    r"(?P<mark>\?)?(?P<query>.*)",
    re.IGNORECASE | re.DOTALL,
)
_IN_PATH: Final = "|/|%[0-9A-Fa-f]{2}"
_FILE: Final = re.compile(r"@file\((?P<path>[^)]*)\)(?:\s*@contentType\((?P<kind>[^)]*)\))?")
_COMMENT_LINE: Final = re.compile(r"^[ \t]*(?://[^\n]*|/\*[^*\n]*\*/[ \t]*)\n", re.MULTILINE)
_TEXTS: Final = re.compile(
    r"body(?::(?:json|text|xml|sparql|graphql|graphql:vars))?|script:.*|tests|docs"
)
_METHODS: Final = (
    "get", "post", "put", "delete", "patch", "options", "head", "connect", "trace", "http",
)  # fmt: skip
_BODIES: Final = {
    "json": "application/json",
    "text": "text/plain",
    "xml": "application/xml",
    "sparql": "application/sparql-query",
}
_FORM: Final = "application/x-www-form-urlencoded"
_BLOCKS: Final = {"formUrlEncoded": "form-urlencoded", "multipartForm": "multipart-form"}
_OPERATORS: Final = {
    "eq": "== {}", "neq": "!= {}", "gt": "> {}", "gte": ">= {}", "lt": "< {}", "lte": "<= {}",
    "contains": "contains {}", "notContains": "not contains {}", "startsWith": "startsWith {}",
    "endsWith": "endsWith {}", "isDefined": "isDefined", "isUndefined": "not isDefined",
    "isNumber": "isNumber", "isString": "isString", "isBoolean": "isBoolean", "isArray": "isArray",
    "in": "in {}", "notIn": "not in {}", "matches": "matches {}", "notMatches": "not matches {}",
    "length": "count {}", "isNotEmpty": "exists",
}  # fmt: skip
_ON_NUMBERS: Final = ("gt", "gte", "lt", "lte", "length")
_BODY: Final = "js response.parsedBody ?? response.body"
"""The subject for `res.body`, which is a string if the body is not JSON."""
_EQUAL: Final = {"isNull": "null", "isTruthy": "true", "isFalsy": "false"}
_STEP: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[.\[]')
_OPTIONAL: Final = {".": "?.", "[": "?.["}
_AUTHENTICATION: Final = {
    "awsv4": {"accessKeyId": "accessKey", "secretAccessKey": "secretKey"},
    "apikey": {"placement": "in"},
}
_REQ_BODY: Final = r"\breq\.[gs]etBody\("
_PARTS: Final = (
    "a script was imported unchanged, but it reads or sets a multipart form with req.getBody or "
    "req.setBody, which orgrest supports only for other bodies: write the parts in the request"
)
_UNSAID: Final = ("between", "isEmpty", "isJson")


@classes.frozen
class _Pair:
    """A `key: value` line of a block. A line `~key: value` is disabled."""

    key: str
    value: str
    enabled: bool = True

    def __str__(self) -> str:
        return f"{self.key}: {self.value}"


def recognizes(source: Source) -> bool:
    """Return whether a source is a folder, or a file in Bruno 3's OpenCollection format."""
    return source.folder is not None or "opencollection" in source.value


def read(source: Source) -> Collection:
    """Return the collection in a folder. Raises ConversionError if it is not a collection."""
    folder = source.folder
    if folder is None or not (folder / TOP).is_file():
        why = f"not a Bruno collection: the folder has no {TOP}"
        other = folder is None or any(folder.glob("opencollection.y*ml"))
        raise ConversionError(_OPEN_COLLECTION if other else why, file=source.name)
    return _Reader(folder).collection()


def parse(text: str, name: str) -> dict[str, Any]:
    """Return the blocks in the text of a `.bru` file, by name.

    A block is a string, a list of names, or a list of pairs. Error messages call the file `name`.
    Raises ConversionError if the text is invalid.
    """
    blocks: dict[str, Any] = {}
    lines = text.replace("\r\n", "\n").split("\n")
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if not line.strip():
            continue
        match = _BLOCK.fullmatch(line)
        if match is None:
            raise ConversionError(f"expected a block, found {line[:60]!r}", file=name, line=at)
        end = "}" if match["mark"] == "{" else "]"
        first = at
        while at < len(lines) and lines[at].rstrip() != end:
            at += 1
        if at == len(lines):
            reason = f"this block is never closed: missing {end}"
            raise ConversionError(reason, file=name, line=first)
        block = lines[first:at]
        at += 1
        if end == "]":
            blocks[match["name"]] = [line.strip(" \t,") for line in block if line.strip(" \t,")]
        elif _TEXTS.fullmatch(match["name"]):
            blocks[match["name"]] = "\n".join(line.removeprefix("  ") for line in block).strip("\n")
        else:
            blocks[match["name"]] = list(_pairs(block, name, first))
    return blocks


def _pairs(lines: list[str], name: str, first: int) -> Iterator[_Pair]:
    at = 0
    while at < len(lines):
        line = lines[at].strip()
        at += 1
        if not line or re.match(r"@\w+(?:\(|$)", line):  # an annotation, such as a value's type
            while "(" in line and not lines[at - 1].rstrip().endswith(")") and at < len(lines):
                at += 1
            continue
        match = _PAIR.fullmatch(line)
        if match is None:
            reason = f"expected name: value, found {line[:60]!r}"
            raise ConversionError(reason, file=name, line=first + at)
        value = match["value"].strip()
        if value.startswith("'''"):
            block = [value[3:]]
            while "'''" not in block[-1] and at < len(lines):
                block.append(lines[at])
                at += 1
            block[-1], _, kind = block[-1].partition("'''")
            text = "\n".join(line.removeprefix("    ") for line in block).strip()
            value = f"{text} {kind.strip()}".rstrip()  # `kind` is a media type or ""
        key = match["key"] if match["quoted"] is None else re.sub(r"\\(.)", r"\1", match["quoted"])
        yield _Pair(key.strip(), value, match["off"] is None)


class _Reader(Reader):
    """Reads one collection."""

    cookies_sent = "if responses have set cookies, Bruno sends only these"

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self._left = _MOST_FILES

    def collection(self) -> Collection:
        try:
            top = json.loads(self._read(self._folder / TOP))
        except (ValueError, RecursionError):
            raise ConversionError("not valid JSON", file=str(self._folder / TOP)) from None
        fields = Fields(top if isinstance(top, dict) else {}, str(self._folder / TOP))
        fields.ignore("version", "type", "name", "ignore", "size", "filesCount", "presets")
        ignored = top.get("ignore") if isinstance(top, dict) else None
        self._ignored = {"node_modules", ".git", "environments", *map(str, ignored or [])}
        whole = self._items(self._folder, "collection.bru", Inherited(), 0)
        environments, notes = [], list(fields.unread())
        for file in self._files(self._folder / "environments", ".bru"):
            try:
                environment, more = self._environment(file)
            except Exception as error:
                notes.append(Note.of_error(f"{file}:{explained(error).line or 1}", error))
                continue
            environments.append(environment)
            notes += more
        name = str(top.get("name") or self._folder.name) if isinstance(top, dict) else ""
        whole = classes.evolve(whole, name=name, notes=(*whole.notes, *notes))
        return Collection(whole, tuple(environments))

    def _read(self, path: Path) -> str:
        self._left -= 1
        if self._left < 0:
            raise ConversionError(
                f"too many files (the maximum is {_MOST_FILES:,})", file=str(self._folder)
            )
        try:
            with path.open("rb") as stream:
                data = stream.read(LARGEST + 1)
        except OSError as error:
            raise ConversionError(f"{error.strerror}", file=str(path)) from None
        if len(data) > LARGEST:
            raise ConversionError(
                f"too large (the maximum is {LARGEST // 2**20} MiB)", file=str(path)
            )
        return decode(data)[0]

    def _files(self, folder: Path, suffix: str) -> list[Path]:
        if not folder.is_dir() or folder.is_symlink():
            return []
        return sorted(
            path for path in folder.iterdir()
            if path.suffix == suffix and path.is_file() and not path.is_symlink()
        )  # fmt: skip

    def _blocks(self, path: Path) -> Fields:
        return Fields(parse(self._read(path), str(path)), str(path))

    def _environment(self, path: Path) -> tuple[Environment, tuple[Note, ...]]:
        fields = self._blocks(path)
        fields.ignore("color")
        values = self._variables(fields, "vars")
        for name in fields.any("vars:secret") or ():
            fields.note(f"the collection does not contain the value of the secret {name}")
        return Environment(path.stem, values), fields.unread()

    def _items(self, folder: Path, own_file: str, around: Inherited, depth: int) -> Folder:
        """Return a folder with its requests and subfolders."""
        if depth > _DEEPEST:
            raise ConversionError("folders are nested too deeply", file=str(folder))
        own = folder / own_file
        fields = self._blocks(own) if own.is_file() else Fields({}, str(own))
        name, order = self._meta(fields)
        variables, inner = self._inherited(fields, around)
        description = fields.any("docs") or ""
        requests = [
            self._file(path, inner)
            for path in self._files(folder, ".bru")
            if path.name not in ("collection.bru", "folder.bru")
        ]
        folders: list[tuple[float, str, Folder]] = []
        for path in sorted(folder.iterdir()):
            if path.is_dir() and not path.is_symlink() and path.name not in self._ignored:
                below = self._items(path, "folder.bru", inner, depth + 1)
                if below.items or below.notes:
                    folders.append((self._order, path.name, below))
        self._order = order
        items: list[Folder | Request] = [*_in_order(folders)]
        items += (member for *_, member in sorted(requests, key=lambda member: member[:2]))
        return Folder(name or folder.name, tuple(items), variables, description, fields.unread())

    _order = 0.0

    def _meta(self, fields: Fields) -> tuple[str, float]:
        meta = _values(fields, "meta")
        order = meta.get("seq", "")
        return meta.get("name", ""), float(order) if re.fullmatch(r"\d{1,9}", order) else 0.0

    def _inherited(self, fields: Fields, around: Inherited) -> tuple[Pairs, Inherited]:
        """Return a folder's variables, and the settings that its requests inherit."""
        values = self._variables(fields, "vars:pre-request")
        mode = _values(fields, "auth").get("mode", "inherit")
        own, variables = self._authorization(fields, mode, inherited=True)
        headers = self._headers(fields.any("headers") or ())
        return (*values, *variables), around.with_own(own, headers, self._scripts(fields))

    def _pairs(self, pairs: Iterable[_Pair]) -> list[tuple[str, str]]:
        return [(self._text(pair.key), self._text(pair.value)) for pair in pairs if pair.enabled]

    def _headers(self, pairs: Iterable[_Pair]) -> list[tuple[str, str]]:
        # of several headers with the same name, Bruno sends only the last
        return list({name.lower(): (name, value) for name, value in self._pairs(pairs)}.values())

    def _file(self, path: Path, around: Inherited) -> tuple[float, str, Request]:
        """Return (sequence number, file name, request). The first two are the sort key."""
        try:
            fields = self._blocks(path)
        except Exception as error:
            note = Note.of_error(f"{path}:{explained(error).line or 1}", error)
            return 0.0, path.name, Request("", "", name=path.stem, notes=(note,))
        name, order = self._meta(fields)
        return order, path.name, self.item(fields, name or path.stem, around)

    def _text(self, text: str) -> str:
        return texts.translated(text, self._variable)

    def _variable(self, name: str) -> Variable:
        if name.startswith("process.env."):
            return Variable(f"$processEnv {name.removeprefix('process.env.')}")
        return self.names.variable(name)

    def draft(self, fields: Fields, around: Inherited) -> Draft:
        fields.ignore("params:query")
        verb = next((method for method in _METHODS if method in fields.given), None)
        if verb is None:
            raise ConversionError("not an HTTP request")
        head = _values(fields, verb)
        url = head.get("url", "").strip()
        if not url:
            raise ConversionError("the request has no URL")
        for pair in fields.any("params:path") or ():
            form = rf":{re.escape(pair.key)}(?![\w-])"
            url = re.sub(form, pair.value.replace("\\", r"\\"), url) if pair.key else url
        if _values(fields, "settings").get("encodeUrl") == "true":
            target = self._encoded_url(url)
        else:
            target = self._text(url)
        headers = fields.any("headers") or []
        every = (*(fields.given.get("params:query") or ()), *headers)
        disabled = [pair for pair in every if not pair.enabled]
        mode = head.get("body", "none")
        own_headers = self._headers(headers)
        body, kind = self._body(fields, mode, (*own_headers, *around.headers), disabled)
        own, variables = self._authorization(fields, head.get("auth", "none"), inherited=False)
        scripts = self._scripts(fields)
        every_script = (*around.before, *around.after, *scripts[0], *scripts[1])
        if mode == "multipartForm" and re.search(_REQ_BODY, "\n".join(every_script)):
            fields.note(_PARTS, blocks=True)
        assertions = self._after(fields, scripts[1])
        return Draft(
            (head.get("method", "GET") if verb == "http" else verb).upper(),
            target, own_headers, body, kind, own,
            (*self._variables(fields, "vars:pre-request"), *variables), scripts=scripts,
            assertions=assertions, directives=list(self._directives(fields)),
            described=[fields.any("docs") or ""], disabled=map(str, disabled),
        )  # fmt: skip

    def _encoded_url(self, url: str) -> str:
        """Return a URL that is percent-encoded as with Bruno's setting `encodeUrl`.

        Variables are encoded only in the values of parameters: elsewhere, they may contain
        separators.
        """
        match = next(_URL.finditer(url))  # it matches every string, from start to end
        address = self._text(match["host"] + _percent_encoded(match["path"], _IN_PATH))
        pairs = []
        for pair in match["query"].split("&"):
            name, sign, value = pair.partition("=")
            if name:
                encoded_value = encoded_form(self._text(value), self.names)
                pairs.append(f"{self._text(_percent_encoded(name))}{sign}{encoded_value}")
        return f"{address}{match['mark'] or ''}{'&'.join(pairs)}"

    def _variables(self, fields: Fields, block: str) -> Pairs:
        return tuple(
            (self.names.name(pair.key), self._text(pair.value))
            for pair in fields.any(block) or ()
            if pair.enabled
        )

    def _directives(self, fields: Fields) -> Iterator[str]:
        settings = _values(fields, "settings")
        if settings.get("followRedirects") == "false":
            yield "no-redirect"
        if re.fullmatch(r"[1-9]\d{0,8}", settings.get("timeout", "")):
            yield f"timeout {settings['timeout']} ms"

    def _body(
        self, given: Fields, mode: str, headers: Iterable[tuple[str, str]], disabled: list[_Pair]
    ) -> tuple[tuple[Piece, ...] | None, str]:
        """Return the body and media type for a `mode`. `headers` may contain that of a form."""
        block = f"body:{_BLOCKS.get(mode, mode)}"
        content = given.any(block)
        # Bruno stores the bodies for other modes, but does not send them.
        given.ignore("body", begins="body:")
        if mode == "json" and content is None:
            content = given.given.get("body")
        if mode == "formUrlEncoded" and not content:
            return None, _FORM  # a script may set the fields
        if mode in ("none", "") or not content:
            return None, ""
        if mode == "json":
            content = _without_comments(content)
        if mode in _BODIES:
            return (self._text(content),), _BODIES[mode]
        if mode == "graphql":
            variables = _without_comments(given.given.get("body:graphql:vars") or "{}")
            query = self._text(json.dumps(content, ensure_ascii=False))
            return (f'{{"query":{query},"variables":{self._text(variables)}}}',), "application/json"
        disabled += [pair for pair in content if not pair.enabled]
        enabled = [pair for pair in content if pair.enabled]
        if mode == "formUrlEncoded":
            form = pairs_encoded(self._pairs(enabled), self.names, plus=True)
            return (form,), _FORM
        if mode == "multipartForm":
            fields = [field for pair in enabled for field in self._field(pair)]
            kind = next((value for name, value in headers if name == "Content-Type"), "")
            kind = kind if kind.startswith("multipart/") else ""
            return multipart(fields, kind) if fields else (None, "")
        if mode == "file":
            match = _FILE.fullmatch(enabled[0].value) if enabled else None
            if match is not None:
                return (Inclusion(texts.literal(match["path"])),), match["kind"] or ""
        raise ConversionError(f"unknown body mode {mode}")

    def _field(self, pair: _Pair) -> list[Part]:
        name, match = self._text(pair.key), _FILE.fullmatch(pair.value)
        if match is None:
            value, _, kind = pair.value.partition("@contentType(")
            value, kind = (value.rstrip(), kind[:-1]) if kind[-1:] == ")" else (pair.value, "")
            return [(name, self._text(value), "", kind, False)]
        return [
            file_part(name, path, match["kind"] or wide_form_type(path))
            for path in match["path"].split("|")
        ]

    def _authorization(
        self, fields: Fields, mode: str, *, inherited: bool
    ) -> tuple[Authorization | None, Pairs]:
        pairs = fields.any(f"auth:{mode}") or ()
        fields.ignore(begins="auth:")
        if mode in ("none", "inherit", ""):
            return (None if mode == "inherit" else Authorization()), ()
        named = _AUTHENTICATION.get(mode, {})
        parameters = {named.get(pair.key, pair.key): self._text(pair.value) for pair in pairs}
        if parameters.get("in") == "queryparams":
            parameters["in"] = "query"
        return self.credentials(fields, mode, parameters, inherited=inherited)

    def _scripts(self, fields: Fields) -> tuple[list[str], list[str]]:
        after = [fields.any("script:post-response") or "", fields.any("tests") or ""]
        return [fields.any("script:pre-request") or ""], after

    def _after(self, fields: Fields, scripts: list[str]) -> list[str]:
        """Return the assertions, and add code for captures to `scripts`."""
        assertions: list[str] = []
        for pair in fields.any("assert") or ():
            if not pair.enabled:
                continue
            if (of_pair := _assertions(pair)) is None:
                fields.note(f"assert: {pair.key}: {pair.value}")
            else:
                assertions += of_pair
        for pair in fields.any("vars:post-response") or ():
            match = re.fullmatch(r"res\.(?:body|getBody\(\))((?:\.\w+|\[\d+\])*)", pair.value)
            if match is None:
                fields.note(f"vars:post-response: {pair.key}: {pair.value}")
            elif pair.enabled:
                name = json.dumps(self.names.name(pair.key))
                scripts.append(f"client.global.set({name}, response.body{match[1]});")
        return assertions


def _percent_encoded(text: str, keep: str = "") -> str:
    """Encode a part of a URL, except for its references to variables and matches of `keep`."""
    form = rf"({_REFERENCE}{keep})|[^A-Za-z0-9_.~*'()!-]"
    return re.sub(form, lambda match: match[1] or quote(match[0], safe=""), text)


def _values(fields: Fields, block: str) -> dict[str, str]:
    return {pair.key: pair.value for pair in fields.any(block) or ()}


def _in_order(folders: Iterable[tuple[float, str, Folder]]) -> Iterator[Folder]:
    """Yield folders in Bruno's order: the number of a folder is its position among the others.

    Each folder is given with its number, which is 0 if it has none, and its name.
    """
    ordered = sorted(folders, key=lambda member: (member[0], member[1].casefold()))
    positions: list[list[Folder]] = []
    for number, members in groupby(ordered, key=lambda member: member[0]):
        same = [folder for _, _, folder in members]
        if number:
            positions.insert(int(number) - 1, same)
        else:
            positions += ([folder] for folder in same)
    for same in positions:
        yield from same


def _without_comments(json: str) -> str:
    """Remove comments, which Bruno does not send, and lines that contain only a comment."""
    return texts.without_comments(_COMMENT_LINE.sub("", json))


def _assertions(pair: _Pair) -> list[str] | None:
    """Translate a line of an `assert` block. Return None if there is no equivalent."""
    operator, _, value = pair.value.partition(" ")
    if operator in _UNSAID:
        return None
    if operator in _EQUAL:
        operator, value = "eq", _EQUAL[operator]
    elif operator not in _OPERATORS:
        operator, value = "eq", pair.value
    value = value.strip()
    if value == "undefined":
        operator = {"eq": "isUndefined", "neq": "isDefined"}.get(operator, operator)
    subject = expectations.subject_of(pair.key, {})
    if subject is None or "{{" in value:
        return None
    if operator in ("in", "notIn"):
        value = value.removeprefix("[").removesuffix("]")
    elif operator in ("contains", "notContains", "startsWith", "endsWith"):
        value = re.sub(r"^(['\"])(.*)\1$", r"\2", value)
    elif operator in ("matches", "notMatches"):
        value = re.sub(r"^/(.*)/$", r"\1", value)
    elif operator in ("eq", "neq") and not re.fullmatch(r"-?\d+(?:\.\d+)?|true|false|null", value):
        value = json.dumps(value.strip("'\""), ensure_ascii=False)
    is_typed = operator in _ON_NUMBERS or (operator in ("eq", "neq") and value[:1] != '"')
    if subject == "body $" and not is_typed:
        subject = _BODY
    condition = _OPERATORS[operator].format(value)
    assertions: list[str] | None = [f"{subject} {condition}"]
    if operator == "isNotEmpty":
        if not subject.startswith(("body $", "header", _BODY)):
            return None
        kinds = () if subject.startswith("header") else ("isNumber", "isBoolean")
        assertions = [f"{subject} {condition}", *(f"{subject} not {kind}" for kind in kinds)]
    elif operator == "eq":
        assertions = expectations.equality(subject, value)
    elif operator == "neq":
        assertions = expectations.inequality(subject, value)
        if assertions is None and subject.startswith("body $"):
            path = _STEP.sub(lambda step: _OPTIONAL.get(step[0], step[0]), subject[len("body $") :])
            assertions = [f"js JSON.parse(response.body){path} !== {value} isTrue"]
    elif operator in ("gt", "gte", "lt", "lte"):
        assertions = expectations.comparison(subject, condition)
    elif operator == "notContains":
        present = "isDefined" if subject.startswith("header") else "!= null"
        assertions = [f"{subject} {present}", f"{subject} {condition}"]
    return expectations.valid(assertions)
