"""Bruno collections. A collection is a folder of `.bru` files with `bruno.json` at its top.

Source: Bruno's documentation, "Bru Lang" and "Tag Reference".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from orgrest import classes
from orgrest.convert.shared import expectations, texts
from orgrest.convert.shared.authorization import Authorization
from orgrest.convert.shared.fields import Fields
from orgrest.convert.shared.forms import Part, file_part, multipart, pairs_encoded
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
from orgrest.http.assertions.language import ParsedAssertion, find
from orgrest.model import explained

TOP: Final = "bruno.json"
"""The name of the file at the top of a collection."""
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
_FILE: Final = re.compile(r"@file\((?P<path>[^)]*)\)(?:\s*@contentType\((?P<kind>[^)]*)\))?")
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
_BLOCKS: Final = {"formUrlEncoded": "form-urlencoded", "multipartForm": "multipart-form"}
_OPERATORS: Final = {
    "eq": "== {}", "neq": "!= {}", "gt": "> {}", "gte": ">= {}", "lt": "< {}", "lte": "<= {}",
    "contains": "contains {}", "notContains": "not contains {}", "startsWith": "startsWith {}",
    "endsWith": "endsWith {}", "isNull": "== null", "isTruthy": "isTrue", "isFalsy": "isFalse",
    "isNumber": "isNumber", "isString": "isString", "isBoolean": "isBoolean", "isArray": "isArray",
    "in": "in {}", "notIn": "not in {}", "matches": "matches {}", "notMatches": "not matches {}",
    "length": "count {}",
}  # fmt: skip
_AUTHENTICATION: Final = {
    "awsv4": {"accessKeyId": "accessKey", "secretAccessKey": "secretKey"},
    "apikey": {"placement": "in"},
}
_UNSAID: Final = ("between", "isEmpty", "isNotEmpty", "isUndefined", "isDefined", "isJson")


@classes.frozen
class _Pair:
    """A line `key: value` in a block. A `~` before it means that it is disabled."""

    key: str
    value: str
    enabled: bool = True

    def __str__(self) -> str:
        return f"{self.key}: {self.value}"


def recognizes(source: Source) -> bool:
    """Return whether a source is a folder, or a file in the other format of Bruno 3."""
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
    """Return the blocks in a `.bru` file by name. The file is called `name` in messages.

    A block is a string, a list of names, or a list of pairs. Raises ConversionError if the file is
    invalid.
    """
    found: dict[str, Any] = {}
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
            found[match["name"]] = [one.strip(" \t,") for one in block if one.strip(" \t,")]
        elif _TEXTS.fullmatch(match["name"]):
            found[match["name"]] = "\n".join(one.removeprefix("  ") for one in block).strip("\n")
        else:
            found[match["name"]] = list(_pairs(block, name, first))
    return found


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
        if value == "'''":
            opened = at
            while at < len(lines) and lines[at].strip() != "'''":
                at += 1
            value = "\n".join(one.removeprefix("    ") for one in lines[opened:at])
            at += 1
        key = match["key"] if match["quoted"] is None else re.sub(r"\\(.)", r"\1", match["quoted"])
        yield _Pair(key.strip(), value, match["off"] is None)


class _Reader(Reader):
    """Reads one collection."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self._left = _MOST_FILES

    def collection(self) -> Collection:
        """Return the whole collection with its environments."""
        try:
            top = json.loads(self._read(self._folder / TOP))
        except (ValueError, RecursionError):
            raise ConversionError("not valid JSON", file=str(self._folder / TOP)) from None
        given = Fields(top if isinstance(top, dict) else {}, str(self._folder / TOP))
        given.ignore("version", "type", "name", "ignore", "size", "filesCount", "presets")
        ignored = top.get("ignore") if isinstance(top, dict) else None
        self._ignored = {"node_modules", ".git", "environments", *map(str, ignored or [])}
        whole = self._items(self._folder, "collection.bru", Inherited(), 0)
        environments, notes = [], list(given.unread())
        for file in self._files(self._folder / "environments", ".bru"):
            try:
                found, more = self._environment(file)
            except Exception as error:
                notes.append(Note.of_error(f"{file}:{explained(error).line or 1}", error))
                continue
            environments.append(found)
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
        """Return the files with a suffix in a folder. Symbolic links are not followed."""
        if not folder.is_dir() or folder.is_symlink():
            return []
        return sorted(
            one for one in folder.iterdir()
            if one.suffix == suffix and one.is_file() and not one.is_symlink()
        )  # fmt: skip

    def _blocks(self, path: Path) -> Fields:
        return Fields(parse(self._read(path), str(path)), str(path))

    def _environment(self, path: Path) -> tuple[Environment, tuple[Note, ...]]:
        given = self._blocks(path)
        given.ignore("color")
        values = tuple(
            (self.names.name(one.key), self._text(one.value))
            for one in given.any("vars") or ()
            if one.enabled
        )
        for name in given.any("vars:secret") or ():
            given.note(f"the collection does not contain the value of the secret {name}")
        return Environment(path.stem, values), given.unread()

    def _items(self, folder: Path, own_file: str, around: Inherited, depth: int) -> Folder:
        """Return a folder with its requests and subfolders, in Bruno's order."""
        if depth > _DEEPEST:
            raise ConversionError("folders are nested too deeply", file=str(folder))
        own = folder / own_file
        given = self._blocks(own) if own.is_file() else Fields({}, str(own))
        name, order = self._meta(given)
        variables, inner = self._inherited(given, around)
        description = given.any("docs") or ""
        found: list[tuple[float, str, Folder | Request]] = []
        for path in self._files(folder, ".bru"):
            if path.name not in ("collection.bru", "folder.bru"):
                found.append(self._file(path, inner))
        for path in sorted(folder.iterdir()):
            if path.is_dir() and not path.is_symlink() and path.name not in self._ignored:
                below = self._items(path, "folder.bru", inner, depth + 1)
                if below.items or below.notes:
                    found.append((self._order, path.name, below))
        self._order = order
        items = tuple(one for _, _, one in sorted(found, key=lambda one: one[:2]))
        return Folder(name or folder.name, items, variables, description, given.unread())

    _order = 0.0

    def _meta(self, given: Fields) -> tuple[str, float]:
        meta = {one.key: one.value for one in given.any("meta") or ()}
        order = meta.get("seq", "")
        return meta.get("name", ""), float(order) if re.fullmatch(r"\d{1,9}", order) else 0.0

    def _inherited(
        self, given: Fields, around: Inherited
    ) -> tuple[tuple[tuple[str, str], ...], Inherited]:
        """Return the variables of a folder, and the settings that its requests inherit."""
        values = self._pairs_named(given)
        modes = {one.key: one.value for one in given.any("auth") or ()}
        mode = modes.get("mode", "inherit")
        own, variables = self._authorization(given, mode, inherited=True)
        headers = self._pairs(given.any("headers") or ())
        return (*values, *variables), around.with_own(own, headers, self._scripts(given))

    def _pairs(self, given: Iterable[_Pair]) -> list[tuple[str, str]]:
        """Return the names and values of the enabled pairs."""
        return [(self._text(one.key), self._text(one.value)) for one in given if one.enabled]

    def _file(self, path: Path, around: Inherited) -> tuple[float, str, Folder | Request]:
        """Return the position, name and request of a file. An error becomes a note."""
        try:
            given = self._blocks(path)
        except Exception as error:
            note = Note.of_error(f"{path}:{explained(error).line or 1}", error)
            return 0.0, path.name, Request("", "", name=path.stem, notes=(note,))
        name, order = self._meta(given)
        return order, path.name, self.item(given, name or path.stem, around)

    def _text(self, text: str) -> str:
        return texts.translated(text, self._variable)

    def _variable(self, name: str) -> Variable:
        if name.startswith("process.env."):
            return Variable(f"$processEnv {name.removeprefix('process.env.')}")
        return self.names.variable(name)

    def draft(self, given: Fields, _around: Inherited) -> Draft:
        """Return the request in a file. Raises ConversionError if it cannot be written."""
        given.ignore("params:query")
        verb = next((method for method in _METHODS if method in given.given), None)
        if verb is None:
            raise ConversionError("not an HTTP request")
        head = {one.key: one.value for one in given.any(verb)}
        url = head.get("url", "").strip()
        if not url:
            raise ConversionError("the request has no URL")
        for one in given.any("params:path") or ():
            form = rf":{re.escape(one.key)}(?![\w-])"
            url = re.sub(form, one.value.replace("\\", r"\\"), url) if one.key else url
        headers = given.any("headers") or []
        every = (*(given.given.get("params:query") or ()), *headers)
        disabled = [one for one in every if not one.enabled]
        body, kind = self._body(given, head.get("body", "none"), disabled)
        own, variables = self._authorization(given, head.get("auth", "none"), inherited=False)
        scripts = self._scripts(given)
        assertions = self._after(given, scripts[1])
        return Draft(
            (head.get("method", "GET") if verb == "http" else verb).upper(),
            self._text(url), self._pairs(headers), body, kind, own,
            (*self._pairs_named(given), *variables), scripts=scripts, assertions=assertions,
            directives=list(self._directives(given)), described=[given.any("docs") or ""],
            disabled=map(str, disabled),
        )  # fmt: skip

    def _pairs_named(self, given: Fields) -> Pairs:
        """Return the variables that a request or folder defines."""
        return tuple(
            (self.names.name(one.key), self._text(one.value))
            for one in given.any("vars:pre-request") or ()
            if one.enabled
        )

    def _directives(self, given: Fields) -> Iterator[str]:
        settings = {one.key: one.value for one in given.any("settings") or ()}
        if settings.get("followRedirects") == "false":
            yield "no-redirect"
        if re.fullmatch(r"[1-9]\d{0,8}", settings.get("timeout", "")):
            yield f"timeout {settings['timeout']} ms"

    def _body(
        self, given: Fields, mode: str, disabled: list[_Pair]
    ) -> tuple[tuple[Piece, ...] | None, str]:
        """Return the body for the selected `mode`, and its media type.

        Bruno keeps the bodies for other modes, but does not send them.
        """
        block = f"body:{_BLOCKS.get(mode, mode)}"
        found = given.any(block)
        given.ignore(*(one for one in given.given if one.startswith("body:") or one == "body"))
        if mode == "json" and found is None:
            found = given.given.get("body")
        if mode in ("none", "") or not found:
            return None, ""
        if mode in _BODIES:
            return (self._text(found),), _BODIES[mode]
        if mode == "graphql":
            variables = given.given.get("body:graphql:vars") or "{}"
            query = self._text(json.dumps(found, ensure_ascii=False))
            return (f'{{"query":{query},"variables":{self._text(variables)}}}',), "application/json"
        disabled += [one for one in found if not one.enabled]
        enabled = [one for one in found if one.enabled]
        if mode == "formUrlEncoded":
            return (pairs_encoded(self._pairs(enabled)),), "application/x-www-form-urlencoded"
        if mode == "multipartForm":
            fields = [field for one in enabled for field in self._field(one)]
            return multipart(fields) if fields else (None, "")
        if mode == "file":
            match = _FILE.fullmatch(enabled[0].value) if enabled else None
            if match is not None:
                return (Inclusion(texts.literal(match["path"])),), match["kind"] or ""
        raise ConversionError(f"unknown body mode {mode}")

    def _field(self, one: _Pair) -> list[Part]:
        name, match = self._text(one.key), _FILE.fullmatch(one.value)
        if match is None:
            value, _, kind = one.value.partition(" @contentType(")
            return [(name, self._text(value), "", kind.removesuffix(")"), False)]
        kind = match["kind"] or ""
        return [file_part(name, path, kind) for path in match["path"].split("|")]

    def _authorization(
        self, given: Fields, mode: str, *, inherited: bool
    ) -> tuple[Authorization | None, Pairs]:
        """Return the credentials for the selected `mode`, and the variables that they need."""
        pairs = given.any(f"auth:{mode}") or ()
        given.ignore(*(one for one in given.given if one.startswith("auth:")))
        if mode in ("none", "inherit", ""):
            return (None if mode == "inherit" else Authorization()), ()
        named = _AUTHENTICATION.get(mode, {})
        parameters = {named.get(pair.key, pair.key): self._text(pair.value) for pair in pairs}
        if parameters.get("in") == "queryparams":
            parameters["in"] = "query"
        return self.credentials(given, mode, parameters, inherited=inherited)

    def _scripts(self, given: Fields) -> tuple[list[str], list[str]]:
        before = given.any("script:pre-request") or ""
        before = expectations.as_pm(before)
        after = [given.any("script:post-response") or "", given.any("tests") or ""]
        return [before] if before.strip() else [], [one for one in after if one.strip()]

    def _after(self, given: Fields, scripts: list[str]) -> list[str]:
        """Return the assertions of a request. Code that sets variables is added to `scripts`."""
        assertions: list[str] = []
        for one in given.any("assert") or ():
            if not one.enabled:
                continue
            if (made := _assertions(one)) is None:
                given.note(f"assert: {one.key}: {one.value}")
            else:
                assertions += made
        for one in given.any("vars:post-response") or ():
            match = re.fullmatch(r"res\.(?:body|getBody\(\))((?:\.\w+|\[\d+\])*)", one.value)
            if match is None:
                given.note(f"vars:post-response: {one.key}: {one.value}")
            elif one.enabled:
                name = json.dumps(self.names.name(one.key))
                scripts.append(f"client.global.set({name}, response.body{match[1]});")
        return assertions


def _assertions(one: _Pair) -> list[str] | None:
    """Return the assertions for a line in an `assert` block, or None without an equivalent."""
    operator, _, value = one.value.partition(" ")
    if operator in _UNSAID:
        return None
    if operator not in _OPERATORS:
        operator, value = "eq", one.value
    subject = expectations.subject_of(one.key, {})
    value = value.strip()
    if subject is None or (subject == "body" and operator != "contains") or "{{" in value:
        return None
    if operator in ("in", "notIn"):
        value = value.removeprefix("[").removesuffix("]")
    elif operator in ("contains", "notContains", "startsWith", "endsWith"):
        value = re.sub(r"^(['\"])(.*)\1$", r"\2", value)
    elif operator in ("matches", "notMatches"):
        value = re.sub(r"^/(.*)/$", r"\1", value)
    elif operator in ("eq", "neq") and not re.fullmatch(r"-?\d+(?:\.\d+)?|true|false|null", value):
        value = json.dumps(value.strip("'\""), ensure_ascii=False)
    made = [f"{subject} {_OPERATORS[operator].format(value)}"]
    if operator == "eq":
        made = expectations.equality(subject, value)
    return made if all(isinstance(find(each), ParsedAssertion) for each in made) else None
