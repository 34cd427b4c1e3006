"""Insomnia's exports: version 4 (JSON or YAML, a list of resources) and 5 (YAML, a tree).

Sources: Insomnia's documentation, "Import and export" and "Template tags", and exports of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs

from orgrest.convert.shared import expectations, texts
from orgrest.convert.shared.authorization import Authorization, header_of
from orgrest.convert.shared.fields import Fields
from orgrest.convert.shared.forms import encoded_form, multipart
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
from orgrest.convert.shared.source import Source
from orgrest.convert.shared.texts import Variable
from orgrest.convert.shared.variables import Names
from orgrest.http.syntax import is_token
from orgrest.structured import DEEPEST

_TEMPLATE: Final = re.compile(r"\{\{(?P<name>[^{}\n]*)\}\}|\{%(?P<tag>[^%\n]*)%\}")
_NAME: Final = re.compile(
    r"\s*-?\s*(?:_\s*\.\s*)?(?P<plain>[A-Za-z_$][\w$.-]*)\s*-?\s*|"
    r"\s*_\s*\[\s*(?P<quote>['\"])(?P<quoted>[^'\"]+)(?P=quote)\s*\]\s*"
)
_TAGS: Final = (
    (r"uuid(?:\s+['\"]v4['\"])?", "$uuid"),
    (r"timestamp(?:\s+['\"]iso-8601['\"].*)?|now\s+['\"]iso-8601['\"].*", "$isoTimestamp"),
    (r"now\s+['\"]unix['\"].*", "$timestamp"),
)
_OF_APP: Final = (
    "_id", "_type", "parentId", "created", "modified", "metaSortKey", "isPrivate", "meta", "_",
    "settingEncodeUrl", "settingRebuildPath", "settingStoreCookies",
    "settingDisableRenderRequestBody",
    "dataPropertyOrder", "color", "scope", "environmentPropertyOrder", "metaPrivate", "isFavorite",
    "segmentParams", "environmentType", "kvPairData", "schema_version", "data_uri",
)  # fmt: skip
_AUTHENTICATION: Final = {
    "apikey": {"key": "key", "value": "value", "addTo": "in"},
    "iam": {"accessKeyId": "accessKey", "secretAccessKey": "secretKey", "region": "region",
            "sessionToken": "sessionToken", "service": "service"},
}  # fmt: skip


def recognizes(source: Source) -> bool:
    """Tell whether a source is an export, of whatever version."""
    given = source.value
    return "__export_format" in given or str(given.get("type")).startswith(
        ("collection.insomnia.rest", "environment.insomnia.rest")
    )


def read(source: Source) -> Collection:
    """Return what an export holds. Raises ConversionError."""
    given, whole = source.value, source.fields
    if "__export_format" in given:
        if given["__export_format"] != 4:
            version = given["__export_format"]
            reason = f"exports of version {version} are not read here, but 4 and 5 are: export anew"
            raise ConversionError(reason, file=source.name)
        return _Version4(whole).collection()
    return _Version5(whole).collection()


@attrs.frozen
class _Around:
    """What a request inherits from the folders around it."""

    authorization: Authorization | None = None
    headers: tuple[tuple[str, str], ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


class _Reader:
    """What both versions have in common."""

    def __init__(self, whole: Fields) -> None:
        self._whole = whole
        self._names = Names()
        self._unknown: dict[str, None] = {}

    def _text(self, text: str) -> str:
        """Return a template in the notation of request files; what is unknown stays as it is."""
        pieces: list[str | Variable] = []
        at = 0
        for match in _TEMPLATE.finditer(text):
            found = self._variable(match)
            if found is None:
                self._unknown[match[0]] = None
                continue
            pieces += (text[at : match.start()], found)
            at = match.end()
        return texts.written([*pieces, text[at:]])

    def _variable(self, match: re.Match[str]) -> Variable | None:
        if match["tag"] is not None:
            tag = match["tag"].strip()
            return next((Variable(to) for form, to in _TAGS if re.fullmatch(form, tag)), None)
        name = _NAME.fullmatch(match["name"])
        return self._names.variable(name["plain"] or name["quoted"]) if name else None

    def _values(self, data: Any) -> tuple[tuple[str, str], ...]:
        return tuple(
            (self._names.name(key), self._text(value)) for key, value in _flat(data, "", 0)
        )

    def _folder(self, given: Fields, around: _Around) -> tuple[Folder, _Around]:
        """Return a folder without its items, and what these inherit."""
        given.ignore(*_OF_APP)
        name, description = given.text("name"), given.text("description")
        values = self._values(given.any("environment"))
        own, variables = self._authorization(given, inherited=True)
        before, after = self._scripts(given)
        headers = tuple(filter(None, (self._pair(one, []) for one in given.objects("headers"))))
        inner = _Around(
            around.authorization if own is None else own,
            (*around.headers, *headers),
            (*around.before, *before),
            (*around.after, *after),
        )
        return Folder(name, (), (*values, *variables), description), inner

    def _item(self, given: Fields, around: _Around) -> Request:
        given.ignore(*_OF_APP)
        self._unknown.clear()
        name = given.text("name")
        try:
            found = self._request(given, name, around)
        except ConversionError as error:
            notes = (Note(given.place, error.reason), *given.unread())
            return Request("", "", name=name, notes=notes, place=given.place)
        notes = tuple(Note(given.place, f"{one} is not known here") for one in self._unknown)
        return attrs.evolve(found, notes=(*found.notes, *notes, *given.unread()))

    def _request(self, given: Fields, name: str, around: _Around) -> Request:
        method = given.text("method").strip() or "GET"
        if not is_token(method):
            raise ConversionError(f"not a method: {method[:40]!r}")
        disabled: list[str] = []
        described = [given.text("description")]
        url = self._url(given, disabled)
        own = [self._pair(one, disabled) for one in given.objects("headers")]
        headers = list(filter(None, own))
        keys = {key.lower() for key, _ in headers}
        headers = [pair for pair in around.headers if pair[0].lower() not in keys] + headers
        body, kind = self._body(given.object("body"), disabled)
        if kind.startswith("multipart/"):
            headers = [pair for pair in headers if pair[0].lower() != "content-type"]
        if kind and not any(key.lower() == "content-type" for key, _ in headers):
            headers.append(("Content-Type", kind))
        credentials, variables = self._authorization(given, inherited=False)
        authorization = around.authorization if credentials is None else credentials
        if authorization is not None:
            url, headers = authorization.applied(url, headers)
        before, after = self._scripts(given)
        assertions, scripts = expectations.all_translated((*around.after, *after))
        every = (*around.before, *before)
        described += [f"(disabled: {one})" for one in disabled]
        return Request(
            method,
            url,
            name=name,
            headers=tuple(headers),
            body=body,
            directives=tuple(self._directives(given)),
            assertions=tuple(assertions),
            before=every,
            after=tuple(scripts),
            definitions=variables,
            description="\n".join(filter(None, described)),
            notes=tuple(expectations.notes_on((*scripts, *every), given.place)),
            place=given.place,
            shorthand=authorization is not None,
        )

    def _url(self, given: Fields, disabled: list[str]) -> str:
        url = given.text("url").strip()
        if not url:
            raise ConversionError("the request has no URL")
        for one in given.objects("pathParameters"):
            one.ignore("id")
            key, value = one.text("name"), one.text("value")
            if key:
                url = re.sub(rf":{re.escape(key)}(?![\w-])", value.replace("\\", r"\\"), url)
        query = []
        for one in given.objects("parameters"):
            pair = self._pair(one, disabled)
            query += [f"{encoded_form(pair[0])}={encoded_form(pair[1])}"] if pair else []
        found = self._text(url)
        return found + (f"{'&' if '?' in found else '?'}{'&'.join(query)}" if query else "")

    def _pair(self, given: Fields, disabled: list[str]) -> tuple[str, str] | None:
        given.ignore("id", "description", "type", "multiline", "_", "name", "value", "disabled")
        given.ignore("fileName")
        key, value = str(given.given.get("name") or ""), given.given.get("value")
        value = value if isinstance(value, str) else json.dumps(value) if value is not None else ""
        if given.given.get("disabled") is True or not key.strip():
            if key or value:
                disabled.append(f"{key}: {value}")
            return None
        return self._text(key.strip()), self._text(value)

    def _body(self, given: Fields, disabled: list[str]) -> tuple[tuple[Piece, ...] | None, str]:
        kind, text, file = given.text("mimeType"), given.text("text"), given.text("fileName")
        fields = given.objects("params")
        if kind == "application/x-www-form-urlencoded":
            pairs = filter(None, (self._pair(one, disabled) for one in fields))
            form = "&".join(f"{encoded_form(a)}={encoded_form(b)}" for a, b in pairs)
            return ((form or self._text(text),), kind) if form or text else (None, "")
        if kind.startswith("multipart/"):
            found = [field for one in fields if (field := self._field(one, disabled))]
            return multipart(found, kind) if found else (None, "")
        if file:
            return (Inclusion(_path(file)),), kind
        if not text:
            return None, ""
        if kind == "application/graphql":
            kind = "application/json"
        return (self._text(text.replace("\r\n", "\n")),), kind

    def _field(self, given: Fields, disabled: list[str]) -> tuple[str, str, str, str, bool] | None:
        pair = self._pair(given, disabled)
        file = str(given.given.get("fileName") or "")
        if pair is None:
            return None
        if given.given.get("type") != "file":
            return (*pair, "", "", False)
        if not file:
            given.note(f"the file of the field {pair[0]} is not named")
            return None
        return pair[0], _path(file), texts.literal(file.rpartition("/")[2]), "", True

    def _authorization(
        self, given: Fields, *, inherited: bool
    ) -> tuple[Authorization | None, tuple[tuple[str, str], ...]]:
        """Return the credentials of a request or folder, and the variables for them."""
        if not given.given.get("authentication"):
            given.ignore("authentication")
            return None, ()
        auth = given.object("authentication")
        kind = auth.text("type")
        auth.ignore(*auth.given)
        if kind == "" or kind == "none" or auth.given.get("disabled") is True:
            return (Authorization() if kind else None), ()
        named = _AUTHENTICATION.get(kind, {})
        parameters = {
            named.get(key, key): self._text(value if isinstance(value, str) else json.dumps(value))
            for key, value in auth.given.items()
        }
        if kind == "apikey" and parameters.get("in") == "queryParams":
            parameters["in"] = "query"
        found, problem = header_of("awsv4" if kind == "iam" else kind, parameters)
        if kind == "bearer" and parameters.get("prefix"):
            found = attrs.evolve(
                found, value=found.value.replace("Bearer", parameters["prefix"], 1)
            )
        if problem:
            given.note(f"authentication: {problem}")
        if not inherited or not found.value:
            return found, ()
        name = self._names.free("authorization")
        return attrs.evolve(found, value=f"{{{{{name}}}}}"), ((name, found.value),)

    def _scripts(self, given: Fields) -> tuple[list[str], list[str]]:
        scripts = given.object("scripts") if isinstance(given.given.get("scripts"), dict) else given
        before = scripts.text("preRequest") or given.text("preRequestScript")
        after = scripts.text("afterResponse") or given.text("afterResponseScript")
        before = expectations.as_pm(before)
        return [before] if before.strip() else [], [after] if after.strip() else []

    def _directives(self, given: Fields) -> Iterator[str]:
        settings = given.object("settings")
        settings.ignore("renderRequestBody", "encodeUrl", "rebuildPath")
        cookies = settings.object("cookies")
        cookies.ignore("store")
        follow = settings.any("followRedirects") or given.any("settingFollowRedirects")
        if follow in ("off", False):
            yield "no-redirect"
        if False in (cookies.any("send"), given.any("settingSendCookies")):
            yield "no-cookie-jar"

    def _environments(
        self, base: Fields, below: list[Fields]
    ) -> tuple[tuple[tuple[str, str], ...], tuple[Environment, ...]]:
        """Return the variables of the base environment, and the others."""
        found = []
        for one in below:
            one.ignore(*_OF_APP)
            name, values = one.text("name") or "imported", self._values(one.any("data"))
            meta = one.given.get("meta")
            private = one.given.get("isPrivate") is True or (
                isinstance(meta, Mapping) and meta.get("isPrivate") is True
            )
            keys = frozenset(key for key, _ in values) if private else frozenset()
            found.append(Environment(name, values, keys))
        base.ignore(*_OF_APP, "name", "subEnvironments")
        return self._values(base.any("data")), tuple(found)


class _Version5(_Reader):
    """A tree of folders and requests."""

    def collection(self) -> Collection:
        """Return the whole export."""
        whole = self._whole
        whole.ignore("type", "name", "meta", "cookieJar", "schema_version", "certificates")
        base = whole.object("environments")
        below = base.objects("subEnvironments")
        if str(whole.given.get("type")).startswith("environment."):
            base, below = whole, []
        values, environments = self._environments(base, below)
        items = self._items(whole.objects("collection"), _Around())
        name = str(whole.given.get("name") or "")
        return Collection(Folder(name, items, values, notes=whole.unread()), environments)

    def _items(self, given: list[Fields], around: _Around) -> tuple[Folder | Request, ...]:
        found: list[Folder | Request] = []
        for one in given:
            if isinstance(one.given.get("children"), list):
                folder, inner = self._folder(one, around)
                items = self._items(one.objects("children"), inner)
                found.append(attrs.evolve(folder, items=items, notes=one.unread()))
            else:
                found.append(self._item(one, around))
        return tuple(found)


class _Version4(_Reader):
    """A list of resources, which name their parents."""

    def collection(self) -> Collection:
        """Return the whole export."""
        whole = self._whole
        whole.ignore("_type", "__export_format", "__export_date", "__export_source")
        by_parent: dict[str, list[Fields]] = {}
        workspaces = []
        for one in whole.objects("resources"):
            kind = str(one.given.get("_type"))
            by_parent.setdefault(str(one.given.get("parentId")), []).append(one)
            if kind == "workspace":
                workspaces.append(one)
            elif kind == "cookie_jar":
                one.ignore(*one.given)
            elif kind not in ("request", "request_group", "environment"):
                one.ignore(*one.given)
                one.note(f"{kind} {str(one.given.get('name') or '')[:60]}".rstrip())
        self._by_parent = by_parent
        items: list[Folder | Request] = []
        values: tuple[tuple[str, str], ...] = ()
        environments: tuple[Environment, ...] = ()
        for one in workspaces:
            one.ignore(*_OF_APP, "name", "description")
            key = str(one.given.get("_id"))
            for base in self._below(key, "environment"):
                below = self._below(str(base.given.get("_id")), "environment")
                more, others = self._environments(base, below)
                values, environments = (*values, *more), (*environments, *others)
            found = self._items(key, _Around(), 0)
            name = str(one.given.get("name") or "")
            items += [Folder(name, found)] if len(workspaces) > 1 else found
        name = str(workspaces[0].given.get("name") or "") if len(workspaces) == 1 else ""
        description = str(workspaces[0].given.get("description") or "") if name else ""
        folder = Folder(name, tuple(items), values, description, whole.unread())
        return Collection(folder, environments)

    def _below(self, parent: str, *kinds: str) -> list[Fields]:
        found = [one for one in self._by_parent.get(parent, []) if one.given.get("_type") in kinds]
        return sorted(found, key=_position)

    def _items(self, parent: str, around: _Around, depth: int) -> tuple[Folder | Request, ...]:
        if depth > DEEPEST:
            raise ConversionError("folders are nested too deep, or in a circle")
        found: list[Folder | Request] = []
        for one in self._below(parent, "request", "request_group"):
            if one.given.get("_type") == "request":
                found.append(self._item(one, around))
                continue
            folder, inner = self._folder(one, around)
            items = self._items(str(one.given.get("_id")), inner, depth + 1)
            found.append(attrs.evolve(folder, items=items, notes=one.unread()))
        return tuple(found)


def _position(given: Fields) -> float:
    key = given.given.get("metaSortKey")
    return key if isinstance(key, int | float) else 0


def _flat(data: Any, before: str, depth: int) -> Iterator[tuple[str, str]]:
    """Yield the values of an environment; those inside others by names with points."""
    for key, value in data.items() if isinstance(data, Mapping) else ():
        if isinstance(value, Mapping) and value and depth < DEEPEST:
            yield from _flat(value, f"{before}{key}.", depth + 1)
        else:
            shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            yield f"{before}{key}", "" if value is None else shown


def _path(path: str) -> str:
    if re.search(r"[\r\n\0]", path):
        raise ConversionError("the name of a file holds a line break")
    return texts.literal(path)
